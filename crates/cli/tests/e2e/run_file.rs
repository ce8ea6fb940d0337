//! `assay run FILE.fio`: what it ends with.

use crate::assay::{Bed, text};
use std::fs;
use std::os::unix::fs::FileExt;

#[test]
fn data_that_differs_has_an_exit_code_of_its_own() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = folder.join("data");
    let job = |rw: &str| {
        let text = format!(
            "[check]\nfilename={}\nrw={rw}\nbs=4k\nsize=256k\nverify=crc32c\n",
            text(&file)
        );
        let path = folder.join(format!("{rw}.fio"));
        fs::write(&path, text).unwrap();
        path
    };
    let run = |rw: &str| bed.run(&["run", text(&job(rw)), "--trials", "2"]);
    run("write").assert_code(0);
    run("read").assert_code(0);
    let data = fs::OpenOptions::new().write(true).open(&file).unwrap();
    data.write_all_at(b"other than written", 20 * 4096 + 100)
        .unwrap();
    let ended = run("read");
    ended.assert_code(4);
    ended.assert_says(&["assay:", "not what had been written"]);
    // Its trials are kept, as failed ones.
    let kept = bed.stored("last");
    assert_eq!(kept["run"]["status"], "finished");
    let trials = kept["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2);
    assert!(trials.iter().all(|trial| trial["outcome"] == "failed"));
}

#[test]
fn the_store_is_no_file_of_a_job() {
    let bed = Bed::new();
    fs::write(bed.store(), "").unwrap();
    let path = bed.folder().join("job.fio");
    let job = format!(
        "[over]\nfilename={}\nrw=write\nsize=64k\n",
        text(&bed.store())
    );
    fs::write(&path, job).unwrap();
    let refusal = bed.refused(&["run", text(&path)]);
    assert!(refusal.contains("is the store"), "{refusal}");
    assert_eq!(fs::read(bed.store()).unwrap(), b"");
}

//! What is not assay's stays as it is, however a run ends.

use crate::assay::{Bed, pattern, test_folders};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All files below a folder with their content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(contents(&path));
            all.insert(path, Vec::new());
        } else {
            let content = fs::read(&path).expect("a file");
            all.insert(path, content);
        }
    }
    all
}

/// Things that look as much like assay's own as can be.
fn belongings(folder: &Path) {
    for (name, content) in [
        ("data", "mine"),
        ("fresh", "mine too"),
        ("owner.json", "{}"),
        (".assay-something/data", "precious"),
        (".assay-something/notes", "more"),
        (
            ".assay-other/owner.json",
            r#"{"about":"","run_id":"not-other"}"#,
        ),
        (".assay-file", "not a folder"),
        ("sub/data", "deeper"),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("room");
    }
}

#[test]
fn files_in_the_folder_stay_however_the_run_ends() {
    let bed = Bed::new();
    let folder = bed.folder();
    belongings(&folder);
    let before = contents(&folder);
    let names = test_folders(&folder).len();
    let words = ["--size", "4M", "--trials", "500", "--only", "ladder-*"];

    bed.short_run(&folder);
    assert!(contents(&folder) == before, "after a run to its end");

    let mut running = bed.qualify(&folder, &words);
    running.await_trials(2);
    running.signal(Signal::INT);
    running.end().assert_code(130);
    assert!(contents(&folder) == before, "after Ctrl-C");

    let mut running = bed.qualify(&folder, &words);
    running.await_trials(2);
    running.kill(true);
    assert_eq!(test_folders(&folder).len(), names + 1);
    let next = bed.short_run(&folder);
    next.assert_says(&["removed the leftover test file"]);
    assert!(contents(&folder) == before, "after a kill and a clean-up");
}

#[test]
fn a_file_is_only_read() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = folder.join("film");
    let data = pattern(8 << 20);
    fs::write(&file, &data).unwrap();
    let words = ["--size", "8M", "--trials", "1", "--json"];
    let ended = bed.qualify(&file, &words).end();
    ended.assert_code(0);
    ended.assert_says(&["nothing; reads the first 8 MiB", "film"]);
    for trial in ended.json()["trials"].as_array().unwrap() {
        let written = &trial["totals"]["write"]["bytes"];
        assert_eq!(written, 0, "{}", trial["job"]["name"]);
    }
    assert!(fs::read(&file).unwrap() == data);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

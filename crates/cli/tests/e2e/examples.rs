//! The job files in `examples/` run, made short.

use crate::assay::Bed;
use std::fs;
use std::path::Path;

/// A job file that does the same in a moment and with little room.
fn short(text: &str) -> String {
    let short = |line: &str| match line.split_once('=') {
        // A job that ends others takes long enough for them to begin.
        Some(("filesize", _)) => "filesize=16m".to_owned(),
        Some(("runtime", _)) => "runtime=200ms".to_owned(),
        Some(("ramp_time", _)) => "ramp_time=10ms".to_owned(),
        Some(("direct", _)) => String::new(),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(short).collect();
    lines.join("\n")
}

/// Without `direct`, so that they run on any file system; what direct I/O is
/// like is tested elsewhere.
#[test]
fn the_examples_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "fio"))
        .collect();
    assert!(!files.is_empty());
    for file in files {
        let bed = Bed::new();
        let job_file = bed.join("short.fio");
        fs::write(&job_file, short(&fs::read_to_string(&file).unwrap())).unwrap();
        let ended = assay_testkit::command(env!("CARGO_BIN_EXE_assay"))
            .args(["fio", "--output-format=json"])
            .arg(&job_file)
            .current_dir(bed.folder())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{}: {said}", file.display());
        // Nothing in an example is doubtful.
        assert_eq!(said, "", "{}", file.display());
        let all: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        for job in all["jobs"].as_array().unwrap() {
            let moved = |way: &str| job[way]["io_bytes"].as_u64().unwrap();
            assert!(moved("read") + moved("write") > 0, "{}", job["jobname"]);
        }
    }
}

//! Without root there may be less evidence, but no wrong word.

use crate::assay::{Bed, Running, label, test_folders, text, trial, undisturbed};
use assay_testkit::{Volume, needs, or_skip};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_user_without_rights_gets_true_labels_or_the_reason_why_not() {
    needs!(root, "mkfs.ext4", "setpriv");
    let volume = or_skip!(Volume::new("ext4", 256));
    let open = Permissions::from_mode(0o755);
    fs::set_permissions(volume.scratch().path(), open).unwrap();
    let folder = volume.point().join("theirs");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();

    let bed = Bed::new();
    let jobs = "ladder-*,read-cached,read-buffered,seq-read-1m";
    let words = [
        "qualify",
        text(&folder),
        "--quick",
        "--json",
        "--size",
        "32M",
        "--trials",
        "1",
        "--only",
        jobs,
    ];
    let measure = || {
        let ended = Running::start(&mut bed.command_of_nobody(&words)).end();
        ended.assert_code(0);
        assert!(test_folders(&folder).is_empty());
        ended.json()
    };
    // A sync(2) of others writes the page cache back.
    let is_pure = |run: &Value| label(run, "ladder-plain", "write").0 != "mixed";
    let run = undisturbed(measure, is_pure);
    assert_eq!(run["system"]["root"], false);
    for (job, direction, truth) in [
        ("ladder-plain", "write", "page-cache"),
        ("ladder-fdatasync", "write", "device"),
        ("ladder-direct", "write", "device-unflushed"),
        ("ladder-dsync", "write", "device"),
        ("read-cached", "read", "page-cache"),
        ("read-buffered", "read", "device"),
        ("seq-read-1m", "read", "device"),
    ] {
        let (label, because) = label(&run, job, direction);
        if label == "unknown" {
            let why = &trial(&run, job)["evidence"][direction]["why"];
            assert!(why.as_str().is_some_and(|why| !why.is_empty()), "{job}");
        } else {
            assert_eq!(label, truth, "{job}: {because}");
        }
    }
}

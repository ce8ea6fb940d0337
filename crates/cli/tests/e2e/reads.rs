//! Where reads came from; and memory is never taken for a device.

use crate::assay::{Bed, assert_label, trial};
use assay_testkit::{Mount, Volume, needs, or_skip};

#[test]
fn from_the_page_cache_through_it_and_past_it() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let jobs = "read-cached,read-buffered,seq-read-1m,rand-read-4k";
    let run = Bed::new().measure(volume.point(), "64M", jobs, &[]);
    assert_label(&run, "read-cached", "read", "page-cache");
    assert_label(&run, "read-buffered", "read", "device");
    assert_label(&run, "seq-read-1m", "read", "device");
    assert_label(&run, "rand-read-4k", "read", "device");

    let cached = |job: &str| {
        let before = &trial(&run, job)["evidence"]["file_cache"]["before"];
        before["cached_bytes"].as_u64().expect("a count")
    };
    assert_eq!(cached("read-cached"), 64 << 20, "all of it, beforehand");
    assert_eq!(cached("read-buffered"), 0);
}

#[test]
fn no_figure_of_a_tmpfs_is_of_a_device() {
    needs!(root);
    let bed = Bed::new();
    let memory = or_skip!(Mount::tmpfs(256, &bed.join("memory")));
    let run = bed.measure(memory.point(), "32M", "*", &[]);
    assert_eq!(run["device"]["backing"]["kind"], "memory");
    let trials = run["trials"].as_array().unwrap();
    assert!(trials.len() >= 19, "all jobs: {}", trials.len());
    let mut judged = 0;
    for trial in trials {
        for direction in ["read", "write"] {
            let Some(label) = trial["evidence"][direction]["label"].as_str() else {
                continue;
            };
            let job = &trial["job"]["name"];
            assert!(["page-cache", "unknown"].contains(&label), "{job}: {label}");
            judged += 1;
        }
        for metric in trial["metrics"].as_array().unwrap() {
            let label = metric["label"].as_str().unwrap();
            assert!(!label.contains("device"), "{metric}");
        }
    }
    assert!(judged >= 19, "{judged}");
}

//! Where reads came from; and memory is never taken for a device.

use crate::assay::{Bed, trials};
use assay_testkit::{Mount, Volume, needs, or_skip, text};
use std::fs;

#[test]
fn from_the_page_cache_through_it_and_past_it() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let jobs = "read-cached,read-buffered,seq-read-1m,rand-read-4k";
    // Twice, so that a cold read follows a warm one whatever the order.
    let words = ["--size", "64M", "--trials", "2", "--only", jobs, "--json"];
    let ended = Bed::new().qualify(volume.point(), &words).end();
    ended.assert_code(0);
    let run = ended.json();
    for (job, label, cached) in [
        // Other programs may evict a few pages meanwhile.
        ("read-cached", "page-cache", Some(63 << 20..=64 << 20)),
        ("read-buffered", "device", Some(0..=0)),
        ("seq-read-1m", "device", None),
        ("rand-read-4k", "device", None),
    ] {
        let trials = trials(&run, job);
        assert_eq!(trials.len(), 2, "{job}");
        for trial in trials {
            let evidence = &trial["evidence"];
            assert_eq!(evidence["read"]["label"], label, "{job}: {evidence}");
            let before = evidence["file_cache"]["before"]["cached_bytes"].as_u64();
            let is_so = cached
                .as_ref()
                .is_none_or(|cached| before.is_some_and(|it| cached.contains(&it)));
            assert!(is_so, "{job}: {before:?}");
        }
    }
}

/// Read-ahead answers most of them: their bytes come from the device, their median does not.
#[test]
fn the_median_of_small_sequential_reads_is_not_that_of_the_device() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 128));
    let bed = Bed::new();
    let file = bed.join("job.fio");
    let job = "[a]\nfilename=f\nrw=read\nbs=4k\nsize=32M\ndirectory=";
    fs::write(&file, format!("{job}{}", text(volume.point()))).unwrap();
    let ended = bed.run(&["run", text(&file), "--trials", "2", "--json"]);
    ended.assert_code(0);
    let run = ended.json();
    for trial in trials(&run, "a") {
        assert_eq!(trial["evidence"]["read"]["label"], "device", "{trial}");
        let metrics = trial["metrics"].as_array().unwrap();
        let label = |name: &str| {
            let metric = metrics.iter().find(|metric| metric["name"] == name);
            metric.unwrap()["label"].clone()
        };
        assert_eq!(label("read_bw"), "device");
        assert_eq!(label("read_lat_p50"), "page-cache");
    }
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

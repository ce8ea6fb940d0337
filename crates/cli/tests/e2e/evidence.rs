//! Others on the device are seen, and named.

use crate::assay::{Bed, trial};
use assay_testkit::{Volume, needs, or_skip};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const MIB: u64 = 1 << 20;

/// Writes to the device until told to stop. This program is the other process.
fn write_until(stop: &AtomicBool, path: &Path) {
    let file = File::create(path).expect("a file");
    let block = vec![7; 1 << 20];
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        file.write_all_at(&block, turn % 8 * MIB).expect("room");
        file.sync_data().expect("a device");
    }
}

#[test]
fn another_writer_on_the_device_is_seen_and_named() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let other = volume.point().join("other");
    let (bed, stop) = (Bed::new(), AtomicBool::new(false));
    let run = thread::scope(|scope| {
        scope.spawn(|| write_until(&stop, &other));
        let run = bed.measure(volume.point(), "32M", "rand-read-4k,read-cached", &[]);
        stop.store(true, Ordering::Relaxed);
        run
    });
    // Reads only: all that was written is of others.
    let foreign = &trial(&run, "rand-read-4k")["evidence"]["foreign"];
    assert!(foreign["write_bytes"].as_u64().unwrap() >= MIB, "{foreign}");
    let processes = foreign["processes"].as_array().unwrap();
    let own = |process: &&serde_json::Value| process["pid"] == std::process::id();
    let me = processes.iter().find(own).expect("the writer is named");
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    assert_eq!(me["name"], name.trim());
    assert!(me["write_bytes"].as_u64().unwrap() >= MIB, "{me}");

    let shown = bed.run(&["report", "last"]).out;
    assert!(shown.contains(name.trim()), "the summary warns: {shown}");
    // A cached read stays one, whatever others do.
    let cached = &trial(&run, "read-cached")["evidence"]["read"];
    assert_eq!(cached["label"], "page-cache");
}

#[test]
fn a_device_of_ones_own_shows_no_others() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let run = Bed::new().measure(volume.point(), "32M", "rand-read-4k,ladder-dsync", &[]);
    let foreign = |job: &str, direction: &str| {
        let foreign = &trial(&run, job)["evidence"]["foreign"];
        foreign[direction].as_u64().expect("a count")
    };
    assert_eq!(foreign("rand-read-4k", "read_bytes"), 0);
    // The file system's own writing is small.
    assert!(foreign("ladder-dsync", "write_bytes") <= 8 * MIB);
    assert!(foreign("rand-read-4k", "write_bytes") <= MIB);
}

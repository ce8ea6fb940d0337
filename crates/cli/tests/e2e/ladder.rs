//! dd's four ways, and what each one measures: the main case.

use crate::assay::{Bed, assert_label, is_pure, text, trial, undisturbed};
use assay_testkit::{Unavailable, Volume, needs, or_skip};
use serde_json::Value;

/// Twice the file, and the file system's own.
const VOLUME_MIB: u64 = 768;
/// Of the memory for dirty pages, for each of the two devices: a device that has written
/// little has a small share, beyond which the kernel may write back at any time.
const DIRTY_PERCENT: u8 = 40;

/// The ladder at its usual size, on a volume of its own. Where the kernel wrote back early for
/// another test, the plain way is no pure case, and the run says so.
fn ladder(volume: &Volume) -> Value {
    undisturbed(
        || one_ladder(volume),
        |run| is_pure(&trial(run, "ladder-plain")["evidence"]["write"]),
    )
}

fn one_ladder(volume: &Volume) -> Value {
    let bed = Bed::new();
    let jobs = ["--size", "256M", "--trials", "1", "--only", "ladder-*"];
    let mut words = vec!["qualify", text(volume.point()), "--json"];
    words.extend_from_slice(&jobs);
    let ended = bed.run(&words);
    ended.assert_code(0);
    let run = ended.json();
    assert_eq!(trial(&run, "ladder-plain")["job"]["size_bytes"], 128 << 20);
    run
}

fn flushes(run: &Value, job: &str) -> u64 {
    let judged = &trial(run, job)["evidence"]["write"];
    judged["flushes"].as_u64().expect("this kernel counts them")
}

/// Where the kernel starts to write back early, "plain" is no pure case: by
/// default beyond a tenth of the memory that is available.
fn enough_memory() -> Result<(), Unavailable> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").expect("/proc/meminfo");
    let line = meminfo
        .lines()
        .find(|line| line.starts_with("MemAvailable"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    match kib {
        Some(kib) if kib >= 4 << 20 => Ok(()),
        _ => Err(Unavailable(
            "256 MiB of dirty pages need 4 GiB of memory".into(),
        )),
    }
}

#[test]
fn on_a_device_with_a_volatile_cache() {
    needs!(root, "mkfs.ext4");
    or_skip!(enough_memory());
    let volume = Volume::with("ext4", VOLUME_MIB, &[], |device| {
        device.reserve_dirty(DIRTY_PERCENT)
    });
    let volume = or_skip!(volume);
    let run = ladder(&volume);
    assert_label(&run, "ladder-plain", "write", "page-cache");
    assert_label(&run, "ladder-fdatasync", "write", "device");
    assert_label(&run, "ladder-direct", "write", "device-unflushed");
    assert_label(&run, "ladder-dsync", "write", "device");

    // Commits of the journal may fall into any trial.
    assert!(flushes(&run, "ladder-plain") <= 4);
    assert!(flushes(&run, "ladder-fdatasync") >= 1);
    assert!(flushes(&run, "ladder-direct") <= 4);
    let blocks = trial(&run, "ladder-dsync")["totals"]["write"]["ios"].as_u64();
    assert!(flushes(&run, "ladder-dsync") >= blocks.expect("a count"));
}

#[test]
fn on_a_device_that_writes_through() {
    needs!(root, "mkfs.ext4");
    or_skip!(enough_memory());
    let through = Volume::with("ext4", VOLUME_MIB, &[], |device| {
        device.write_through()?;
        device.reserve_dirty(DIRTY_PERCENT)
    });
    let volume = or_skip!(through);
    let run = ladder(&volume);
    assert_label(&run, "ladder-plain", "write", "page-cache");
    for step in ["ladder-fdatasync", "ladder-direct", "ladder-dsync"] {
        assert_label(&run, step, "write", "device");
        let judged = &trial(&run, step)["evidence"]["write"];
        assert_eq!(judged["volatile_cache"], false, "{step}");
        assert_eq!(flushes(&run, step), 0, "there is nothing to flush");
    }
}

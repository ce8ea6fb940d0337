//! What reaches the device when a job says so, seen in a loop device's own
//! counters.

use super::{alone, can_be_direct, engines, run};
use assay_model::job::{FlushCall, Job, OpenSync, Rw};
use assay_model::units::Bytes;
use assay_testkit::{LoopDevice, Scratch, needs, or_skip};
use std::fs;

const WRITES: u64 = 32;
const BLOCK: u64 = 4096;

/// Bytes written and flushes of a device since boot; flushes since Linux 5.5.
fn counters(device: &LoopDevice) -> (u64, Option<u64>) {
    let stat = format!("/sys/block/{}/stat", device.name());
    let stat = fs::read_to_string(stat).expect("the device is there");
    let fields: Vec<u64> = stat
        .split_whitespace()
        .map(|f| f.parse().expect("a number"))
        .collect();
    (fields[6] * 512, fields.get(15).copied())
}

/// What the device saw of a job: bytes and flushes.
fn seen(device: &LoopDevice, job: &Job) -> (u64, Option<u64>) {
    let before = counters(device);
    let measured = run(job, device.node());
    assert_eq!(measured.write.ios, WRITES, "{}", job.ioengine);
    let after = counters(device);
    let flushes = after.1.zip(before.1).map(|(after, before)| after - before);
    (after.0 - before.0, flushes)
}

fn writes() -> Job {
    Job::new("t", Rw::RandWrite, Bytes(BLOCK), Bytes(BLOCK * WRITES))
}

fn writes_on_each_engine() -> impl Iterator<Item = Job> {
    engines().into_iter().map(|(engine, depth)| Job {
        ioengine: engine,
        iodepth: depth,
        ..writes()
    })
}

#[test]
fn every_synchronous_write_is_flushed() {
    let _alone = alone();
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 8));
    for (engine, _) in engines() {
        for (sync, direct) in [
            (OpenSync::Dsync, false),
            (OpenSync::Dsync, true),
            (OpenSync::Sync, true),
        ] {
            if direct && !can_be_direct(engine) {
                continue;
            }
            let mut job = writes();
            job.ioengine = engine;
            job.sync = sync;
            job.direct = direct;
            let (bytes, flushes) = seen(&device, &job);
            assert!(bytes >= WRITES * BLOCK, "{engine}");
            match flushes {
                Some(flushes) => assert!(flushes >= WRITES, "{engine} {sync:?}: {flushes}"),
                None => assay_testkit::skip("the kernel does not count flushes"),
            }
        }
    }
}

#[test]
fn flushes_come_as_often_as_the_job_asks() {
    let _alone = alone();
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 8));
    for mut job in writes_on_each_engine() {
        let engine = job.ioengine;
        job.flush.every = Some((4, FlushCall::Fdatasync));
        let (bytes, flushes) = seen(&device, &job);
        assert!(bytes >= WRITES * BLOCK, "{engine}");
        if let Some(flushes) = flushes {
            assert_eq!(flushes, WRITES / 4, "{engine}");
        }
        job.flush.every = None;
        job.flush.at_end = Some(FlushCall::Fsync);
        let (bytes, flushes) = seen(&device, &job);
        assert!(bytes >= WRITES * BLOCK, "{engine}");
        if let Some(flushes) = flushes {
            assert_eq!(flushes, 1, "{engine}");
        }
    }
}

#[test]
fn direct_writes_reach_the_device_without_a_flush() {
    let _alone = alone();
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 8));
    for mut job in writes_on_each_engine().filter(|job| can_be_direct(job.ioengine)) {
        let engine = job.ioengine;
        job.direct = true;
        let (bytes, flushes) = seen(&device, &job);
        assert_eq!(bytes, WRITES * BLOCK, "{engine}");
        assert_eq!(flushes.unwrap_or(0), 0, "{engine}");
    }
}

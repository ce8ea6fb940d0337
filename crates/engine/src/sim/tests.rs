//! Jobs on simulated devices, whose every figure follows from the part.

use super::storage;
use crate::measure::{Observer, Progress, Start, measure};
use crate::sim::tests::expected::{COMMAND_US, RAMP_US, WIRE_US};
use assay_model::job::{EngineKind, FlushCall, Job, OpenSync, Rw};
use assay_model::storage::{Backing, DeviceKind};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Costs of a read of 4 KiB on the part `rtsx-sd-pro-plus-128`.
mod expected {
    pub const COMMAND_US: f64 = 298.0;
    pub const RAMP_US: f64 = 6.3 * 8.0;
    /// Eight blocks, each of 1024 + 26 clocks of 208 MHz.
    pub const WIRE_US: f64 = 8.0 * (1024.0 + 26.0) / 208.0;
}

const SD: &str = "sim:rtsx-sd-pro-plus-128";
const EMMC: &str = "sim:emmc-8gb-hs400";

struct Nobody;

impl Observer for Nobody {
    fn clock_starts(&mut self, _start: Start) {}
    fn clock_stopped(&mut self) {}
    fn progress(&mut self, _progress: Progress) {}
}

fn job(rw: Rw, bs: Bytes) -> Job {
    Job {
        ioengine: EngineKind::Sim,
        direct: true,
        time_based: true,
        runtime: Some(Nanos::secs(20)),
        ..Job::new("sim", rw, bs, Bytes::gib(1))
    }
}

fn run(job: &Job, path: &str, seed: u64) -> Result<Measurement, String> {
    let never = AtomicBool::new(false);
    measure(job, Path::new(path), seed, &never, &mut Nobody).map_err(|error| error.to_string())
}

#[test]
fn reads_take_what_the_part_says() {
    let measured = run(&job(Rw::RandRead, Bytes::kib(4)), SD, 1).unwrap();
    assert!(measured.elapsed_ns >= Nanos::secs(20).0);
    let us = measured.elapsed_ns as f64 / 1e3 / measured.read.ios as f64;
    // Each I/O ends with a whole nanosecond.
    let expected = COMMAND_US + RAMP_US + WIRE_US;
    assert!((us - expected).abs() < 0.002, "{us} is not {expected}");
}

#[test]
fn the_same_seed_measures_the_same() {
    let mut mixed = job(Rw::RandRw, Bytes::kib(4));
    mixed.iodepth = 8;
    let noisy = format!("{EMMC},noise=5");
    let same = |seed| {
        let measured = run(&mixed, &noisy, seed).unwrap();
        (
            measured.read,
            measured.write,
            measured.elapsed_ns,
            measured.series,
        )
    };
    assert_eq!(same(1), same(1));
    assert_ne!(same(1), same(2));
}

#[test]
fn a_queue_gains_and_flushes_cost() {
    let ios = |change: fn(&mut Job), path: &str| {
        let mut job = job(Rw::RandRead, Bytes::kib(4));
        change(&mut job);
        let measured = run(&job, path, 1).unwrap();
        measured.read.ios + measured.write.ios
    };
    let alone = ios(|_| (), EMMC);
    let deep = ios(|job| job.iodepth = 32, EMMC);
    assert!(deep * 2 > alone * 3, "{deep} and {alone}");
    let no_queue = "sim:emmc-8gb-hs400,policy=cmd23";
    let one_by_one = ios(|job| job.iodepth = 32, no_queue);
    let alone = ios(|_| (), no_queue);
    assert!(
        one_by_one.abs_diff(alone) * 20 < alone,
        "{one_by_one} and {alone}"
    );
    let write = |job: &mut Job| job.rw = Rw::Write;
    let plain = ios(write, EMMC);
    let synchronous = |job: &mut Job| {
        job.rw = Rw::Write;
        job.sync = OpenSync::Dsync;
    };
    let flushed = |job: &mut Job| {
        job.rw = Rw::Write;
        job.flush.every = Some((1, FlushCall::Fsync));
    };
    let (dsync, fsync) = (ios(synchronous, EMMC), ios(flushed, EMMC));
    assert!(
        dsync < plain && dsync.abs_diff(fsync) * 100 < dsync,
        "{plain} {dsync} {fsync}"
    );
}

#[test]
fn a_ramp_is_left_out_and_its_end_is_told() {
    #[derive(Default)]
    struct Starts(Vec<Start>);
    impl Observer for Starts {
        fn clock_starts(&mut self, start: Start) {
            self.0.push(start);
        }
        fn clock_stopped(&mut self) {}
        fn progress(&mut self, _progress: Progress) {}
    }
    let mut job = job(Rw::RandRead, Bytes::kib(4));
    job.ramp_time = Nanos::secs(30);
    let mut starts = Starts::default();
    let never = AtomicBool::new(false);
    let measured = measure(&job, Path::new(EMMC), 1, &never, &mut starts).unwrap();
    assert_eq!(starts.0, [Start::Running]);
    assert!(
        measured.elapsed_ns < Nanos::secs(21).0,
        "{}",
        measured.elapsed_ns
    );
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let mut several = job(Rw::Read, Bytes::kib(4));
    several.numjobs = 2;
    let refused = run(&several, EMMC, 1).unwrap_err();
    assert!(refused.contains("one stream at a time"), "{refused}");
    for (path, expected) in [
        ("sim:nothing", "no simulated part is called"),
        ("/dev/null", "needs a device"),
    ] {
        let refused = run(&job(Rw::Read, Bytes::kib(4)), path, 1).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn the_storage_says_all_that_it_takes_to_simulate_it_again() {
    let found = storage(Path::new("sim:rtsx-sd-pro-plus-128,policy=open")).unwrap();
    assert!(matches!(found.backing, Backing::Simulated { .. }));
    let identity = &found.layers[0].identity;
    assert_eq!(identity.kind, DeviceKind::Simulated);
    let part = assay_flash::part::DeviceModel::parse(&identity.raw["part"]).unwrap();
    assert_eq!(
        part,
        assay_flash::part::DeviceModel::find("rtsx-sd-pro-plus-128").unwrap()
    );
    assert_eq!(identity.raw["policy"], "open");
    assert!(storage(Path::new("/dev/null")).is_err());
}

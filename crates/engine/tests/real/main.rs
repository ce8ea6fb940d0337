//! Against the running kernel: plain files, and loop devices where a test
//! needs one. What is missing is printed and skipped.

mod blocks;
mod cache;
mod content;
mod durability;
mod errors;
mod loads;
mod threads;

use assay_engine::{EngineError, Observer, Progress, Start, measure, usable};
use assay_model::job::{EngineKind, Job, QueueMode, Rw};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
use assay_testkit::{Scratch, skip};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const BLOCK: u64 = 4096;

/// One test at a time: workers hold copies of all open files for as long as
/// they live, those on another test's mount too.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Engines that do I/O and work here, with a depth that suits them.
fn engines() -> Vec<(EngineKind, u32)> {
    let all = EngineKind::ALL.into_iter();
    let works = |&engine: &EngineKind| match usable(engine) {
        Ok(()) => true,
        Err(why) => {
            skip(&why.to_string());
            false
        }
    };
    let depth = |engine: EngineKind| match engine.properties().queue {
        QueueMode::OneByOne => 1,
        QueueMode::Combined => 4,
        _ => 8,
    };
    all.filter(|engine| engine.moves_data_of_files())
        .filter(works)
        .map(|engine| (engine, depth(engine)))
        .collect()
}

/// A mapped file is the page cache.
fn can_be_direct(engine: EngineKind) -> bool {
    engine != EngineKind::Mmap
}

/// A folder on a file system that has a device below it, as a rule.
fn folder() -> Scratch {
    Scratch::within(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a folder in the target folder")
}

/// A new file of zeros.
fn zeros(folder: &Scratch, length: u64) -> PathBuf {
    let path = folder.join("data");
    File::create(&path)
        .and_then(|file| file.set_len(length))
        .expect("room for a file");
    path
}

/// One pass over so many blocks.
fn job(rw: Rw, blocks: u64) -> Job {
    Job::new("t", rw, Bytes(BLOCK), Bytes(BLOCK * blocks))
}

/// What an observer was told, in order.
#[derive(Default)]
struct Told(Vec<&'static str>);

impl Observer for Told {
    fn clock_starts(&mut self, start: Start) {
        self.0.push(match start {
            Start::Held => "starts",
            Start::Running => "runs",
        });
    }

    fn clock_stopped(&mut self) {
        self.0.push("stopped");
    }

    fn progress(&mut self, _: Progress) {}
}

fn try_run(job: &Job, path: &Path) -> Result<Measurement, EngineError> {
    let never = AtomicBool::new(false);
    measure(job, path, 1, &never, &mut Told::default())
}

#[track_caller]
fn run(job: &Job, path: &Path) -> Measurement {
    try_run(job, path).unwrap_or_else(|error| panic!("{}: {error}", job.ioengine))
}

/// The same, or `None` with the reason printed where direct I/O does not work.
#[track_caller]
fn run_if_direct_works(job: &Job, path: &Path) -> Option<Measurement> {
    match try_run(job, path) {
        Ok(measured) => Some(measured),
        Err(error @ EngineError::NoDirect { .. }) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{}: {error}", job.ioengine),
    }
}

#[test]
fn the_observer_is_told_once_in_order() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 64 * BLOCK);
    let mut told = Told::default();
    let mut job = job(Rw::Write, 64);
    job.numjobs = 2;
    measure(&job, &path, 1, &AtomicBool::new(false), &mut told).unwrap();
    assert_eq!(told.0, ["starts", "stopped"]);
    let mut told = Told::default();
    job.time_based = true;
    job.ramp_time = Nanos::millis(10);
    job.runtime = Some(Nanos::millis(10));
    measure(&job, &path, 1, &AtomicBool::new(false), &mut told).unwrap();
    assert_eq!(told.0, ["runs", "stopped"]);
}

/// Sets the flag as soon as the clock runs.
struct StopsAtOnce<'a>(&'a AtomicBool);

impl Observer for StopsAtOnce<'_> {
    fn clock_starts(&mut self, _: Start) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn clock_stopped(&mut self) {}

    fn progress(&mut self, _: Progress) {}
}

#[test]
fn a_stop_ends_a_job_that_would_never_end() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 64 * BLOCK);
    for (engine, depth) in engines() {
        let mut job = job(Rw::RandRw, 64);
        job.ioengine = engine;
        job.iodepth = depth;
        job.numjobs = 2;
        job.time_based = true;
        job.runtime = Some(Nanos::secs(1 << 30));
        let stop = AtomicBool::new(false);
        let ended = measure(&job, &path, 1, &stop, &mut StopsAtOnce(&stop));
        assert!(ended.is_ok(), "{engine}: {ended:?}");
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), 64 * BLOCK);
}

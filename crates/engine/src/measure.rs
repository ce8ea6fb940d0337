//! Running one job, as a load with one stream for each worker.
//!
//! A job needs features that fio does not have, as fields of the load: a `prepared` file is opened
//! as it is, `drained` flushes wait for I/Os in flight, and `bad_spots` is the number of bad spots
//! that do not end a trial.

mod lower;

pub(crate) use lower::load_of;

use crate::clock::{Clock, MonotonicClock};
use crate::error::EngineError;
use crate::load::{LoadObserver, LoadOutcome, Note, Signals, conduct};
use crate::sys;
use assay_model::job::{DataPath, Job, RateLimit};
use assay_model::load::PerDirection;
use assay_model::load::report::{FilePart, LoadProgress, LoadReport, StreamReport};
use assay_model::trial::Measurement;
use assay_model::units::Bytes;
use assay_stats::streams::measurement;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the clock started.
    pub elapsed_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
}

/// State of the workers while [`Observer::clock_starts`] takes its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The workers wait. Slow evidence comes first, so that the counters are read right
    /// before the clock starts.
    Held,
    /// The workers run, because a ramp has just ended. Every I/O is already measured, so
    /// the counters come first.
    Running,
}

/// Receives the events of a job: gathers evidence when the clock starts and stops, and
/// shows progress. Called on the thread that called [`measure()`].
pub trait Observer {
    /// Called when the workers are ready. The clock starts when this returns, or has
    /// just started (see [`Start`]).
    fn clock_starts(&mut self, _start: Start) {}
    /// Called when the last worker has just finished.
    fn clock_stopped(&mut self) {}
    /// Receives the progress, a few times a second.
    fn progress(&mut self, _progress: Progress) {}
}

/// Runs `job` on the file or device at `path`, which must exist, until it is
/// done or `stop` is set. The same `seed` gives the same offsets in the same
/// order.
///
/// # Errors
/// If the job cannot start (file, engine, contradiction) or the kernel refuses to take
/// I/O. Failed I/Os are not errors but part of the result.
pub fn measure(
    job: &Job,
    path: &Path,
    seed: u64,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    check(job)?;
    let signals = Signals {
        stop,
        report_now: &AtomicBool::new(false),
    };
    let mut watch = JobLoadObserver {
        observer,
        ramp_ns: job.ramp_time.0,
        measured_from_ns: None,
    };
    let outcome = conduct(&load_of(job, path, seed), signals, &mut watch);
    conclude(job, outcome, stop.load(Ordering::Relaxed))
}

fn conclude(job: &Job, outcome: LoadOutcome, stopped: bool) -> Result<Measurement, EngineError> {
    if let Some(error) = outcome.errors.into_iter().next() {
        return Err(error);
    }
    let streams: Vec<&StreamReport> = outcome.report.streams.iter().collect();
    if streams.iter().any(|stream| !stream.started) {
        return Err(EngineError::Stopped);
    }
    let measured = measurement(&streams);
    if outcome.over_in_ramp && measured.errors.count == 0 && !stopped {
        return Err(EngineError::Job {
            job: job.name.clone(),
            problem: "it was over before its ramp_time: make it longer or time_based".to_owned(),
        });
    }
    Ok(measured)
}

/// Forwards the events of a load to the observer of its job.
struct JobLoadObserver<'a> {
    observer: &'a mut dyn Observer,
    ramp_ns: u64,
    /// Start of the measured time; `None` while the clock does not run.
    measured_from_ns: Option<u64>,
}

impl LoadObserver for JobLoadObserver<'_> {
    /// Ignores notes, because everything about a job is in its measurement or its error.
    fn note(&mut self, _note: &Note) {}

    fn wave_starts(&mut self, _wave: u32, _files: &[(u32, Vec<(PathBuf, FilePart)>)]) {
        if self.ramp_ns == 0 {
            self.observer.clock_starts(Start::Held);
        }
        self.measured_from_ns = Some(MonotonicClock.now() + self.ramp_ns);
    }

    fn ramp_ended(&mut self, _wave: u32) {
        self.observer.clock_starts(Start::Running);
    }

    fn wave_ended(&mut self, _wave: u32) {
        self.observer.clock_stopped();
        self.measured_from_ns = None;
    }

    fn progress(&mut self, progress: &LoadProgress) {
        let Some(measured_from_ns) = self.measured_from_ns else {
            return;
        };
        let sum = |values: PerDirection<u64>| values.iter().map(|(_, value)| *value).sum::<u64>();
        self.observer.progress(Progress {
            elapsed_ns: MonotonicClock.now().saturating_sub(measured_from_ns),
            bytes: progress
                .streams
                .iter()
                .map(|stream| sum(stream.bytes))
                .sum(),
            ios: progress.streams.iter().map(|stream| sum(stream.ios)).sum(),
        });
    }

    /// Never called, because a job requests no interim report.
    fn interim(&mut self, _report: LoadReport) {}
}

/// Largest depth of an io_uring ring (`IORING_MAX_ENTRIES`).
const MAX_DEPTH: u32 = 32_768;
/// Maximum number of workers, which are threads.
const MAX_WORKERS: u32 = 1_024;
/// Minimum alignment for direct I/O, in bytes.
const SECTOR: u64 = 512;

/// Refuses jobs with values that contradict each other or are out of range.
fn check(job: &Job) -> Result<(), EngineError> {
    let problem = if job.bs.0 == 0 || job.bs.0 > u64::from(u32::MAX) {
        Some("the block size must be between 1 byte and 4 GiB".to_owned())
    } else if !(1..=MAX_DEPTH).contains(&job.iodepth) || !(1..=MAX_WORKERS).contains(&job.numjobs) {
        Some(format!(
            "iodepth must be between 1 and {MAX_DEPTH}, numjobs between 1 and {MAX_WORKERS}"
        ))
    } else if buffer_bytes(job) > sys::memory_bytes() {
        Some(format!(
            "its I/O buffers would take {}, more than there is memory: lower bs, iodepth or numjobs",
            Bytes(buffer_bytes(job))
        ))
    } else if job.direct && !(job.bs.0 | job.offset.0).is_multiple_of(SECTOR) {
        Some(format!(
            "direct I/O needs block size and offset in multiples of {SECTOR} bytes"
        ))
    } else if job.ioengine.properties().data == DataPath::NoData {
        Some(format!(
            "{} moves no data: it works in a load (assay fio), not here",
            job.ioengine
        ))
    } else if job.direct && job.ioengine.maps_memory() {
        Some("a mapped file is the page cache: mmap cannot be direct".to_owned())
    } else if job.size.0 < job.bs.0 {
        Some(format!(
            "not one block of {} fits into {}",
            job.bs, job.size
        ))
    } else if let Some(io_size) = job.io_size.filter(|size| size.0 < job.bs.0) {
        Some(format!(
            "not one block of {} fits into its io_size of {io_size}",
            job.bs
        ))
    } else if matches!(
        job.rate,
        Some(RateLimit::Iops(0) | RateLimit::BytesPerSec(0))
    ) {
        Some("a rate of 0 would never do anything: leave it out or raise it".to_owned())
    } else if job.time_based && job.runtime.is_none() && job.io_size.is_none() {
        Some("a time_based job needs a runtime".to_owned())
    } else {
        None
    };
    problem.map_or(Ok(()), |problem| {
        Err(EngineError::Job {
            job: job.name.clone(),
            problem,
        })
    })
}

/// Returns the total size of all workers' buffers, in bytes.
fn buffer_bytes(job: &Job) -> u64 {
    job.bs
        .0
        .saturating_mul(u64::from(job.iodepth))
        .saturating_mul(u64::from(job.numjobs))
}

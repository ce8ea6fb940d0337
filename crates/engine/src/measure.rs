//! Running one job, as a load with one stream for each worker.
//!
//! A job needs features that fio does not have, as fields of the load: a `prepared` file is opened
//! as it is, `drained` flushes wait for I/Os in flight, and `bad_spots` is the number of bad spots
//! that do not end a trial.

use crate::load::{LoadObserver, LoadOutcome, Note, Signals, conduct};
use crate::sys::{Clock, MonotonicClock};
use crate::{EngineError, sys};
use assay_model::job::{Content, DataPath, Job, PathUse, RateLimit};
use assay_model::load::blocks::{BlockSizes, Blocks, Files, Region, RwPattern};
use assay_model::load::report::{
    ErrorPolicy, FilePart, LoadProgress, LoadReport, StatsOptions, StreamReport,
};
use assay_model::load::{
    Durability, Engine, Extent, Length, Load, PaceLimits, PerDirection, Schedule, Stream,
    ThinkTime, WriteContent,
};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
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
    } else if job.ioengine.properties().paths == PathUse::CharacterDevice {
        Some(format!(
            "{} works on a character device: it works in a load (assay fio), not here",
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
        Some(RateLimit::Iops(0) | RateLimit::BytesPerSec(0) | RateLimit::Arrivals(0))
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

/// Number of bad spots that a worker skips; it ends at the next one.
const BAD_SPOTS_PASSED: u32 = 63;

/// Returns the streams of a job on the file at `path`, in one wave and reported as one. The same
/// seed gives the same sequence of I/Os.
pub(crate) fn load_of(job: &Job, path: &Path, seed: u64) -> Load {
    let streams = (1..=job.numjobs).map(|number| Stream {
        number,
        clone: number - 1,
        schedule: Schedule {
            // If one worker fails, the others are not measured alone.
            exit_all_on_error: true,
            ..Schedule::default()
        },
        // The trial prepares the file and its cache.
        files: Files::prepared(vec![path.to_owned()]),
        region: Region {
            size: Some(Extent::Bytes(job.size.0)),
            offset: Extent::Bytes(job.offset.0),
            ..Region::default()
        },
        blocks: blocks(job, seed),
        length: length(job),
        engine: Engine {
            kind: job.ioengine,
            iodepth: job.iodepth,
            // This has no cost and saves the kernel a lookup at each I/O.
            register_files: true,
            ..Engine::default()
        },
        durability: Durability::of_job(job.direct, job.sync, job.flush),
        pace: pace(job),
        content: WriteContent {
            zero: job.content == Content::Zero,
            ..WriteContent::default()
        },
        stats: StatsOptions {
            bw_interval: job.interval,
            iops_interval: job.interval,
            ..StatsOptions::default()
        },
        errors: ErrorPolicy {
            bad_spots: BAD_SPOTS_PASSED,
            ..ErrorPolicy::default()
        },
        ..Stream::new(&job.name)
    });
    Load {
        streams: streams.collect(),
        entropy: seed,
        ..Load::default()
    }
}

/// Returns the blocks of a job. Each pass has another order.
fn blocks(job: &Job, seed: u64) -> Blocks {
    let (read, write) = directions(job);
    let block = u32::try_from(job.bs.0).unwrap_or(u32::MAX);
    Blocks {
        rw: RwPattern {
            read,
            write,
            random: job.rw.is_random(),
            ..RwPattern::default()
        },
        read_percent: job.read_percent.min(100),
        sizes: PerDirection::all(BlockSizes::fixed(block)),
        repeat: false,
        seed: Some(seed),
        pattern: job.pattern,
        ..Blocks::default()
    }
}

/// Returns whether the job reads and whether it writes; a mix with a share of 0 or 100 % counts as
/// one direction.
fn directions(job: &Job) -> (bool, bool) {
    match (job.rw.reads(), job.rw.writes()) {
        (true, true) => (job.read_percent > 0, job.read_percent < 100),
        one => one,
    }
}

/// Returns the length of a job. Its `io_size` ends the job regardless of the number of passes;
/// only whole blocks count.
fn length(job: &Job) -> Length {
    let whole_blocks = |size: u64| size - size.checked_rem(job.bs.0).unwrap_or(0);
    Length {
        io_size: job.io_size.map(|size| Extent::Bytes(whole_blocks(size.0))),
        runtime: job.runtime,
        time_based: job.time_based && job.io_size.is_none(),
        ramp_time: job.ramp_time,
        ..Length::default()
    }
}

/// Returns the rate limits of a stream. A job's limit applies to reads and writes together, a
/// stream's to each direction, so a mix divides it in the ratio of its I/Os.
fn pace(job: &Job) -> PaceLimits {
    let (read, write) = directions(job);
    let percent = u64::from(job.read_percent.min(100));
    let (reads, writes) = match read && write {
        true => (percent, 100 - percent),
        false => (100, 100),
    };
    let divided = |limit: u64| {
        let share = |percent: u64| {
            let share = u128::from(limit) * u128::from(percent) / 100;
            u64::try_from(share).unwrap_or(u64::MAX).max(1)
        };
        PerDirection {
            read: share(reads),
            write: share(writes),
            trim: 0,
        }
    };
    let think = job.pause.map(|pause| ThinkTime {
        pause: pause.time,
        spin: Nanos(0),
        blocks: pause.after,
        count_issued: false,
        io_time: Nanos(0),
    });
    let unpaused = match job.rate {
        None => PaceLimits::default(),
        Some(RateLimit::BytesPerSec(limit)) => PaceLimits {
            rate: divided(limit),
            ..PaceLimits::default()
        },
        Some(RateLimit::Iops(limit)) => PaceLimits {
            rate_iops: divided(limit),
            ..PaceLimits::default()
        },
        Some(RateLimit::Arrivals(limit)) => PaceLimits {
            rate_iops: divided(limit),
            poisson: true,
            from_due: true,
            ..PaceLimits::default()
        },
    };
    PaceLimits { think, ..unpaused }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::{FlushCall, Rw};
    use assay_model::units::Bytes;

    fn job(rw: Rw, read_percent: u8) -> Job {
        Job {
            read_percent,
            ..Job::new("t", rw, Bytes(4096), Bytes(1 << 20))
        }
    }

    fn first(job: &Job) -> Stream {
        load_of(job, Path::new("data"), 1).streams.remove(0)
    }

    #[test]
    fn a_rate_of_a_mix_is_that_of_reads_and_writes_together() {
        let limits = |rw, read_percent| {
            let mut job = job(rw, read_percent);
            job.rate = Some(RateLimit::Iops(1000));
            let limits = first(&job).pace.rate_iops;
            (limits.read, limits.write)
        };
        assert_eq!(limits(Rw::RandRw, 70), (700, 300));
        assert_eq!(limits(Rw::RandRead, 70).0, 1000);
        assert_eq!(limits(Rw::Write, 70).1, 1000);
        let mut slow = job(Rw::Rw, 99);
        slow.rate = Some(RateLimit::Iops(1));
        assert_eq!(first(&slow).pace.rate_iops.write, 1, "0 would be none");
    }

    #[test]
    fn a_mix_of_one_direction_has_only_that() {
        for (read_percent, directions) in [(0, (false, true)), (100, (true, false))] {
            let rw = first(&job(Rw::RandRw, read_percent)).blocks.rw;
            assert_eq!((rw.read, rw.write), directions);
        }
    }

    #[test]
    fn flushes_are_by_the_call_that_the_job_names() {
        let mut job = job(Rw::Write, 0);
        job.flush.every = Some((8, FlushCall::Fdatasync));
        job.flush.at_end = Some(FlushCall::Fdatasync);
        let durability = first(&job).durability;
        assert_eq!((durability.fsync, durability.fdatasync), (0, 8));
        assert_eq!(durability.at_end, Some(FlushCall::Fdatasync));
        assert!(durability.drained);
    }

    #[test]
    fn whole_blocks_of_io_size_end_a_job_that_repeats() {
        let mut job = job(Rw::RandRead, 0);
        job.time_based = true;
        job.io_size = Some(Bytes(3 * 4096 + 1));
        let length = first(&job).length;
        assert_eq!(length.io_size, Some(Extent::Bytes(3 * 4096)));
        assert!(!length.time_based);
    }

    #[test]
    fn workers_are_copies_that_report_as_one() {
        let mut job = job(Rw::RandRead, 0);
        job.numjobs = 3;
        let load = load_of(&job, Path::new("data"), 1);
        let numbers: Vec<u32> = load.streams.iter().map(|stream| stream.number).collect();
        assert_eq!(numbers, [1, 2, 3], "each has its own order");
        assert!(load.streams.iter().all(|s| (s.wave, s.report) == (0, 0)));
    }
}

//! Conversion of a job to a load with one stream for each worker.

use assay_model::job::{Content, Job, RateLimit};
use assay_model::load::blocks::{BlockSizes, Blocks, Region, RwPattern};
use assay_model::load::content::WriteContent;
use assay_model::load::files::Files;
use assay_model::load::pace::{PaceLimits, ThinkTime};
use assay_model::load::schedule::Schedule;
use assay_model::load::stats::{ErrorPolicy, StatsOptions};
use assay_model::load::{Durability, Engine, Extent, Length, Load, PerDirection, Stream};
use assay_model::units::Nanos;
use std::path::Path;

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
    };
    PaceLimits { think, ..unpaused }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::FlushCall;
    use assay_model::job::Rw;
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

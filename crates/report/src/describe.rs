//! Jobs and the steps of the ladder in plain words.

use crate::format::{percent, quantity};
use crate::labels::Labels;
use crate::series::{Course, Level};
use crate::summary::{Figure, JobSummary, JudgedTrial, Way};
use crate::text::{clean, count};
use assay_model::job::{CacheState, Direction, FlushCall, Job, OpenSync, RateLimit, Rw};
use assay_model::metric::Unit;
use assay_model::trial::Outcome;
use assay_model::units::{BytesPerSec, Nanos};

/// What a job does: `random read, 4 KiB blocks, depth 8, io_uring, direct`.
#[must_use]
pub fn job(job: &Job) -> String {
    let mut words = vec![pattern(job), format!("{} blocks", job.bs)];
    if job.iodepth > 1 {
        words.push(format!("depth {}", job.iodepth));
    }
    if job.numjobs > 1 {
        words.push(format!("{} workers", job.numjobs));
    }
    words.push(job.ioengine.to_string());
    words.push(if job.direct { "direct" } else { "buffered" }.to_owned());
    words.extend(durability(job));
    if let Some(rate) = job.rate {
        words.push(match rate {
            RateLimit::BytesPerSec(limit) => {
                #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
                let limit = BytesPerSec(limit as f64);
                format!("at most {limit} a worker")
            }
            RateLimit::Iops(limit) => format!("at most {limit} IOPS a worker"),
        });
    }
    if job.cache_state == CacheState::Warm {
        words.push("cache warmed on purpose".to_owned());
    }
    words.join(", ")
}

fn pattern(job: &Job) -> String {
    match job.rw {
        Rw::Read => "sequential read".to_owned(),
        Rw::Write => "sequential write".to_owned(),
        Rw::RandRead => "random read".to_owned(),
        Rw::RandWrite => "random write".to_owned(),
        Rw::Rw => format!("sequential, {} % reads", job.read_percent),
        Rw::RandRw => format!("random, {} % reads", job.read_percent),
    }
}

fn durability(job: &Job) -> Vec<String> {
    let mut words = Vec::new();
    match job.sync {
        OpenSync::None => {}
        OpenSync::Dsync => words.push("O_DSYNC".to_owned()),
        OpenSync::Sync => words.push("O_SYNC".to_owned()),
    }
    let call = |call| match call {
        FlushCall::Fsync => "fsync",
        FlushCall::Fdatasync => "fdatasync",
    };
    match job.flush.every {
        None => {}
        Some((1, every)) => words.push(format!("{} after each write", call(every))),
        Some((n, every)) => words.push(format!("{} after every {n} writes", call(every))),
    }
    if let Some(end) = job.flush.at_end {
        words.push(format!("{} at the end", call(end)));
    }
    words
}

/// What a figure is called next to its job: `read`, `write p99`, `flush p50`;
/// the direction alone stands for its rate.
#[must_use]
pub fn metric(name: &str) -> String {
    let words = match name.split_once('_') {
        Some((subject, "bw" | "iops")) => subject.to_owned(),
        Some((subject, rest)) => match rest.strip_prefix("lat_") {
            Some(percentile) => format!("{subject} latency {percentile}"),
            None => name.replace('_', " "),
        },
        None => name.to_owned(),
    };
    clean(&words)
}

/// The 99th percentile that belongs to a figure.
#[must_use]
pub fn p99_of(job: &JobSummary<'_>, figure: &Figure) -> Option<Figure> {
    let subject = figure.name.split('_').next()?;
    job.figure(&format!("{subject}_lat_p99"))
}

/// Smallest and largest device share of the completed trials' writes.
#[must_use]
pub fn device_shares(job: &JobSummary<'_>) -> Option<(f64, f64)> {
    let evidence = job.completed().flat_map(|trial| trial.directions());
    let shares = evidence
        .filter(|(direction, _)| *direction == Direction::Write)
        .filter_map(|(_, evidence)| evidence.device_share);
    shares.fold(None, |range, share| match range {
        None => Some((share, share)),
        Some((low, high)) => Some((share.min(low), share.max(high))),
    })
}

/// One sentence on what a step of the ladder measured, from its evidence.
#[must_use]
pub fn ladder_step(way: Way, labels: &Labels, shares: Option<(f64, f64)>) -> String {
    let fixed = match (labels.agreed(), way) {
        (Some("page-cache"), _) => {
            let share = shares.map_or_else(|| percent(0.0), |(_, high)| percent(high));
            return format!(
                "The speed of memory: {share} of the data had reached the device when the clock \
                 stopped."
            );
        }
        (Some("device"), Way::FlushAtEnd) => {
            "The device: memory first, then the wait until all of it was stored."
        }
        (Some("device"), Way::Direct) => {
            "The device, past the page cache; nothing volatile holds the data."
        }
        (Some("device"), Way::EachBlock) => {
            "The device with every block made durable before the next one."
        }
        (Some("device"), Way::Plain) => {
            "The device: the kernel had written all of it before the clock stopped."
        }
        (Some("device-unflushed"), _) => {
            "The device took the data, but its volatile cache was never flushed."
        }
        (Some("mixed"), _) => {
            "Neither memory nor device: part was stored, the rest was still in memory."
        }
        (Some(_), _) => {
            let reasons = labels.unknown_reasons().join("; ");
            return format!("Not known: {reasons}.");
        }
        (None, _) if labels.is_empty() => "It has no completed trial.",
        (None, _) => "Its trials measured different things; see the evidence of each.",
    };
    fixed.to_owned()
}

/// The course of a trial: its levels, its stalls, its longest gap.
#[must_use]
pub fn course(trial: &JudgedTrial<'_>, course: &Course) -> String {
    let mut words = vec![levels(&course.levels)];
    words.push(match course.longest_stall() {
        None => "no stalls".to_owned(),
        Some(longest) => format!(
            "{}, the longest {} at {}",
            count(course.stalls.len() as u64, "stall"),
            longest.length,
            longest.start
        ),
    });
    if let Some(gap) = trial.measured().and_then(|measured| measured.longest_gap) {
        let gap = Nanos(gap.length_ns);
        words.push(format!("longest time without a completion {gap}"));
    }
    if trial.record.outcome != Outcome::Completed {
        words.push(format!("the trial {}", trial.record.outcome.word()));
    }
    words.retain(|sentence| !sentence.is_empty());
    words.join("; ")
}

/// `82.0 MB/s until 640 MiB, then 31.0 MB/s`.
fn levels(levels: &[Level]) -> String {
    let rate = |level: &Level| quantity(Unit::BytesPerSec, level.rate);
    let Some((last, before)) = levels.split_last() else {
        return String::new();
    };
    if before.is_empty() {
        return format!("{} throughout", rate(last));
    }
    let steps = before.iter().zip(&levels[1..]);
    let steps = steps.map(|(level, next)| format!("{} until {}", rate(level), next.bytes_before));
    let steps: Vec<String> = steps.collect();
    format!("{}, then {}", steps.join(", "), rate(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cliff_is_told_with_what_was_moved_before() {
        let level = |rate, bytes| Level {
            start: 0,
            end: 0,
            rate,
            bytes_before: Bytes::mib(bytes),
        };
        let cliff = [level(80e6, 0), level(20e6, 640)];
        assert_eq!(levels(&cliff), "80.0 MB/s until 640 MiB, then 20.0 MB/s");
        assert_eq!(levels(&cliff[..1]), "80.0 MB/s throughout");
    }
    use assay_model::job::Flush;
    use assay_model::units::Bytes;

    #[test]
    fn a_job_is_described_by_what_differs_from_plain() {
        let mut append = Job::new("a", Rw::Write, Bytes::kib(4), Bytes::mib(1));
        append.flush = Flush {
            every: Some((1, FlushCall::Fsync)),
            at_end: None,
        };
        assert_eq!(
            job(&append),
            "sequential write, 4 KiB blocks, psync, buffered, fsync after each write"
        );
    }

    #[test]
    fn metrics_have_plain_names() {
        assert_eq!(metric("read_bw"), "read");
        assert_eq!(metric("flush_lat_p50"), "flush latency p50");
        assert_eq!(metric("longest_gap"), "longest gap");
    }
}

//! Describes jobs, metrics and the course of a trial.

use crate::results::summary::{Figure, JobSummary, JudgedTrial, Summary};
use crate::words::labels::DIFFERS;
use crate::words::{Fact, clean, extremes, labels, quantity, range, utc};
use assay_lang::{counted, tr, translated};
use assay_model::figures::Unit;
use assay_model::job::{CacheState, Direction, FlushCall, Job, OpenSync, RateLimit, Rw};
use assay_model::run::Run;
use assay_model::trial::Outcome;
use assay_model::units::{BytesPerSec, Nanos};
use assay_stats::course::{Course, Level};
use assay_stats::derive::{MetricName, in_words, subject_in_words};

/// Describes a job: `random read, 4 KiB blocks, depth 8, io_uring, direct`.
pub fn job(job: &Job) -> String {
    if let Some(description) = &job.description {
        return description.clone();
    }
    let mut words = vec![pattern(job), tr!("{bs} blocks", bs = job.bs)];
    if job.iodepth > 1 {
        words.push(tr!("depth {n}", n = job.iodepth));
    }
    if job.numjobs > 1 {
        words.push(tr!("{n} workers", n = job.numjobs));
    }
    words.push(job.ioengine.to_string());
    words.push(
        if job.direct {
            tr!("direct")
        } else {
            tr!("buffered")
        }
        .to_owned(),
    );
    words.extend(durability(job));
    if let Some(rate) = job.rate {
        words.push(match rate {
            RateLimit::BytesPerSec(limit) => {
                let limit = BytesPerSec(limit as f64);
                tr!("at most {limit} a worker", limit)
            }
            RateLimit::Iops(limit) => tr!("at most {limit} IOPS a worker", limit),
        });
    }
    if job.cache_state == CacheState::Warm {
        words.push(tr!("cache warmed on purpose").to_owned());
    }
    words.join(", ")
}

fn pattern(job: &Job) -> String {
    match job.rw {
        Rw::Read => tr!("sequential read").to_owned(),
        Rw::Write => tr!("sequential write").to_owned(),
        Rw::RandRead => tr!("random read").to_owned(),
        Rw::RandWrite => tr!("random write").to_owned(),
        Rw::Rw => tr!("sequential, {percent} % reads", percent = job.read_percent),
        Rw::RandRw => tr!("random, {percent} % reads", percent = job.read_percent),
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
        Some((1, every)) => words.push(tr!("{call} after each write", call = call(every))),
        Some((n, every)) => words.push(tr!("{call} after every {n} writes", call = call(every), n)),
    }
    if let Some(end) = job.flush.at_end {
        words.push(tr!("{call} at the end", call = call(end)));
    }
    words
}

/// Subject of metrics of writes with their flush.
pub const DURABLE_WRITE: &str = "durable_write";

/// Returns the name of a figure next to its job: `read`, `write p99`, `flush p50`; the direction
/// alone stands for its rate.
pub fn metric(name: &str) -> String {
    clean(&in_words(name))
}

/// Names the direction: reads or writes.
pub fn direction(direction: Direction) -> &'static str {
    subject_in_words(direction.name())
}

/// Returns the 99th percentile of the latency that belongs to a figure, with its label if that
/// differs from the figure's.
pub fn p99_of(job: &JobSummary<'_>, figure: &Figure) -> Option<(Figure, Option<&'static str>)> {
    let subject = match MetricName::parse(&figure.name)?.subject {
        "write" if job.figure("durable_write_lat_p50").is_some() => DURABLE_WRITE,
        subject => subject,
    };
    let p99 = job.figure(&format!("{subject}_lat_p99"))?;
    let differs = p99.labels.agreed() != figure.labels.agreed();
    let label = differs.then(|| translated(p99.labels.agreed().unwrap_or(DIFFERS)));
    Some((p99, label))
}

/// Returns the percentiles of writes with their flush, for a figure of writes.
pub fn durable(job: &JobSummary<'_>, figure: &Figure) -> Option<String> {
    let name = MetricName::parse(&figure.name)?;
    name.direction.filter(|of| *of == Direction::Write)?;
    let shown = ["p50", "p95", "p99"].into_iter().filter_map(|percentile| {
        let found = job.figure(&format!("{DURABLE_WRITE}_lat_{percentile}"))?;
        let value = quantity(found.unit, found.stats.median);
        Some(format!("{percentile} {value}"))
    });
    let shown: Vec<String> = shown.collect();
    let percentiles = shown.join(tr!(", "));
    (!shown.is_empty()).then(|| {
        tr!(
            "Durable write latency, write and flush: {percentiles}",
            percentiles
        )
    })
}

/// Describes the course of a trial: its levels, its stalls or its longest wait.
pub fn course(trial: &JudgedTrial<'_>, course: &Course) -> String {
    let mut words = vec![levels(&course.levels), settled(course), stalls(course)];
    let gap = trial.measured().and_then(|measured| measured.longest_gap);
    if let (Some(gap), None) = (gap, course.longest_stall()) {
        let gap = Nanos(gap.length_ns);
        words.push(tr!("longest time without a completion {gap}", gap));
    }
    if trial.record.outcome != Outcome::Completed {
        words.push(tr!(
            "the trial {outcome}",
            outcome = translated(trial.record.outcome.word())
        ));
    }
    words.retain(|sentence| !sentence.is_empty());
    words.join("; ")
}

/// Describes the steady state: `steady from 2.0 s on, drift +0.3 % ± 1.1 %`; empty for a trial that
/// is too short.
fn settled(course: &Course) -> String {
    let Some(settled) = course.settled else {
        return String::new();
    };
    let found = settled.steadiness;
    let from = match settled.from {
        Nanos(0) => String::new(),
        from => tr!(" from {from} on", from),
    };
    let drift = format!(
        "{:+.1} % ± {:.1} %",
        100.0 * found.drift,
        100.0 * found.error
    );
    match found.steady {
        true => tr!("steady{from}, drift {drift}", from, drift),
        false => tr!("not steady{from}, drift {drift}", from, drift),
    }
}

/// Describes stalls: `no stalls`, or `2 stalls, the longest 1.31 s at 30.1 s`.
pub fn stalls(course: &Course) -> String {
    course.longest_stall().map_or_else(
        || tr!("no stalls").to_owned(),
        |longest| {
            tr!(
                "{stalls}, the longest {longest} at {start}",
                stalls = counted!(course.stalls.len(), "{n} stall", "{n} stalls"),
                longest = longest.length,
                start = longest.start
            )
        },
    )
}

/// Number of steps above which they are counted instead of listed.
const STEPS_TOLD: usize = 2;

/// Describes levels: `82.0 MB/s until 640 MiB, then 31.0 MB/s`.
pub fn levels(levels: &[Level]) -> String {
    let rate = |level: &Level| quantity(Unit::BytesPerSec, level.rate);
    let Some((last, before)) = levels.split_last() else {
        return String::new();
    };
    if before.is_empty() {
        return tr!("{rate} on average", rate = rate(last));
    }
    if before.len() > STEPS_TOLD {
        let rates = levels.iter().map(|level| level.rate);
        let (low, high) = extremes(rates).unwrap_or_default();
        return tr!(
            "{first} at first, {last} at the end, {levels} levels of {range}",
            first = rate(&before[0]),
            last = rate(last),
            levels = levels.len(),
            range = range(Unit::BytesPerSec, low, high)
        );
    }
    let steps = before.iter().zip(&levels[1..]);
    let steps = steps.map(|(level, next)| {
        tr!(
            "{rate} until {bytes}",
            rate = rate(level),
            bytes = next.bytes_before
        )
    });
    let steps: Vec<String> = steps.collect();
    tr!(
        "{steps}, then {last}",
        steps = steps.join(", "),
        last = rate(last)
    )
}

/// Returns facts about the run.
pub fn run_facts(summary: &Summary<'_>) -> Vec<Fact> {
    let run = summary.run;
    let header = &run.header;
    labels::known([
        (tr!("run"), Some(clean(&header.id))),
        (tr!("started"), Some(utc(header.started_unix_ms))),
        (
            tr!("took"),
            labels::took(run).map(|nanos| nanos.to_string()),
        ),
        (
            tr!("status"),
            Some(translated(run.status.word()).to_owned()),
        ),
        (tr!("trials"), Some(trials(summary))),
        (tr!("command"), Some(clean(&header.command.join(" ")))),
        (tr!("target"), header.target.as_deref().map(clean)),
        (tr!("project"), header.project.as_deref().map(clean)),
        (
            tr!("test file"),
            (header.plan.file_size.0 > 0).then(|| header.plan.file_size.to_string()),
        ),
        (tr!("seed"), Some(header.plan.seed.to_string())),
        ("assay", Some(build(run))),
    ])
}

/// Names the build of assay that made a run, with the agent's if it differs.
pub fn build(run: &Run) -> String {
    let Some(builds) = &run.header.builds else {
        return clean(&run.header.assay_version);
    };
    let (host, agent) = (clean(&builds.host), clean(&builds.agent));
    match host == agent {
        true => host,
        false => tr!("{host} (agent {agent})", host, agent),
    }
}

/// Counts the trials: `21 completed, 3 skipped`, or the number of planned ones that exist.
pub fn trials(summary: &Summary<'_>) -> String {
    let outcomes = summary.outcomes();
    let words: Vec<String> = outcomes
        .iter()
        .map(|(word, n)| tr!("{n} {outcome}", n, outcome = translated(word)))
        .collect();
    let planned: usize = summary.jobs.iter().map(|job| job.planned).sum();
    let missing = planned.saturating_sub(summary.run.trials.len());
    match (words.is_empty(), missing) {
        (true, 0) => tr!("none").to_owned(),
        (true, missing) => tr!("none of {missing}", missing),
        (false, 0) => words.join(", "),
        (false, missing) => tr!(
            "{outcomes}, {missing} not run",
            outcomes = words.join(", "),
            missing
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Flush;
    use assay_model::units::Bytes;

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
        assert_eq!(levels(&cliff[..1]), "80.0 MB/s on average");
        let wild = [
            level(80e6, 0),
            level(8e6, 400),
            level(90e6, 410),
            level(20e6, 900),
        ];
        assert_eq!(
            levels(&wild),
            "80.0 MB/s at first, 20.0 MB/s at the end, 4 levels of 8.00 .. 90.0 MB/s"
        );
    }

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
        let durable = metric("durable_write_lat_p50");
        assert_eq!(durable, "durable write latency p50");
        assert_eq!(metric("longest_gap"), "longest gap");
    }
}

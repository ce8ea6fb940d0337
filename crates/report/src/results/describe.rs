//! Describes jobs, metrics and the course of a trial; why a run stopped before the end of its plan,
//! and the runs with which it alternated.
//!
//! The metric of a run's figure is named `JOB: METRIC`, and the job determines its position
//! ([`Jobs`]).

use crate::results::summary::{Figure, Group, JobSummary, JudgedTrial, Summary};
use crate::words::labels::DIFFERS;
use crate::words::{
    NameValue, clean, enumerate, extremes, labels, percent_points, quantity, range, utc,
};
use assay_lang::{counted, tr, translated};
use assay_model::figures::{self, Unit};
use assay_model::job::{CacheState, Direction, FlushCall, Job, OpenSync, RateLimit, Rw};
use assay_model::run::{Looks, Run, RunStatus};
use assay_model::trial::Outcome;
use assay_model::units::{BytesPerSec, Nanos};
use assay_stats::course::{Course, Level};
use assay_stats::derive::{MetricName, in_words, subject_in_words};
use std::collections::HashSet;

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
            RateLimit::Arrivals(rate) => tr!("{rate} arrivals a second", rate),
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
const STEPS_LISTED: usize = 2;

/// Describes levels: `82.0 MB/s until 640 MiB, then 31.0 MB/s`.
pub fn levels(levels: &[Level]) -> String {
    let rate = |level: &Level| quantity(Unit::BytesPerSec, level.rate);
    let Some((last, before)) = levels.split_last() else {
        return String::new();
    };
    if before.is_empty() {
        return tr!("{rate} on average", rate = rate(last));
    }
    if before.len() > STEPS_LISTED {
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
pub fn run_facts(summary: &Summary<'_>) -> Vec<NameValue> {
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

/// Returns a sentence for each; empty for a run with a fixed number of trials.
pub fn stopping_sentences(run: &Run) -> Vec<String> {
    let stopping = &run.header.stopping;
    let mut sentences: Vec<String> = looked_at(run).into_iter().collect();
    if let Some(budget) = stopping.budget {
        let rounds = counted!(run.whole_rounds(), "{n} trial", "{n} trials");
        sentences.push(tr!(
            "budget of {budget}: {rounds} of each out of {planned} planned",
            budget,
            rounds,
            planned = planned_rounds(run)
        ));
    }
    if let Some(paired) = &run.header.paired {
        sentences.push(tr!(
            "in turn with run {run}, as side {side}",
            run = paired.with,
            side = paired.side
        ));
    }
    sentences
}

/// Describes the interim analyses and their significance level; `None` for runs without any.
pub fn looked_at(run: &Run) -> Option<String> {
    let looks = run.header.stopping.looks.as_ref()?;
    let at: Vec<String> = looks.at.iter().map(u32::to_string).collect();
    if looks.runs_all {
        return Some(tr!(
            "extended: looked at after {looks} trials of each (margin {margin} %, the last look at a \
             level of {level} %, all looks together at most 10 %)",
            looks = enumerate(&at),
            margin = percent_points(looks.margin),
            level = format_args!("{:.2}", 100.0 * looks.alpha)
        ));
    }
    Some(tr!(
        "checked after {looks} trials of each (margin {margin} %, each at a level of {level} %), {ended}",
        looks = enumerate(&at),
        margin = percent_points(looks.margin),
        ended = end_of_looks(run, looks),
        level = format_args!("{:.2}", 100.0 * looks.alpha)
    ))
}

/// Returns the interim analysis that settled the result; `None` if none did, or the run was not
/// finished.
pub fn settled_at(run: &Run) -> Option<u32> {
    let looks = run.header.stopping.looks.as_ref()?;
    let rounds = run.whole_rounds();
    let early = rounds < planned_rounds(run) && looks.at.contains(&rounds);
    (early && run.status == RunStatus::Finished).then_some(rounds)
}

fn end_of_looks(run: &Run, looks: &Looks) -> String {
    let rounds = run.whole_rounds();
    match settled_at(run) {
        Some(look) => tr!("settled at {look}", look),
        None if rounds == planned_rounds(run) => {
            tr!("stopped at the last, {rounds}", rounds)
        }
        None if looks.at.contains(&rounds) => tr!("stopped at {rounds}", rounds),
        None => tr!("stopped in between, at {rounds}", rounds),
    }
}

fn planned_rounds(run: &Run) -> u32 {
    run.header.plan.order.last().map_or(0, |last| last.trial)
}

/// Jobs of several runs, each name once, in reading order.
#[derive(Clone, Debug)]
pub struct Jobs<'a> {
    jobs: Vec<(Group, &'a Job)>,
}

impl<'a> Jobs<'a> {
    /// Collects the jobs of all `runs`.
    pub fn of(runs: impl Iterator<Item = &'a Run>) -> Self {
        let mut jobs: Vec<(Group, &'a Job)> = Vec::new();
        for run in runs {
            for job in Summary::of(run).jobs {
                if !jobs.iter().any(|(_, known)| known.name == job.job.name) {
                    jobs.push((job.group, job.job));
                }
            }
        }
        jobs.sort_by_key(|(group, _)| *group);
        Self { jobs }
    }

    /// Returns the name and description of each job; safe to show.
    pub fn described(&self) -> Vec<(String, String)> {
        let jobs = self.jobs.iter();
        jobs.map(|(_, own)| (clean(&own.name), clean(&job(own))))
            .collect()
    }

    /// Groups items by the job of their metric, in reading order with the titles of the groups.
    /// Items without a job come last.
    pub fn grouped<T>(
        &self,
        all: impl Iterator<Item = T>,
        metric: impl Fn(&T) -> &str,
    ) -> Vec<(String, Vec<T>)> {
        let mut placed: Vec<(usize, T)> = all.map(|one| (self.place(metric(&one)), one)).collect();
        placed.sort_by_key(|(place, _)| *place);
        let mut groups: Vec<(String, Vec<T>)> = Vec::new();
        for (place, one) in placed {
            let title = match self.jobs.get(place) {
                Some((group, job)) => group_title(*group, job),
                None => tr!("Others").to_owned(),
            };
            match groups.iter_mut().find(|(known, _)| *known == title) {
                Some((_, group)) => group.push(one),
                None => groups.push((title, vec![one])),
            }
        }
        groups
    }

    fn place(&self, metric: &str) -> usize {
        let name = job_of(metric);
        let mut jobs = self.jobs.iter();
        let found = jobs.position(|(_, job)| Some(job.name.as_str()) == name);
        let of_all = || self.place_of_all(name?);
        found.or_else(of_all).unwrap_or(self.jobs.len())
    }

    /// Returns the position of a scenario as a whole: that of its last act.
    fn place_of_all(&self, name: &str) -> Option<usize> {
        let scenario = name.strip_suffix(WHOLE)?;
        let acts = |(group, _): &&(Group, &Job)| *group == Group::Act;
        let own = |(_, job): &(Group, &Job)| scenario_of(job) == Some(scenario);
        let named = self.jobs.iter().rposition(own);
        let alone = || self.jobs.iter().rposition(|job| acts(&job));
        named.or_else(alone)
    }
}

/// Suffix of the name of a whole scenario's figure.
const WHOLE: &str = ".all";

/// Returns the scenario of an act, if a run has several scenarios.
fn scenario_of(job: &Job) -> Option<&str> {
    job.name.split_once('.').map(|(scenario, _)| scenario)
}

/// Returns the title of a job's group; each scenario forms a group.
fn group_title(group: Group, job: &Job) -> String {
    match (group, scenario_of(job)) {
        (Group::Act | Group::Transactions, Some(scenario)) => {
            tr!("Scenario {scenario}", scenario = clean(scenario))
        }
        _ => group.title().to_owned(),
    }
}

fn job_of(metric: &str) -> Option<&str> {
    metric.split_once(": ").map(|(job, _)| job)
}

/// Returns the metrics of `figures` without duplicates, in order of first occurrence.
pub fn distinct_metrics<'a>(figures: impl Iterator<Item = &'a figures::Figure>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    let metrics = figures.map(|figure| figure.metric.as_str());
    metrics.filter(|metric| seen.insert(*metric)).collect()
}

/// Names a metric for readers: `rand-read-4k: read`, or only the job if the metric is its only one
/// (`alone`). Names of imported metrics are not changed.
pub fn spoken(named: &str, alone: bool) -> String {
    match named.split_once(": ") {
        Some((job, _)) if alone => clean(job),
        Some((job, name)) => format!("{}: {}", clean(job), metric(name)),
        None => clean(named),
    }
}

/// Returns true if a metric is the only one of its job among `all`.
pub fn is_alone<'a>(metric: &str, mut all: impl Iterator<Item = &'a str>) -> bool {
    let job = job_of(metric);
    job.is_some() && !all.any(|other| other != metric && job_of(other) == job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use assay_model::figures::Side;
    use assay_model::job::Flush;
    use assay_model::plan::rounds;
    use assay_model::run::{Paired, Stopping};
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

    /// Returns a run that ended after some of 20 rounds.
    fn looked_at_run(rounds_run: usize) -> Run {
        let mut run = fixture::run();
        run.header.plan.order = rounds(1, 0, 20, 1);
        let one = run.trials[0].clone();
        run.trials = vec![one; 1 + rounds_run];
        run.header.stopping = Stopping {
            looks: Some(Looks {
                at: vec![6, 10, 20],
                alpha: 0.0204,
                margin: 0.05,
                runs_all: false,
            }),
            budget: None,
        };
        run
    }

    #[test]
    fn it_is_said_where_a_run_ended() {
        let says = |rounds, words: &str| {
            let found = looked_at(&looked_at_run(rounds)).unwrap();
            assert!(found.contains(words), "{rounds}: {found}");
        };
        says(
            10,
            "after 6, 10 and 20 trials of each (margin 5 %, each at a level of 2.04 %), settled at 10",
        );
        says(20, "stopped at the last, 20");
        says(8, "stopped in between, at 8");
        says(8, "a level of 2.04 %");
        assert_eq!(looked_at(&fixture::run()), None);
        assert!(stopping_sentences(&fixture::run()).is_empty());
    }

    #[test]
    fn an_interrupted_run_is_not_settled() {
        let mut run = looked_at_run(10);
        assert_eq!(settled_at(&run), Some(10));
        run.status = RunStatus::Interrupted;
        assert_eq!(settled_at(&run), None);
        assert!(looked_at(&run).unwrap().contains("stopped at 10"));
    }

    #[test]
    fn budget_and_turns_are_told() {
        let mut run = looked_at_run(7);
        run.header.stopping = Stopping {
            looks: None,
            budget: Some(Nanos::secs(600)),
        };
        run.header.paired = Some(Paired {
            with: "other".to_owned(),
            side: Side::B,
            places: Vec::new(),
            turns: Vec::new(),
        });
        let found = stopping_sentences(&run);
        assert_eq!(
            found[0],
            "budget of 10 min 0 s: 7 trials of each out of 20 planned"
        );
        assert_eq!(found[1], "in turn with run other, as side B");
    }

    #[test]
    fn metrics_stand_where_their_jobs_do() {
        let run = fixture::run();
        let jobs = Jobs::of([&run].into_iter());
        let metrics = ["others", "rand-read-4k: read_iops", "seq-read-1m: read_bw"];
        let groups = jobs.grouped(metrics.into_iter(), |metric| metric);
        assert_eq!(
            groups,
            [
                ("Sequential".to_owned(), vec!["seq-read-1m: read_bw"]),
                ("Random read".to_owned(), vec!["rand-read-4k: read_iops"]),
                ("Others".to_owned(), vec!["others"]),
            ]
        );
    }

    #[test]
    fn the_only_metric_of_a_job_is_called_after_it() {
        let all = ["a: read_bw", "b: read_iops", "b: read_lat_p99", "seq read"];
        let spoken = all.map(|metric| spoken(metric, is_alone(metric, all.into_iter())));
        assert_eq!(spoken, ["a", "b: read", "b: read latency p99", "seq read"]);
    }
}

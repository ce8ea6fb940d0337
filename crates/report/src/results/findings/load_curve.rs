//! Describes the rates that storage serves, by trials of offered arrivals.

use crate::results::findings::Sentence;
use crate::results::summary::{Figure, JobSummary, JudgedTrial, Summary};
use crate::words::labels::{DIFFERS, Labels};
use assay_lang::{tr, translated};
use assay_model::job::{Job, RateLimit};
use assay_model::units::{Nanos, as_u64};
use std::collections::BTreeSet;

/// Latencies at one offered rate.
#[derive(Clone, Debug)]
pub struct OfferedRate {
    /// Offered I/Os per second.
    pub offered: u64,
    /// I/Os per second that were completed: the mean of the trials.
    pub served: f64,
    /// Median latency from when I/Os were due, in nanoseconds: the median of the trials.
    pub p50: Option<f64>,
    /// 99th percentile, likewise; `None` where a trial has too few I/Os to know it.
    pub p99: Option<f64>,
    /// 99.9th percentile, likewise.
    pub p99_9: Option<f64>,
    /// Highest 99th percentile of a trial.
    pub worst_p99: Option<f64>,
    /// `true` if every trial completed what was offered.
    pub keeps_up: bool,
    /// Labels of the latencies, of a mix those of both directions.
    pub labels: Labels,
}

/// Latencies of one kind of I/O by offered rate.
#[derive(Clone, Debug)]
pub struct LoadCurve {
    /// The I/O in words.
    pub io: String,
    /// Share of reads, in percent.
    pub reads: u8,
    /// Offered rates in ascending order.
    pub rates: Vec<OfferedRate>,
    /// I/Os per second of a closed loop that keeps as many I/Os in flight: the mean of the trials.
    pub most: Option<f64>,
}

/// Missing share of the offered I/Os that is tolerated.
const MISSING: f64 = 0.02;
/// Share of a trial's time by which its last I/O may end after it: more is a backlog.
const LATE: f64 = 0.05;
/// Labels that an answer does not repeat. That writes were not flushed is said.
const OF_DEVICES: [&str; 2] = ["device", "simulated"];
/// Limit of the 99th percentile that every answer names.
const USUAL_LIMIT: Nanos = Nanos::millis(5);

/// Returns the load curves of a run.
pub fn load_curves(summary: &Summary<'_>) -> Vec<LoadCurve> {
    let mut curves: Vec<LoadCurve> = Vec::new();
    let offered = |job: &JobSummary<'_>| match job.job.rate {
        Some(RateLimit::Arrivals(rate)) => Some(rate.saturating_mul(job.job.numjobs.into())),
        _ => None,
    };
    for job in &summary.jobs {
        let Some(rate) = offered(job).and_then(|rate| offered_rate(job, rate)) else {
            continue;
        };
        let reads = share_of_reads(job.job);
        let known = curves.iter().position(|curve| curve.reads == reads);
        let index = known.unwrap_or_else(|| {
            let most = summary
                .jobs
                .iter()
                .find(|other| is_closed_loop(other.job, job.job));
            curves.push(LoadCurve {
                io: io_in_words(job.job, reads),
                reads,
                rates: Vec::new(),
                most: most.and_then(served),
            });
            curves.len() - 1
        });
        curves[index].rates.push(rate);
    }
    for curve in &mut curves {
        curve.rates.sort_by_key(|rate| rate.offered);
    }
    curves.sort_by_key(|curve| u8::MAX - curve.reads);
    curves
}

/// Returns true for the job that offers no rate and is otherwise the same I/O.
fn is_closed_loop(job: &Job, of: &Job) -> bool {
    let same = |job: &Job| {
        (
            job.rw,
            job.read_percent,
            job.bs,
            job.ioengine,
            job.iodepth,
            job.direct,
        )
    };
    job.rate.is_none() && same(job) == same(of)
}

fn share_of_reads(job: &Job) -> u8 {
    match (job.rw.reads(), job.rw.writes()) {
        (true, true) => job.read_percent,
        (true, false) => 100,
        _ => 0,
    }
}

fn io_in_words(job: &Job, reads: u8) -> String {
    let bs = job.bs;
    match (reads, job.rw.is_random()) {
        (100, true) => tr!("random reads of {bs}", bs),
        (0, true) => tr!("random writes of {bs}", bs),
        (100, false) => tr!("reads of {bs}", bs),
        (0, false) => tr!("writes of {bs}", bs),
        _ => tr!("I/Os of {bs}, {reads} % of them reads,", bs, reads),
    }
}

/// Returns the mean of the completed I/Os per second, reads and writes together.
fn served(job: &JobSummary<'_>) -> Option<f64> {
    let rates = job.completed().filter_map(|trial| {
        let measured = trial.record.measured.as_ref()?;
        let ios = measured.read.ios + measured.write.ios;
        Some(ios as f64 * 1e9 / measured.elapsed_ns.max(1) as f64)
    });
    let rates: Vec<f64> = rates.collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

fn offered_rate(job: &JobSummary<'_>, offered: u64) -> Option<OfferedRate> {
    let sides = || {
        let all = [("read", job.job.rw.reads()), ("write", job.job.rw.writes())];
        all.into_iter()
            .filter_map(|(side, does)| does.then_some(side))
    };
    // Of a mix, the slower direction counts.
    let slower = |statistic: &str, of: fn(&Figure) -> f64| {
        let mut worst: Option<f64> = None;
        for side in sides() {
            let figure = job.figure(&format!("{side}_lat_{statistic}"))?;
            let known_in_all = figure.values.len() == job.completed().count();
            let value = known_in_all.then(|| of(&figure))?;
            worst = Some(worst.map_or(value, |worst| worst.max(value)));
        }
        worst
    };
    let keeps_up = |trial: &JudgedTrial<'_>| {
        trial.record.measured.as_ref().is_some_and(|measured| {
            let ios = (measured.read.ios + measured.write.ios) as f64;
            // What arrived in the trial may complete after it.
            let span_ns = job.job.runtime.map_or(measured.elapsed_ns, |time| time.0);
            let due = offered as f64 * span_ns as f64 / 1e9;
            let late_ns = measured.elapsed_ns.saturating_sub(span_ns) as f64;
            // The number of arrivals varies by its square root.
            due - ios <= MISSING * due + 3.0 * due.sqrt() && late_ns <= LATE * span_ns as f64
        })
    };
    let labels = sides().flat_map(|side| {
        let of_side = job.labels_of(&format!("{side}_lat_p50"));
        of_side.iter().cloned().collect::<Vec<_>>()
    });
    Some(OfferedRate {
        offered,
        served: served(job)?,
        p50: slower("p50", |figure| figure.stats.median),
        p99: slower("p99", |figure| figure.stats.median),
        p99_9: slower("p99.9", |figure| figure.stats.median),
        worst_p99: slower("p99", |figure| figure.stats.max),
        keeps_up: job.completed().all(keeps_up),
        labels: labels.collect(),
    })
}

impl LoadCurve {
    /// Returns the highest offered rate at which, as at all lower ones, every trial completes what
    /// is offered with a 99th percentile below `limit`.
    pub fn serves(&self, limit: Nanos) -> Option<u64> {
        let below = |rate: &&OfferedRate| {
            rate.keeps_up && rate.worst_p99.is_some_and(|p99| p99 < limit.0 as f64)
        };
        let last = self.rates.iter().take_while(below).last()?;
        Some(last.offered)
    }

    /// Returns the limits that an answer names, with their rates: that of 5 ms, and the lowest
    /// limit that the highest rate keeps.
    fn limits(&self) -> Vec<(Nanos, u64)> {
        let usual = self.serves(USUAL_LIMIT).map(|rate| (USUAL_LIMIT, rate));
        let highest = self.serves(Nanos(u64::MAX));
        let widest = limits().find_map(|limit| {
            let rate = self.serves(limit).filter(|rate| Some(*rate) == highest)?;
            Some((limit, rate))
        });
        let mut all: Vec<(Nanos, u64)> = widest.into_iter().chain(usual).collect();
        all.sort_by_key(|(limit, _)| *limit);
        // A lower limit at the same rate says more.
        all.dedup_by_key(|(_, rate)| *rate);
        all
    }

    /// Answers how much of this I/O the storage serves.
    pub fn answer(&self) -> String {
        let io = &self.io;
        let most = self.most.map_or_else(String::new, |most| {
            tr!("; at most {most} a second", most = as_u64(most))
        });
        match self.limits().as_slice() {
            [] => tr!(
                "No offered rate of {io} was served with a known 99th percentile{most}",
                io,
                most
            ),
            [(limit, rate)] => tr!(
                "Serves {rate} {io} a second with p99 below {limit}{most}",
                rate,
                io,
                limit,
                most
            ),
            [(limit, rate), .., (wider, higher)] => tr!(
                "Serves {rate} {io} a second with p99 below {limit}, {higher} below {wider}{most}",
                rate,
                io,
                limit,
                higher,
                wider,
                most
            ),
        }
    }
}

/// Answers how much the storage serves; `None` for a run without offered rates.
pub fn answer(summary: &Summary<'_>) -> Option<Sentence> {
    let curves = load_curves(summary);
    let text = match curves.as_slice() {
        [] => return None,
        [curve] => curve.answer(),
        curves => answer_on_mixes(curves),
    };
    Some(Sentence::plain(text + &not_of_a_device(&curves)))
}

/// Returns the labels that are not simply those of a device, for the end of an answer.
fn not_of_a_device(curves: &[LoadCurve]) -> String {
    let rates = curves.iter().flat_map(|curve| &curve.rates);
    let labels = rates.map(|rate| rate.labels.agreed().unwrap_or(DIFFERS));
    let others = labels.filter(|label| !OF_DEVICES.contains(label));
    let others: BTreeSet<&str> = others.map(translated).collect();
    match others.is_empty() {
        true => String::new(),
        false => tr!(
            "; measured: {labels}",
            labels = Vec::from_iter(others).join(", ")
        ),
    }
}

/// Answers how much of each mix is served, below the lowest limit from 5 ms on that all of them
/// keep at some rate.
fn answer_on_mixes(curves: &[LoadCurve]) -> String {
    let kept = |limit: &Nanos| curves.iter().all(|curve| curve.serves(*limit).is_some());
    let limit = limits().filter(|limit| *limit >= USUAL_LIMIT).find(kept);
    let limit = limit.unwrap_or(USUAL_LIMIT);
    let each = curves.iter().map(|curve| {
        let (rate, reads) = (curve.serves(limit), curve.reads);
        match rate {
            Some(rate) => tr!("{rate} at {reads} % reads", rate, reads),
            None => tr!("none at {reads} % reads", reads),
        }
    });
    tr!(
        "Serves with p99 below {limit}, in random I/Os a second: {each}",
        limit,
        each = each.collect::<Vec<_>>().join(", ")
    )
}

/// Limits that answers name: 10 µs, 20 µs, 50 µs and so on, to 50 s.
fn limits() -> impl Iterator<Item = Nanos> {
    let decades = (4..11).map(|power| 10_u64.pow(power));
    decades.flat_map(|decade| [1, 2, 5].map(|digit| Nanos(digit * decade)))
}

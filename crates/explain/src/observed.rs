//! Results of one job, under one condition, in one direction: all of its trials together.

use crate::as_f64;
use crate::requests::Requests;
use assay_model::job::{Direction, Job, Rw};
use assay_model::latency::LatencyRecord;
use assay_model::trial::{CpuUse, DirectionTotals, Measurement};
use assay_report::summary::{Group, JobSummary, JudgedTrial, Summary};
use assay_stats::latency::{Distribution, pooled};
use assay_stats::percentile::Percentile;
use std::collections::BTreeSet;

/// A result that is to be explained. Times are microseconds of an I/O.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The job.
    pub job: &'a Job,
    /// The condition it ran under.
    pub condition: Option<&'a str>,
    /// Which of its I/Os.
    pub direction: Direction,
    /// Label of the figures; `None` where the trials differ.
    pub label: Option<&'static str>,
    /// The sentence with the evidence of the label, of the first trial.
    pub because: String,
    /// Number of completed trials.
    pub trials: usize,
    /// I/Os of this direction in all of them.
    pub ios: u64,
    /// From submission to completion, on average.
    pub mean_us: f64,
    /// Median latency, in microseconds.
    pub median_us: f64,
    /// From one completion to the next, on average, of both directions.
    pub interval_us: f64,
    /// Flush calls behind writes, shared out to the writes.
    pub flush_us: f64,
    /// Number of these flush calls.
    pub flush_calls: u64,
    /// Processor time of the agent, user and kernel, of both directions.
    pub cpu_us: (f64, f64),
    /// `true` if the total processor time is enough for the kernel's ticks to tell user and kernel
    /// apart.
    pub cpu_told: bool,
    /// I/Os in flight.
    pub depth: u64,
    /// `true` if other jobs ran at the same time in the same wave.
    pub beside: bool,
    /// I/Os that failed or were cut short.
    pub damaged: u64,
    /// Counters of the block layer, or the reason why they cannot be used.
    pub requests: Result<Requests, String>,
    /// Trials for further analysis.
    pub judged: Vec<JudgedTrial<'a>>,
}

/// Why a job has nothing to be explained.
pub struct Unexplained<'a> {
    /// The job.
    pub job: &'a Job,
    /// The reason.
    pub why: Nothing,
}

/// The reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// No trial ran to its end.
    NotRun,
    /// Main memory was measured.
    Memory,
    /// It makes no I/O whose time is told.
    NoTimes,
}

/// Returns all results of a run, and the jobs without any.
pub fn all<'a>(summary: &Summary<'a>) -> (Vec<Observed<'a>>, Vec<Unexplained<'a>>) {
    let (mut found, mut without) = (Vec::new(), Vec::new());
    for job in &summary.jobs {
        let before = found.len();
        for condition in conditions(job) {
            for direction in [Direction::Read, Direction::Write] {
                found.extend(Observed::of(job, condition, direction));
            }
        }
        if found.len() == before {
            let why = nothing(job);
            without.push(Unexplained { job: job.job, why });
        }
    }
    (found, without)
}

fn conditions<'a>(job: &JobSummary<'a>) -> BTreeSet<Option<&'a str>> {
    job.completed()
        .map(|trial| trial.record.condition.as_deref())
        .collect()
}

fn nothing(job: &JobSummary<'_>) -> Nothing {
    match job.completed().next() {
        None => Nothing::NotRun,
        Some(_) if job.group == Group::Memory => Nothing::Memory,
        Some(_) => Nothing::NoTimes,
    }
}

impl<'a> Observed<'a> {
    fn of(
        summary: &JobSummary<'a>,
        condition: Option<&'a str>,
        direction: Direction,
    ) -> Option<Self> {
        let own = |trial: &&JudgedTrial<'a>| trial.record.condition.as_deref() == condition;
        let judged: Vec<JudgedTrial<'a>> = summary.completed().filter(own).cloned().collect();
        let measured: Vec<&Measurement> = judged.iter().filter_map(|t| t.measured()).collect();
        let sides = measured.iter().map(|measured| side(measured, direction));
        let sides: Vec<&DirectionTotals> = sides.collect();
        if summary.group == Group::Memory || !sides.iter().all(|side| is_sound(side)) {
            return None;
        }
        let (mean_us, median_us) = times(&sides)?;
        let ios = sides.iter().map(|side| side.ios).sum();
        let both = measured.iter().map(|m| m.read.ios + m.write.ios).sum();
        let elapsed_ns: f64 = measured.iter().map(|m| as_f64(m.elapsed_ns)).sum();
        let cpu: CpuUse = measured.iter().map(|m| m.cpu).sum();
        let flush = match direction {
            Direction::Write => pooled(measured.iter().map(|measured| &measured.flush)),
            Direction::Read => LatencyRecord::default(),
        };
        let job = summary.job;
        Some(Self {
            job,
            condition,
            direction,
            label: label(&judged, direction),
            because: because(&judged, direction),
            trials: judged.len(),
            ios,
            mean_us,
            median_us,
            interval_us: per(elapsed_ns, both),
            flush_us: per(as_f64(flush.sum_ns), ios),
            flush_calls: flush.count,
            cpu_us: (
                per(as_f64(cpu.user_ns), both),
                per(as_f64(cpu.system_ns), both),
            ),
            cpu_told: cpu.user_ns + cpu.system_ns >= FEWEST_CPU_NS,
            depth: u64::from(job.iodepth.max(1)) * u64::from(job.numjobs.max(1)),
            beside: judged.iter().any(ran_beside),
            damaged: damaged(&measured, &sides),
            requests: Requests::of(&judged, direction, ios),
            judged,
        })
    }

    /// The time of an I/O that nothing held up: the mean, unless slow I/Os lift it further
    /// above the median than a bin of the histogram is wide.
    pub fn typical_us(&self) -> f64 {
        match self.mean_us > self.median_us * (1.0 + BIN) {
            true => self.median_us,
            false => self.mean_us,
        }
    }

    /// `true` if the time is that of requests past the page cache.
    pub fn is_past_the_cache(&self) -> bool {
        matches!(
            self.label,
            Some("device" | "device-unflushed" | "simulated")
        )
    }

    /// `true` if the other result is comparable: the same pattern in the same direction and the
    /// same way, past the page cache, alone and as fast as it goes. Size, depth and place may
    /// differ.
    pub fn is_like(&self, other: &Observed<'_>) -> bool {
        let (a, b) = (self.job, other.job);
        other.is_past_the_cache()
            && !other.beside
            && other.direction == self.direction
            && other.label == self.label
            && (a.rw, a.direct, a.sync, a.flush) == (b.rw, b.direct, b.sync, b.flush)
            && (a.pattern, a.pause, a.purpose) == (b.pattern, b.pause, b.purpose)
            && a.rate.is_none()
            && b.rate.is_none()
    }

    /// `true` if each I/O follows the one before it, all in one direction: the time from one to the
    /// next is then that of an I/O and what passes outside of it.
    pub fn is_one_by_one(&self) -> bool {
        self.depth == 1 && !matches!(self.job.rw, Rw::Rw | Rw::RandRw)
    }

    /// `true` if a model of a device computed the result.
    pub fn is_simulated(&self) -> bool {
        self.label == Some("simulated")
    }

    /// The name of the job, with the condition.
    pub fn name(&self) -> String {
        match self.condition {
            Some(condition) => format!("{}@{condition}", self.job.name),
            None => self.job.name.clone(),
        }
    }

    /// `true` if each of its trials moved more than each of the other's: scatter between trials is
    /// no gain.
    pub fn is_surely_faster_than(&self, other: &Observed<'_>) -> bool {
        let slowest = self.trial_rates().fold(f64::INFINITY, f64::min);
        slowest > other.trial_rates().fold(0.0, f64::max)
    }

    /// Bytes per second of each trial, of both directions.
    fn trial_rates(&self) -> impl Iterator<Item = f64> {
        let measured = self.judged.iter().filter_map(JudgedTrial::measured);
        measured.map(|m| as_f64(m.read.bytes + m.write.bytes) / as_f64(m.elapsed_ns.max(1)) * 1e9)
    }

    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        as_f64(self.job.bs.0) / self.interval_us.max(1e-6) * 1e6
    }
}

/// Ticks are of 1 to 10 ms, and divide processor time into user's and kernel's: of 20 ticks
/// and more, the parts mean something.
const FEWEST_CPU_NS: u64 = 200_000_000;

/// Mean and median of the latencies of several trials.
fn times(sides: &[&DirectionTotals]) -> Option<(f64, f64)> {
    let latency = pooled(sides.iter().map(|side| &side.latency));
    let times = Distribution::of(&latency).ok()?;
    let median_ns = times.percentile_ns(Percentile::P50)?;
    Some((times.mean_ns()? / 1e3, as_f64(median_ns) / 1e3))
}

/// Relative width of a bin of the histogram.
const BIN: f64 = 1.0 / 64.0;

fn is_sound(side: &DirectionTotals) -> bool {
    side.ios > 0 && side.latency.count > 0 && Distribution::of(&side.latency).is_ok()
}

/// One direction of a measurement.
pub fn side(measured: &Measurement, direction: Direction) -> &DirectionTotals {
    match direction {
        Direction::Read => &measured.read,
        Direction::Write => &measured.write,
    }
}

/// Microseconds of each, of a sum of nanoseconds.
fn per(sum_ns: f64, count: u64) -> f64 {
    sum_ns / as_f64(count.max(1)) / 1e3
}

fn damaged(measured: &[&Measurement], sides: &[&DirectionTotals]) -> u64 {
    let failed: u64 = measured.iter().map(|measured| measured.errors.count).sum();
    failed + sides.iter().map(|side| side.short_ios).sum::<u64>()
}

fn label(judged: &[JudgedTrial<'_>], direction: Direction) -> Option<&'static str> {
    let labels = judged
        .iter()
        .flat_map(|trial| trial.labels(Some(direction)));
    labels.collect::<assay_report::labels::Labels>().agreed()
}

fn because(judged: &[JudgedTrial<'_>], direction: Direction) -> String {
    let mut sides = judged.iter().flat_map(JudgedTrial::directions);
    let found = sides.find(|(of, _)| *of == direction);
    found.map_or_else(String::new, |(_, evidence)| evidence.because.clone())
}

/// Other jobs of the same wave moved something meanwhile.
fn ran_beside(trial: &JudgedTrial<'_>) -> bool {
    let wave = trial.record.wave.as_deref();
    wave.is_some_and(|wave| wave.load.streams.len() > wave.members.len())
}

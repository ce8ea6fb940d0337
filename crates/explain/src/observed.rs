//! Results of a job under one condition in one direction, over all of its trials.

use crate::as_f64;
use assay_lang::tr;
use assay_model::evidence::{DeviceCounters, Evidence, LatencyRecord, Snapshot};
use assay_model::job::{Direction, Job, Rw};
use assay_model::trial::{CpuUse, DirectionTotals, Measurement};
use assay_report::summary::{Group, JobSummary, JudgedTrial, Summary};
use assay_stats::histogram::Percentile;
use assay_stats::latency::{Distribution, pooled};
use std::collections::BTreeSet;

/// Result to explain. Times are in microseconds per I/O.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The job.
    pub job: &'a Job,
    /// Condition of the trials; `None` if the run has no conditions.
    pub condition: Option<&'a str>,
    /// Direction of the I/Os.
    pub direction: Direction,
    /// Label of the figures; `None` if the trials have different labels.
    pub label: Option<&'static str>,
    /// Reason for the label, from the evidence of the first trial.
    pub because: String,
    /// Number of completed trials.
    pub trials: usize,
    /// Number of I/Os in this direction, over all trials.
    pub ios: u64,
    /// Mean latency, from submission to completion.
    pub mean_us: f64,
    /// Median latency, in microseconds.
    pub median_us: f64,
    /// Mean time from one completion to the next, over both directions.
    pub interval_us: f64,
    /// Time of the flush calls after writes, divided among the writes.
    pub flush_us: f64,
    /// Number of these flush calls.
    pub flush_calls: u64,
    /// Processor time of the agent in user and kernel mode, for I/Os of both directions.
    pub cpu_us: (f64, f64),
    /// True if the total processor time is long enough for the kernel's ticks to separate user and
    /// kernel time.
    pub cpu_told: bool,
    /// Number of I/Os in flight.
    pub depth: u64,
    /// True if other jobs ran in the same wave.
    pub beside: bool,
    /// I/Os that failed or were cut short.
    pub damaged: u64,
    /// Counters of the block layer, or the reason why they cannot be used.
    pub requests: Result<Requests, String>,
    /// Completed trials.
    pub judged: Vec<JudgedTrial<'a>>,
}

/// Job without results to explain.
pub struct Unexplained<'a> {
    /// The job.
    pub job: &'a Job,
    /// The reason.
    pub why: Nothing,
}

/// Reason why a job is not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// No trial completed.
    NotRun,
    /// The job measures main memory.
    Memory,
    /// The job has no I/O whose latency is recorded.
    NoTimes,
}

/// Returns all results of a run, and the jobs that have none.
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

    /// Returns the mean latency, or the median if slow I/Os lift the mean above it by more than the
    /// width of a histogram bin.
    pub fn typical_us(&self) -> f64 {
        match self.mean_us > self.median_us * (1.0 + BIN) {
            true => self.median_us,
            false => self.mean_us,
        }
    }

    /// Returns true if the I/Os went past the page cache.
    pub fn is_past_the_cache(&self) -> bool {
        matches!(
            self.label,
            Some("device" | "device-unflushed" | "simulated")
        )
    }

    /// Returns true if the other result is comparable: past the page cache, with the same label,
    /// direction, pattern, flags and flushes, without concurrent jobs and without a rate limit.
    /// Size, depth and test area may differ.
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

    /// Returns true if the I/Os follow each other in one direction. The interval between two
    /// completions is then the latency plus the time between two I/Os.
    pub fn is_one_by_one(&self) -> bool {
        self.depth == 1 && !matches!(self.job.rw, Rw::Rw | Rw::RandRw)
    }

    /// Returns true if a device model computed the result.
    pub fn is_simulated(&self) -> bool {
        self.label == Some("simulated")
    }

    /// Returns the name of the job, followed by the condition.
    pub fn name(&self) -> String {
        match self.condition {
            Some(condition) => format!("{}@{condition}", self.job.name),
            None => self.job.name.clone(),
        }
    }

    /// Returns true if each of its trials was faster than each of the other's, so that the
    /// difference exceeds the scatter between trials.
    pub fn is_surely_faster_than(&self, other: &Observed<'_>) -> bool {
        let slowest = self.trial_rates().fold(f64::INFINITY, f64::min);
        slowest > other.trial_rates().fold(0.0, f64::max)
    }

    /// Returns the bytes per second of each trial, over both directions.
    fn trial_rates(&self) -> impl Iterator<Item = f64> {
        let measured = self.judged.iter().filter_map(JudgedTrial::measured);
        measured.map(|m| as_f64(m.read.bytes + m.write.bytes) / as_f64(m.elapsed_ns.max(1)) * 1e9)
    }

    /// Returns the bytes per second.
    pub fn rate(&self) -> f64 {
        as_f64(self.job.bs.0) / self.interval_us.max(1e-6) * 1e6
    }
}

/// Minimum processor time that ticks divide into user and kernel time. A tick lasts 1 to 10 ms, so
/// that this is at least 20 ticks.
const FEWEST_CPU_NS: u64 = 200_000_000;

/// Returns the mean and the median latency over several trials, in microseconds.
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

/// Returns one direction of a measurement.
pub fn side(measured: &Measurement, direction: Direction) -> &DirectionTotals {
    match direction {
        Direction::Read => &measured.read,
        Direction::Write => &measured.write,
    }
}

/// Divides a sum of nanoseconds by a count, in microseconds.
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

/// Returns true if other jobs of the same wave had streams in it.
fn ran_beside(trial: &JudgedTrial<'_>) -> bool {
    let wave = trial.record.wave.as_deref();
    wave.is_some_and(|wave| wave.load.streams.len() > wave.members.len())
}

/// Requests of the device under test (`/sys/class/block/NAME/stat`). The kernel counts a request's
/// time from its allocation to its end, which includes the wait in the scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// Number of requests for each I/O of the job.
    pub per_io: f64,
    /// Mean time of a request, in microseconds.
    pub mean_us: f64,
    /// Number of counted requests.
    pub count: u64,
}

/// Minimum sum of request times. The kernel counts whole milliseconds, so that less is inexact.
const FEWEST_MS: u64 = 50;

impl Requests {
    /// Sums the requests of a job's trials, which had `ios` I/Os in total.
    pub fn of(judged: &[JudgedTrial<'_>], direction: Direction, ios: u64) -> Result<Self, String> {
        let (mut count, mut ms) = (0, 0);
        for trial in judged {
            let evidence = trial.record.evidence.as_ref();
            let evidence = evidence.ok_or_else(|| tr!("no evidence was recorded").to_owned())?;
            disturbed(trial)?;
            let (before, after) = top(evidence)
                .ok_or_else(|| tr!("the kernel has no counters of this device").to_owned())?;
            let of = |counters: &DeviceCounters| match direction {
                Direction::Read => (counters.read_ios, counters.read_ms),
                Direction::Write => (counters.write_ios, counters.write_ms),
            };
            count += of(after).0.saturating_sub(of(before).0);
            ms += of(after).1.saturating_sub(of(before).1);
        }
        if ms < FEWEST_MS || count == 0 {
            return Err(tr!("the kernel counted too few milliseconds of requests").to_owned());
        }
        Ok(Self {
            per_io: as_f64(count) / as_f64(ios.max(1)),
            mean_us: as_f64(ms) * 1e3 / as_f64(count),
            count,
        })
    }

    /// Returns true if each I/O was one request, so that the times of both are comparable.
    pub fn is_one_each(&self) -> bool {
        (0.98..=1.02).contains(&self.per_io)
    }
}

/// Returns an error if other programs made more than 1 % of the counted I/O.
fn disturbed(trial: &JudgedTrial<'_>) -> Result<(), String> {
    let judgement = trial.derived.judgement.as_ref();
    let foreign = judgement.and_then(|judgement| judgement.foreign.as_ref());
    let others = foreign.map_or(0, |foreign| foreign.read_bytes + foreign.write_bytes);
    let measured = trial.measured();
    let own = measured.map_or(0, |measured| measured.read.bytes + measured.write.bytes);
    match others > own / 100 {
        true => Err(tr!("the counters have requests of others among them").to_owned()),
        false => Ok(()),
    }
}

/// Returns the counters of the device under test, before and after the trial.
fn top(evidence: &Evidence) -> Option<(&DeviceCounters, &DeviceCounters)> {
    let name = &evidence.storage.top()?.name;
    let queue = evidence.queues.iter().find(|queue| queue.name == *name);
    if queue.and_then(|queue| queue.iostats) == Some(false) {
        return None;
    }
    pair(evidence, name)
}

fn pair<'e>(
    evidence: &'e Evidence,
    name: &str,
) -> Option<(&'e DeviceCounters, &'e DeviceCounters)> {
    let of = |snapshot: &'e Snapshot| {
        let mut devices = snapshot.devices.iter();
        devices.find(|counters| counters.name == name)
    };
    Some((of(&evidence.before)?, of(&evidence.after)?))
}

/// Returns the number of flushes that the disk completed, and their total milliseconds. Returns
/// `None` if the disk does not count flushes, if other programs used it, or if there are several
/// disks, because their flushes overlap.
pub fn flushes(judged: &[JudgedTrial<'_>]) -> Option<(u64, u64)> {
    let (mut count, mut ms) = (0, 0);
    for trial in judged {
        let evidence = trial.record.evidence.as_ref()?;
        let mut leaves = evidence.storage.leaves();
        let (Some(leaf), None) = (leaves.next(), leaves.next()) else {
            return None;
        };
        disturbed(trial).ok()?;
        let (before, after) = pair(evidence, &leaf.name)?;
        count += after.flush_ios?.saturating_sub(before.flush_ios?);
        ms += after.flush_ms?.saturating_sub(before.flush_ms?);
    }
    Some((count, ms))
}

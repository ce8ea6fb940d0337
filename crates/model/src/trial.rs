//! One trial: one execution of one job, raw counters and evidence.

use crate::condition::InForce;
use crate::evidence::Evidence;
use crate::job::{Direction, Job};
use crate::latency::LatencyRecord;
use crate::load::report::WaveRecord;
use crate::work::StepDetail;
use assay_lang::key;
use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// All of it ran.
    Completed,
    /// It could not run here.
    Skipped {
        /// Why, one clause each.
        reasons: Vec<String>,
    },
    /// It ran into an error.
    Failed {
        /// What, where, and what to do.
        error: String,
    },
    /// It was stopped from outside.
    Interrupted,
}

impl Outcome {
    /// One word, as in JSON.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Completed => key!("completed"),
            Self::Skipped { .. } => key!("skipped"),
            Self::Failed { .. } => key!("failed"),
            Self::Interrupted => key!("interrupted"),
        }
    }
}

/// Everything recorded about one trial. Raw: metrics and labels are derived
/// from it on read, so an old run can be judged by newer rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// What was done.
    pub job: Job,
    /// Repetition of this job in the run, from 1; 0 for one that only brings the
    /// storage into the state that the others find, and makes no figure.
    pub trial: u32,
    /// Place in the run's order, from 0.
    pub position: u32,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Seed of orders and contents.
    pub seed: u64,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What was measured; `None` when it did not start.
    pub measured: Option<Measurement>,
    /// What the kernel said; `None` when it did not start.
    pub evidence: Option<Evidence>,
    /// For a job of a load: all that ran beside it, by which it is then judged.
    #[cfg_attr(not(feature = "works"), serde(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<Box<WaveRecord>>,
    /// For a step of a work: what it tells beyond `measured`.
    #[cfg_attr(not(feature = "works"), serde(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<StepDetail>>,
    /// Name of the condition that it ran under; `None`: as the machine was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What of that condition was read back right before the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_force: Vec<InForce>,
}

impl TrialRecord {
    /// A trial of which nothing was measured, as the machine was.
    #[must_use]
    pub const fn new(job: Job, trial: u32, position: u32, seed: u64, outcome: Outcome) -> Self {
        Self {
            job,
            trial,
            position,
            started_unix_ms: 0,
            seed,
            outcome,
            measured: None,
            evidence: None,
            wave: None,
            detail: None,
            condition: None,
            in_force: Vec::new(),
        }
    }

    /// A trial whose condition did not last is none under it.
    pub fn under(&mut self, held: Result<(), String>) {
        if let (Outcome::Completed, Err(error)) = (&self.outcome, held) {
            self.outcome = Outcome::Failed { error };
        }
    }

    /// Whether what was read back is not what had been written.
    #[must_use]
    pub fn lost_data(&self) -> bool {
        self.detail.as_deref().is_some_and(StepDetail::differs)
    }
}

impl TrialRecord {
    /// Whether it makes figures: those of round 0 do not.
    #[must_use]
    pub const fn counts(&self) -> bool {
        self.trial > 0
    }
}

/// Raw results of the measured time, all workers together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// From clock start to clock stop.
    pub elapsed_ns: u64,
    /// Reads.
    pub read: DirectionTotals,
    /// Writes.
    pub write: DirectionTotals,
    /// Flush calls, each from call to return.
    pub flush: LatencyRecord,
    /// Groups of writes that a flush follows, each from its first write to the end of that
    /// flush; `None` where the job does not flush after so many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<LatencyRecord>,
    /// Bytes written that no flush covers which began after they were written; `None` where
    /// nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unflushed_bytes: Option<u64>,
    /// Completions over time.
    pub series: Series,
    /// The longest time without a completion of any worker.
    pub longest_gap: Option<Gap>,
    /// I/O errors.
    pub errors: IoErrors,
    /// Processor use of the agent.
    pub cpu: CpuUse,
}

/// One direction of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionTotals {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that the kernel cut short and that were continued.
    pub short_ios: u64,
    /// From submission to completion (fio's clat for synchronous engines).
    pub latency: LatencyRecord,
    /// Time spent in the submission call; only asynchronous engines have it
    /// apart.
    pub submission: Option<LatencyRecord>,
    /// How long the clock of this direction ran, in nanoseconds, where that is less than the
    /// measurement took: a job that writes and then reads back does one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ns: Option<u64>,
}

impl Measurement {
    /// How long the clock of a direction ran, in nanoseconds: what its rate is divided by.
    #[must_use]
    pub fn clock_ns(&self, direction: Direction) -> u64 {
        let totals = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        };
        totals.clock_ns.unwrap_or(self.elapsed_ns)
    }
}

/// Completions per interval, empty intervals included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Width of an interval.
    pub interval_ns: u64,
    /// In order from clock start; the last may be shorter.
    pub points: Vec<Interval>,
}

/// One interval of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads completed.
    pub read_ios: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Bytes trimmed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_bytes: u64,
    /// Trims completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_ios: u64,
    /// Longest latency that ended in it.
    pub max_latency_ns: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields over by reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A time without any completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Begin, from clock start.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
}

/// Errors, counted and located.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrors {
    /// How many.
    pub count: u64,
    /// The first ones.
    pub first: Vec<IoErrorRecord>,
}

/// One failed I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrorRecord {
    /// Direction; `None` for a flush.
    pub direction: Option<Direction>,
    /// Where in the file or device.
    pub offset: u64,
    /// Length asked for.
    pub length: u64,
    /// Error number of the kernel; `None` for an unexpected end of file.
    pub errno: Option<i32>,
    /// In words.
    pub message: String,
    /// When, from clock start.
    pub at_ns: u64,
}

/// Processor time and switches of the agent during the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Waits.
    pub voluntary_switches: u64,
    /// Preemptions.
    pub involuntary_switches: u64,
}

impl CpuUse {
    /// What was used since an earlier reading of the same counters.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
        }
    }
}

/// What several threads used, together.
impl std::iter::Sum for CpuUse {
    fn sum<I: Iterator<Item = Self>>(uses: I) -> Self {
        uses.fold(Self::default(), |a, b| Self {
            user_ns: a.user_ns + b.user_ns,
            system_ns: a.system_ns + b.system_ns,
            voluntary_switches: a.voluntary_switches + b.voluntary_switches,
            involuntary_switches: a.involuntary_switches + b.involuntary_switches,
        })
    }
}

//! One trial: one execution of one job, raw counters and evidence.

use crate::act::StepDetail;
use crate::condition::{InForce, Restore, TEMPERATURE, parse_celsius};
use crate::evidence::Evidence;
pub use crate::evidence::{
    CpuUse, DirectionTotals, Gap, Interval, IoErrorRecord, IoErrors, Measurement, Series,
};
use crate::job::Job;
use crate::load::report::WaveRecord;
use assay_lang::key;
use serde::{Deserialize, Serialize};

/// Prefix of the error of a step whose device was lost; the amount done follows.
pub const WENT_AWAY: &str = "it went away after ";

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// The trial ran completely.
    Completed,
    /// The trial could not run here.
    Skipped {
        /// Reasons, one clause each.
        reasons: Vec<String>,
    },
    /// The trial ended with an error.
    Failed {
        /// Error message: what failed, where, and what to do.
        error: String,
    },
    /// The trial was stopped by the user or another process.
    Interrupted,
}

impl Outcome {
    /// Returns the name of the outcome, as in JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Completed => key!("completed"),
            Self::Skipped { .. } => key!("skipped"),
            Self::Failed { .. } => key!("failed"),
            Self::Interrupted => key!("interrupted"),
        }
    }
}

/// Complete record of one trial. It is raw: metrics and labels are derived on read, so newer rules
/// can judge an old run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Job that the trial ran.
    pub job: Job,
    /// Repetition of this job in the run, from 1; 0 for a conditioning trial, which only prepares
    /// the state of the storage and gives no figure.
    pub trial: u32,
    /// Place in the run's order, from 0.
    pub position: u32,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Seed of orders and contents.
    pub seed: u64,
    /// Outcome of the trial.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Measured values; `None` when the trial did not start.
    pub measured: Option<Measurement>,
    /// Kernel evidence; `None` when the trial did not start.
    pub evidence: Option<Evidence>,
    /// Wave of a load that the job ran in, by which it is judged.
    #[cfg_attr(not(feature = "works"), serde(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<Box<WaveRecord>>,
    /// Results of a step of an act beyond `measured`.
    #[cfg_attr(not(feature = "works"), serde(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<StepDetail>>,
    /// Index of the slot of its act, in a run of several acts.
    #[cfg_attr(not(feature = "works"), serde(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// Name of the condition; `None` if the machine was left as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Settings of that condition, read back right before the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_force: Vec<InForce>,
}

impl TrialRecord {
    /// Creates the record of a trial without measured values and without a condition.
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
            slot: None,
            condition: None,
            in_force: Vec::new(),
        }
    }

    /// Changes a completed trial to a failed one if its condition did not stay in force.
    pub fn under(&mut self, held: Result<(), String>) {
        if let (Outcome::Completed, Err(error)) = (&self.outcome, held) {
            self.outcome = Outcome::Failed { error };
        }
    }

    /// `true` if data read back differs from data written.
    pub fn lost_data(&self) -> bool {
        self.detail.as_deref().is_some_and(StepDetail::differs)
    }
}

impl TrialRecord {
    /// `true` if the trial completed and contributes to figures.
    pub fn gives_figures(&self) -> bool {
        self.outcome == Outcome::Completed && self.counts()
    }

    /// `true` if the trial contributes to figures: trials of round 0 do not.
    pub const fn counts(&self) -> bool {
        self.trial > 0
    }
}

impl Restore {
    /// Sets the temperature window around the first temperature recorded in these trials.
    #[must_use]
    pub fn after(mut self, trials: &[TrialRecord]) -> Self {
        if let Some(window) = &mut self.temperature {
            let known = trials.iter().flat_map(|trial| &trial.in_force);
            let mut known = known.filter(|known| known.subject == TEMPERATURE);
            let first = known.find_map(|known| parse_celsius(known.value.as_deref()?));
            window.around = window.around.or(first);
        }
        self
    }
}

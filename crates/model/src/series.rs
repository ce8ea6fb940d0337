//! Series: a metric of a job on a device over many runs, its changes, and what users say of them.

use crate::figures::Better;
use crate::metric::Unit;
use serde::{Deserialize, Serialize};

/// A series, with the span of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSeries {
    /// 12 hexadecimal digits, the same in every store.
    pub key: String,
    /// Project of its runs.
    pub project: String,
    /// Model of the device.
    pub model: String,
    /// Unit of a device whose model has no name; empty: any unit of the model.
    pub unit: String,
    /// Machine that was measured.
    pub target: String,
    /// Name of the job.
    pub job: String,
    /// Hash of the job's resolved options.
    pub job_hash: String,
    /// Condition; empty: as the machine was.
    pub condition: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of every point: what was measured.
    pub label: String,
    /// Unit of the values.
    pub unit_of_measure: Unit,
    /// Direction in which the metric is good; without one, changes are not looked for.
    pub better: Option<Better>,
    /// `true` if the metric decides how good the job went, and is one of the device.
    pub primary: bool,
    /// `true` if it is a percentile of the tail.
    pub tail: bool,
    /// Number of its runs, as of the last search for changes.
    pub runs: u64,
    /// Start of the oldest run, milliseconds since 1970 (UTC).
    pub first_unix_ms: u64,
    /// Start of the newest run.
    pub last_unix_ms: u64,
    /// Figure of the newest run.
    pub last_centre: f64,
}

/// A run in a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Id of the run.
    pub run: String,
    /// Start of the run, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Number of trials.
    pub n: u32,
    /// Median of the trials; of a tail, the percentile of all operations together.
    pub centre: f64,
    /// A value per trial.
    pub samples: Vec<f64>,
}

crate::named! {
    /// Direction in which a series changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Turn {
        /// It became better.
        Faster = "faster",
        /// It became worse.
        Slower = "slower",
    }
}

/// Runs on one side of a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeSide {
    /// Runs that were compared.
    pub runs: u32,
    /// Geometric mean of their centres.
    pub centre: f64,
}

/// A circumstance that differs between the runs on both sides of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircumstanceChange {
    /// Name of the [`crate::facts::Circumstance`].
    pub circumstance: String,
    /// Value before the change.
    pub before: String,
    /// Value after it.
    pub after: String,
}

/// A change of a series between two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesChange {
    /// First run after the change.
    pub run: String,
    /// Last run before it.
    pub before_run: String,
    /// Start of the first run after it, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Start of the run with which there were runs enough to find it.
    pub found_unix_ms: u64,
    /// Direction of the change.
    pub turn: Turn,
    /// Change of the metric in percent.
    pub effect_percent: Option<f64>,
    /// 95 % confidence interval of the change in percent.
    pub effect_interval: Option<(f64, f64)>,
    /// Runs before it.
    pub before: ChangeSide,
    /// Runs from it on.
    pub after: ChangeSide,
    /// p value of the verdict.
    pub p: f64,
    /// Circumstances that changed with it.
    pub events: Vec<CircumstanceChange>,
    /// Name and version of the method that found it.
    pub method: String,
    /// `true` if the user accepted it.
    pub accepted: bool,
}

impl SeriesChange {
    /// `true` if it is a slowdown that nobody accepted.
    pub fn is_open(&self) -> bool {
        self.turn == Turn::Slower && !self.accepted
    }
}

crate::named! {
    /// Opinion of a user on a change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum OpinionState {
        /// It is a change and known.
        Accepted = "accepted",
        /// It is no change.
        False = "false",
    }
}

/// Opinion of a user on the change of a series at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// Key of the series.
    pub series: String,
    /// First run after the change.
    pub run: String,
    /// The opinion.
    pub state: OpinionState,
    /// Reason, in the user's words.
    pub note: String,
    /// Name of the user.
    pub author: String,
    /// When it was given, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
}

//! Series: a metric of a job on a device over many runs, its changes, and the opinions of users.

use crate::figures::Better;
use crate::metric::Unit;
use serde::{Deserialize, Serialize};

/// A series, with the time range of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSeries {
    /// Key of 12 hexadecimal digits, the same in every store.
    pub key: String,
    /// Project of the runs.
    pub project: String,
    /// Model of the device.
    pub model: String,
    /// Unit of a device whose model has no name; empty for all units of the model.
    pub unit: String,
    /// Measured machine.
    pub target: String,
    /// Name of the job.
    pub job: String,
    /// Hash of the job's resolved options.
    pub job_hash: String,
    /// Condition; empty if the machine was left as it was.
    pub condition: String,
    /// Name of the metric.
    pub metric: String,
    /// Label of every point, which names the measured layer.
    pub label: String,
    /// Unit of the values.
    pub unit_of_measure: Unit,
    /// Direction in which the metric is better; without it, the series is not searched for changes.
    pub better: Option<Better>,
    /// `true` if the metric decides the result of the job, and was measured on the device.
    pub primary: bool,
    /// `true` for a percentile of the tail.
    pub tail: bool,
    /// Number of runs at the last search for changes.
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
    /// Median of the trials; for a tail, the percentile of all operations together.
    pub centre: f64,
    /// A value per trial.
    pub samples: Vec<f64>,
}

crate::named! {
    /// Direction in which a series changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Turn {
        /// The metric became better.
        Faster = "faster",
        /// The metric became worse.
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
    /// Value after the change.
    pub after: String,
}

/// A change of a series between two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesChange {
    /// First run after the change.
    pub run: String,
    /// Last run before the change.
    pub before_run: String,
    /// Start of the first run after the change, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Start of the first run with which there were enough runs to find the change.
    pub found_unix_ms: u64,
    /// Direction of the change.
    pub turn: Turn,
    /// Change of the metric in percent.
    pub effect_percent: Option<f64>,
    /// 95 % confidence interval of the change in percent.
    pub effect_interval: Option<(f64, f64)>,
    /// Runs before the change.
    pub before: ChangeSide,
    /// Runs after the change.
    pub after: ChangeSide,
    /// p value of the verdict.
    pub p: f64,
    /// Circumstances that changed at the same runs.
    pub events: Vec<CircumstanceChange>,
    /// Name and version of the method that found the change.
    pub method: String,
    /// `true` if the user accepted the change.
    pub accepted: bool,
}

impl SeriesChange {
    /// `true` for a slowdown that no user has accepted.
    pub fn is_open(&self) -> bool {
        self.turn == Turn::Slower && !self.accepted
    }
}

crate::named! {
    /// Opinion of a user on a change.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum OpinionState {
        /// The change is real and known.
        Accepted = "accepted",
        /// There is no change.
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
    /// Time of the opinion, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
}

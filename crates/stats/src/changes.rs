//! Change points of a metric over many runs: when a series of runs became faster or slower.
//!
//! [`windows`] finds candidates as Apache Otava does. A candidate counts only after further
//! tests: [`find`] has them. Everything is computed from the points alone, so the same points
//! give the same changes on every machine.

mod clean;
mod divisive;
mod job;
mod judged;
mod search;
pub mod windows;

#[cfg(test)]
mod tests;

pub use job::find_in_job;
pub use search::find;

use assay_model::figures::Better;
use assay_model::verdict::{Change, Verdict};
use windows::Windows;

/// Name and version of the method, stored with each change: another version may find others.
pub const METHOD: &str = "e-divisive/1";

/// Points that a mark of the user may be off: a change moves a little as runs are added.
pub const JITTER: usize = 2;

/// One run in a series.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPoint {
    /// Identifier of the run.
    pub run_id: String,
    /// When it was started, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Figure of each trial in the unit of the metric. A tail has only one: that of the pooled
    /// histograms of all trials.
    pub trials: Vec<f64>,
}

/// One metric of one job on one device, over runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeries {
    /// Runs, the oldest first. Those without a positive figure are passed over.
    pub points: Vec<RunPoint>,
    /// Which way the metric is good.
    pub better: Better,
    /// True for percentiles from the 99th on: they change only together with another metric of
    /// their job.
    pub tail: bool,
    /// Largest change without a meaning, as a share; `None` derives it from the noise of the
    /// series.
    pub margin: Option<f64>,
}

/// Opinion of the user on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpinionState {
    /// It is a change and known: the series begins anew there.
    Accepted,
    /// It is no change, and is not reported again.
    False,
}

/// Opinion on the change that begins with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// First run after the change.
    pub run_id: String,
    /// The opinion.
    pub state: OpinionState,
}

/// Runs on one side of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideOfChange {
    /// Runs that were compared: those nearest to the change.
    pub runs: usize,
    /// Geometric mean of their centres, in the unit of the metric.
    pub centre: f64,
}

/// Change of a series between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first point after it.
    pub index: usize,
    /// The run of that point.
    pub run_id: String,
    /// Last run before it.
    pub before_run_id: String,
    /// Start of the first run after it, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Runs before it.
    pub before: SideOfChange,
    /// Runs from it on.
    pub after: SideOfChange,
    /// Change of the metric in percent, with its interval.
    pub effect: Option<Change>,
    /// Verdict on the runs after it against those before it.
    pub verdict: Verdict,
    /// p value of the verdict.
    pub p: f64,
    /// True if the user accepted it.
    pub accepted: bool,
    /// Always [`METHOD`].
    pub method: &'static str,
}

/// Rules for changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Search for candidates.
    pub windows: Windows,
    /// Fewest runs on each side of a change.
    pub min_runs: usize,
    /// Runs of a side from which on its values may overlap those of the other side.
    pub settled_runs: usize,
    /// Most runs of a side that are compared.
    pub max_runs: usize,
    /// Largest p value of a change.
    pub level: f64,
    /// A margin that is derived is so many times the noise between neighbouring runs.
    pub margin_noise: f64,
    /// Smallest margin that is derived, as a share.
    pub least_margin: f64,
    /// Largest margin that is derived, as a share.
    pub largest_margin: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            windows: Windows::default(),
            min_runs: 3,
            settled_runs: 5,
            max_runs: 30,
            level: 0.001,
            margin_noise: 1.0,
            least_margin: 0.01,
            largest_margin: 0.05,
        }
    }
}

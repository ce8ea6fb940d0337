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

pub use assay_model::series::OpinionState;
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
    /// Largest change without a meaning, as a share; `None` for that of the
    /// [`Rules`].
    pub margin: Option<f64>,
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

assay_model::defaults! {
    /// Rules for changes. `cargo xtask calibrate --changes` holds the usual ones to their promises.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Rules {
        /// Search for candidates.
        pub windows: Windows,
        /// Fewest runs on each side of a change.
        pub min_runs: usize = 3,
        /// Fewest runs on both sides together: fewer do not show how large the noise is.
        pub min_runs_together: usize = 10,
        /// Runs of a side below which its values may not overlap those of the other side, and
        /// [`Self::level_of_few`] holds: from seven runs a side on, ranks can have a p value below
        /// [`Self::level`].
        pub settled_runs: usize = 7,
        /// Most runs of a side that are compared.
        pub max_runs: usize = 30,
        /// Largest p value of a change.
        pub level: f64 = 0.001,
        /// Largest p value where a side is not settled: a few runs cannot have a smaller one.
        pub level_of_few: f64 = 0.02,
        /// Fewest standard errors of a change, by the noise of the series.
        pub standard_errors: f64 = 4.5,
        /// Share by which a straight line must describe the runs worse than a step does.
        pub worse_line: f64 = 0.1,
        /// Margin of a series that has none of its own, as a share.
        pub margin: f64 = 0.02,
    }
}

//! Change points of a metric over many runs: when a series of runs became faster or slower.
//!
//! [`windows`] finds candidates with the method of Apache Otava. [`find`] applies further tests to
//! them. The result depends on the points alone, so the same points give the same changes on every
//! machine.
//!
//! To add a rule: add a field of `Rules`, apply it in `judged`, and add a series to the tests that
//! needs it. It must pass `cargo xtask calibrate --changes` and be described in `docs/series.md`.

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

/// Name and version of the method, stored with each change: another version may find other changes.
pub const METHOD: &str = "e-divisive/1";

/// Largest distance in points between a change and a user's mark on it: a change moves slightly as
/// runs are added.
pub const JITTER: usize = 2;

/// One run in a series.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPoint {
    /// Identifier of the run.
    pub run_id: String,
    /// Start time, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Figure of each trial in the unit of the metric. A tail has a single figure, from the pooled
    /// histograms of all trials.
    pub trials: Vec<f64>,
}

/// One metric of one job on one device, over runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeries {
    /// Runs, the oldest first. Runs without a positive figure are ignored.
    pub points: Vec<RunPoint>,
    /// Direction in which the metric is better.
    pub better: Better,
    /// `true` for percentiles from the 99th on: they count as changed only together with another
    /// metric of the job.
    pub tail: bool,
    /// Largest change without practical relevance, as a share; `None` for the margin of the
    /// [`Rules`].
    pub margin: Option<f64>,
}

/// Opinion of a user on the change that begins with a run.
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
    /// Number of runs that were compared, those nearest to the change.
    pub runs: usize,
    /// Geometric mean of their centres, in the unit of the metric.
    pub centre: f64,
}

/// Change of a series between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first point after the change.
    pub index: usize,
    /// The run of that point.
    pub run_id: String,
    /// Last run before the change.
    pub before_run_id: String,
    /// Start of the first run after the change, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Runs before the change.
    pub before: SideOfChange,
    /// Runs after the change.
    pub after: SideOfChange,
    /// Change of the metric in percent, with its interval.
    pub effect: Option<Change>,
    /// Verdict on the runs after the change against those before it.
    pub verdict: Verdict,
    /// p value of the verdict.
    pub p: f64,
    /// `true` if the user accepted the change.
    pub accepted: bool,
    /// Method that found the change, [`METHOD`].
    pub method: &'static str,
}

assay_model::defaults! {
    /// Rules for changes. `cargo xtask calibrate --changes` checks the error rates of the defaults.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Rules {
        /// Search for candidates.
        pub windows: Windows,
        /// Fewest runs on each side of a change.
        pub min_runs: usize = 3,
        /// Fewest runs on both sides together; fewer do not show the size of the noise.
        pub min_runs_together: usize = 10,
        /// Number of runs from which a side is settled. Below it, its values may not overlap those
        /// of the other side, and [`Self::level_of_few`] applies: from seven runs a side on, ranks
        /// can have a p value below [`Self::level`].
        pub settled_runs: usize = 7,
        /// Most runs of a side that are compared.
        pub max_runs: usize = 30,
        /// Largest p value of a change.
        pub level: f64 = 0.001,
        /// Largest p value if a side is not settled; a few runs cannot have a smaller one.
        pub level_of_few: f64 = 0.02,
        /// Fewest standard errors of a change, by the noise of the series.
        pub standard_errors: f64 = 4.5,
        /// Smallest share by which a straight line must fit the runs worse than a step.
        pub worse_line: f64 = 0.1,
        /// Margin of a series without a margin, as a share.
        pub margin: f64 = 0.02,
    }
}

//! Output for gates and farms: a list of cases, each with a status. A status is taken from an
//! existing verdict, never determined here.
//!
//! | | comparison | with `--qualify` | run |
//! |---|---|---|---|
//! | pass | faster, equivalent | pass | |
//! | fail | slower | fail | |
//! | skip | no conclusion | inconclusive | the job was skipped |
//! | done | | | a figure was measured |
//! | fail | | | data was not kept |
//! | error | no metric that decides was judged | the same | trials failed or are missing |

mod comparison;
pub mod junit;
pub mod kcidb;
pub mod lava;
mod run;
pub mod tap;
#[cfg(test)]
mod tests;

pub use comparison::status;

use crate::words::text::Fact;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Status of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Judged, and good.
    Pass,
    /// Judged, and worse.
    Fail,
    /// It could not be measured, or a comparison judged nothing.
    Error,
    /// Not judged: nothing may be concluded from it.
    Skip,
    /// Measured, and judged by nobody.
    Done,
}

/// One question, and how it ended. All texts are safe to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The job, such as `rand-read-4k`; for figures of others the metric.
    pub job: String,
    /// The condition, of a sweep; empty elsewhere.
    pub condition: String,
    /// The metric, such as `read_iops`; empty where the job is all there is.
    pub metric: String,
    /// Status of the case.
    pub status: Status,
    /// In one word: a verdict, a qualification or an outcome.
    pub word: &'static str,
    /// The word with what it rests on.
    pub reason: String,
    /// The figure: of a comparison that of side B, of a run the median.
    pub measurement: Option<Measurement>,
    /// Label of the measurement, in the words of evidence.
    pub measured: Option<String>,
    /// Details of the case, with the names of `docs/json.md`.
    pub detail: Map<String, Value>,
}

/// A figure with its unit, as the source writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// In the unit.
    pub value: f64,
    /// For example `B/s`.
    pub unit: String,
}

/// The cases of a comparison or a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// For example `assay compare abc def`.
    pub name: String,
    /// Identifier of the suite: ids of runs.
    pub id: String,
    /// In the order of the report; never empty.
    pub cases: Vec<Case>,
    /// Device, kernel and all else that a reader of a figure asks for.
    pub facts: Vec<Fact>,
    /// Warnings about the whole suite, one sentence each.
    pub warnings: Vec<String>,
    /// The kernel that was measured on; `None` for results made elsewhere.
    pub kernel: Option<Kernel>,
    /// When it was measured, milliseconds since 1970 (UTC).
    pub started_unix_ms: Option<u64>,
    /// Duration in seconds.
    pub took_s: Option<f64>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r`.
    pub release: String,
    /// As `uname -m`.
    pub machine: String,
}

impl Case {
    /// `rand-read-4k: read_iops`, of a sweep `rand-read-4k under bfq: read_iops`.
    pub fn name(&self) -> String {
        let job = match self.condition.as_str() {
            "" => self.job.clone(),
            condition => format!("{} under {condition}", self.job),
        };
        match self.metric.as_str() {
            "" => job,
            metric => format!("{job}: {metric}"),
        }
    }

    /// Job, condition and metric, which are all that a name may be made of: labels and
    /// numbers of trials change from run to run, and a history is kept by the name.
    fn names(&self) -> [&str; 3] {
        [&self.job, &self.condition, &self.metric]
    }
}

impl Suite {
    /// Returns the number of cases with that status.
    pub fn count(&self, status: Status) -> usize {
        let cases = self.cases.iter();
        cases.filter(|case| case.status == status).count()
    }
}

/// An id for each case: job, condition and metric as segments of letters, digits, `_` and `-`,
/// joined by a full stop. Each is there once.
fn ids(suite: &Suite) -> Vec<String> {
    let mut taken = HashSet::new();
    let ids = suite.cases.iter().map(|case: &Case| {
        let id = path(&case.names());
        let numbered = |n: u32| match n {
            1 => id.clone(),
            n => format!("{id}-{n}"),
        };
        let free = (1..).map(numbered).find(|id| taken.insert(id.clone()));
        free.unwrap_or_default()
    });
    ids.collect()
}

fn path(names: &[&str]) -> String {
    let segments = names.iter().filter(|name| !name.is_empty());
    let segments: Vec<String> = segments.map(|name| segment(name)).collect();
    segments.join(".")
}

/// Replaces each run of disallowed characters by one `-`.
fn segment(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = name.split(|c| !allowed(c)).filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>().join("-") {
        empty if empty.is_empty() => "unnamed".to_owned(),
        segment => segment,
    }
}

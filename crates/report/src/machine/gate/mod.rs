//! Output for gates and test farms: a list of cases, each with a status. A status is derived from
//! an existing verdict, never determined here.
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
    /// Not measurable, or a comparison without any judged metric.
    Error,
    /// Not judged: it permits no conclusion.
    Skip,
    /// Measured, but not judged.
    Done,
}

/// Test case with its result. All texts are safe to display.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the job, such as `rand-read-4k`; the metric for imported figures.
    pub job: String,
    /// Condition of a sweep; empty otherwise.
    pub condition: String,
    /// Metric, such as `read_iops`; empty if the case is about the whole job.
    pub metric: String,
    /// Status of the case.
    pub status: Status,
    /// Result in one word: a verdict, a qualification or an outcome.
    pub word: &'static str,
    /// The word with its reasons.
    pub reason: String,
    /// Figure of side B in a comparison, median in a run.
    pub measurement: Option<Measurement>,
    /// Label of the measurement, as in the evidence.
    pub measured: Option<String>,
    /// Further values, with the names of `docs/json.md`.
    pub detail: Map<String, Value>,
}

/// Figure with the unit of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Value in the unit.
    pub value: f64,
    /// Unit, for example `B/s`.
    pub unit: String,
}

/// Cases of a comparison or a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Name, for example `assay compare abc def`.
    pub name: String,
    /// Identifier of the suite: ids of runs.
    pub id: String,
    /// Cases in the order of the report; never empty.
    pub cases: Vec<Case>,
    /// Facts that a reader of the figures needs, such as device and kernel.
    pub facts: Vec<Fact>,
    /// Warnings about the whole suite, one sentence each.
    pub warnings: Vec<String>,
    /// Kernel of the measured system; `None` for imported results.
    pub kernel: Option<Kernel>,
    /// Start of the measurement, milliseconds since 1970 (UTC).
    pub started_unix_ms: Option<u64>,
    /// Duration in seconds.
    pub took_s: Option<f64>,
}

/// Kernel of the measured system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Release as in `uname -r`.
    pub release: String,
    /// Machine as in `uname -m`.
    pub machine: String,
}

impl Case {
    /// Returns the name: `rand-read-4k: read_iops`, in a sweep `rand-read-4k under bfq: read_iops`.
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

    /// Returns job, condition and metric. Names consist only of these: labels and trial numbers
    /// change between runs, and the name identifies the history of a case.
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

/// Returns a unique id for each case: job, condition and metric as segments of letters, digits, `_`
/// and `-`, joined by a full stop.
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

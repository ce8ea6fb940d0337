//! Cases of a run: its figures, and the jobs without one. A single run judges nothing as good or
//! bad, except lost data.

use super::{Case, Kernel, Measurement, Status, Suite};
use crate::results::describe;
use crate::results::findings::losses;
use crate::results::summary::{Figure, JobSummary, Summary};
use crate::results::warnings::{self, NAMES};
use crate::words::format::quantity;
use crate::words::identity;
use crate::words::text::{Fact, clean};
use assay_lang::{counted, in_english};
use assay_model::run::Run;
use assay_model::trial::Outcome;
use serde_json::{Map, json};

impl Suite {
    /// Makes the cases of a run: one for each figure that represents a job, and one for each job
    /// with trials that did not complete.
    pub fn of_run(run: &Run) -> Self {
        in_english(|| Self::told(run))
    }

    fn told(run: &Run) -> Self {
        let summary = Summary::of(run);
        let jobs = summary.jobs.iter();
        let mut cases: Vec<Case> = jobs.flat_map(|job| under_each(job, run)).collect();
        cases.extend(lost(&summary));
        if cases.is_empty() {
            cases.push(without_figure("run", "no job was run"));
        }
        let warnings = warnings::collect(&summary);
        let warnings = warnings.iter().map(|warning| warning.message(NAMES));
        let mut facts = place_facts(run);
        facts.extend(describe::run_facts(&summary));
        Self {
            name: format!("assay {}", clean(&run.header.id)),
            id: clean(&run.header.id),
            cases,
            facts,
            warnings: warnings.collect(),
            kernel: Some(Kernel::of(run)),
            started_unix_ms: Some(run.header.started_unix_ms),
            took_s: took_s(run),
        }
    }
}

impl Kernel {
    pub(super) fn of(run: &Run) -> Self {
        Self {
            release: clean(&run.header.system.kernel),
            machine: clean(&run.header.system.machine),
        }
    }
}

/// Returns the duration in seconds.
pub(super) fn took_s(run: &Run) -> Option<f64> {
    identity::took(run).map(|took| took.0 as f64 / 1e9)
}

/// Returns facts about the machine and the device that a reader of a figure needs.
pub(super) fn place_facts(run: &Run) -> Vec<Fact> {
    let system = identity::system_facts(run).into_iter();
    let system = system.filter(|(name, _)| ["host", "board", "kernel"].contains(name));
    let storage = &run.header.storage;
    let path = identity::path_facts(storage).into_iter();
    let path = path.filter(|(name, _)| ["path", "file system", "mount options"].contains(name));
    let device = ("device", identity::name(storage));
    system.chain([device]).chain(path).collect()
}

/// Returns a case for each job that found lost data, even if its rate is good.
pub(super) fn lost(summary: &Summary<'_>) -> impl Iterator<Item = Case> {
    losses(summary).into_iter().map(|loss| {
        let trials = counted!(loss.trials, "{n} trial", "{n} trials");
        let why = format!("data was not kept in {trials}: {}", loss.first);
        Case {
            metric: "data".to_owned(),
            status: Status::Fail,
            word: "data lost",
            ..without_figure(&loss.job, &why)
        }
    })
}

/// Returns the cases of a job, separately for each condition of a sweep.
fn under_each(job: &JobSummary<'_>, run: &Run) -> Vec<Case> {
    let conditions = &run.header.plan.conditions;
    if conditions.is_empty() {
        return cases(job);
    }
    let under = conditions.iter().flat_map(|condition| {
        let cases = cases(&job.under(&condition.name)).into_iter();
        cases.map(|case| Case {
            condition: clean(&condition.name),
            ..case
        })
    });
    under.collect()
}

fn cases(job: &JobSummary<'_>) -> Vec<Case> {
    let figures = job.headlines();
    let mut cases: Vec<Case> = figures.iter().map(|figure| measured(job, figure)).collect();
    let failed = job
        .trials
        .iter()
        .filter_map(|trial| match &trial.record.outcome {
            Outcome::Failed { error } if !trial.record.lost_data() => Some(error.as_str()),
            _ => None,
        });
    let failed: Vec<&str> = failed.collect();
    if let Some(first) = failed.first() {
        let failed = counted!(failed.len(), "{n} trial", "{n} trials");
        let why = format!("{failed} of {} failed: {first}", job.trials.len());
        cases.push(without_figure(&job.job.name, &why));
    } else if cases.is_empty() && !job.trials.iter().any(|trial| trial.record.lost_data()) {
        cases.push(unmeasured(job));
    }
    cases
}

fn measured(job: &JobSummary<'_>, figure: &Figure) -> Case {
    let median = figure.stats.median;
    let labels = figure.labels.to_string();
    Case {
        job: clean(&job.job.name),
        condition: String::new(),
        metric: clean(&figure.name),
        status: Status::Done,
        word: "measured",
        reason: format!(
            "{}, median of {}; measured: {labels}",
            quantity(figure.unit, median),
            counted!(figure.stats.n, "{n} trial", "{n} trials"),
        ),
        measurement: Some(Measurement {
            value: median,
            unit: figure.unit.name().to_owned(),
        }),
        detail: detail(figure, &labels),
        measured: Some(labels),
    }
}

fn detail(figure: &Figure, labels: &str) -> Map<String, serde_json::Value> {
    let stats = &figure.stats;
    let values: Vec<f64> = figure.values.iter().map(|(_, value)| *value).collect();
    [
        ("median", json!(stats.median)),
        ("min", json!(stats.min)),
        ("max", json!(stats.max)),
        ("unit", json!(figure.unit.name())),
        ("values", json!(values)),
        ("label", json!(labels)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect()
}

/// Returns the case of a job that was skipped, stopped or never started.
fn unmeasured(job: &JobSummary<'_>) -> Case {
    let skipped = job
        .trials
        .iter()
        .find_map(|trial| match &trial.record.outcome {
            Outcome::Skipped { reasons } => Some(reasons.join("; ")),
            _ => None,
        });
    match skipped {
        Some(why) => Case {
            status: Status::Skip,
            word: "skipped",
            reason: clean(&format!("skipped: {why}")),
            ..without_figure(&job.job.name, "")
        },
        None if job.trials.is_empty() => without_figure(&job.job.name, "not run"),
        None => without_figure(&job.job.name, "no trial came to an end with a figure"),
    }
}

pub(super) fn without_figure(job: &str, why: &str) -> Case {
    Case {
        job: clean(job),
        condition: String::new(),
        metric: String::new(),
        status: Status::Error,
        word: "error",
        reason: clean(why),
        measurement: None,
        measured: None,
        detail: Map::new(),
    }
}

//! Facts of a run: its figures by series, and the circumstances that can explain a change.
//!
//! To add an option of a job on which figures depend: add it to `key` as well, with a default that
//! leaves the hashes of older jobs as they are. Otherwise jobs that differ by it share a series.

mod evidence;
mod key;
mod surroundings;

use crate::results::tails::Operation;
use assay_lang::in_english;
use assay_model::facts::{FACTS_VERSION, FigureFacts, RunFacts};
use assay_model::figures::{Figure, Sample};
use assay_model::latency::LatencyRecord;
use assay_model::metric::Unit;
use assay_model::run::{Run, RunHeader};
use assay_model::trial::TrialRecord;
use assay_model::work::StepDetail;
use assay_stats::derive::MetricName;
use assay_stats::figures::{Labelled, by_label, may_decide};
use assay_stats::percentile::Percentile;
use assay_stats::summary::Summary;
use assay_stats::tails::over_trials;
use key::JobHashes;

/// Default project of runs.
pub const DEFAULT_PROJECT: &str = "default";

/// Returns the project of a run.
pub fn project(header: &RunHeader) -> &str {
    header.project.as_deref().unwrap_or(DEFAULT_PROJECT)
}

/// Derives the facts of a run, independent of the language.
pub fn of(run: &Run) -> RunFacts {
    in_english(|| {
        let header = &run.header;
        let mut facts = RunFacts {
            version: FACTS_VERSION,
            run: header.id.clone(),
            started_unix_ms: header.started_unix_ms,
            project: project(header).to_owned(),
            target: surroundings::target(header),
            model: header.storage.words(),
            series_unit: surroundings::series_unit(header),
            surroundings: surroundings::all(run),
            figures: Vec::new(),
            evidence: evidence::of(run),
        };
        let labelled = by_label(&header.plan, &run.trials);
        let mut hashes = JobHashes::new(run);
        let figures = labelled
            .iter()
            .filter_map(|labelled| figure(&mut hashes, &facts, labelled));
        facts.figures = figures.collect();
        facts
    })
}

/// Derives one figure; `None` if it has no centre.
fn figure<'a>(
    hashes: &mut JobHashes<'a>,
    facts: &RunFacts,
    labelled: &Labelled<'a>,
) -> Option<FigureFacts> {
    let Figure {
        condition,
        metric,
        better,
        primary,
        sample,
        measured,
        unit,
    } = &labelled.figure;
    let Sample::Values { values, .. } = sample else {
        return None;
    };
    let (job, metric) = metric.rsplit_once(": ")?;
    let label = measured.clone().unwrap_or_default();
    let tail = Tail::of(metric);
    let centre = match &tail {
        Some(tail) => tail.centre(&labelled.trials, values)?,
        None => Summary::of(values)?.centre(),
    };
    if !centre.is_finite() {
        return None;
    }
    let mut figure = FigureFacts {
        series: String::new(),
        job: job.to_owned(),
        job_hash: hashes.of(job, &labelled.trials),
        condition: condition.clone(),
        metric: metric.to_owned(),
        primary: *primary && may_decide(Some(&label)),
        label,
        unit: Unit::ALL.into_iter().find(|known| known.name() == unit)?,
        better: *better,
        tail: tail.is_some(),
        n: u32::try_from(values.len()).ok()?,
        centre,
        samples: values.clone(),
    };
    figure.series = key::of_series(facts, &figure);
    Some(figure)
}

/// Metric of the slowest operations.
enum Tail {
    /// Percentile of an operation's latency, with the prefix of its metric names.
    Percentile(&'static str, Percentile),
    /// The longest time without a completion.
    LongestGap,
}

impl Tail {
    /// Recognizes percentiles for which a single trial has too few operations.
    fn of(metric: &str) -> Option<Self> {
        if metric == "longest_gap" {
            return Some(Self::LongestGap);
        }
        let metric = MetricName::parse(metric)?;
        let percentile = metric.percentile().filter(|of| *of >= Percentile::P95)?;
        Some(Self::Percentile(metric.subject, percentile))
    }

    /// Returns the figure over the operations of all trials; `None` if they are too few.
    fn centre(&self, trials: &[&TrialRecord], values: &[f64]) -> Option<f64> {
        match self {
            Self::LongestGap => values.iter().copied().reduce(f64::max),
            Self::Percentile(operation, percentile) => {
                let records: Option<Vec<&LatencyRecord>> = trials
                    .iter()
                    .map(|trial| latency(trial, operation))
                    .collect();
                let tail = over_trials(&records?, *percentile)?;
                Some(tail.pooled_ns as f64)
            }
        }
    }
}

fn latency<'a>(trial: &'a TrialRecord, operation: &str) -> Option<&'a LatencyRecord> {
    if operation == "operation" {
        let act = trial.detail.as_deref().and_then(StepDetail::scenario)?;
        return act.latency.as_ref();
    }
    let mut timed = Operation::ALL.into_iter();
    let timed = timed.find(|known| known.name() == operation)?;
    timed.latency(trial.measured.as_ref()?)
}

#[cfg(test)]
mod tests;

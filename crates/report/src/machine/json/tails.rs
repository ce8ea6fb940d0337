//! Percentiles over the trials of each job.

use crate::results::tails::{self, JobTail, Operation};
use assay_model::run::Run;
use serde::Serialize;

#[derive(Serialize)]
pub struct TailPart<'a> {
    job: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    operation: Operation,
    percentile: f64,
    trials: usize,
    operations: u64,
    pooled_ns: u64,
    independent_ci95_ns: Option<(u64, u64)>,
    trial_gmean_ns: Option<f64>,
    worst_trial_ns: Option<u64>,
}

impl<'a> TailPart<'a> {
    pub fn all(run: &'a Run) -> Vec<Self> {
        tails::of_run(run).into_iter().map(Self::of).collect()
    }

    fn of(found: JobTail<'a>) -> Self {
        let tail = found.tail;
        Self {
            job: found.job,
            condition: found.condition,
            operation: found.operation,
            percentile: tail.percentile.percent(),
            trials: tail.trials,
            operations: tail.operations,
            pooled_ns: tail.pooled_ns,
            independent_ci95_ns: tail.independent_interval_ns,
            trial_gmean_ns: tail.each.map(|each| each.geometric_mean_ns),
            worst_trial_ns: tail.each.map(|each| each.worst_ns),
        }
    }
}

//! Rounds of jobs: common parts of `assay sweep` and `assay compare --paired-on`.

pub mod acts;
pub mod args;
pub mod jobs;
pub mod outlook;
pub mod schedule;
pub mod stopper;
pub mod under_conditions;

use crate::driver::runs::run_id;
use args::RoundArgs;
use assay_model::condition::Condition;
use assay_model::plan::{Place, Plan, PlannedJob, rounds};
use jobs::Jobs;

/// Makes a plan of jobs in rounds under conditions; without conditions, on the machine as it is.
pub fn plan(
    args: &RoundArgs,
    seed: u64,
    jobs: Jobs,
    conditions: Vec<Condition>,
    place: Place,
    trials: u32,
) -> Plan {
    let count = u32::try_from(conditions.len().max(1)).unwrap_or(u32::MAX);
    let each = (trials + 1).saturating_mul(count);
    let planned = |job| PlannedJob { job, trials: each };
    Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: jobs.file,
        order: rounds(jobs.all.len(), conditions.len(), trials, seed),
        jobs: jobs.all.into_iter().map(planned).collect(),
        conditions,
        restore: args.restore(),
    }
}

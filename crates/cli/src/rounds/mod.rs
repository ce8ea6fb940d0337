//! Rounds of jobs: what `assay sweep` and `assay compare --paired-on` have in common.

pub mod args;
pub mod jobs;
pub mod outlook;
pub mod schedule;
pub mod stopper;

use crate::runs::run_id;
use args::RoundArgs;
use assay_model::condition::{Condition, Restore};
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, PlannedJob, rounds};
use assay_model::units::{Bytes, MIB, Nanos};
use jobs::Jobs;

/// Setting a condition, opening, evicting, flushing and looking around a trial.
const AROUND_A_TRIAL: Nanos = Nanos::millis(300);
/// Speed of storage for the estimate of how long writing takes.
const ASSUMED_BYTES_PER_SEC: u64 = 200 * MIB;

/// Rounds of jobs under conditions; without any as the machine is.
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

/// What each trial may take, in the plan's order.
pub fn expected(plan: &Plan) -> Vec<Nanos> {
    let jobs = plan.order.iter().map(|slot| &plan.jobs[slot.job].job);
    jobs.map(|job| of_trial(job, &plan.restore)).collect()
}

/// What all jobs together may take, once.
pub fn of_jobs(jobs: &Jobs, restore: &Restore) -> Nanos {
    let trials = jobs.all.iter().map(|job| of_trial(job, restore).0);
    Nanos(trials.sum())
}

/// What writing the test file may take.
pub fn preparation(place: &Place, file: Bytes) -> Nanos {
    match place {
        Place::File { .. } => Nanos(0),
        Place::Directory { .. } | Place::Device { .. } => writing(file),
    }
}

/// What the whole plan may take.
pub fn duration(plan: &Plan) -> Nanos {
    let trials: u64 = expected(plan).iter().map(|span| span.0).sum();
    Nanos(trials + preparation(&plan.place, plan.file_size).0)
}

fn of_trial(job: &Job, restore: &Restore) -> Nanos {
    let bytes = job.max_written().unwrap_or(job.size);
    let runs = job.runtime.unwrap_or_else(|| writing(bytes));
    Nanos(runs.0 + AROUND_A_TRIAL.0 + restore.idle.0)
}

fn writing(bytes: Bytes) -> Nanos {
    Nanos(bytes.0 / (ASSUMED_BYTES_PER_SEC / 1_000) * 1_000_000)
}

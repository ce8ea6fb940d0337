//! How long a plan may take, before anything of it has run.

use assay_model::job::Job;
use assay_model::plan::{Place, Plan};
use assay_model::units::{Bytes, MIB, Nanos};

/// Opening, evicting, flushing and looking around a trial.
const AROUND_A_TRIAL: Nanos = Nanos::millis(250);
/// Making and reading back a condition.
const CONDITION: Nanos = Nanos::millis(50);
/// Making a file system, and mounting it.
const FILE_SYSTEM: Nanos = Nanos::secs(1);
/// Speed of storage, for how long writing takes.
const ASSUMED_BYTES_PER_SEC: u64 = 200 * MIB;

/// What each trial may take, in the plan's order.
pub fn of_trials(plan: &Plan) -> Vec<Nanos> {
    let setting = match plan.conditions.is_empty() {
        true => 0,
        false => CONDITION.0,
    };
    let around = AROUND_A_TRIAL.0 + setting + plan.restore.idle.0;
    let jobs = plan.order.iter().map(|slot| &plan.jobs[slot.job].job);
    jobs.map(|job| Nanos(of_job(job).0 + around)).collect()
}

/// What the whole plan may take, with writing its test file.
pub fn of_plan(plan: &Plan) -> Nanos {
    let trials: u64 = of_trials(plan).iter().map(|span| span.0).sum();
    let written = match plan.place {
        Place::File { .. } => 0,
        Place::Directory { .. } | Place::Device { .. } => writing(plan.file_size).0,
    };
    let made = match plan.makes_file_systems() {
        true => FILE_SYSTEM.0,
        false => 0,
    };
    let files = plan.stretches().len() as u64;
    Nanos(trials + files * (written + made))
}

fn of_job(job: &Job) -> Nanos {
    let bytes = || job.max_written().unwrap_or(job.size);
    job.runtime.unwrap_or_else(|| writing(bytes()))
}

fn writing(bytes: Bytes) -> Nanos {
    Nanos(bytes.0 / (ASSUMED_BYTES_PER_SEC / 1_000) * 1_000_000)
}

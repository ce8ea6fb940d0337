//! Estimated time of a plan, before anything of it has run.

use assay_model::condition::Restore;
use assay_model::job::{EngineKind, Job};
use assay_model::plan::{Place, Plan};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_model::work::memory::MemoryPattern;

/// Opening, evicting, flushing and looking around a trial.
const AROUND_A_TRIAL: Nanos = Nanos::millis(200);
/// Making and reading back a condition.
const CONDITION: Nanos = Nanos::millis(50);
/// Making a file system, and mounting it.
const FILE_SYSTEM: Nanos = Nanos::secs(1);
/// Writing back what an act of a scenario begins with, and looking around it.
const AROUND_AN_ACT: Nanos = Nanos::millis(50);
/// Making a small file, and removing it.
const SMALL_FILE: Nanos = Nanos::millis(2);
/// Dropping the caches of the machine; seconds where they are large.
pub const DROPPED_CACHES: Nanos = Nanos::millis(500);
/// A trial on a simulated device, whose time is virtual.
const SIMULATED_TRIAL: Nanos = Nanos::millis(3);
/// A step of `assay mem`.
const MEMORY_STEP: Nanos = Nanos::millis(400);
/// Speed of storage, for how long writing takes.
pub const ASSUMED_BYTES_PER_SEC: u64 = 200 * MIB;
/// Speeds of storage between which most lies.
pub const SPEEDS: [Speed; 2] = [
    Speed {
        bytes_per_sec: ASSUMED_BYTES_PER_SEC,
        flush: Nanos::millis(4),
    },
    Speed {
        bytes_per_sec: 20 * MIB,
        flush: Nanos::millis(20),
    },
];
/// Speed of main memory, for how long a stress takes.
const ASSUMED_MEMORY_BYTES_PER_SEC: u64 = 4_096 * MIB;

/// Speed of storage.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    bytes_per_sec: u64,
    /// Time of a flush of what little was written before it.
    flush: Nanos,
}

impl Speed {
    /// Estimates the time to move bytes and to flush so often.
    pub const fn time(self, bytes: Bytes, flushes: u64) -> Nanos {
        let moved = bytes.0 / (self.bytes_per_sec / 1_000) * 1_000_000;
        Nanos(moved + self.flush.0.saturating_mul(flushes))
    }
}

/// Estimates the time of each trial, in the plan's order.
pub fn of_trials(plan: &Plan) -> Vec<Nanos> {
    let set = !plan.conditions.is_empty();
    let jobs = plan.order.iter().map(|slot| &plan.jobs[slot.job].job);
    jobs.map(|job| of_trial(job, set, &plan.restore)).collect()
}

/// Estimates the time of all jobs together, once, under a condition that is `set` or as the machine
/// is.
pub fn of_jobs(jobs: &[Job], set: bool, restore: &Restore) -> Nanos {
    let trials = jobs.iter().map(|job| of_trial(job, set, restore).0);
    Nanos(trials.sum())
}

/// Estimates the time to write the test file, in a file system that is `made` for it or in an
/// existing one.
pub fn of_file(place: &Place, size: Bytes, made: bool) -> Nanos {
    let written = match place {
        Place::File { .. } | Place::Simulated { .. } | Place::Memory => 0,
        Place::Directory { .. } | Place::Device { .. } => of_bytes(size).0,
    };
    Nanos(written + if made { FILE_SYSTEM.0 } else { 0 })
}

/// Estimates the time of the whole plan, including the writing of its test file.
pub fn of_plan(plan: &Plan) -> Nanos {
    let trials: u64 = of_trials(plan).iter().map(|span| span.0).sum();
    let file = of_file(&plan.place, plan.file_size, plan.makes_file_systems());
    Nanos(trials + plan.stretches().len() as u64 * file.0)
}

fn of_trial(job: &Job, set: bool, restore: &Restore) -> Nanos {
    let bytes = || job.max_written().unwrap_or(job.size);
    if job.ioengine == EngineKind::Sim {
        return SIMULATED_TRIAL;
    }
    let runs = job.runtime.unwrap_or_else(|| of_bytes(bytes()));
    let setting = if set { CONDITION.0 } else { 0 };
    Nanos(runs.0 + pauses(job) + AROUND_A_TRIAL.0 + setting + restore.idle.0)
}

/// Pauses of a job that only bytes limit; elsewhere its time includes them.
fn pauses(job: &Job) -> u64 {
    match (job.pause, job.io_size, job.runtime) {
        (Some(pause), Some(limit), None) => {
            let between = job.bs.0.saturating_mul(pause.after.into());
            pause.time.0.saturating_mul(limit.0 / between.max(1))
        }
        _ => 0,
    }
}

/// Estimates the time of `assay mem` steps.
pub const fn of_memory(steps: usize) -> Nanos {
    Nanos(MEMORY_STEP.0.saturating_mul(steps as u64))
}

/// Estimates the time to write and check every pattern of a stress once in so much memory.
pub fn of_stress(bytes: Bytes) -> Nanos {
    let sweeps = MemoryPattern::ALL.map(|pattern| u64::from(pattern.phases()));
    let swept = bytes.0.saturating_mul(sweeps.iter().sum());
    Nanos(swept / (ASSUMED_MEMORY_BYTES_PER_SEC / 1_000) * 1_000_000)
}

/// Estimates the time of an act of a scenario, its own work apart.
pub const fn around_act(files_made: u64) -> Nanos {
    Nanos(
        AROUND_AN_ACT
            .0
            .saturating_add(SMALL_FILE.0.saturating_mul(files_made)),
    )
}

/// Estimates the time to move bytes.
const fn of_bytes(bytes: Bytes) -> Nanos {
    SPEEDS[0].time(bytes, 0)
}

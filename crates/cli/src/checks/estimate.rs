//! Estimated time of a plan, before it runs.

use assay_model::act::memory::MemoryPattern;
use assay_model::condition::Restore;
use assay_model::job::{EngineKind, Job};
use assay_model::plan::{Place, Plan};
use assay_model::units::{Bytes, MIB, Nanos};

/// Overhead of a trial: opening, evicting, flushing and collecting evidence.
const AROUND_A_TRIAL: Nanos = Nanos::millis(200);
/// Time to set up a condition and read it back.
const CONDITION: Nanos = Nanos::millis(50);
/// Time to make a file system and to mount it.
const FILE_SYSTEM: Nanos = Nanos::secs(1);
/// Overhead of an act of a scenario: writeback before it, and collecting evidence.
const AROUND_AN_ACT: Nanos = Nanos::millis(50);
/// Time to create and remove a small file.
const SMALL_FILE: Nanos = Nanos::millis(2);
/// Time to drop the caches of the machine; large caches take seconds.
pub const DROPPED_CACHES: Nanos = Nanos::millis(500);
/// Time of a trial on a simulated device, which runs on virtual time.
const SIMULATED_TRIAL: Nanos = Nanos::millis(3);
/// Time of a step of `assay mem`.
const MEMORY_STEP: Nanos = Nanos::millis(400);
/// Assumed write speed of storage, in bytes per second.
pub const ASSUMED_BYTES_PER_SEC: u64 = 200 * MIB;
/// Typical fast and slow storage.
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
/// Assumed speed of main memory for the stress test, in bytes per second.
const ASSUMED_MEMORY_BYTES_PER_SEC: u64 = 4_096 * MIB;

/// Speed of storage.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    bytes_per_sec: u64,
    /// Time of a flush after few writes.
    flush: Nanos,
}

impl Speed {
    /// Estimates the time to move `bytes` and to flush `flushes` times.
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

/// Estimates the time of one trial of each job, under a condition that is `set` or as the machine is.
pub fn of_jobs(jobs: &[Job], set: bool, restore: &Restore) -> Nanos {
    let trials = jobs.iter().map(|job| of_trial(job, set, restore).0);
    Nanos(trials.sum())
}

/// Estimates the time to write the test file, and to make the file system that it is in if `made`.
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

/// Returns the total time of the pauses of a job that only bytes limit, in nanoseconds; a time
/// limit includes them.
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

/// Estimates the time to write and check each pattern of a stress once in `bytes` of memory.
pub fn of_stress(bytes: Bytes) -> Nanos {
    let sweeps = MemoryPattern::ALL.map(|pattern| u64::from(pattern.phases()));
    let swept = bytes.0.saturating_mul(sweeps.iter().sum());
    Nanos(swept / (ASSUMED_MEMORY_BYTES_PER_SEC / 1_000) * 1_000_000)
}

/// Estimates the overhead of an act of a scenario, without its I/O.
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

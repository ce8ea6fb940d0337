//! Estimates of a plan before it runs: its time, its writes, and the size of the test file for which
//! there is enough space.

use crate::exit::Failure;
use assay_lang::tr;
use assay_model::act::capacity::Task;
use assay_model::act::memory::MemoryPattern;
use assay_model::condition::Restore;
use assay_model::job::{EngineKind, Job};
use assay_model::plan::{Place, Plan};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_model::wire::{Inspection, PathKind};
use std::fmt;

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

/// Estimates the time of one trial of each job; `set` if a condition changes settings before it.
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

/// Estimates the time to check the capacity of so many bytes, at the speeds of [`SPEEDS`]: a probe
/// writes and reads the first 8 MiB, and about 2·sqrt(n) of n blocks.
pub fn of_capacity(task: &Task, space: Bytes) -> [Nanos; 2] {
    const BLOCK: u64 = 4096;
    const IO_OF_PROBE: [Nanos; 2] = [Nanos(250_000), Nanos::millis(2)];
    let probed = 2048 + 2 * (space.0 / BLOCK).isqrt();
    [0, 1].map(|speed| match task {
        Task::Fill(_) => Nanos(2 * SPEEDS[speed].time(space, 0).0),
        Task::Probe | Task::ProbeFree => Nanos(3 * probed * IO_OF_PROBE[speed].0),
    })
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

/// Smallest size of a test file: one block of the largest block size.
const SMALLEST_TEST_FILE: Bytes = Bytes::mib(1);
/// Space that is left free for the file system itself.
pub const HEADROOM: Bytes = Bytes::mib(16);

/// Returns the size of the test file: `asked` if the user gave one, else `planned` or less. `beside`
/// is the size of other files that the run writes at the same time.
///
/// # Errors
/// If there is not enough space.
pub fn file_size(
    asked: Option<Bytes>,
    planned: Bytes,
    beside: Bytes,
    inspection: &Inspection,
) -> Result<Bytes, Failure> {
    let path = inspection.path.display();
    let room = match inspection.kind {
        PathKind::File { length, .. } => length,
        PathKind::Device { size } | PathKind::Simulated { size } => size,
        PathKind::Directory { .. } => match inspection.storage.available {
            Some(available) => beside_others(available, beside),
            None => asked.unwrap_or(planned),
        },
    };
    let size = match asked {
        Some(asked) if asked < SMALLEST_TEST_FILE => {
            return Err(Failure::usage(format!(
                "--size {asked} is below {SMALLEST_TEST_FILE}"
            )));
        }
        Some(asked) if asked > room => {
            return Err(Failure::usage(format!(
                "not enough space for --size {asked}: {path} has {room} free{}",
                shares(beside, inspection)
            )));
        }
        Some(asked) => asked,
        None => match inspection.kind {
            PathKind::Directory { .. } => fitting(planned, room),
            _ => planned.min(room),
        },
    };
    let whole = Bytes(size.0 / MIB * MIB);
    if whole < SMALLEST_TEST_FILE {
        return Err(Failure::usage(format!(
            "{path} is full: {} must be free beside the space that the file system and other files of \
             jobs need",
            SMALLEST_TEST_FILE
        )));
    }
    Ok(whole)
}

/// Returns the planned size, or a smaller one that fits. At least a fifth of the space stays free,
/// because a full file system harms the system that uses it. Smaller sizes are powers of two, so that
/// small changes of the free space do not change the size: figures of different sizes are not comparable.
fn fitting(planned: Bytes, room: Bytes) -> Bytes {
    let most = room.0 / 5 * 4;
    match most.checked_ilog2() {
        Some(power) if most < planned.0 => Bytes(1 << power),
        _ => Bytes(planned.0.min(most)),
    }
}

/// Returns the largest test file that leaves space for `beside` more bytes. That is at least half of
/// the space, because the other files together are never larger than the test file.
fn beside_others(available: Bytes, beside: Bytes) -> Bytes {
    let both = available.0.saturating_sub(HEADROOM.0);
    Bytes(both.saturating_sub(beside.0).max(both / 2))
}

/// Describes the part of the free space that the test file may not use.
fn shares(beside: Bytes, inspection: &Inspection) -> String {
    let folder = matches!(inspection.kind, PathKind::Directory { .. });
    let Some(available) = inspection.storage.available.filter(|_| folder) else {
        return String::new();
    };
    let others = match beside {
        Bytes(0) => "",
        _ => " and for files that jobs write beside the test file",
    };
    format!(" (of {available} that are free, {HEADROOM} stay for the file system{others})")
}

/// Bytes that a plan writes to the storage, including the test file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the jobs that are limited by bytes, and of one pass of the others.
    bytes: Bytes,
    /// `true` if some jobs write until their time ends.
    and_more: bool,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.and_more {
            f.write_str(&tr!(
                "at least {bytes} (some jobs write until their time ends)",
                bytes = self.bytes
            ))
        } else {
            f.write_str(&tr!("up to {bytes} in all", bytes = self.bytes))
        }
    }
}

impl Written {
    /// Returns the writes of a plan.
    pub fn by(plan: &Plan) -> Self {
        let files = plan.parts(0..plan.order.len()).len() as u64;
        let mut bytes = plan.file_size.0.saturating_mul(files);
        let mut and_more = false;
        for planned in &plan.jobs {
            let limit = planned.job.max_written();
            and_more |= limit.is_none();
            let per_trial = limit.unwrap_or(plan.file_size).0;
            bytes = bytes.saturating_add(per_trial.saturating_mul(planned.trials.into()));
        }
        Self {
            bytes: Bytes(bytes),
            and_more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fills_a_little_has_the_same_test_file() {
        let (mib, gib) = (Bytes::mib, Bytes::gib);
        assert_eq!(fitting(gib(1), gib(100)), gib(1));
        assert_eq!(fitting(gib(1), Bytes(gib(1).0 / 4 * 5)), gib(1));
        for room in [900, 800, 700, 641] {
            assert_eq!(fitting(gib(1), mib(room)), mib(512), "{room}");
        }
        assert_eq!(fitting(gib(1), mib(639)), mib(256));
        assert_eq!(fitting(gib(1), Bytes(0)), Bytes(0));
    }

    #[test]
    fn the_planned_size_shrinks_before_there_is_no_room() {
        let mib = Bytes::mib;
        assert_eq!(beside_others(mib(168), Bytes(0)), mib(152));
        assert_eq!(beside_others(mib(168), mib(32)), mib(120));
        assert_eq!(beside_others(mib(168), Bytes::gib(1)), mib(76));
        assert_eq!(beside_others(mib(8), Bytes::gib(1)), Bytes(0));
    }
}

//! Estimates of a plan before it runs: its time, its writes, and the size of the test file for which
//! there is enough space.

use crate::exit::Failure;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::act::androbench::{DatabasePhase, FilePhase, FileStart, Journal, Phase};
use assay_model::act::capacity::Task;
use assay_model::act::memory::MemoryPattern;
use assay_model::condition::Restore;
use assay_model::job::{EngineKind, Job, OpenSync};
use assay_model::plan::{Place, Plan};
use assay_model::run::{RunHeader, RunStatus};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_model::wire::{Inspection, PathKind};
use assay_store::{RunSummary, SomeTrials, Store, StoreError};
use std::collections::{BTreeMap, HashMap};
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
        io: Nanos(100_000),
        flush: Nanos::millis(1),
    },
    Speed {
        bytes_per_sec: 20 * MIB,
        io: Nanos::millis(1),
        flush: Nanos::millis(20),
    },
];
/// Assumed speed of main memory for the stress test, in bytes per second.
const ASSUMED_MEMORY_BYTES_PER_SEC: u64 = 4_096 * MIB;

/// Speed of storage.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    bytes_per_sec: u64,
    /// Time of a small I/O that waits for the device.
    io: Nanos,
    /// Time of a flush after few writes.
    flush: Nanos,
}

impl Speed {
    /// Estimates the time to move `bytes` and to flush `flushes` times.
    pub const fn time(self, bytes: Bytes, flushes: u64) -> Nanos {
        let moved = (bytes.0 / (self.bytes_per_sec / 1_000)).saturating_mul(1_000_000);
        Nanos(moved.saturating_add(self.flush.0.saturating_mul(flushes)))
    }

    /// Estimates the time of small I/Os, one after the other.
    pub const fn small_ios(self, ios: u64) -> Nanos {
        Nanos(self.io.0.saturating_mul(ios))
    }

    /// Estimates the time of a job's I/O; a limit of time ends it earlier.
    fn of_job(self, job: &Job) -> Nanos {
        let each = job.io_size.unwrap_or(job.size).0;
        let bytes = Bytes(each.saturating_mul(job.numjobs.into()));
        let ios = bytes.0 / job.bs.0.max(1);
        // The page cache takes buffered writes, and reads sequential blocks ahead.
        let buffered = !job.direct && job.sync == OpenSync::None;
        let waits = match buffered && (job.rw.writes() || !job.rw.is_random()) {
            true => 0,
            false => ios / u64::from(job.iodepth.max(1)) / u64::from(job.numjobs.max(1)),
        };
        let flushes = match (job.sync, job.flush.every) {
            (OpenSync::None, None) => 0,
            (OpenSync::None, Some((writes, _))) => ios / u64::from(writes.max(1)),
            _ => ios,
        };
        let at_end = u64::from(job.flush.at_end.is_some());
        let moved = self.time(bytes, flushes.saturating_add(at_end)).0;
        let own = moved.saturating_add(self.small_ios(waits).0);
        let own = own.saturating_add(pauses(job));
        let limited = match job.runtime {
            Some(limit) if job.time_based => limit.0,
            Some(limit) => limit.0.min(own),
            None => own,
        };
        Nanos(job.ramp_time.0.saturating_add(limited))
    }

    fn of_trial(self, job: &Job, set: bool, restore: &Restore) -> Nanos {
        if job.ioengine == EngineKind::Sim {
            return SIMULATED_TRIAL;
        }
        let setting = if set { CONDITION.0 } else { 0 };
        let around = AROUND_A_TRIAL.0 + setting;
        let idle = restore.idle.0.saturating_add(around);
        Nanos(self.of_job(job).0.saturating_add(idle))
    }

    /// Estimates the time of AndroBench's files, without the time to make them.
    fn of_files(self, phase: &FilePhase) -> Nanos {
        let made = match phase.start {
            FileStart::Written => self.time(phase.all_bytes(), 1).0,
            FileStart::Empty => 0,
        };
        let own = self.of_job(&phase.job()).0.saturating_add(AROUND_AN_ACT.0);
        Nanos(own.saturating_add(made))
    }

    /// Estimates the time of the transactions of a database. A commit writes and flushes the
    /// journal, its folder and the database in turn, or a write-ahead log alone.
    fn of_database(self, phase: &DatabasePhase) -> Nanos {
        let durable = phase.synchronous.commits_durably(phase.journal);
        let (writes, flushes) = match (durable, phase.journal) {
            (false, _) => (0, 0),
            (true, Journal::Wal) => (2, 1),
            (true, _) => (6, 3),
        };
        let commit = self.small_ios(writes).0 + flushes * self.flush.0;
        let all = phase.transactions.saturating_mul(commit) + AROUND_AN_ACT.0;
        Nanos(all.saturating_mul(phase.statements.len() as u64))
    }
}

/// Estimates the time of each trial on fast storage, in the plan's order.
pub fn of_trials(plan: &Plan) -> Vec<Nanos> {
    trials_at_speeds(plan).map(|[usual, _]| usual).collect()
}

/// Estimates the time of each trial at the speeds of [`SPEEDS`], in the plan's order.
pub fn trials_at_speeds(plan: &Plan) -> impl Iterator<Item = [Nanos; 2]> {
    let set = !plan.conditions.is_empty();
    let jobs = plan.order.iter().map(|slot| &plan.jobs[slot.job].job);
    jobs.map(move |job| SPEEDS.map(|speed| speed.of_trial(job, set, &plan.restore)))
}

/// Estimates the time of one trial of each job; `set` if a condition changes settings before it.
pub fn of_jobs(jobs: &[Job], set: bool, restore: &Restore) -> Nanos {
    let trials = jobs
        .iter()
        .map(|job| SPEEDS[0].of_trial(job, set, restore).0);
    Nanos(trials.fold(0, u64::saturating_add))
}

/// Adds estimates for fast and slow storage.
pub fn sum(times: impl Iterator<Item = [Nanos; 2]>) -> [Nanos; 2] {
    times.fold([Nanos(0); 2], |[usual, slow], [more, much_more]| {
        [
            usual.0.saturating_add(more.0),
            slow.0.saturating_add(much_more.0),
        ]
        .map(Nanos)
    })
}

/// Estimates the time of one repetition of an act with these steps, at the speeds of [`SPEEDS`].
pub fn of_act(act: &Act, steps: &[Job]) -> [Nanos; 2] {
    SPEEDS.map(|speed| {
        let times: Vec<Nanos> = match act {
            Act::AndroBench(work) => {
                let of_phase = |phase: &Phase| match phase {
                    Phase::Files(phase) => speed.of_files(phase),
                    Phase::Database(phase) => speed.of_database(phase),
                };
                work.phases.iter().map(of_phase).collect()
            }
            _ => {
                let of_step = |step: &Job| Nanos(speed.of_job(step).0 + AROUND_AN_ACT.0);
                steps.iter().map(of_step).collect()
            }
        };
        Nanos(times.iter().fold(0, |all, time| all.saturating_add(time.0)))
    })
}

/// Estimates the time to write the test file, and to make the file system that it is in if `made`.
pub fn of_file(place: &Place, size: Bytes, made: bool) -> Nanos {
    file_at(SPEEDS[0], place, size, made)
}

fn file_at(speed: Speed, place: &Place, size: Bytes, made: bool) -> Nanos {
    let written = match place {
        Place::File { .. } | Place::Simulated { .. } | Place::Memory => 0,
        Place::Directory { .. } | Place::Device { .. } => speed.time(size, 0).0,
    };
    Nanos(written + if made { FILE_SYSTEM.0 } else { 0 })
}

/// Estimates the time of the whole plan, including the writing of its test files, at the speeds of
/// [`SPEEDS`].
pub fn of_plan(plan: &Plan) -> [Nanos; 2] {
    sum(trials_at_speeds(plan).chain([of_files(plan)]))
}

/// Estimates the time to write the test files of a plan, and to make the file systems that they are
/// in, at the speeds of [`SPEEDS`].
pub fn of_files(plan: &Plan) -> [Nanos; 2] {
    let (files, made) = (plan.stretches().len() as u64, plan.makes_file_systems());
    SPEEDS.map(|speed| Nanos(files * file_at(speed, &plan.place, plan.file_size, made).0))
}

/// Maximum number of earlier runs that are searched for the same steps.
pub const LOOKED_INTO: u32 = 5;

/// Forecast of the time of a run.
pub struct Forecast {
    /// Time on fast storage, or on the storage at hand if it is known.
    usual: Nanos,
    /// Time on slow storage, if it differs and the storage at hand is not known.
    slow: Option<Nanos>,
    /// Id of the earlier run on the same storage from which the time is known.
    run: Option<String>,
}

impl Forecast {
    /// Makes a forecast from the estimates for fast and slow storage.
    pub fn new([usual, slow]: [Nanos; 2]) -> Self {
        Self {
            usual,
            slow: (slow > usual).then_some(slow),
            run: None,
        }
    }

    /// Replaces the estimates by the times that the jobs of a plan took in the newest run on this
    /// storage that has them all, with the same actions before each trial.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn by_earlier_jobs(
        self,
        store: &Store,
        storage: &str,
        plan: &Plan,
    ) -> Result<Self, StoreError> {
        let found = newest_on(storage, store, |run, header| {
            // Between two trials of a run that takes turns, the other side has its own.
            if header.paired.is_some() || header.plan.restore != plan.restore {
                return Ok(None);
            }
            let starts = store.trial_starts(&run.id)?;
            let span = (run.started_unix_ms, run.finished_unix_ms);
            Ok(time_of_jobs(&header.plan, span, &starts, plan))
        })?;
        Ok(found.unwrap_or(self))
    }

    /// Replaces the estimates by the time that the same act took in the newest complete run of it on
    /// this storage.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn by_earlier_act(
        self,
        store: &Store,
        storage: &str,
        (act, trials): (&Act, u32),
    ) -> Result<Self, StoreError> {
        let found = newest_on(storage, store, |run, header| {
            let alone = header.paired.is_none() && header.plan.conditions.is_empty();
            let acts = header.acts.as_ref().filter(|_| alone);
            let same = acts.filter(|acts| acts.acts == std::slice::from_ref(act));
            let taken = run.finished_unix_ms.zip(same).map(|(end, acts)| {
                let all = end.saturating_sub(run.started_unix_ms);
                let slots = (acts.slots.len() as u64).max(1);
                millis(all.saturating_mul(trials.into()) / slots)
            });
            Ok(taken.filter(|_| run.status == RunStatus::Finished))
        })?;
        Ok(found.unwrap_or(self))
    }
}

/// Returns the forecast from the newest run on a storage in which `time` finds one.
fn newest_on(
    storage: &str,
    store: &Store,
    time: impl Fn(&RunSummary, &RunHeader) -> Result<Option<Nanos>, StoreError>,
) -> Result<Option<Forecast>, StoreError> {
    for run in store.runs_on(storage, LOOKED_INTO)? {
        // A damaged run has no times, and must not prevent a measurement.
        let Ok(loaded) = store.load_some(&run.id, |_| SomeTrials::Last) else {
            continue;
        };
        if let Some(usual) = time(&run, &loaded.run.header)? {
            let (slow, run) = (None, Some(run.id));
            return Ok(Some(Forecast { usual, slow, run }));
        }
    }
    Ok(None)
}

/// Returns the time of a plan's jobs by the median of the times between the starts of their trials in
/// an earlier run, and by the time before its first one, when the test file was written. `None` if
/// the run lacks a job, or its target had another clock than this machine.
fn time_of_jobs(
    earlier: &Plan,
    (started, finished): (u64, Option<u64>),
    starts: &[(u32, u64)],
    plan: &Plan,
) -> Option<Nanos> {
    let (finished, first) = (finished?, starts.first()?.1);
    let in_run = |start: u64| (started..=finished).contains(&start);
    if !starts.iter().all(|(_, start)| in_run(*start)) {
        return None;
    }
    let later = starts.iter().skip(1).map(|(_, start)| *start);
    let mut times: HashMap<usize, Vec<u64>> = HashMap::new();
    for ((position, start), end) in starts.iter().zip(later.chain([finished])) {
        let slot = earlier.order.get(*position as usize)?;
        let time = end.saturating_sub(*start);
        times.entry(slot.job).or_default().push(time);
    }
    let mut slots: BTreeMap<usize, u64> = BTreeMap::new();
    for slot in &plan.order {
        *slots.entry(slot.job).or_default() += 1;
    }
    let mut all = first - started;
    for (index, number) in slots {
        let job = &plan.jobs[index].job;
        let mut jobs = earlier.jobs.iter();
        let times = times.get_mut(&jobs.position(|planned| planned.job == *job)?)?;
        times.sort_unstable();
        // The lower one of two: the other may include a pause before the run was resumed.
        let median = times[(times.len() - 1) / 2];
        all = all.saturating_add(median.saturating_mul(number));
    }
    Some(millis(all))
}

fn millis(time: u64) -> Nanos {
    Nanos(time.saturating_mul(1_000_000))
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = minutes(self.usual);
        f.write_str(&match (&self.run, self.slow) {
            (Some(run), _) => tr!("about {time}, as in run {run}", time, run),
            (None, Some(slow)) if minutes(slow) != time => tr!(
                "about {time}, on slow storage (20 MiB/s, 20 ms a flush) about {slow}",
                time,
                slow = minutes(slow)
            ),
            _ => tr!("about {time}", time),
        })
    }
}

/// Formats a duration in seconds or minutes: more digits would suggest an exact forecast.
pub fn minutes(span: Nanos) -> String {
    match span.0.div_ceil(1_000_000_000) {
        secs @ 0..90 => format!("{secs} s"),
        secs => tr!("{n} min", n = secs.div_ceil(60)),
    }
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
        Task::Fill(fill) => {
            let passes = u64::from(fill.write) + u64::from(fill.verify);
            Nanos(passes * SPEEDS[speed].time(space, 0).0)
        }
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
    use assay_model::act::androbench::{Schema, Statement, Synchronous};
    use assay_model::job::{Flush, FlushCall, Rw};
    use assay_model::plan::{PlannedJob, Slot};

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

    #[test]
    fn small_durable_writes_take_as_long_as_their_flushes() {
        let job = |bytes: u64, every| Job {
            flush: Flush {
                every,
                at_end: None,
            },
            ..Job::new("w", Rw::Write, Bytes(4096), Bytes(bytes))
        };
        let [fast, slow] = SPEEDS;
        let flushed = job(400 << 10, Some((1, FlushCall::Fsync)));
        assert_eq!(slow.of_job(&flushed).0 / 1_000_000, 2_019);
        assert!(fast.of_job(&flushed).0 < slow.of_job(&flushed).0 / 10);
        assert!(slow.of_job(&job(400 << 10, None)) < Nanos::millis(20));
        let limited = Job {
            runtime: Some(Nanos::secs(1)),
            ..flushed
        };
        assert_eq!(slow.of_job(&limited), Nanos::secs(1));
        assert!(fast.of_job(&limited) < Nanos::secs(1));
        let phase = |journal| DatabasePhase {
            schema: Schema::AndroBench,
            journal,
            synchronous: Synchronous::Full,
            transactions: 100,
            statements: vec![Statement::Insert],
            checkpoint: false,
        };
        let of = |journal| slow.of_database(&phase(journal)).0;
        assert!(of(Journal::Delete) > 2 * of(Journal::Wal));
        assert!(of(Journal::Off) > of(Journal::Wal));
    }

    #[test]
    fn jobs_take_as_long_as_before_where_all_of_them_ran() {
        let job = |name: &str, bs: u64| Job::new(name, Rw::Read, Bytes(bs), Bytes(1 << 20));
        let plan = |jobs: &[Job], order: &[usize]| Plan {
            jobs: jobs
                .iter()
                .map(|job| PlannedJob {
                    job: job.clone(),
                    trials: 2,
                })
                .collect(),
            order: order.iter().map(|job| Slot::plain(*job, 1)).collect(),
            ..Plan::once("r".to_owned(), Place::Memory)
        };
        // Variants of a job share its name.
        let [small, large] = [job("a", 4096), job("a", 65536)];
        let both = [small.clone(), large.clone()];
        let earlier = plan(&both, &[0, 1, 0, 1]);
        let starts = [(0, 1_500), (1, 1_600), (2, 2_000), (3, 2_100)];
        let time = |span, plan: &Plan| time_of_jobs(&earlier, span, &starts, plan);
        let span = (1_000, Some(2_500));
        // 500 ms before the first trial; small ones take 100 ms, large ones 400 ms.
        let now = plan(&both, &[0, 1, 1]);
        assert_eq!(time(span, &now), Some(Nanos::millis(500 + 100 + 800)));
        let other = plan(&[small.clone(), job("b", 4096)], &[0, 1]);
        assert_eq!(time(span, &other), None);
        // The clock of a board that is a day ahead, or in 1970.
        assert_eq!(time((3_000, Some(4_000)), &now), None);
        assert_eq!(time((1_000, Some(2_050)), &now), None);
        // The run was interrupted, and resumed on the next day.
        let paused = [(0, 1_500), (1, 1_600), (2, 80_000_000), (3, 80_000_100)];
        let found = time_of_jobs(&earlier, (1_000, Some(80_000_500)), &paused, &now);
        assert_eq!(found, Some(Nanos::millis(500 + 100 + 800)));
    }
}

//! One trial: brings file and cache to the state that the job requires, runs the job with
//! evidence, and determines the outcome.

use crate::permission::Fatal;
use crate::workspace::Workspace;
use assay_engine::{EngineError, Observer, Progress, Start, held, measure, page_cache};
use assay_model::evidence::{Evidence, FileChange, Glance, Snapshot};
use assay_model::job::{CacheState, FileState, Job};
use assay_model::rng::SplitMix64;
use assay_model::storage::Storage;
use assay_model::trial::{IoErrorRecord, Measurement, Outcome, TrialRecord};
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::{glance, snapshot};
use rustix::fs::ioctl_getflags;
use std::fs::{File, Metadata};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Environment of trials: the machine, the storage and the run.
pub(crate) struct Bench<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) storage: &'a Storage,
    pub(crate) workspace: &'a Workspace,
    pub(crate) stop: &'a AtomicBool,
    /// Seed of the run, from which the seed of each trial is derived.
    pub(crate) seed: u64,
}

/// Result of a trial.
pub(crate) struct EndedTrial {
    pub(crate) record: TrialRecord,
    /// Reason why no later trial can succeed, if there is one.
    pub(crate) fatal: Option<Fatal>,
}

/// Builds the record of a trial that could not begin.
pub(crate) fn not_begun(
    job: &Job,
    trial: u32,
    position: u32,
    seed: u64,
    error: String,
) -> TrialRecord {
    TrialRecord {
        started_unix_ms: unix_ms(),
        ..TrialRecord::new(
            job.clone(),
            trial,
            position,
            seed,
            Outcome::Failed { error },
        )
    }
}

/// Outcome of an attempt to run the job.
struct Attempt {
    result: Result<Measurement, EngineError>,
    evidence: Option<Evidence>,
}

impl Bench<'_> {
    /// Runs a job for the `trial`-th time, at `position` in the run's order.
    pub(crate) fn run(
        &self,
        job: &Job,
        trial: u32,
        position: u32,
        tell: &mut dyn FnMut(Progress),
    ) -> EndedTrial {
        let started_unix_ms = unix_ms();
        let seed = SplitMix64::new(self.seed ^ (u64::from(position) + 1)).next_u64();
        let attempt = self.attempt(job, seed, tell);
        // If cleaning up fails, the next trial fails and reports the reason.
        let _ = self.workspace.discard_fresh();
        let (outcome, fatal) = self.judge(&attempt.result);
        EndedTrial {
            record: TrialRecord {
                started_unix_ms,
                measured: attempt.result.ok(),
                evidence: attempt.evidence,
                ..TrialRecord::new(job.clone(), trial, position, seed, outcome)
            },
            fatal,
        }
    }

    fn attempt(&self, job: &Job, seed: u64, tell: &mut dyn FnMut(Progress)) -> Attempt {
        if let Workspace::Simulated(path) = self.workspace {
            return self.simulate(job, path, seed, tell);
        }
        let prepared = self.prepare(job);
        let (path, file) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                return Attempt {
                    result: Err(error),
                    evidence: None,
                };
            }
        };
        let mut watch = TrialWatch::new(self.roots, self.storage, file, tell);
        let result = measure(job, &path, seed, self.stop, &mut watch);
        Attempt {
            result,
            evidence: watch.into_evidence(),
        }
    }

    /// Runs a job on a simulated device, without evidence of the machine.
    fn simulate(
        &self,
        job: &Job,
        path: &Path,
        seed: u64,
        tell: &mut dyn FnMut(Progress),
    ) -> Attempt {
        let result = measure(job, path, seed, self.stop, &mut Unwatched(tell));
        let evidence = result
            .is_ok()
            .then(|| Evidence::simulated(self.storage.clone()));
        Attempt { result, evidence }
    }

    /// Brings file and page cache to the state that the job starts from.
    fn prepare(&self, job: &Job) -> Result<(PathBuf, File), EngineError> {
        let path = match job.file_state {
            FileState::Written => self.workspace.data(),
            FileState::Fresh => self
                .workspace
                .fresh()
                .map_err(|error| EngineError::file("create", &self.workspace.data(), error))?,
        };
        let file =
            held::open_to_read(&path).map_err(|error| EngineError::file("open", &path, error))?;
        match job.cache_state {
            CacheState::AsIs => {}
            CacheState::Cold => page_cache::evict(&file, &path)?,
            CacheState::Warm => page_cache::warm(&file, &path, job.offset.0, job.size.0)?,
        }
        Ok((path, file))
    }

    fn judge(&self, result: &Result<Measurement, EngineError>) -> (Outcome, Option<Fatal>) {
        match result {
            Ok(measured) => match measured.errors.first.first() {
                Some(first) => self.failed(
                    io_errors_in_words(first, measured.errors.count),
                    first.errno,
                ),
                None if self.stop.load(Ordering::Relaxed) => (Outcome::Interrupted, None),
                None => (Outcome::Completed, None),
            },
            Err(EngineError::Stopped) => (Outcome::Interrupted, None),
            Err(error @ (EngineError::NoDirect { .. } | EngineError::Unavailable { .. })) => {
                let reasons = vec![error.to_string()];
                (Outcome::Skipped { reasons }, None)
            }
            Err(error) => self.failed(error.to_string(), error.errno()),
        }
    }

    fn failed(&self, error: String, errno: Option<i32>) -> (Outcome, Option<Fatal>) {
        let fatal = Fatal::of(&error, errno, self.roots, self.storage);
        (Outcome::Failed { error }, fatal)
    }
}

/// Observer that only forwards the progress.
struct Unwatched<'a>(&'a mut dyn FnMut(Progress));

impl Observer for Unwatched<'_> {
    fn progress(&mut self, progress: Progress) {
        (self.0)(progress);
    }
}

/// Describes the first of several I/O errors, with its position.
fn io_errors_in_words(first: &IoErrorRecord, count: u64) -> String {
    let what = first
        .direction
        .map_or("flush".to_owned(), |direction| direction.to_string());
    let place = match first.direction {
        Some(_) => format!(" of {} bytes at offset {}", first.length, first.offset),
        None => String::new(),
    };
    let more = match count {
        1 => String::new(),
        _ => format!(" (and {} more errors)", count - 1),
    };
    format!("{what}{place}: {}{more}", first.message)
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;

/// Takes snapshots of the system when the clock starts and stops.
pub(crate) struct TrialWatch<'a> {
    roots: &'a Roots,
    storage: &'a Storage,
    /// File of the trial, whose cached pages are examined.
    file: File,
    tell: &'a mut dyn FnMut(Progress),
    metadata: Option<Metadata>,
    before: Option<Moment>,
    after: Option<Moment>,
    glances: Glances,
}

struct Moment {
    snapshot: Snapshot,
    processes: ProcessIoTable,
}

impl<'a> TrialWatch<'a> {
    pub(crate) fn new(
        roots: &'a Roots,
        storage: &'a Storage,
        file: File,
        tell: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            roots,
            storage,
            file,
            tell,
            metadata: None,
            before: None,
            after: None,
            glances: Glances::default(),
        }
    }

    /// Returns the evidence; `None` if the clock never ran.
    pub(crate) fn into_evidence(self) -> Option<Evidence> {
        let (before, after) = (self.before?, self.after?);
        Some(Evidence {
            storage: self.storage.clone(),
            queues: counters::queues(self.roots, self.storage),
            other_processes: busiest(&before.processes, &after.processes, PROCESSES_KEPT),
            before: before.snapshot,
            after: after.snapshot,
            during: self.glances.taken().to_vec(),
        })
    }

    /// Takes the counters before anything slow, so that the I/O is measured up to now, or from now
    /// on.
    fn counters_first(&self) -> Moment {
        let counters = snapshot(self.roots, self.storage);
        let file_cache = page_cache::look(&self.file);
        Moment {
            snapshot: Snapshot {
                file_cache,
                ..counters
            },
            processes: self.processes(),
        }
    }

    /// Takes the counters after everything slow, because the clock starts after them.
    fn counters_last(&self) -> Moment {
        let processes = self.processes();
        let file_cache = page_cache::look(&self.file);
        Moment {
            snapshot: Snapshot {
                file_cache,
                ..snapshot(self.roots, self.storage)
            },
            processes,
        }
    }

    fn processes(&self) -> ProcessIoTable {
        ProcessIoTable::take(self.roots, &[std::process::id()])
    }
}

impl Observer for TrialWatch<'_> {
    /// Reads the counters as close to the clock start as possible.
    fn clock_starts(&mut self, start: Start) {
        let queues = counters::queues(self.roots, self.storage);
        let mut moment = match start {
            Start::Held => self.counters_last(),
            Start::Running => self.counters_first(),
        };
        moment.snapshot.queues = queues;
        self.metadata = self.file.metadata().ok();
        self.before = Some(moment);
    }

    fn clock_stopped(&mut self) {
        let mut after = self.counters_first();
        after.snapshot.synchronous_files = is_synchronous(&self.file);
        let metadata = self.metadata.as_ref().zip(self.file.metadata().ok());
        after.snapshot.file_change = metadata.and_then(|(before, now)| change(before, &now));
        self.after = Some(after);
    }

    fn progress(&mut self, progress: Progress) {
        // No glances during the ramp.
        if self.before.is_some() && self.after.is_none() {
            let roots = self.roots;
            self.glances.look(progress.elapsed_ns, || glance(roots));
        }
        (self.tell)(progress);
    }
}

/// Returns `true` if the file system writes an open file's data before each write returns (`chattr
/// +S`); `None` if it does not report that.
pub(crate) fn is_synchronous(file: impl AsFd) -> Option<bool> {
    /// `FS_SYNC_FL` (linux/fs.h).
    const SYNCHRONOUS: u32 = 0x8;
    let flags = ioctl_getflags(file).ok()?;
    Some(flags.bits() & SYNCHRONOUS != 0)
}

/// Returns how a file lost data between two reads of its metadata: it became shorter, or got a hole.
pub(crate) fn change(before: &Metadata, after: &Metadata) -> Option<FileChange> {
    let filled = |data: &Metadata, length: u64| data.blocks().saturating_mul(512) >= length;
    if after.len() < before.len() {
        Some(FileChange::Shortened)
    } else if filled(before, before.len()) && !filled(after, before.len()) {
        Some(FileChange::Punched)
    } else {
        None
    }
}

/// Initial interval between glances, in nanoseconds.
const FIRST_STEP_NS: u64 = 1_000_000_000;
/// Glances that are kept, at most: as many as a chart can show.
const MOST: usize = 300;

/// Glances of one trial. They contain temperature and dirty pages. The thread that sends the
/// progress reads them, because it wakes up anyway: once a second, and less often in a long trial.
#[derive(Debug)]
pub(crate) struct Glances {
    taken: Vec<Glance>,
    step_ns: u64,
    /// Time of the next glance since the clock started, in nanoseconds.
    due_ns: u64,
}

impl Default for Glances {
    fn default() -> Self {
        Self {
            taken: Vec::new(),
            step_ns: FIRST_STEP_NS,
            due_ns: FIRST_STEP_NS,
        }
    }
}

impl Glances {
    /// Takes a glance if one is due, `elapsed_ns` after the clock started. When there are
    /// too many, every other one is dropped and the interval is doubled.
    pub(crate) fn look(&mut self, elapsed_ns: u64, look: impl FnOnce() -> Glance) {
        if elapsed_ns < self.due_ns {
            return;
        }
        self.taken.push(look());
        if self.taken.len() >= MOST {
            let mut keep = false;
            self.taken.retain(|_| {
                keep = !keep;
                !keep
            });
            self.step_ns *= 2;
        }
        // If the thread woke up late, missed glances are skipped.
        self.due_ns = elapsed_ns - elapsed_ns % self.step_ns + self.step_ns;
    }

    /// Returns the kept glances, in order.
    pub(crate) fn taken(&self) -> &[Glance] {
        &self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_engine::measure;
    use assay_model::job::{Job, Rw};
    use assay_model::storage::Backing;
    use assay_model::units::{Bytes, Nanos};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use rustix::time::{ClockId, clock_gettime};
    use std::fs;
    use std::fs::OpenOptions;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn now_ns() -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap()
    }

    fn storage() -> Storage {
        Storage {
            path: PathBuf::from("/data"),
            mount: None,
            backing: Backing::Unknown {
                why: "a test".to_owned(),
            },
            layers: Vec::new(),
            total: None,
            available: None,
        }
    }

    /// Returns `true` if the counters are read before the processes, on a system with one process,
    /// whose `io` file is a pipe that shows when it is read.
    fn counters_come_first(start: Start) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("proc/4711");
        fs::create_dir_all(&process).unwrap();
        let account = process.join("io");
        mkfifoat(CWD, &account, Mode::RUSR | Mode::WUSR).unwrap();
        let roots = Roots::under(folder.path());
        let storage = storage();
        let file = tempfile::tempfile().unwrap();
        let mut tell = |_| {};
        let mut watch = TrialWatch::new(&roots, &storage, file, &mut tell);
        let processes_ns = std::thread::scope(|scope| {
            let walk = scope.spawn(|| {
                // The open returns when the reader opens the pipe; the reader then waits until it is
                // closed.
                let pipe = OpenOptions::new().write(true).open(&account).unwrap();
                let opened_ns = now_ns();
                drop(pipe);
                opened_ns
            });
            watch.clock_starts(start);
            walk.join().unwrap()
        });
        watch.before.unwrap().snapshot.at_ns < processes_ns
    }

    #[test]
    fn the_counters_are_read_as_close_to_the_clock_as_can_be() {
        assert!(!counters_come_first(Start::Held), "right before it");
        assert!(counters_come_first(Start::Running), "right after it");
    }

    #[test]
    fn a_ramp_is_outside_the_evidence() {
        let data = tempfile::NamedTempFile::new().unwrap();
        data.as_file().set_len(1 << 20).unwrap();
        let ramp = Nanos::millis(50);
        let job = Job {
            time_based: true,
            ramp_time: ramp,
            runtime: Some(Nanos::millis(20)),
            ..Job::new("ramp", Rw::RandRead, Bytes::kib(4), Bytes::mib(1))
        };
        let (roots, storage) = (Roots::default(), storage());
        let mut tell = |_| {};
        let mut watch = TrialWatch::new(&roots, &storage, data.reopen().unwrap(), &mut tell);
        let begin_ns = now_ns();
        let never = AtomicBool::new(false);
        measure(&job, data.path(), 1, &never, &mut watch).unwrap();
        let evidence = watch.into_evidence().unwrap();
        assert!(evidence.before.at_ns >= begin_ns + ramp.0);
        assert!(evidence.after.at_ns > evidence.before.at_ns);
    }

    /// Simulates progress four times a second; returns the times of the glances, in
    /// seconds.
    fn looked(seconds: u64) -> Vec<u64> {
        let mut glances = Glances::default();
        for quarter in 1..=4 * seconds {
            let elapsed_ns = quarter * 250_000_000;
            glances.look(elapsed_ns, || Glance {
                at_ns: elapsed_ns,
                ..Glance::default()
            });
        }
        let taken = glances.taken().iter();
        taken.map(|glance| glance.at_ns / 1_000_000_000).collect()
    }

    #[test]
    fn it_looks_once_a_second_and_not_at_all_in_a_short_trial() {
        assert!(looked(0).is_empty());
        assert_eq!(looked(3), [1, 2, 3]);
    }

    #[test]
    fn a_long_trial_is_looked_at_evenly_and_keeps_few() {
        for seconds in [299, 300, 301, 599, 3_600, 100_000] {
            let times = looked(seconds);
            assert!(times.len() < MOST, "{seconds} s: {}", times.len());
            let steps: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
            assert!(
                steps.iter().all(|step| *step == steps[0]),
                "{seconds} s: {steps:?}"
            );
            assert!(
                times[0] == steps[0] && times.len() > MOST / 3,
                "{seconds} s"
            );
        }
    }
}

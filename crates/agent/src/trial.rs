//! One trial: brings file and cache to the state that the job requires, runs the job with
//! evidence, and determines the outcome.

use crate::permission::Fatal;
use crate::window::{Files, Machine, Sampler, Window};
use crate::workspace::Workspace;
use assay_engine::{EngineError, Observer, Progress, Start, held, measure, page_cache};
use assay_model::evidence::{Evidence, ProcessIo, Snapshot};
use assay_model::job::{CacheState, FileState, Job};
use assay_model::rng::SplitMix64;
use assay_model::storage::Storage;
use assay_model::trial::{IoErrorRecord, Measurement, Outcome, TrialRecord};
use assay_probe::roots::Roots;
use assay_probe::snapshot::glance;
use std::fs::File;
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
        let mut watch = TrialWatch::new(self.roots, self.storage, (&path, file), tell);
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

/// Opens and closes the evidence window of a trial, and forwards the progress.
pub(crate) struct TrialWatch<'a> {
    machine: Machine<'a>,
    window: Window,
    tell: &'a mut dyn FnMut(Progress),
    sampler: Sampler,
    is_open: bool,
    /// Readings after the clock stopped.
    after: Option<(Snapshot, Option<Vec<ProcessIo>>)>,
}

impl<'a> TrialWatch<'a> {
    /// Watches a trial on an open file.
    pub(crate) fn new(
        roots: &'a Roots,
        storage: &Storage,
        (path, file): (&Path, File),
        tell: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self {
            machine: Machine::new(roots),
            window: Window::new(storage.clone(), Files::opened(path, file)),
            tell,
            sampler: Sampler::default(),
            is_open: false,
            after: None,
        }
    }

    /// Returns the evidence; `None` if the clock never ran.
    pub(crate) fn into_evidence(mut self) -> Option<Evidence> {
        let (after, others) = self.after?;
        let during = self.sampler.into_taken();
        Some(
            self.window
                .evidence(&mut self.machine, after, others, during),
        )
    }
}

impl Observer for TrialWatch<'_> {
    /// Reads the counters as close to the clock start as possible.
    fn clock_starts(&mut self, start: Start) {
        match start {
            Start::Running => {
                self.window.read_counters(&mut self.machine);
                self.window.read_files(&mut self.machine);
                self.machine.read_processes();
            }
            Start::Held => {
                self.machine.read_processes();
                self.window.read_files(&mut self.machine);
                self.window.read_counters(&mut self.machine);
            }
        }
        self.is_open = true;
    }

    fn clock_stopped(&mut self) {
        let mut after = self.window.counters_after(&self.machine);
        self.window.files_after(&mut after);
        let others = self.machine.others(self.window.started());
        self.after = Some((after, others));
    }

    fn progress(&mut self, progress: Progress) {
        // No samples during the ramp.
        if self.is_open && self.after.is_none() {
            let roots = self.machine.roots();
            self.sampler.sample(progress.elapsed_ns, || glance(roots));
        }
        (self.tell)(progress);
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
        let data = tempfile::NamedTempFile::new().unwrap();
        let opened = (data.path(), data.reopen().unwrap());
        let mut tell = |_| {};
        let mut watch = TrialWatch::new(&roots, &storage, opened, &mut tell);
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
        watch.window.counters_read_at_ns() < processes_ns
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
        let opened = (data.path(), data.reopen().unwrap());
        let mut tell = |_| {};
        let mut watch = TrialWatch::new(&roots, &storage, opened, &mut tell);
        let begin_ns = now_ns();
        let never = AtomicBool::new(false);
        measure(&job, data.path(), 1, &never, &mut watch).unwrap();
        let evidence = watch.into_evidence().unwrap();
        assert!(evidence.before.at_ns >= begin_ns + ramp.0);
        assert!(evidence.after.at_ns > evidence.before.at_ns);
    }
}

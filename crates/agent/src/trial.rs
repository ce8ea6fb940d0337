//! One trial: brings file and cache to the state that the job requires, runs the job with
//! evidence, and determines the outcome.

use crate::fatal::Fatal;
use crate::watch::TrialWatch;
use crate::workspace::Workspace;
use assay_engine::{EngineError, Observer, Progress, held, measure, page_cache};
use assay_model::evidence::Evidence;
use assay_model::job::{CacheState, FileState, Job};
use assay_model::rng::SplitMix64;
use assay_model::storage::Storage;
use assay_model::trial::{IoErrorRecord, Measurement, Outcome, TrialRecord};
use assay_probe::roots::Roots;
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

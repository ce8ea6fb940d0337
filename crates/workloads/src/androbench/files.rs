//! Phases on files: preparation, and the load between two snapshots of the observer.

use super::progress;
use crate::files::{remove_if_there, write_back};
use crate::{Context, ObservedStep, Observer, StepOutcome, WorkError};
use assay_engine::load::{LoadObserver, Note, run_until};
use assay_engine::{held, layout, page_cache};
use assay_model::load::blocks::{BlockSizes, Blocks, Region, RwPattern};
use assay_model::load::files::{FileService, Files};
use assay_model::load::report::{FilePart, LoadProgress, LoadReport, StreamReport};
use assay_model::load::schedule::{ExitWhat, Schedule};
use assay_model::load::{Durability, Engine, Extent, Length, Load, PerDirection, Stream};
use assay_model::rng::SplitMix64;
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use assay_model::work::ProgressUnit;
use assay_model::work::androbench::{FilePhase, FileStart, MAX_FILES, file_name};
use assay_stats::streams::measurement;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Test files in a private folder.
pub(super) struct TestFiles<'a> {
    folder: &'a Path,
    /// Bytes of each file whose blocks are written.
    written: Vec<u64>,
}

impl<'a> TestFiles<'a> {
    pub(super) const fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            written: Vec::new(),
        }
    }

    /// Runs one phase as a step.
    pub(super) fn run(
        &mut self,
        phase: &FilePhase,
        steps_done: u32,
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
        let (job, paths) = (phase.job(), self.paths(phase));
        let paths_of_step: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let step = ObservedStep {
            job: &job,
            paths: &paths_of_step,
        };
        context.observer.begins(step);
        if let Err(error) = self.prepare(phase, &paths, steps_done, context) {
            context
                .observer
                .ended(error.outcome(), StepOutcome::default());
            return Err(error);
        }
        let load = load_of(phase, &paths, context.seed);
        let mut follower = Follower {
            observer: &mut *context.observer,
            step,
            steps_done,
            total: bytes_to_move(phase),
            began: Instant::now(),
        };
        let report = run_until(&load, context.stop, &mut follower);
        conclude(&report, context)
    }

    fn paths(&self, phase: &FilePhase) -> Vec<PathBuf> {
        let numbers = 0..phase.files;
        numbers
            .map(|number| self.folder.join(file_name(number)))
            .collect()
    }

    /// Brings the files to the state that the phase requires, and syncs the file system.
    fn prepare(
        &mut self,
        phase: &FilePhase,
        paths: &[PathBuf],
        steps_done: u32,
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
        let files = phase.files as usize;
        self.remove_from(files)?;
        self.written.resize(files, 0);
        let mut seeds = SplitMix64::new(!context.seed);
        let began = Instant::now();
        for (number, path) in paths.iter().enumerate() {
            if context.stopped() {
                return Err(WorkError::Stopped);
            }
            let done_before = phase.file_size.0 * number as u64;
            let mut tell = |done: Bytes| {
                let (done, total) = (done_before + done.0, phase.all_bytes().0);
                let words = format!("writing the test files of {}", phase.name);
                let now = progress(
                    &words,
                    steps_done,
                    (ProgressUnit::Bytes, done, total),
                    began.elapsed(),
                );
                context.observer.progress(&now);
            };
            let is = match phase.start {
                FileStart::Empty => empty(path).map(|()| 0)?,
                FileStart::Written if self.written[number] == phase.file_size.0 => {
                    evict(path)?;
                    phase.file_size.0
                }
                FileStart::Written => {
                    let file = make(path)?;
                    let (size, seed) = (phase.file_size, seeds.next_u64());
                    layout::write(&file, path, size, seed, context.stop, &mut tell)?;
                    size.0
                }
            };
            self.written[number] = is;
        }
        write_back(self.folder)
    }

    /// Removes all test files.
    pub(super) fn remove(&mut self) -> Result<(), WorkError> {
        self.remove_from(0)
    }

    fn remove_from(&mut self, first: usize) -> Result<(), WorkError> {
        let first = u32::try_from(first).unwrap_or(MAX_FILES);
        for number in first..MAX_FILES {
            let path = self.folder.join(file_name(number));
            remove_if_there(&path)?;
        }
        self.written.truncate(first as usize);
        Ok(())
    }
}

/// Creates an empty file; removes an existing one.
fn make(path: &Path) -> Result<File, WorkError> {
    remove_if_there(path)?;
    held::create_new(path).map_err(|errno| WorkError::io("make", path, &errno.into()))
}

/// Empties or creates a file, with `O_TRUNC`.
fn empty(path: &Path) -> Result<(), WorkError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    held::open(path, flags, Mode::from_raw_mode(0o666))
        .map(drop)
        .map_err(|errno| WorkError::io("empty", path, &errno.into()))
}

fn evict(path: &Path) -> Result<(), WorkError> {
    let file = held::open_to_read(path).map_err(|error| WorkError::io("open", path, &error))?;
    Ok(page_cache::evict(&file, path)?)
}

/// Returns the bytes that a phase transfers if no thread ends another.
fn bytes_to_move(phase: &FilePhase) -> u64 {
    let whole = phase.all_bytes().0;
    match phase.ios {
        Some(ios) => {
            let ios = ios.saturating_mul(u64::from(phase.threads));
            ios.saturating_mul(phase.bs.0).min(whole)
        }
        None => whole,
    }
}

/// Reports the outcome of a step to the observer; returns an error if it ends the work.
fn conclude(report: &LoadReport, context: &mut Context<'_>) -> Result<(), WorkError> {
    let streams: Vec<&StreamReport> = report.streams.iter().collect();
    let started = streams.iter().any(|stream| stream.started);
    let error = error_of(&streams).or_else(|| context.stopped().then_some(WorkError::Stopped));
    let outcome = error
        .as_ref()
        .map_or(Outcome::Completed, WorkError::outcome);
    let came = StepOutcome {
        measured: started.then(|| measurement(&streams)),
        detail: None,
    };
    context.observer.ended(outcome, came);
    error.map_or(Ok(()), Err)
}

/// Returns the error of the first stream that failed.
fn error_of(streams: &[&StreamReport]) -> Option<WorkError> {
    let failed = streams.iter().find(|stream| stream.errno != 0)?;
    Some(WorkError::Failed {
        message: failed.problem.clone().unwrap_or_else(|| {
            let errno = Errno::from_raw_os_error(failed.errno);
            errno.to_string()
        }),
        errno: Some(failed.errno),
    })
}

/// Forwards events of a load to the observer of a work.
struct Follower<'a> {
    observer: &'a mut dyn Observer,
    step: ObservedStep<'a>,
    steps_done: u32,
    total: u64,
    began: Instant,
}

impl LoadObserver for Follower<'_> {
    /// Forwards only warnings; failures are reported with the step.
    fn note(&mut self, note: &Note) {
        if let Note::Warning(text) = note {
            self.observer.note(NoteWeight::Warning, text.clone());
        }
    }

    fn wave_starts(&mut self, _wave: u32, _files: &[(u32, Vec<(PathBuf, FilePart)>)]) {
        self.observer.clock_starts(self.step);
        self.began = Instant::now();
    }

    fn wave_ended(&mut self, _wave: u32) {
        self.observer.clock_stopped();
    }

    fn progress(&mut self, told: &LoadProgress) {
        let sum = |values: PerDirection<u64>| values.read + values.write;
        let done = told.streams.iter().map(|stream| sum(stream.bytes)).sum();
        let elapsed: Duration = self.began.elapsed();
        let name = &self.step.job.name;
        let now = progress(
            name,
            self.steps_done,
            (ProgressUnit::Bytes, done, self.total),
            elapsed,
        );
        self.observer.progress(&now);
    }

    /// Never called: no interim reports are requested.
    fn interim(&mut self, _report: LoadReport) {}
}

/// Builds the streams of a phase on prepared files, in one wave and reported as one. The
/// same seed gives the same I/O.
pub(super) fn load_of(phase: &FilePhase, paths: &[PathBuf], seed: u64) -> Load {
    let streams = (0..phase.threads).map(|thread| stream(phase, paths, seed, thread));
    Load {
        streams: streams.collect(),
        entropy: seed,
        ..Load::default()
    }
}

fn stream(phase: &FilePhase, paths: &[PathBuf], seed: u64, thread: u32) -> Stream {
    let own: Vec<PathBuf> = paths
        .iter()
        .skip(thread as usize)
        .step_by(phase.threads as usize)
        .cloned()
        .collect();
    let size = phase.file_size.0.saturating_mul(own.len() as u64);
    Stream {
        number: thread + 1,
        clone: thread,
        schedule: Schedule {
            exit_all: phase.first_ends_all.then_some(ExitWhat::All),
            exit_all_on_error: true,
            ..Schedule::default()
        },
        files: Files {
            service: FileService::Sequential,
            ..Files::prepared(own)
        },
        region: Region {
            size: Some(Extent::Bytes(size)),
            ..Region::default()
        },
        blocks: blocks(phase, seed),
        length: Length {
            number_ios: phase.ios,
            ..Length::default()
        },
        engine: Engine {
            kind: phase.ioengine,
            register_files: true,
            ..Engine::default()
        },
        durability: Durability::of_job(phase.direct, phase.sync, phase.flush),
        ..Stream::new(&phase.name)
    }
}

fn blocks(phase: &FilePhase, seed: u64) -> Blocks {
    let block = u32::try_from(phase.bs.0).unwrap_or(u32::MAX);
    Blocks {
        rw: RwPattern {
            read: phase.rw.reads(),
            write: phase.rw.writes(),
            random: phase.rw.is_random(),
            ..RwPattern::default()
        },
        sizes: PerDirection::all(BlockSizes::fixed(block)),
        no_map: phase.repeats,
        repeat: false,
        seed: Some(seed),
        ..Blocks::default()
    }
}

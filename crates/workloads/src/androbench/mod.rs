//! Phases of AndroBench and Mobibench: patterns on files made by assay, and transactions on an
//! `SQLite` database. A phase on files is the preparation, and the load between two snapshots of
//! the observer.

#[cfg(feature = "sqlite")]
pub(crate) mod database;

use crate::observer::nanos;
use crate::{ActError, Context, ObservedStep, Observer, StepOutcome};
use crate::{remove_if_there, write_back};
use assay_engine::held::shown;
use assay_engine::load::{LoadObserver, Note, run_until};
use assay_engine::{held, layout, page_cache};
use assay_model::act::androbench::{
    AndroBench, DatabasePhase, FilePhase, FileStart, MAX_FILES, Phase, Schema, file_name,
};
use assay_model::act::{ActProgress, ActReport, ProgressUnit};
use assay_model::load::blocks::{BlockSizes, Blocks, FileService, Files, Region, RwPattern};
use assay_model::load::report::{FilePart, LoadProgress, LoadReport, StreamReport};
use assay_model::load::{
    Durability, Engine, ExitWhat, Extent, Length, Load, PerDirection, Schedule, Stream,
};
use assay_model::rng::SplitMix64;
use assay_model::trial::Outcome;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use assay_stats::streams::measurement;
#[cfg(feature = "sqlite")]
use database::run as transact;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn run(work: &AndroBench, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    check(work)?;
    let Some(folder) = context.folder else {
        return Err(ActError::Refused(
            "no folder was given for the test files".to_owned(),
        ));
    };
    let mut files = TestFiles::new(folder);
    let mut steps_done = 0;
    for phase in &work.phases {
        match phase {
            Phase::Files(phase) => files.run(phase, steps_done, context)?,
            Phase::Database(phase) => {
                files.remove()?;
                transact(phase, folder, steps_done, context)?;
            }
        }
        steps_done += u32::try_from(phase.jobs().len()).unwrap_or(u32::MAX);
        context.observer.keep();
    }
    Ok(ActReport::Steps)
}

#[cfg(not(feature = "sqlite"))]
fn transact(
    _phase: &DatabasePhase,
    _folder: &Path,
    _steps_done: u32,
    _context: &mut Context<'_>,
) -> Result<(), ActError> {
    Err(without_sqlite())
}

/// Builds the progress of a step, `done` of `total`.
fn progress(
    step: &str,
    steps_done: u32,
    (unit, done, total): (ProgressUnit, u64, u64),
    elapsed: Duration,
) -> ActProgress {
    ActProgress {
        step: step.to_owned(),
        steps_done,
        unit,
        done,
        total: Some(total),
        elapsed_ns: nanos(elapsed),
    }
}

/// Tables of a database, at most.
const MAX_TABLES: u32 = 1_000;
/// Space for databases and for metadata of the file system, in bytes.
const SPARE: u64 = 16 << 20;

/// Refuses an act that cannot be carried out, before anything is written.
fn check(work: &AndroBench) -> Result<(), ActError> {
    if work.phases.is_empty() {
        return Err(refused("no step was given to measure"));
    }
    let mut names = HashSet::new();
    for phase in &work.phases {
        match phase {
            Phase::Files(phase) => check_files(phase)?,
            Phase::Database(phase) => check_database(phase)?,
        }
        for job in phase.jobs() {
            if !names.insert(job.name.clone()) {
                return Err(refused(&format!("{} is asked for twice", job.name)));
            }
        }
    }
    check_room(work.room(), &work.folder)
}

fn check_files(phase: &FilePhase) -> Result<(), ActError> {
    let name = &phase.name;
    let problem = if !(1..=MAX_FILES).contains(&phase.files) {
        format!("there must be 1 to {MAX_FILES} files")
    } else if !(1..=phase.files).contains(&phase.threads) {
        format!(
            "{} threads need a file each, but there are only {} files",
            phase.threads, phase.files
        )
    } else if phase.bs.0 == 0 || phase.bs.0 > u64::from(u32::MAX) {
        "the block size must be between 1 byte and 4 GiB".to_owned()
    } else if phase.file_size.0 < phase.bs.0 {
        format!(
            "a block of {} does not fit into a file of {}",
            phase.bs, phase.file_size
        )
    } else if phase.direct && !phase.bs.0.is_multiple_of(512) {
        "direct I/O needs blocks that are multiples of 512 bytes".to_owned()
    } else if phase.rw.reads() && phase.rw.writes() {
        "it must either read or write".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(&format!("{name}: {problem}")))
}

fn check_database(phase: &DatabasePhase) -> Result<(), ActError> {
    if cfg!(not(feature = "sqlite")) {
        return Err(without_sqlite());
    }
    let tables = match phase.schema {
        Schema::AndroBench => 1,
        Schema::Mobibench { tables } => tables,
    };
    if phase.transactions == 0 || phase.statements.is_empty() {
        return Err(refused("SQLite: there must be at least one transaction"));
    }
    if !(1..=MAX_TABLES).contains(&tables) {
        let problem = format!("SQLite: there must be 1 to {MAX_TABLES} tables");
        return Err(refused(&problem));
    }
    Ok(())
}

/// Returns the error of an agent without `SQLite`.
fn without_sqlite() -> ActError {
    refused(
        "this agent was built without SQLite: leave the database out (--only seq-read,seq-write,\
         rand-read,rand-write), or use an agent that was built with the feature sqlite",
    )
}

fn check_room(needed: Bytes, folder: &Path) -> Result<(), ActError> {
    // Without an answer, a lack of space is reported when the file system is full.
    let Ok(there) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = there.f_bavail.saturating_mul(there.f_frsize);
    if needed.0.saturating_add(SPARE) <= free {
        return Ok(());
    }
    Err(refused(&format!(
        "the test files in {} would take {needed} and some more, but only {} are free: use a \
         smaller --size, or another folder",
        shown(folder),
        Bytes(free)
    )))
}

fn refused(problem: &str) -> ActError {
    ActError::Refused(problem.to_owned())
}

/// Test files in a private folder.
struct TestFiles<'a> {
    folder: &'a Path,
    /// Bytes of each file whose blocks are written.
    written: Vec<u64>,
}

impl<'a> TestFiles<'a> {
    const fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            written: Vec::new(),
        }
    }

    /// Runs one phase as a step.
    fn run(
        &mut self,
        phase: &FilePhase,
        steps_done: u32,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
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
    ) -> Result<(), ActError> {
        let files = phase.files as usize;
        self.remove_from(files)?;
        self.written.resize(files, 0);
        let mut seeds = SplitMix64::new(!context.seed);
        let began = Instant::now();
        for (number, path) in paths.iter().enumerate() {
            if context.stopped() {
                return Err(ActError::Stopped);
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
    fn remove(&mut self) -> Result<(), ActError> {
        self.remove_from(0)
    }

    fn remove_from(&mut self, first: usize) -> Result<(), ActError> {
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
fn make(path: &Path) -> Result<File, ActError> {
    remove_if_there(path)?;
    held::create_new(path).map_err(|errno| ActError::io("make", path, &errno.into()))
}

/// Empties or creates a file, with `O_TRUNC`.
fn empty(path: &Path) -> Result<(), ActError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    held::open(path, flags, Mode::from_raw_mode(0o666))
        .map(drop)
        .map_err(|errno| ActError::io("empty", path, &errno.into()))
}

fn evict(path: &Path) -> Result<(), ActError> {
    let file = held::open_to_read(path).map_err(|error| ActError::io("open", path, &error))?;
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

/// Reports the outcome of a step to the observer; returns an error if it ends the act.
fn conclude(report: &LoadReport, context: &mut Context<'_>) -> Result<(), ActError> {
    let streams: Vec<&StreamReport> = report.streams.iter().collect();
    let started = streams.iter().any(|stream| stream.started);
    let error = error_of(&streams).or_else(|| context.stopped().then_some(ActError::Stopped));
    let outcome = error.as_ref().map_or(Outcome::Completed, ActError::outcome);
    let came = StepOutcome {
        measured: started.then(|| measurement(&streams)),
        detail: None,
    };
    context.observer.ended(outcome, came);
    error.map_or(Ok(()), Err)
}

/// Returns the error of the first stream that failed.
fn error_of(streams: &[&StreamReport]) -> Option<ActError> {
    let failed = streams.iter().find(|stream| stream.errno != 0)?;
    Some(ActError::Failed {
        message: failed.problem.clone().unwrap_or_else(|| {
            let errno = Errno::from_raw_os_error(failed.errno);
            errno.to_string()
        }),
        errno: Some(failed.errno),
    })
}

/// Forwards events of a load to the observer of an act.
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
fn load_of(phase: &FilePhase, paths: &[PathBuf], seed: u64) -> Load {
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

#[cfg(test)]
mod tests;

//! Files and databases of AndroBench and Mobibench: phases on files that assay creates and on an
//! `SQLite` database.

mod database;

pub use database::{DatabasePhase, DatabaseStep, Journal, Schema, Statement, Synchronous};

use crate::job::{EngineKind, FileState, Flush, Job, OpenSync, Rw};
use crate::units::Bytes;
use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Most files that a phase may use.
pub const MAX_FILES: u32 = 64;
/// File name of the database.
pub const DATABASE: &str = "testing.db";
/// Suffixes of the files that `SQLite` creates beside a database.
pub const DATABASE_SUFFIXES: [&str; 3] = ["-journal", "-wal", "-shm"];

/// A run of `AndroBench`'s or Mobibench's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AndroBench {
    /// Folder in which a test folder is created.
    pub folder: PathBuf,
    /// Phases to measure, in order; each phase is a step, and a database phase has a step for each
    /// statement.
    pub phases: Vec<Phase>,
}

impl WorkSpec for AndroBench {
    fn writes(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.folder.clone()]
    }

    fn private_folder_in(&self) -> Option<&Path> {
        Some(&self.folder)
    }
}

impl AndroBench {
    /// Returns the most bytes that its test files take at a time; databases are small in
    /// comparison.
    pub fn room(&self) -> Bytes {
        let phases = self.phases.iter().filter_map(|phase| match phase {
            Phase::Files(phase) => Some(phase.all_bytes()),
            Phase::Database(_) => None,
        });
        phases.max().unwrap_or_default()
    }
}

/// Returns the names of all files that a run creates in its test folder.
pub fn file_names() -> impl Iterator<Item = String> {
    let database = DATABASE_SUFFIXES
        .iter()
        .map(|end| format!("{DATABASE}{end}"));
    (0..MAX_FILES)
        .map(file_name)
        .chain(database)
        .chain([DATABASE.to_owned()])
}

/// Returns the name of a test file.
pub fn file_name(number: u32) -> String {
    format!("file-{number}")
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Phase on files.
    Files(FilePhase),
    /// Phase on a database.
    Database(DatabasePhase),
}

impl Phase {
    /// Returns the jobs that describe the steps.
    pub fn jobs(&self) -> Vec<Job> {
        match self {
            Self::Files(phase) => vec![phase.job()],
            Self::Database(phase) => phase
                .statements
                .iter()
                .map(|statement| phase.job(*statement))
                .collect(),
        }
    }
}

/// State of the files before the clock starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileStart {
    /// Written files: each block is on the device and not in the page cache.
    #[default]
    Written,
    /// Empty files (`O_TRUNC`): blocks are allocated while the clock runs.
    Empty,
}

/// One pattern on some files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePhase {
    /// Name of the step.
    pub name: String,
    /// Description of the phase, for display.
    pub description: String,
    /// Pattern of reads or writes, not mixed.
    pub rw: Rw,
    /// Number of files, at most [`MAX_FILES`].
    pub files: u32,
    /// Size of each file; at least a block.
    pub file_size: Bytes,
    /// Number of threads. File *n* belongs to thread *n* modulo the number of threads; a thread
    /// processes its files one after the other.
    pub threads: u32,
    /// Block size; at most that of a file.
    pub bs: Bytes,
    /// Most I/Os of each thread; `None`: as many as fit into its files.
    pub ios: Option<u64>,
    /// `true` if random blocks may repeat (`norandommap`).
    pub repeats: bool,
    /// `true` if every thread ends when the first is complete.
    pub first_ends_all: bool,
    /// Engine.
    pub ioengine: EngineKind,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_DSYNC` / `O_SYNC`.
    pub sync: OpenSync,
    /// Flush calls, inside the measured time.
    pub flush: Flush,
    /// State of the files before the clock starts.
    pub start: FileStart,
}

impl FilePhase {
    /// Creates a phase of one pass over one file with psync.
    pub fn new(name: &str, rw: Rw, bs: Bytes, file_size: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            rw,
            files: 1,
            file_size,
            threads: 1,
            bs,
            ios: None,
            repeats: false,
            first_ends_all: false,
            ioengine: EngineKind::Psync,
            direct: false,
            sync: OpenSync::None,
            flush: Flush::default(),
            start: FileStart::Written,
        }
    }

    /// Returns the size of all files together.
    pub const fn all_bytes(&self) -> Bytes {
        Bytes(self.file_size.0.saturating_mul(self.files as u64))
    }

    /// Returns the job that describes the step.
    pub fn job(&self) -> Job {
        let per_thread = self.all_bytes().0 / u64::from(self.threads.max(1));
        let bytes_of = |ios: u64| Bytes(ios.saturating_mul(self.bs.0).min(per_thread));
        Job {
            numjobs: self.threads,
            io_size: self.ios.map(bytes_of),
            ioengine: self.ioengine,
            direct: self.direct,
            sync: self.sync,
            flush: self.flush,
            file_state: match self.start {
                FileStart::Written => FileState::Written,
                FileStart::Empty => FileState::Fresh,
            },
            description: Some(self.description.clone()),
            ..Job::new(&self.name, self.rw, self.bs, Bytes(per_thread))
        }
    }
}

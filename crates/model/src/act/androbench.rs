//! Files and databases of AndroBench and Mobibench: phases on files that assay creates and on an
//! `SQLite` database.

use crate::act::ActSpec;
use crate::evidence::LatencyRecord;
use crate::job::{CacheState, EngineKind, FileState, Flush, FlushCall, Job, OpenSync, Purpose, Rw};
use crate::units::Bytes;
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

impl ActSpec for AndroBench {
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

/// Transactions on a new database. Each statement is a separate step, on the result of the previous
/// one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabasePhase {
    /// Tables and columns.
    pub schema: Schema,
    /// Journal mode.
    pub journal: Journal,
    /// Flush mode of `SQLite`.
    pub synchronous: Synchronous,
    /// Number of transactions of each statement.
    pub transactions: u64,
    /// Statements to measure, in order. Rows that an update or a delete needs and that no earlier
    /// insert has created are created outside the clock.
    pub statements: Vec<Statement>,
    /// `true` for a checkpoint after the last transaction (with a write-ahead log), when the clock
    /// has stopped and the evidence is taken.
    pub checkpoint: bool,
}

impl DatabasePhase {
    /// Page size of the databases, `SQLite`'s default.
    pub const PAGE: Bytes = Bytes(4096);

    /// Returns the job that describes a step. Its size is 0, since a database grows as needed.
    pub fn job(&self, statement: Statement) -> Job {
        let at_end = self.synchronous.commits_durably(self.journal);
        let first = self.statements.first() == Some(&statement);
        Job {
            file_state: match statement {
                Statement::Insert if first => FileState::Fresh,
                _ => FileState::Written,
            },
            cache_state: CacheState::AsIs,
            flush: Flush {
                every: None,
                at_end: at_end.then_some(FlushCall::Fsync),
            },
            purpose: Some(Purpose::Transactions),
            description: Some(format!(
                "SQLite {statement}, journal {}, synchronous {}",
                self.journal, self.synchronous
            )),
            ..Job::new(statement.step(), Rw::RandWrite, Self::PAGE, Bytes(0))
        }
    }
}

/// Tables and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schema {
    /// One table `testing` with an automatic key, 11 integers and 5 texts; each statement is a
    /// separate transaction. Rows are found by a column without an index, in random order.
    AndroBench,
    /// Tables with a key, a text of 100 characters and a date; a transaction is
    /// one statement for each table.
    Mobibench {
        /// Number of tables.
        tables: u32,
    },
}

crate::named! {
    /// Statement of a transaction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Statement {
        /// Adds a row.
        #[default]
        Insert = "insert",
        /// Changes a row.
        Update = "update",
        /// Removes a row.
        Delete = "delete",
    }
}

impl Statement {
    /// Returns the name of the statement's step.
    pub const fn step(self) -> &'static str {
        match self {
            Self::Insert => "sqlite-insert",
            Self::Update => "sqlite-update",
            Self::Delete => "sqlite-delete",
        }
    }
}

crate::named! {
    /// `PRAGMA journal_mode`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Journal {
        /// A rollback journal that each commit removes.
        #[default]
        Delete = "delete",
        /// A rollback journal that each commit truncates.
        Truncate = "truncate",
        /// A rollback journal whose header each commit overwrites.
        Persist = "persist",
        /// A write-ahead log.
        Wal = "wal",
        /// A rollback journal in memory: a crash damages the database.
        Memory = "memory",
        /// No journal: a crash damages the database.
        Off = "off",
    }
}

crate::named! {
    /// `PRAGMA synchronous`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Synchronous {
        /// `SQLite` never flushes.
        Off = "off",
        /// `SQLite` flushes at the most critical moments: with a write-ahead log only before and
        /// after a checkpoint.
        Normal = "normal",
        /// Each commit is flushed.
        #[default]
        Full = "full",
        /// Each commit is flushed, and also the folder of a removed journal.
        Extra = "extra",
    }
}

impl Synchronous {
    /// `true` if each commit ends with everything that it wrote flushed.
    ///
    /// With a write-ahead log, `NORMAL` flushes at checkpoints only
    /// (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
    pub const fn commits_durably(self, journal: Journal) -> bool {
        match self {
            Self::Off => false,
            Self::Normal => !matches!(journal, Journal::Wal),
            Self::Full | Self::Extra => true,
        }
    }
}

/// Results of the transactions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseStep {
    /// Statement of each transaction.
    pub statement: Statement,
    /// Number of transactions done.
    pub transactions: u64,
    /// Statements per transaction.
    pub statements_each: u32,
    /// Journal mode in force.
    pub journal: Journal,
    /// Synchronous level in force.
    pub synchronous: Synchronous,
    /// Latency of each transaction. AndroBench divides by its sum, which leaves out the time
    /// between transactions.
    pub latency: LatencyRecord,
    /// Time of a checkpoint after the last transaction, outside the clock; `None` if there was
    /// none.
    pub checkpoint_ns: Option<u64>,
    /// Version of `SQLite`.
    pub sqlite_version: String,
}

impl DatabaseStep {
    /// Most `fsync` calls of one commit: two for the journal, one each for its folder when it is
    /// created and removed, one for the database. (pager.c of `SQLite`: `syncJournal`,
    /// `sqlite3PagerCommitPhaseOne`.)
    const MOST_SYNCS_EACH: u64 = 5;

    /// Returns the fewest flushes that make each transaction durable separately; 0 if that is not
    /// requested.
    pub fn least_flushes(&self) -> u64 {
        match self.synchronous.commits_durably(self.journal) {
            true => self.transactions,
            false => 0,
        }
    }

    /// Returns the most `fsync` calls that `SQLite` made.
    pub fn most_syncs(&self) -> u64 {
        match self.synchronous {
            Synchronous::Off => 0,
            _ => self.transactions.saturating_mul(Self::MOST_SYNCS_EACH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_makes_commits_durable_from_full_on() {
        let durable = |synchronous: Synchronous| {
            let journals = Journal::ALL.iter();
            let durable = journals.filter(|&&journal| synchronous.commits_durably(journal));
            durable.count()
        };
        assert_eq!(Synchronous::ALL.map(durable), [0, 5, 6, 6]);
        assert!(!Synchronous::Normal.commits_durably(Journal::Wal));
    }

    #[test]
    fn a_step_that_need_not_be_durable_needs_no_flush() {
        let step = |synchronous| DatabaseStep {
            transactions: 10,
            journal: Journal::Wal,
            synchronous,
            ..DatabaseStep::default()
        };
        let flushes = |synchronous| {
            let step = step(synchronous);
            (step.least_flushes(), step.most_syncs())
        };
        assert_eq!(flushes(Synchronous::Off), (0, 0));
        assert_eq!(flushes(Synchronous::Normal), (0, 50));
        assert_eq!(flushes(Synchronous::Full), (10, 50));
    }
}

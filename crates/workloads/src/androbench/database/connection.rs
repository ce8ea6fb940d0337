//! A new database with its tables.

use crate::WorkError;
use crate::files::remove_if_there;
use crate::meter::nanos;
use assay_engine::held::{let_sqlite_in, shown};
use assay_model::work::androbench::{DATABASE, DATABASE_SUFFIXES, DatabasePhase, Journal, Schema};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Integer columns of AndroBench's table besides its key.
pub(super) const INTEGERS: usize = 11;
pub(super) const TEXTS: usize = 5;

/// An open database.
pub(crate) struct Database {
    pub(super) connection: Connection,
    pub(super) schema: Schema,
    path: PathBuf,
}

impl Database {
    /// Returns the database's files that may hold dirty pages during transactions, for the
    /// evidence.
    pub(crate) fn files(folder: &Path, journal: Journal) -> Vec<PathBuf> {
        let beside = match journal {
            Journal::Wal => Some("-wal"),
            Journal::Delete | Journal::Truncate | Journal::Persist => Some("-journal"),
            Journal::Memory | Journal::Off => None,
        };
        let mut files = vec![folder.join(DATABASE)];
        files.extend(beside.map(|end| folder.join(format!("{DATABASE}{end}"))));
        files
    }

    /// Creates a new database; removes existing files of that name.
    pub(crate) fn make(phase: &DatabasePhase, folder: &Path) -> Result<Self, WorkError> {
        let path = folder.join(DATABASE);
        remove_if_there(&path)?;
        for end in DATABASE_SUFFIXES {
            remove_if_there(&folder.join(format!("{DATABASE}{end}")))?;
        }
        let_sqlite_in().map_err(|error| WorkError::io("open", &path, &error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&path, flags)
            .map_err(|error| failed("open", &path, &error))?;
        let database = Self {
            connection,
            schema: phase.schema,
            path,
        };
        database.set_up(phase)?;
        database.run(&tables(phase.schema))?;
        Ok(database)
    }

    /// Sets the requested parameters, and checks that they are in force.
    fn set_up(&self, phase: &DatabasePhase) -> Result<(), WorkError> {
        self.run(&format!(
            "PRAGMA page_size = {}; PRAGMA temp_store = MEMORY; PRAGMA synchronous = {}",
            DatabasePhase::PAGE.0,
            phase.synchronous
        ))?;
        let wanted = phase.journal.name();
        let set = format!("PRAGMA journal_mode = {wanted}");
        let mode = self.connection.query_row(&set, [], |row| row.get(0));
        let mode: String = mode.map_err(|error| self.failed("set the journal of", &error))?;
        if mode == wanted {
            return Ok(());
        }
        Err(WorkError::Refused(format!(
            "SQLite does not take journal mode {wanted} for {} and stays with {mode}: choose \
             another --journal, or a folder on another file system",
            shown(&self.path)
        )))
    }

    /// Transfers the write-ahead log into the database as far as possible; returns the
    /// duration in nanoseconds.
    pub(crate) fn checkpoint(&self) -> Result<u64, WorkError> {
        let begin = Instant::now();
        let done = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        done.map_err(|error| self.failed("checkpoint", &error))?;
        Ok(nanos(begin.elapsed()))
    }

    pub(crate) fn close(self) -> Result<(), WorkError> {
        let Self {
            connection, path, ..
        } = self;
        connection
            .close()
            .map_err(|(_, error)| failed("close", &path, &error))
    }

    pub(super) fn run(&self, sql: &str) -> Result<(), WorkError> {
        let ran = self.connection.execute_batch(sql);
        ran.map_err(|error| self.failed("set up", &error))
    }

    pub(crate) fn failed(&self, doing: &str, error: &Error) -> WorkError {
        failed(doing, &self.path, error)
    }
}

/// Returns the statements that create the tables of a schema.
fn tables(schema: Schema) -> String {
    match schema {
        Schema::AndroBench => {
            let integers = (1..=INTEGERS).map(|n| format!("int{n} INTEGER"));
            let texts = (1..=TEXTS).map(|n| format!("text{n} TEXT"));
            let columns: Vec<String> = integers.chain(texts).collect();
            format!(
                "CREATE TABLE testing (id INTEGER PRIMARY KEY AUTOINCREMENT, {})",
                columns.join(", ")
            )
        }
        Schema::Mobibench { tables } => {
            let tables = (0..tables).map(|n| {
                format!(
                    "CREATE TABLE testing{n} (id INTEGER PRIMARY KEY, value TEXT, \
                     creation_date INTEGER);"
                )
            });
            tables.collect()
        }
    }
}

/// Converts an error of `SQLite`, with the kernel's error number if known.
fn failed(doing: &str, path: &Path, error: &Error) -> WorkError {
    let errno = match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => Some(Errno::IO),
        Some(ErrorCode::DiskFull) => Some(Errno::NOSPC),
        Some(ErrorCode::ReadOnly) => Some(Errno::ROFS),
        _ => None,
    };
    WorkError::Failed {
        message: format!("SQLite cannot {doing} {}: {error}", shown(path)),
        errno: errno.map(Errno::raw_os_error),
    }
}

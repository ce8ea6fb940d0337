//! Errors of a store, each in one line.

use crate::location::Location;
use rusqlite::ErrorCode;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Error of a store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no file yet, or an empty one.
    #[error("no store at {}: check the path; the first measurement makes one (assay qualify)", .path.display())]
    Missing {
        /// The store.
        path: PathBuf,
    },
    /// The path is a directory, a device or a pipe.
    #[error("{} is not a regular file: give the store a file name, as in --store runs.sqlite", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file was made by something that is not SQLite.
    #[error("{} is not an SQLite database: choose another file with --store", .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The database belongs to another program.
    #[error(
        "{store} is the database of another program, not a store of assay: choose another store with --store"
    )]
    Foreign {
        /// The file.
        store: Location,
    },
    /// A newer assay made the file.
    #[error("the store {} was made by a newer assay (format {found}, this one knows {known}): update assay, or choose another file with --store", .store)]
    Newer {
        /// The store.
        store: Location,
        /// Format version of the store.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// The file or its folder cannot be made, read or written.
    #[error("cannot {action} {}: {source}: check its permissions, or choose another file with --store", .path.display())]
    Access {
        /// For example `create the folder`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is readable but not writable.
    #[error("cannot write the store {}: it or its folder is read-only: check the permissions, or choose another file with --store", .store)]
    ReadOnly {
        /// The store.
        store: Location,
    },
    /// The process has reached its limit of open files.
    #[error("cannot write the store {}: too many files are open: raise the limit (ulimit -n)", .path.display())]
    TooManyFiles {
        /// The store.
        path: PathBuf,
    },
    /// Another process kept the store locked.
    #[error("the store {} stays locked by another process: wait for it to end, then try again", .store)]
    Locked {
        /// The store.
        store: Location,
    },
    /// The file system of the store is full.
    #[error("no space left for the store {}: free some space, or choose another file with --store", .store)]
    Full {
        /// The store.
        store: Location,
    },
    /// An ended run lacks trials: some could not be stored, or the contents of the file were
    /// replaced.
    #[error("the store {} has {there} of the {trials} trials of run {run}: the others could not be stored, or the file was changed by another program", .store)]
    Incomplete {
        /// The store.
        store: Location,
        /// The run.
        run: String,
        /// Number of its trials that are present.
        there: usize,
        /// Number of trials that should be present.
        trials: usize,
    },
    /// The path no longer leads to the open file.
    #[error("the store {} was removed or replaced by another file while in use", .path.display())]
    Replaced {
        /// The store.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("the store {} is damaged ({source}): keep it for rescue and choose another file with --store", .path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// The header of a run cannot be read.
    #[error("the header of run {run} is damaged ({source}): its trials cannot be shown")]
    DamagedRun {
        /// The run.
        run: String,
        /// Cause of the error.
        source: io::Error,
    },
    /// The record of an import cannot be read.
    #[error("import {import} is damaged ({source}): import its files again")]
    DamagedImport {
        /// The import.
        import: String,
        /// Cause of the error.
        source: io::Error,
    },
    /// The record of one trial cannot be read.
    #[error("trial {trial} of job '{job}' in run {run} is damaged ({source}): it is left out")]
    DamagedTrial {
        /// The run.
        run: String,
        /// Name of the job.
        job: String,
        /// Repetition, from 1.
        trial: u32,
        /// Cause of the error.
        source: io::Error,
    },
    /// A record has no JSON form, for example a path that is not UTF-8.
    #[error("cannot store run {run}: {source}: use paths that are UTF-8")]
    Unwritable {
        /// The run.
        run: String,
        /// Cause of the error.
        source: io::Error,
    },
    /// The id already belongs to a run or an import.
    #[error("{} has '{id}' already: try again", .store)]
    Taken {
        /// The id.
        id: String,
        /// The store.
        store: Location,
    },
    /// The name already belongs to another run or import, as its name or id.
    #[error(
        "{holder} is called '{name}' already: choose another name, or rename it with assay store tag {holder} --name NAME"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// Id of the run or import that has it.
        holder: String,
    },
    /// A run to be removed is still being made.
    #[error("run {run} is under way (process {pid}): stop it first; nothing was removed")]
    UnderWay {
        /// The run.
        run: String,
        /// Process that makes it.
        pid: u32,
    },
    /// No run or import has that id.
    #[error("no run or import '{text}' in {}: assay list shows all", .store)]
    NoSuchRun {
        /// Requested id.
        text: String,
        /// The store.
        store: Location,
    },
    /// Several runs or imports match.
    #[error("'{text}' fits {} runs or imports ({}): type more of the id", .candidates.len(), list(.candidates))]
    Ambiguous {
        /// Requested id.
        text: String,
        /// Ids of those that fit, newest first.
        candidates: Vec<String>,
    },
    /// The store contains neither runs nor imports.
    #[error("the store {} has no runs or imports yet: assay qualify or assay store import makes one", .store)]
    Empty {
        /// The store.
        store: Location,
    },
    /// The address of a database is wrong.
    #[error("{store} is no address of a database ({reason}): write postgres://USER@HOST/DATABASE")]
    BadAddress {
        /// The store.
        store: Location,
        /// Reason.
        reason: String,
    },
    /// This program was built without PostgreSQL support.
    #[error(
        "{store} needs an assay that was built with PostgreSQL (cargo feature postgres): use a file with --store"
    )]
    NoClient {
        /// The store.
        store: Location,
    },
    /// The server does not answer.
    #[error(
        "cannot reach the server of {store} ({reason}): check its address, and whether it runs"
    )]
    Unreachable {
        /// The store.
        store: Location,
        /// Why.
        reason: String,
    },
    /// The server refuses the user.
    #[error(
        "the server of {store} refuses the user ({reason}): check the name; the password is read from PGPASSWORD or ~/.pgpass"
    )]
    Denied {
        /// The store.
        store: Location,
        /// Why.
        reason: String,
    },
    /// The server has no such database.
    #[error(
        "the server of {store} has no such database ({reason}): make it with createdb, or choose another with --store"
    )]
    NoDatabase {
        /// The store.
        store: Location,
        /// Message of the server.
        reason: String,
    },
    /// The connection cannot be encrypted, or the server cannot be authenticated.
    #[error("no secure connection to {store} ({reason}): see sslmode in docs/store.md")]
    Insecure {
        /// The store.
        store: Location,
        /// Why.
        reason: String,
    },
    /// The database has no tables of a store.
    #[error("no store at {store} yet: a command that writes there makes it")]
    NotMade {
        /// The store.
        store: Location,
    },
    /// The tables are older than this program, and it may not change them.
    #[error(
        "the store {store} has format {found}, this assay needs {known}: let a user who owns its tables open it with this assay"
    )]
    Older {
        /// The store.
        store: Location,
        /// Format version of the store.
        found: u32,
        /// The newest known format.
        known: u32,
    },
    /// The database user lacks a right.
    #[error(
        "the user of {store} may not do that ({reason}): ask its owner for the right to write (docs/store.md)"
    )]
    Forbidden {
        /// The store.
        store: Location,
        /// Message of the server.
        reason: String,
    },
    /// The connection was lost.
    #[error(
        "the connection to {store} was lost ({reason}): whether the last change was stored is not known; try again"
    )]
    Lost {
        /// The store.
        store: Location,
        /// Why.
        reason: String,
    },
    /// A user's statement cannot be answered.
    #[error("the statement cannot be answered: {reason}")]
    Question {
        /// Why.
        reason: String,
    },
    /// Any other error of the database.
    #[error("the store {store} failed: {reason}")]
    Failed {
        /// The store.
        store: Location,
        /// Message of the database.
        reason: String,
    },
}

/// Returns true if the process can open another file; SQLite reports the same error for every file
/// that it cannot open.
fn may_open_more() -> bool {
    File::open("/dev/null").is_ok()
}

/// Formats the first few of `candidates`.
fn list(candidates: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = candidates[..candidates.len().min(SHOWN)].join(", ");
    if candidates.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

impl StoreError {
    /// Converts an SQLite error.
    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let (path, store) = (path.to_owned(), Location::File(path.to_owned()));
        match source.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) if !may_open_more() => Self::TooManyFiles { path },
            // CannotOpen: the journal cannot be created in the folder.
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { store }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { store },
            Some(ErrorCode::DiskFull) => Self::Full { store },
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source },
            _ => Self::Failed {
                store,
                reason: source.to_string(),
            },
        }
    }
}

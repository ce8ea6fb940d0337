//! A store in an SQLite file.
//!
//! The file is inspected without SQLite first. SQLite only opens files that belong to assay or do
//! not exist yet, because it may change any file that it opens: it rolls back an interrupted
//! transaction.

use super::{Access, Backend, Dialect, Scope, Statements, Value};
use crate::backend::views::{StoreView, VIEWS};
use crate::backend::{Columns, Question, Row};
use crate::error::StoreError;
use crate::location::Location;
use crate::schema;
use crate::schema::{APPLICATION_ID, NEWEST};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, Transaction, TransactionBehavior, params_from_iter};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Time limit for waiting on another process. Readers and writers hold the lock for one short
/// transaction, but an fsync on flash may stall for seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// An open store file.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    location: Location,
    path: PathBuf,
    /// Device and inode of the open file.
    identity: (u64, u64),
}

impl Sqlite {
    /// Opens a file. [`Access::Create`] creates the file and its folders.
    pub fn open(path: &Path, access: Access) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let (mut flags, mut patience) = (OpenFlags::SQLITE_OPEN_READ_WRITE, BUSY_TIMEOUT);
        let found = inspect(&path)?;
        match access {
            Access::Create => {
                flags |= OpenFlags::SQLITE_OPEN_CREATE;
                if found == StoreFileKind::Nothing
                    && let Some(folder) = path.parent()
                {
                    create_folder(folder)?;
                }
            }
            _ if found == StoreFileKind::Nothing => return Err(StoreError::Missing { path }),
            Access::Existing => {}
            Access::Read => {
                flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
                patience = Duration::ZERO;
            }
        }
        let opened = Self::connect(path, flags, patience)?;
        if access == Access::Create && opened.with(|open| open.is_readonly("main"))? {
            return Err(StoreError::ReadOnly {
                store: opened.location,
            });
        }
        Ok(opened)
    }

    fn connect(path: PathBuf, access: OpenFlags, patience: Duration) -> Result<Self, StoreError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)
            .map_err(|error| StoreError::from_sqlite(&path, error))?;
        let identity = identity(&path).map_err(|source| StoreError::Access {
            action: "read the store",
            path: path.clone(),
            source,
        })?;
        let opened = Self {
            connection,
            location: Location::File(path.clone()),
            path,
            identity,
        };
        opened.with(|connection| configure(connection, patience))?;
        opened.with(migrate)?;
        Ok(opened)
    }

    /// Fails if the path now leads to another file.
    fn expect_same_file(&self) -> Result<(), StoreError> {
        match identity(&self.path) {
            Ok(identity) if identity == self.identity => Ok(()),
            _ => Err(StoreError::Replaced {
                path: self.path.clone(),
            }),
        }
    }

    /// Runs `work` with the connection.
    fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        work(&self.connection).map_err(|error| StoreError::from_sqlite(&self.path, error))
    }

    /// Runs statements in a transaction, which ends before this returns.
    fn transact(
        &self,
        behavior: TransactionBehavior,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::from_sqlite(&self.path, error);
        // Unchecked: no transaction is open between two calls.
        let transaction = Transaction::new_unchecked(&self.connection, behavior).map_err(failed)?;
        work(&mut Open::new(&transaction, &self.path, &self.location))?;
        transaction.commit().map_err(failed)
    }
}

impl Backend for Sqlite {
    fn location(&self) -> &Location {
        &self.location
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    /// Fails if the path leads to another file than the open one, also after a write. A removed or
    /// replaced file still accepts writes, uses the journal of the new file, and is gone when it is
    /// closed. SQLite itself compares only the inode, only of the resolved path, and only before a
    /// write.
    fn work(
        &self,
        mode: Scope,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        self.expect_same_file()?;
        match mode {
            Scope::Read => work(&mut Open::new(&self.connection, &self.path, &self.location)),
            Scope::Snapshot => self.transact(TransactionBehavior::Deferred, work),
            Scope::Write => {
                // The transaction locks out all other writers until its end.
                let came = self.transact(TransactionBehavior::Immediate, work);
                self.expect_same_file()?;
                came
            }
        }
    }

    fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.expect_same_file()?;
        ask(&self.path, question, row)
    }
}

/// Configures the connection. The store uses a rollback journal, not a write-ahead log: a log keeps
/// the newest trials in a second file, which a copy of the first omits, and it needs shared memory,
/// which network and FUSE file systems may lack. With the journal, one file is the whole store as
/// soon as a trial is saved.
///
/// In this mode, deleting the journal commits a transaction. FULL does not sync the folder
/// afterwards, so that a power cut could restore the journal and with it the state before the
/// trial; EXTRA does (<https://sqlite.org/pragma.html#pragma_synchronous>).
fn configure(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(patience)?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Time limit for waiting on a writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// SQLite instructions between two checks of the time limit.
const STEPS: i32 = 10_000;

/// Maximum length of a text or row in a statement, in bytes.
const MOST_BYTES: i32 = 64 << 20;

/// Functions that reach beyond the database, where SQLite has them.
const FORBIDDEN: [&str; 5] = [
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
];

/// Table-valued functions that read only their arguments.
const OF_ARGUMENTS: [&str; 2] = ["json_each", "json_tree"];

/// Calls `row` with each row of an answer. Returns the names of the columns.
///
/// # Errors
/// If the statement does more than read views, exceeds its time limit, or fails.
fn ask(
    path: &Path,
    question: &Question<'_>,
    row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<Vec<String>, StoreError> {
    let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
    let failed = |error| StoreError::from_sqlite(path, error);
    let mut connection = open(path).map_err(failed)?;
    let secret = make_views(&connection).map_err(failed)?;
    confine(&mut connection, secret, question.time).map_err(failed)?;
    let refused = |error: rusqlite::Error| StoreError::Question {
        reason: reason(&error, question),
    };
    let mut statement = connection.prepare(question.sql).map_err(refused)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let count = names.len();
    if count == 0 || statement.parameter_count() > 0 {
        let reason = "it is no SELECT, or has placeholders, for which there are no values";
        return Err(StoreError::Question {
            reason: reason.to_owned(),
        });
    }
    let mut rows = statement.query([]).map_err(refused)?;
    while let Some(next) = rows.next().map_err(refused)? {
        let values: Result<Vec<Value>, String> = (0..count).map(|at| next.read(at)).collect();
        row(values.map_err(|reason| StoreError::Question { reason })?)?;
    }
    Ok(names)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    migrate(&connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Creates the views and returns the secret prefix of those that read tables.
///
/// The authorizer receives the name of the innermost view that reads a table, but a common table
/// expression with the name of a view (`WITH assay_runs AS (SELECT * FROM runs)`) looks the same.
/// Therefore the views that read tables have unpredictable names, and the known views read those.
fn make_views(connection: &Connection) -> rusqlite::Result<String> {
    let secret: String =
        connection.query_row("SELECT 'v' || lower(hex(randomblob(16)))", [], |row| {
            row.get(0)
        })?;
    for view in &VIEWS {
        let name = view.name;
        let select = view.select(Dialect::Sqlite, "");
        let versioned = view.versioned();
        connection.execute_batch(&format!(
            "CREATE TEMP VIEW {secret}_{name} AS {select};
            CREATE TEMP VIEW {versioned} AS SELECT * FROM {secret}_{name};
            CREATE TEMP VIEW {name} AS SELECT * FROM {secret}_{name};"
        ))?;
    }
    Ok(secret)
}

/// Confines the connection to reading the views, for a limited time.
fn confine(connection: &mut Connection, secret: String, time: Duration) -> rusqlite::Result<()> {
    connection.pragma_update(None, "query_only", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let ends = Instant::now() + time;
    connection.progress_handler(STEPS, Some(move || Instant::now() > ends))?;
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        match is_allowed(&context, &secret) {
            true => Authorization::Allow,
            false => Authorization::Deny,
        }
    }))
}

fn is_allowed(context: &AuthContext<'_>, secret: &str) -> bool {
    match &context.action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !FORBIDDEN.contains(function_name),
        // An empty column name stands for counting rows, of a view, a common table expression or a
        // table. The row count of a table is not secret.
        AuthAction::Read {
            column_name: "", ..
        } => true,
        AuthAction::Read { table_name, .. } => {
            let known =
                |view: &StoreView| view.name == *table_name || view.versioned() == *table_name;
            let within = context
                .accessor
                .is_some_and(|view| view.starts_with(secret));
            within
                || table_name.starts_with(secret)
                || OF_ARGUMENTS.contains(table_name)
                || VIEWS.iter().any(known)
        }
        _ => false,
    }
}

/// Describes why a statement was refused, with the names of the permitted views.
fn reason(error: &rusqlite::Error, question: &Question<'_>) -> String {
    use rusqlite::ErrorCode;
    match error {
        rusqlite::Error::MultipleStatement => "it is more than one statement".to_owned(),
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::OperationInterrupted => {
            format!("it took longer than {} s", question.time.as_secs())
        }
        rusqlite::Error::SqliteFailure(code, text)
            if code.code == ErrorCode::AuthorizationForStatementDenied =>
        {
            let names: Vec<&str> = VIEWS.iter().map(|view| view.name).collect();
            let text = text.as_deref().unwrap_or("not authorized");
            format!("only SELECT over {} is allowed: {text}", names.join(", "))
        }
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// Lock around record locks of the process. SQLite locks the file with POSIX record locks, and the
/// kernel drops all of a process's record locks on a file as soon as the process closes *any*
/// descriptor of that file (<https://sqlite.org/howtocorrupt.html>, 2.2). Users of a connection
/// hold this lock for reading; [`inspect`], which opens and closes the file itself, holds it for
/// writing.
static RECORD_LOCKS: RwLock<()> = RwLock::new(());

/// Returns device and inode of the file at a path.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Returns an absolute path: SQLite does not treat names like `:memory:` as files.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|source| StoreError::Access {
        action: "find the store",
        path: path.to_owned(),
        source,
    })
}

/// Kind of file found at a path.
#[derive(Debug, PartialEq, Eq)]
enum StoreFileKind {
    /// No file, or an empty one.
    Nothing,
    /// A store of a known format.
    Store,
}

/// Inspects the file without SQLite.
fn inspect(path: &Path) -> Result<StoreFileKind, StoreError> {
    let _held = RECORD_LOCKS.write().unwrap_or_else(PoisonError::into_inner);
    let access = |source| StoreError::Access {
        action: "read the store",
        path: path.to_owned(),
        source,
    };
    let length = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(StoreFileKind::Nothing),
        Err(error) => return Err(access(error)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(StoreError::NotAFile {
                path: path.to_owned(),
            });
        }
        Ok(metadata) => metadata.len(),
    };
    if length == 0 {
        return Ok(StoreFileKind::Nothing);
    }
    let mut header = [0; HEADER_BYTES];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
        Err(error) => return Err(access(error)),
        Ok(()) => {}
    }
    check_header(&header, path)?;
    Ok(StoreFileKind::Store)
}

/// Length of the part of an SQLite file that identifies it: magic, user version at 60, application
/// id at 68, both big-endian (<https://sqlite.org/fileformat.html>).
const HEADER_BYTES: usize = 72;
const MAGIC: &[u8] = b"SQLite format 3\0";

fn check_header(header: &[u8; HEADER_BYTES], path: &Path) -> Result<(), StoreError> {
    let path = path.to_owned();
    let [.., a, b, c, d, _, _, _, _, e, f, g, h] = *header;
    let (user_version, application_id) = (
        u32::from_be_bytes([a, b, c, d]),
        i32::from_be_bytes([e, f, g, h]),
    );
    if !header.starts_with(MAGIC) {
        return Err(StoreError::NotADatabase { path });
    }
    if application_id != APPLICATION_ID {
        return Err(StoreError::Foreign {
            store: Location::File(path),
        });
    }
    if user_version > NEWEST {
        return Err(StoreError::Newer {
            store: Location::File(path),
            found: user_version,
            known: NEWEST,
        });
    }
    Ok(())
}

/// Creates missing folders, safe against a power cut: a folder's entry is durable once its parent
/// is synced.
fn create_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_folder(parent)?;
    }
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(StoreError::Access {
                action: "create the folder",
                path: folder.to_owned(),
                source: error,
            });
        }
        _ => {}
    }
    if let Some(parent) = folder.parent() {
        // Some file systems cannot sync a folder; durability is up to them then.
        let _: io::Result<()> = File::open(parent).and_then(|parent| parent.sync_all());
    }
    Ok(())
}

/// Upgrades the file to the newest format, all steps or none. The caller has checked that the file
/// is assay's or empty. A read-only file keeps its format and gets the newer tables in memory.
fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let found = version(connection)?;
    if found >= NEWEST {
        return Ok(());
    }
    if connection.is_readonly("main")? {
        return stand_in(connection, found);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have upgraded meanwhile.
    let done = usize::try_from(version(&transaction)?).unwrap_or(usize::MAX);
    for step in schema::STEPS.iter().skip(done) {
        transaction.execute_batch(&Dialect::Sqlite.tables(step))?;
    }
    if done < schema::STEPS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", NEWEST)?;
    }
    transaction.commit()
}

/// Table that got columns in a later step.
struct Grown {
    table: &'static str,
    /// Step that created the table.
    made: usize,
    /// Step that added the columns.
    grown: usize,
    /// Added columns, each with its value for rows of an older file.
    added: &'static [(&'static str, &'static str)],
}

const GROWN: &[Grown] = &[
    Grown {
        table: "runs",
        made: 1,
        grown: 4,
        added: &[
            ("content_sha256", "NULL"),
            ("target", "{target}"),
            ("command", "{command}"),
            ("facts_version", "0"),
            (
                "words",
                "lower(id || ' ' || path || ' ' || device || ' ' || COALESCE({target}, ''))",
            ),
        ],
    },
    Grown {
        table: "imports",
        made: 2,
        grown: 4,
        added: &[("content_sha256", "NULL")],
    },
    Grown {
        table: "annotations",
        made: 3,
        grown: 4,
        added: &[("changed_unix_ms", "0")],
    },
];

/// Adds the tables of newer steps to an old file, in memory: new tables are empty, and tables with
/// new columns are replaced by views.
fn stand_in(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    for step in schema::STEPS.iter().skip(done) {
        let step = Dialect::Sqlite.tables(step);
        // Other statements of a step change existing tables.
        for table in step.split_inclusive(';') {
            if let Some(at) = table.find("CREATE TABLE") {
                let (_, table) = table.split_at(at);
                connection.execute_batch(&table.replacen("TABLE", "TEMP TABLE", 1))?;
            }
        }
    }
    for grown in GROWN.iter().filter(|grown| done < grown.grown) {
        connection.execute_batch(&grown.stand_in(done))?;
    }
    Ok(())
}

impl Grown {
    /// Returns the statements that add the table to a file of format `done`.
    fn stand_in(&self, done: usize) -> String {
        let table = self.table;
        if done < self.made {
            let added = self.added.iter();
            let added =
                added.map(|(name, _)| format!("ALTER TABLE temp.{table} ADD COLUMN {name};"));
            return added.collect();
        }
        let added = self.added.iter();
        let added = added.map(|(name, value)| format!(", {value} AS {name}"));
        let added = Dialect::Sqlite.tables(&added.collect::<String>());
        format!("CREATE TEMP VIEW {table} AS SELECT rowid AS rowid, *{added} FROM main.{table}")
    }
}

/// Returns the format version of the file; 0 for a new file.
fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Connection in use by a session.
struct Open<'a> {
    connection: &'a Connection,
    path: &'a Path,
    location: &'a Location,
}

impl<'a> Open<'a> {
    /// Wraps the connection to the file at `path`.
    pub fn new(connection: &'a Connection, path: &'a Path, location: &'a Location) -> Self {
        Self {
            connection,
            path,
            location,
        }
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(self.path, error)
    }
}

impl Statements for Open<'_> {
    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        row: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(next) = rows.next().map_err(failed)? {
            row(&Row::new(next, self.location))?;
        }
        Ok(())
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        let failed = |error| self.failed(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let changed = statement.execute(params_from_iter(values));
        changed.map(|rows| rows as u64).map_err(failed)
    }

    fn insert_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, StoreError> {
        let places = vec!["?"; columns.len()].join(", ");
        let columns = columns.join(", ");
        let sql = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
        let mut inserted = 0;
        for values in rows {
            inserted += self.execute(&sql, &values)?;
        }
        Ok(inserted)
    }

    /// Does nothing: a write transaction has locked the whole file.
    fn lock(&mut self, _name: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Columns for rusqlite::Row<'_> {
    fn names(&self) -> Vec<&str> {
        self.as_ref().column_names().collect()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.as_ref().column_index(name).ok()
    }

    fn read(&self, index: usize) -> Result<Value, String> {
        let value = self.get_ref(index).map_err(|error| error.to_string())?;
        Ok(match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Int(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => {
                let text = String::from_utf8(text.to_owned());
                Value::Text(text.map_err(|_| "its text is not UTF-8".to_owned())?)
            }
            ValueRef::Blob(bytes) => Value::Blob(bytes.to_owned()),
        })
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
            Self::Reals(numbers) => {
                let text = serde_json::to_string(numbers);
                let text =
                    text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                return Ok(text.into());
            }
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_survives_a_power_cut() {
        let folder = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&folder.path().join("runs.sqlite"), Access::Create).unwrap();
        let pragma = |name| -> rusqlite::types::Value {
            database
                .with(|connection| connection.pragma_query_value(None, name, |row| row.get(0)))
                .unwrap()
        };
        const EXTRA: i64 = 3;
        assert_eq!(pragma("synchronous"), EXTRA.into());
        assert_eq!(pragma("journal_mode"), "delete".to_owned().into());
        assert_eq!(pragma("foreign_keys"), 1.into());
    }

    #[test]
    fn nobody_else_opens_and_closes_the_file_while_a_connection_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let database = Sqlite::open(&folder.path().join("runs.sqlite"), Access::Create).unwrap();
        let mut in_use = false;
        let mut look = |_: &mut dyn Statements| {
            in_use = RECORD_LOCKS.try_write().is_err();
            Ok(())
        };
        database.work(Scope::Read, &mut look).unwrap();
        assert!(in_use);
    }

    #[test]
    fn names_that_sqlite_takes_for_memory_are_files() {
        let path = absolute(Path::new(":memory:")).unwrap();
        assert!(path.is_absolute() && path.ends_with(":memory:"));
        assert!(absolute(Path::new("")).is_err());
    }

    #[test]
    fn a_second_migration_changes_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection).unwrap();
        assert_eq!(version(&connection).unwrap(), NEWEST);
        migrate(&connection).unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE trials (x)").unwrap();
        assert!(migrate(&connection).is_err());
        assert_eq!(version(&connection).unwrap(), 0);
        let runs: u32 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(runs, 0, "the first table of the failed step stayed");
    }
}

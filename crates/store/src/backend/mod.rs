//! Databases of stores: an SQLite file or a PostgreSQL database, behind one set of statements.
//!
//! The rest of this crate uses [`Database`]. Every statement is written once, for all back ends,
//! with placeholders `?1`, `?2`; fragments that must differ come from [`Database::dialect`]. Rows
//! are read by the names of their columns:
//!
//! ```ignore
//! let ids = self.database.query(
//!     "SELECT id, finished_unix_ms FROM runs WHERE status = ?1",
//!     &["finished".into()],
//!     |row| Ok((row.get::<String>("id")?, row.get::<Option<u64>>("finished_unix_ms")?)),
//! )?;
//! let changed = self.database.execute("DELETE FROM points WHERE series = ?1", &[id.into()])?;
//! self.database.transaction(|t| {
//!     t.lock("annotations")?; // other transactions wait for this lock
//!     t.execute("DELETE FROM points WHERE series = ?1", &[id.into()])?;
//!     let rows = points.iter().map(|point| vec![id.into(), point.centre.into()]);
//!     t.insert_many("points", &["series", "centre"], rows)
//! })?; // Ok is committed, Err is rolled back and returned
//! ```
//!
//! Rules, so that a statement means the same everywhere:
//!
//! - A transaction sees what other transactions commit meanwhile (PostgreSQL: read committed). Only
//!   SQLite blocks all other writers. A transaction that writes what it has read must call
//!   [`SqlSession::lock`] first. [`Database::snapshot`] makes several reads consistent.
//! - Replace rows with `INSERT ... ON CONFLICT (key) DO UPDATE SET x = excluded.x`, skip them with
//!   `ON CONFLICT DO NOTHING`; a failed statement ends the transaction.
//! - `CAST(x AS REAL)` and `CAST(x AS bigint)` work everywhere, `sum()` of whole numbers must be
//!   cast. The type of a placeholder must follow from its context (not so in `?1 IS NULL`). A
//!   subquery after FROM needs a name. `true` is read as `bool` or as 1. No `?` in literals.
//! - Text is compared by its bytes, also in PostgreSQL.
//! - The function that reads a row must not use the database: it may still be sending rows.
//!
//! To add a back end: implement `Backend` and `Statements` in a module beside `sqlite` and
//! `postgres`, add a variant of `Dialect` and one of `Location`. The tests of this crate run on it
//! through their `Bed`.

#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
pub mod views;

use crate::error::StoreError;
use crate::location::Location;
use std::fmt::Debug;
use std::time::Duration;

/// Statement of a user.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// A single SELECT over the views.
    pub sql: &'a str,
    /// Time limit.
    pub time: Duration,
}

/// Extent of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Statements that only read, each in its own transaction.
    Read,
    /// Statements that only read, all from the same snapshot.
    Snapshot,
    /// Statements that may write, all or none.
    Write,
}

/// Database that contains a store.
pub trait Backend: Debug + Send {
    /// Returns the file or the database.
    fn location(&self) -> &Location;

    /// Returns the SQL dialect of the database.
    fn dialect(&self) -> Dialect;

    /// Calls `work` once with a session. With [`Scope::Write`] its statements are committed if it
    /// returns `Ok`, otherwise rolled back.
    ///
    /// # Errors
    /// The error of `work` or of the database.
    fn work(
        &self,
        mode: Scope,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Answers a statement of a user that only reads. Returns the names of the columns.
    ///
    /// # Errors
    /// If the statement does more than read, exceeds its time limit, or fails.
    fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError>;
}

/// Statements of a back end, used through [`SqlSession`].
pub trait Statements {
    /// Calls `row` with each row of an answer.
    ///
    /// # Errors
    /// If the statement fails, or the first error of `row`.
    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        row: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Executes a statement and returns the number of rows that it changed.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError>;

    /// Adds rows to a table and returns their number.
    fn insert_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, StoreError>;

    /// Waits for the lock of that name and holds it to the end of the transaction.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another transaction holds it too long.
    fn lock(&mut self, name: &str) -> Result<(), StoreError>;
}

/// Conflict clause for [`SqlSession::put_many`]: skips a row whose id exists.
pub const UNLESS_THERE: &str = "ON CONFLICT (id) DO NOTHING";

/// Maximum number of rows of a statement: SQLite limits a statement to 32766 values.
const MOST_ROWS: usize = 1000;

/// Session of [`Database::transaction`] and [`Database::snapshot`].
pub struct SqlSession<'a>(&'a mut dyn Statements);

impl SqlSession<'_> {
    /// Reads all rows of an answer, each with `read`.
    ///
    /// # Errors
    /// If the statement fails, or the first error of `read`.
    pub fn query<T>(
        &mut self,
        sql: &str,
        values: &[Value],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(sql, values, |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Returns the first row of an answer, if there is one.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn first<T>(
        &mut self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query(sql, values, read)?.into_iter().next())
    }

    /// Calls `row` with each row of an answer as it arrives, for answers that do not fit into
    /// memory.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        mut row: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.0.each(sql, values, &mut row)
    }

    /// Executes a statement and returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.0.execute(sql, values)
    }

    /// Adds rows to a table, thousands per second, and returns their number. The values are in the
    /// order of `columns`.
    ///
    /// # Errors
    /// If a row cannot be added, for example because its key exists.
    pub fn insert_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<u64, StoreError> {
        self.0.insert_many(table, columns, &mut rows.into_iter())
    }

    /// Adds rows, many in each statement. `conflict` is the clause for rows whose key exists (`ON
    /// CONFLICT ...`). Returns the number of rows added or changed.
    pub fn put_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[Vec<Value>],
        conflict: &str,
    ) -> Result<u64, StoreError> {
        let width = columns.len();
        let mut changed = 0;
        for rows in rows.chunks(MOST_ROWS) {
            let marks = (0..rows.len()).map(|row| {
                let places = (1..=width).map(|column| format!("?{}", row * width + column));
                format!("({})", places.collect::<Vec<_>>().join(", "))
            });
            let sql = format!(
                "INSERT INTO {table} ({}) VALUES {} {conflict}",
                columns.join(", "),
                marks.collect::<Vec<_>>().join(", ")
            );
            changed += self.execute(&sql, &rows.concat())?;
        }
        Ok(changed)
    }

    /// Waits for the lock of that name and holds it to the end of the transaction.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another transaction holds it too long.
    pub fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.0.lock(name)
    }
}

/// An open store.
#[derive(Debug)]
pub struct Database {
    backend: Box<dyn Backend>,
}

/// Purpose of opening a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Write; creates the store if it does not exist.
    Create,
    /// Use an existing store; a read-only one can still be read.
    Existing,
    /// Read an existing store without changes and without waiting for a writer.
    Read,
}

impl Database {
    /// Opens a store.
    ///
    /// # Errors
    /// As [`crate::Store::open`].
    pub fn open(location: &Location, access: Access) -> Result<Self, StoreError> {
        let backend: Box<dyn Backend> = match location {
            Location::File(path) => Box::new(sqlite::Sqlite::open(path, access)?),
            #[cfg(feature = "postgres")]
            Location::Server(server) => Box::new(postgres::Postgres::open(server, access)?),
            #[cfg(not(feature = "postgres"))]
            Location::Server(_) => {
                let store = location.clone();
                return Err(StoreError::NoClient { store });
            }
        };
        Ok(Self { backend })
    }

    /// Returns the file or the database.
    pub fn location(&self) -> &Location {
        self.backend.location()
    }

    /// Returns the SQL dialect of the back end.
    pub fn dialect(&self) -> Dialect {
        self.backend.dialect()
    }

    /// Answers a statement of a user.
    ///
    /// # Errors
    /// As [`Backend::ask`].
    pub fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.backend.ask(question, row)
    }

    /// Reads all rows of an answer, each with `read`.
    ///
    /// # Errors
    /// If the statement fails, or the first error of `read`.
    pub fn query<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.within(Scope::Read, |session| session.query(sql, values, read))
    }

    /// Returns the first row of an answer, if there is one.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn first<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.within(Scope::Read, |session| session.first(sql, values, read))
    }

    /// Executes a statement in its own transaction and returns the number of rows that it changed.
    pub fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.transaction(|session| session.execute(sql, values))
    }

    /// Runs statements that may write in one transaction, committed if `work` returns `Ok`.
    ///
    /// # Errors
    /// The error of `work` or of the database; nothing is changed then.
    pub fn transaction<T>(
        &self,
        work: impl FnOnce(&mut SqlSession<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Scope::Write, work)
    }

    /// Runs statements that only read, all from the same snapshot.
    ///
    /// # Errors
    /// The error of `work` or of the database.
    pub fn snapshot<T>(
        &self,
        work: impl FnOnce(&mut SqlSession<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Scope::Snapshot, work)
    }

    fn within<T>(
        &self,
        mode: Scope,
        work: impl FnOnce(&mut SqlSession<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut work = Some(work);
        let mut came = None;
        self.backend.work(mode, &mut |statements| {
            // A back end calls it once.
            if let Some(work) = work.take() {
                came = Some(work(&mut SqlSession(statements))?);
            }
            Ok(())
        })?;
        came.ok_or_else(|| StoreError::Failed {
            store: self.location().clone(),
            reason: "the statements were not carried out".to_owned(),
        })
    }
}

/// SQL dialect of a back end. Statements are the same except for these fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.38 and later.
    Sqlite,
    /// PostgreSQL 15 and later.
    Postgres,
}

impl Dialect {
    /// Returns the column of `runs` and `imports` that grows with each row. It orders rows of the
    /// same millisecond.
    pub fn sequence(self) -> &'static str {
        match self {
            Self::Sqlite => "rowid",
            Self::Postgres => "seq",
        }
    }

    /// Returns a condition on `words` of runs that an index alone answers.
    pub fn by_words(self, condition: &str) -> String {
        match self {
            // Without the hint SQLite reads every run in order of time, with its long header.
            Self::Sqlite => {
                format!("id IN (SELECT id FROM runs INDEXED BY runs_by_words WHERE {condition})")
            }
            Self::Postgres => condition.to_owned(),
        }
    }

    /// Returns the text of a JSON column's key; NULL if the key is missing or the JSON is invalid.
    pub fn json_text(self, column: &str, key: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("CASE WHEN json_valid({column}) THEN {column} ->> '$.{key}' END")
            }
            Self::Postgres => format!("(CAST({column} AS json) ->> '{key}')"),
        }
    }

    /// Returns a query for the value `revision`. The value changes with every commit since the last
    /// query on the same connection; it may also change without one.
    pub fn revision(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "SELECT data_version || '-' || total_changes() AS revision FROM pragma_data_version"
            }
            // Ids of visible transactions; read-only ones have none. On a standby the list is not
            // complete: the position in the replayed log shows the changes there.
            Self::Postgres => {
                "SELECT CAST(pg_current_snapshot() AS text) || ' ' \
                 || COALESCE(CAST(pg_last_wal_replay_lsn() AS text), '') AS revision"
            }
        }
    }

    /// Returns the tables of a schema step in this dialect. Types are written as in SQLite (TEXT,
    /// INTEGER, REAL, BLOB). Placeholders: `{seq}` precedes the columns of a table that has
    /// [`Self::sequence`], `{reals}` is the type of a column of several numbers
    /// ([`super::Value::Reals`]), `{then_seq}` follows the time in an index on both, `{generated}`
    /// ends a computed column, and `{target}` and `{command}` are expressions that read the run's
    /// header.
    pub fn tables(self, step: &str) -> String {
        let step = step
            .replace("{target}", &self.json_text("header", "target"))
            .replace("{command}", &self.json_text("header", "command"));
        match self {
            Self::Sqlite => step
                .replace("{seq}", "")
                .replace("{then_seq}", "")
                .replace("{generated}", "VIRTUAL")
                .replace("{reals}", "TEXT"),
            Self::Postgres => step
                .replace("{seq}", "seq bigint GENERATED ALWAYS AS IDENTITY,")
                .replace("{then_seq}", ", seq")
                .replace("{generated}", "STORED")
                .replace("{reals}", "double precision[]")
                .replace("TEXT", "text COLLATE \"C\"")
                .replace("INTEGER", "bigint")
                .replace("REAL", "double precision")
                .replace("BLOB", "bytea"),
        }
    }

    /// Returns a statement, with placeholders such as `?1` in the form of the back end.
    pub fn statement(self, sql: &str) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Sqlite => sql.into(),
            Self::Postgres => sql.replace('?', "$").into(),
        }
    }
}

/// Declares the columns of a table together with the values of a row: the constant contains the
/// names of the columns, the function makes a row. Statements in braces before the columns compute
/// shared values; values may fail.
///
/// ```text
/// rows! {
///     /// Columns of `lamps`.
///     LAMPS of lamp_row(lamp: &Lamp) {
///         name = &lamp.name,
///         facts = record::to_text(&lamp.facts).map_err(unwritable(&lamp.run))?,
///     }
/// }
/// t.insert_many("lamps", LAMPS, [lamp_row(&lamp)?])?;
/// ```
macro_rules! rows {
    (
        $(#[$about:meta])*
        $visibility:vis $columns:ident of $row:ident($($input:ident: $from:ty),+ $(,)?) {
            $({ $($first:tt)+ })?
            $($column:ident = $value:expr,)+
        }
    ) => {
        $(#[$about])*
        $visibility const $columns: &[&str] = &[$(stringify!($column)),+];

        $visibility fn $row(
            $($input: $from),+
        ) -> Result<Vec<$crate::backend::Value>, $crate::error::StoreError> {
            $($($first)+)?
            Ok(vec![$($value.into()),+])
        }
    };
}

pub(crate) use rows;

/// Value of a statement or a row, independent of the back end.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// Whole number or boolean; true is 1.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
    /// Several numbers, for columns of the type `{reals}`.
    Reals(Vec<f64>),
}

impl Value {
    /// Returns the kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Int(_) => "a whole number",
            Self::Real(_) => "a number",
            Self::Text(_) => "text",
            Self::Blob(_) => "bytes",
            Self::Reals(_) => "numbers",
        }
    }
}

/// Returns the placeholders of a list of ids, numbered from 1, and the ids as values.
pub fn listed(ids: &[impl AsRef<str>]) -> (String, Vec<Value>) {
    let marks: Vec<String> = (1..=ids.len()).map(|place| format!("?{place}")).collect();
    let values = ids.iter().map(|id| id.as_ref().into());
    (marks.join(", "), values.collect())
}

/// Type that values can be converted to.
pub trait FromValue: Sized {
    /// Converts a value.
    ///
    /// # Errors
    /// The value itself, if it has another type or is too large.
    fn from_value(value: Value) -> Result<Self, Value>;
}

impl FromValue for Value {
    fn from_value(value: Value) -> Result<Self, Value> {
        Ok(value)
    }
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Int(number) => Ok(number),
            other => Err(other),
        }
    }
}

/// Implements the conversion of integer types, whose range may be too small for the value.
macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl FromValue for $number {
            fn from_value(value: Value) -> Result<Self, Value> {
                match value {
                    Value::Int(number) => Self::try_from(number).map_err(|_| Value::Int(number)),
                    other => Err(other),
                }
            }
        }

        /// Converts a number; the largest value of the databases replaces a larger one.
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32, u64, usize, i32);

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self, Value> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "SQLite stores 1.0 as 1 in some columns"
    )]
    fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Real(number) => Ok(number),
            Value::Int(number) => Ok(number as Self),
            other => Err(other),
        }
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Text(text) => Ok(text),
            other => Err(other),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Blob(bytes) => Ok(bytes),
            other => Err(other),
        }
    }
}

impl FromValue for Vec<f64> {
    /// SQLite stores a list of numbers as JSON.
    fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Reals(numbers) => Ok(numbers),
            Value::Text(text) => serde_json::from_str(&text).map_err(|_| Value::Text(text)),
            other => Err(other),
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Null => Ok(None),
            other => T::from_value(other).map(Some),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value {
    fn from(is_so: bool) -> Self {
        Self::Int(is_so.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Blob(bytes.to_owned())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl From<&[f64]> for Value {
    fn from(numbers: &[f64]) -> Self {
        Self::Reals(numbers.to_owned())
    }
}

impl From<Vec<f64>> for Value {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Reals(numbers)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Access to the columns of a row, implemented by each back end.
trait Columns {
    /// Returns the names of the columns, in order.
    fn names(&self) -> Vec<&str>;
    /// Returns the position of a column.
    fn find(&self, name: &str) -> Option<usize>;
    /// Returns the value of a column.
    ///
    /// # Errors
    /// The reason why it cannot be read, as text.
    fn read(&self, index: usize) -> Result<Value, String>;
}

/// One row of an answer.
pub struct Row<'a> {
    columns: &'a dyn Columns,
    store: &'a Location,
}

impl<'a> Row<'a> {
    fn new(columns: &'a dyn Columns, store: &'a Location) -> Self {
        Self { columns, store }
    }

    /// Returns the value of a column by its name: `row.get::<Option<u64>>("finished_unix_ms")?`.
    ///
    /// # Errors
    /// If there is no such column, or its value has another type.
    pub fn get<T: FromValue>(&self, column: &str) -> Result<T, StoreError> {
        let index = self.columns.find(column);
        let index = index.ok_or_else(|| self.wrong(column, "there is no such column"))?;
        T::from_value(self.at(index)?)
            .map_err(|found| self.wrong(column, &format!("{} stands there", found.kind())))
    }

    /// Returns the value of a column by its position, from 0.
    ///
    /// # Errors
    /// If there is no such column, or its type is not supported.
    pub fn at(&self, index: usize) -> Result<Value, StoreError> {
        self.columns.read(index).map_err(|why| {
            let names = self.names();
            self.wrong(names.get(index).unwrap_or(&"?"), &why)
        })
    }

    /// Returns the names of the columns, in order.
    pub fn names(&self) -> Vec<&str> {
        self.columns.names()
    }

    /// Returns an error about the value of a column.
    pub fn wrong(&self, column: &str, why: &str) -> StoreError {
        StoreError::Failed {
            store: self.store.clone(),
            reason: format!("column {column}: {why}"),
        }
    }
}

//! Databases of stores: an SQLite file or a PostgreSQL database, behind one set of statements.
//!
//! [`Database`] is what the rest of this crate uses. Every statement is written once, for all
//! back ends, with placeholders `?1`, `?2`; fragments that must differ come from
//! [`Database::dialect`]. Rows are read by the names of their columns:
//!
//! ```ignore
//! let ids = self.database.query(
//!     "SELECT id, finished_unix_ms FROM runs WHERE status = ?1",
//!     &["finished".into()],
//!     |row| Ok((row.get::<String>("id")?, row.get::<Option<u64>>("finished_unix_ms")?)),
//! )?;
//! let changed = self.database.execute("DELETE FROM points WHERE series = ?1", &[id.into()])?;
//! self.database.transaction(|t| {
//!     t.lock("annotations")?; // nobody else is within a transaction that took this lock
//!     t.execute("DELETE FROM points WHERE series = ?1", &[id.into()])?;
//!     let rows = points.iter().map(|point| vec![id.into(), point.centre.into()]);
//!     t.insert_many("points", &["series", "centre"], rows)
//! })?; // Ok is committed, Err is rolled back and returned
//! ```
//!
//! Rules, so that a statement means the same everywhere:
//!
//! - A transaction sees what others committed meanwhile (PostgreSQL: read committed), and only in
//!   SQLite keeps all others from writing. What reads and then writes what it read takes
//!   [`SqlSession::lock`] first. [`Database::snapshot`] is for several reads as of one moment.
//! - Replace rows with `INSERT ... ON CONFLICT (key) DO UPDATE SET x = excluded.x`, skip them with
//!   `ON CONFLICT DO NOTHING`; a failed statement ends the transaction.
//! - `CAST(x AS REAL)` and `CAST(x AS bigint)` work everywhere, `sum()` of whole numbers must be cast.
//!   A placeholder needs something beside it that tells its type (`?1 IS NULL` does not). A
//!   subquery after FROM needs a name. `true` is read as `bool` or as 1. No `?` in literals.
//! - Text is compared by its bytes, also in PostgreSQL.
//! - The function that reads a row must not use the database: it may still be sending rows.

mod columns;
pub mod dialect;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
mod sqlite;
mod value;
pub mod views;

pub(crate) use columns::rows;
pub use dialect::Dialect;
pub use row::Row;
pub use value::{Value, listed};

use crate::error::StoreError;
use crate::location::Location;
use std::fmt::Debug;
use std::time::Duration;

/// A statement of a user.
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
    /// Statements that only read, each by itself.
    Read,
    /// Statements that only read, all as of one moment.
    Snapshot,
    /// Statements that may write, all or none.
    Write,
}

/// A database that a store can lie in.
pub trait Backend: Debug + Send {
    /// The file or the database.
    fn location(&self) -> &Location;

    /// The SQL that it takes.
    fn dialect(&self) -> Dialect;

    /// Lets `work` do its statements, once. With [`Scope::Write`] they are committed if it returns
    /// `Ok`, else rolled back.
    ///
    /// # Errors
    /// That of `work`, or of the database.
    fn work(
        &self,
        mode: Scope,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Answers a statement of a user, which only reads; names of the columns of the answer.
    ///
    /// # Errors
    /// When it does more than that, takes longer than its time, or fails otherwise.
    fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError>;
}

/// The statements of a back end; [`SqlSession`] is how they are used.
pub trait Statements {
    /// Gives each row of an answer to `row`.
    ///
    /// # Errors
    /// When the statement fails, or the first error of `row`.
    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        row: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Carries out a statement; number of rows that it changed.
    ///
    /// # Errors
    /// When it fails.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError>;

    /// Adds rows to a table; their number.
    ///
    /// # Errors
    /// When one cannot be added.
    fn insert_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, StoreError>;

    /// Waits until nobody else is within a transaction that took the lock of that name.
    ///
    /// # Errors
    /// When another holds it too long.
    fn lock(&mut self, name: &str) -> Result<(), StoreError>;
}

/// For [`SqlSession::put_many`]: a row whose id is there already is left out.
pub const UNLESS_THERE: &str = "ON CONFLICT (id) DO NOTHING";

/// Most rows of a statement, whose values SQLite limits to 32766.
const MOST_ROWS: usize = 1000;

/// Statements that belong together: what [`Database::transaction`] and [`Database::snapshot`]
/// give.
pub struct SqlSession<'a>(&'a mut dyn Statements);

impl SqlSession<'_> {
    /// Reads all rows of an answer, each with `read`.
    ///
    /// # Errors
    /// When the statement fails, or the first error of `read`.
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

    /// The first row of an answer, if it has one.
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

    /// Gives each row of an answer to `row` as it arrives: for answers that are too long to keep.
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

    /// Carries out a statement; number of rows that it changed.
    ///
    /// # Errors
    /// When it fails.
    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.0.execute(sql, values)
    }

    /// Adds rows to a table, thousands a second; their number. Values stand as `columns` do.
    ///
    /// # Errors
    /// When one cannot be added, for example since its key is there already.
    pub fn insert_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<u64, StoreError> {
        self.0.insert_many(table, columns, &mut rows.into_iter())
    }

    /// Adds rows, many in each statement; `conflict` says what becomes of one whose key is there
    /// already (`ON CONFLICT ...`). Number of those that were added or changed.
    ///
    /// # Errors
    /// When a statement fails.
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

    /// Waits until nobody else is within a transaction that took the lock of that name, and keeps
    /// it to the end of this one.
    ///
    /// # Errors
    /// When another holds it too long.
    pub fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        self.0.lock(name)
    }
}

/// An open store.
#[derive(Debug)]
pub struct Database {
    backend: Box<dyn Backend>,
}

/// Purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To write; made if it is not there.
    Create,
    /// One that is there; one that may not be written can still be read.
    Existing,
    /// One that is there, to read it at once: changes nothing, and waits for no writer.
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

    /// The file or the database.
    pub fn location(&self) -> &Location {
        self.backend.location()
    }

    /// Fragments of SQL that differ between back ends.
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
    /// When the statement fails, or the first error of `read`.
    pub fn query<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.within(Scope::Read, |session| session.query(sql, values, read))
    }

    /// The first row of an answer, if it has one.
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

    /// Carries out a statement as a transaction of its own; number of rows that it changed.
    ///
    /// # Errors
    /// When it fails.
    pub fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.transaction(|session| session.execute(sql, values))
    }

    /// Statements that may write, all or none: committed if `work` returns `Ok`.
    ///
    /// # Errors
    /// That of `work`, or of the database; nothing was changed then.
    pub fn transaction<T>(
        &self,
        work: impl FnOnce(&mut SqlSession<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.within(Scope::Write, work)
    }

    /// Statements that only read, all as of one moment.
    ///
    /// # Errors
    /// That of `work`, or of the database.
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

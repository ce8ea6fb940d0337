//! A store in a PostgreSQL database, and conversion of values from and to PostgreSQL's formats.

mod settings;

use super::{Access, Backend, Dialect, Scope, Statements, Value};
use crate::backend::views::VIEWS;
use crate::backend::{Columns, Question, Row};
use crate::error::StoreError;
use crate::location::{Location, Server};
use crate::schema::{APPLICATION_ID, NEWEST, STEPS};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Column, Error, Transaction};
use settings::{Failures, Settings, words};
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::fmt::Write as _;
use std::io::Write;

/// Open database. Reconnects if the connection was lost between two uses.
pub struct Postgres {
    location: Location,
    settings: Settings,
    link: RefCell<Option<Link>>,
}

/// Connection with its prepared statements.
struct Link {
    client: Client,
    prepared: HashMap<String, postgres::Statement>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.location).finish()
    }
}

impl Postgres {
    /// Connects. [`Access::Create`] creates the tables; older ones are upgraded except with
    /// [`Access::Read`].
    pub fn open(server: &Server, access: Access) -> Result<Self, StoreError> {
        let location = Location::Server(server.clone());
        let settings = Settings::of(server, access)?;
        let opened = Self {
            link: RefCell::new(None),
            settings,
            location,
        };
        let mut link = opened.connect()?;
        migrate(&mut link.client, &opened.failures(), access)?;
        opened.link.replace(Some(link));
        Ok(opened)
    }

    fn failures(&self) -> Failures<'_> {
        Failures::new(&self.location, self.settings.ignored.as_deref())
    }

    fn connect(&self) -> Result<Link, StoreError> {
        let client = self.settings.connect();
        Ok(Link {
            client: client.map_err(|error| self.failures().connecting(&error))?,
            prepared: HashMap::new(),
        })
    }

    /// Returns the connection, or a new one if the client knows that it is closed.
    fn alive(&self, link: Option<Link>) -> Result<Link, StoreError> {
        match link {
            Some(link) if !link.client.is_closed() => Ok(link),
            _ => self.connect(),
        }
    }

    /// Begins a transaction. Reconnects if the server closed the connection since its last use,
    /// which only this first statement detects.
    fn begin(&self, link: &mut Link, sql: &str) -> Result<(), StoreError> {
        match link.client.batch_execute(sql) {
            Err(error) if settings::is_lost(&error) => {
                *link = self.connect()?;
                link.client.batch_execute(sql)
            }
            began => began,
        }
        .map_err(|error| self.failures().failed(&error))
    }

    fn transact(
        &self,
        link: &mut Link,
        begin: &str,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.begin(link, begin)?;
        match work(&mut Open::new(link, self.failures())) {
            Ok(()) => {
                let committed = link.client.batch_execute("COMMIT");
                committed.map_err(|error| self.failures().failed(&error))
            }
            Err(error) => {
                // If this fails too, the connection is lost and the server rolls back.
                let _ = link.client.batch_execute("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Runs statements outside of a transaction. The first is repeated on a new connection if the
    /// server closed this one since its last use.
    fn read(
        &self,
        link: &mut Link,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let connect = || self.connect();
        work(&mut Open::renewable(link, self.failures(), &connect))
    }
}

impl Backend for Postgres {
    fn location(&self) -> &Location {
        &self.location
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn work(
        &self,
        mode: Scope,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Ok(mut held) = self.link.try_borrow_mut() else {
            return Err(StoreError::Failed {
                store: self.location.clone(),
                reason: "a statement was given while another was under way".to_owned(),
            });
        };
        let mut link = self.alive(held.take())?;
        let came = match mode {
            Scope::Read => self.read(&mut link, work),
            Scope::Snapshot => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                self.transact(&mut link, begin, work)
            }
            Scope::Write => self.transact(&mut link, "BEGIN ISOLATION LEVEL READ COMMITTED", work),
        };
        *held = Some(link);
        came
    }

    /// Uses a separate connection, because a user's statement can change settings of the session.
    fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        let mut link = self.connect()?;
        ask(&mut link.client, self.failures(), question, row)
    }
}

/// Query for the right to read files of the server or to start programs there, which superusers
/// have.
const REACHES_FILES: &str = "SELECT bool_or(pg_has_role(asker, role, 'MEMBER')) \
    FROM (VALUES (current_user), (session_user)) AS askers (asker), \
    (VALUES ('pg_read_server_files'), ('pg_write_server_files'), ('pg_execute_server_program')) \
    AS roles (role)";

/// Calls `row` with each row of an answer. Returns the names of the columns.
///
/// Superusers are refused: a statement can change its own role with `set_config`, so that a switch
/// to a reader's role does not confine a superuser's connection.
///
/// # Errors
/// If the statement is not a single SELECT, exceeds its time limit, or fails.
fn ask(
    client: &mut Client,
    failures: Failures<'_>,
    question: &Question<'_>,
    row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<Vec<String>, StoreError> {
    let failed = |error: Error| failures.failed(&error);
    let milliseconds = question.time.as_millis();
    client
        .batch_execute(&format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL statement_timeout = {milliseconds}"
        ))
        .map_err(failed)?;
    let asked = within(client, failures, question, row);
    // If this fails, the connection is lost and the server rolls back.
    let _ = client.batch_execute("ROLLBACK");
    asked
}

fn within(
    client: &mut Client,
    failures: Failures<'_>,
    question: &Question<'_>,
    row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<Vec<String>, StoreError> {
    let reaches = client.query_one(REACHES_FILES, &[]);
    let reaches = reaches.map_err(|error| failures.failed(&error))?;
    if reaches.get::<_, bool>(0) {
        return Err(StoreError::Question {
            reason: "this user of the database may read files of the server: ask as a user with \
                     the role assay_reader, such as postgres://READER@HOST/DB (docs/query.md)"
                .to_owned(),
        });
    }
    let refused = |error: Error| match error.code() {
        Some(state) if *state == SqlState::QUERY_CANCELED => StoreError::Question {
            reason: format!("it took longer than {} s", question.time.as_secs()),
        },
        Some(_) => StoreError::Question {
            reason: words(&error),
        },
        None => failures.failed(&error),
    };
    let sql = question.sql.trim_end().trim_end_matches(';');
    let wrong = |reason: &str| StoreError::Question {
        reason: reason.to_owned(),
    };
    // Prepared alone first: only a single statement can be prepared, so that none escapes the
    // brackets.
    let alone = client.prepare(sql).map_err(refused)?;
    if !alone.params().is_empty() {
        return Err(wrong(
            "it has placeholders such as $1, for which there are no values",
        ));
    }
    let names = alone.columns().iter();
    let names: Vec<String> = names.map(|column| column.name().to_owned()).collect();
    if names.is_empty() {
        return Err(wrong("it has no columns"));
    }
    // Within brackets PostgreSQL permits only a statement that reads.
    let bracketed = client.prepare(&bracketed(sql, alone.columns()));
    let statement = bracketed.map_err(refused)?;
    let none: [Value; 0] = [];
    let mut rows = client.query_raw(&statement, &none).map_err(refused)?;
    while let Some(next) = rows.next().map_err(refused)? {
        let next = Row::new(&next as &dyn Columns, failures.store());
        let values: Result<Vec<Value>, StoreError> =
            (0..names.len()).map(|at| next.at(at)).collect();
        row(values?)?;
    }
    Ok(names)
}

/// Wraps a statement to select its columns by position; columns of other types are cast to text.
fn bracketed(sql: &str, columns: &[Column]) -> String {
    let (mut wanted, mut names) = (String::new(), String::new());
    for (at, column) in columns.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let cast = if is_read(column.type_()) {
            ""
        } else {
            "::text"
        };
        // Writing to a String cannot fail.
        let _ = write!(wanted, "{comma}c{at}{cast}");
        let _ = write!(names, "{comma}c{at}");
    }
    format!("SELECT {wanted} FROM (\n{sql}\n) AS answer ({names})")
}

/// Upgrades the tables to the newest format, all steps or none.
fn migrate(client: &mut Client, failures: &Failures<'_>, access: Access) -> Result<(), StoreError> {
    let failed = |error: Error| failures.failed(&error);
    let store = || failures.store().clone();
    let found = version(client).map_err(failed)?;
    match (found, access) {
        (Some(NEWEST), _) => return Ok(()),
        (Some(found), _) if found > NEWEST => {
            return Err(StoreError::Newer {
                store: store(),
                found,
                known: NEWEST,
            });
        }
        (Some(found), Access::Read) => {
            return Err(StoreError::Older {
                store: store(),
                found,
                known: NEWEST,
            });
        }
        (None, Access::Read | Access::Existing) => {
            return Err(StoreError::NotMade { store: store() });
        }
        _ => {}
    }
    match (upgrade(client).map_err(failed), found) {
        (Err(StoreError::Forbidden { .. }), Some(found)) => Err(StoreError::Older {
            store: store(),
            found,
            known: NEWEST,
        }),
        (done, _) => done,
    }
}

/// Returns the format version; `None` if there are no tables.
fn version(client: &mut Client) -> Result<Option<u32>, Error> {
    match client.query_opt("SELECT version FROM assay_store", &[]) {
        Ok(row) => Ok(row.and_then(|row| u32::try_from(row.get::<_, i64>(0)).ok())),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Upgrades in one transaction under a lock, so that two processes do not upgrade at the same time.
fn upgrade(client: &mut Client) -> Result<(), Error> {
    let mut transaction = client.transaction()?;
    transaction.execute(
        "SELECT pg_advisory_xact_lock($1)",
        &[&i64::from(APPLICATION_ID)],
    )?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS assay_store (version bigint NOT NULL)")?;
    let row = transaction.query_opt("SELECT version FROM assay_store", &[])?;
    let done = row.map_or(0, |row| row.get::<_, i64>(0));
    // Another process may have upgraded while this one waited for the lock.
    for step in STEPS.iter().skip(usize::try_from(done).unwrap_or(0)) {
        transaction.batch_execute(&Dialect::Postgres.tables(step))?;
    }
    if done < i64::from(NEWEST) {
        make_views(&mut transaction)?;
        transaction.execute("DELETE FROM assay_store", &[])?;
        let version = [i64::from(NEWEST)];
        transaction.execute(
            "INSERT INTO assay_store (version) VALUES ($1)",
            &[&version[0]],
        )?;
    }
    transaction.commit()
}

/// Creates the views for users and other programs. A released version of a view is never changed.
fn make_views(transaction: &mut Transaction<'_>) -> Result<(), Error> {
    for view in &VIEWS {
        let select = view.select(Dialect::Postgres, "");
        for name in [view.versioned(), view.name.to_owned()] {
            transaction.batch_execute(&format!("CREATE OR REPLACE VIEW {name} AS {select}"))?;
        }
    }
    Ok(())
}

/// Maximum number of prepared statements of a connection.
const MOST_PREPARED: usize = 100;

/// Connection in use by a session.
struct Open<'a> {
    link: &'a mut Link,
    failures: Failures<'a>,
    /// Opens another connection, if the first statement fails and may be repeated.
    renew: Option<&'a dyn Fn() -> Result<Link, StoreError>>,
}

impl<'a> Open<'a> {
    /// Wraps a connection within a transaction, which cannot outlive the connection.
    pub fn new(link: &'a mut Link, failures: Failures<'a>) -> Self {
        Self {
            link,
            failures,
            renew: None,
        }
    }

    /// Wraps a connection for statements that only read, outside of a transaction.
    pub fn renewable(
        link: &'a mut Link,
        failures: Failures<'a>,
        renew: &'a dyn Fn() -> Result<Link, StoreError>,
    ) -> Self {
        Self {
            renew: Some(renew),
            ..Self::new(link, failures)
        }
    }

    /// Returns the prepared statement, preparing it on first use.
    fn prepared(&mut self, sql: &str) -> Result<postgres::Statement, Error> {
        if let Some(known) = self.link.prepared.get(sql) {
            return Ok(known.clone());
        }
        // Statements with lists of values differ by their length: without a limit they would
        // accumulate.
        if self.link.prepared.len() >= MOST_PREPARED {
            self.link.prepared.clear();
        }
        let statement = self
            .link
            .client
            .prepare(&Dialect::Postgres.statement(sql))?;
        self.link.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Executes once; returns true if the connection was lost before the first row.
    fn attempt(
        &mut self,
        sql: &str,
        values: &[Value],
        row: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let renewable = self.renew.is_some();
        let lost = |error: &Error| renewable && settings::is_lost(error);
        let statement = match self.prepared(sql) {
            Err(error) if lost(&error) => return Ok(true),
            prepared => prepared.map_err(|error| self.failures.failed(&error))?,
        };
        let mut rows = match self.link.client.query_raw(&statement, values) {
            Err(error) if lost(&error) => return Ok(true),
            rows => rows.map_err(|error| self.failures.failed(&error))?,
        };
        let mut came = 0_u64;
        loop {
            match rows.next() {
                Err(error) if came == 0 && lost(&error) => return Ok(true),
                Err(error) => return Err(self.failures.failed(&error)),
                Ok(None) => return Ok(false),
                Ok(Some(next)) => row(&Row::new(&next, self.failures.store()))?,
            }
            came += 1;
        }
    }
}

impl Statements for Open<'_> {
    fn each(
        &mut self,
        sql: &str,
        values: &[Value],
        row: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.attempt(sql, values, row)? {
            if let Some(renew) = self.renew.take() {
                *self.link = renew()?;
            }
            self.attempt(sql, values, row)?;
        }
        // Later statements may follow a used result: only the first can be repeated.
        self.renew = None;
        Ok(())
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        let changed = self.prepared(sql).and_then(|statement| {
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
            self.link.client.execute(&statement, &values)
        });
        changed.map_err(|error| self.failures.failed(&error))
    }

    fn insert_many(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<u64, StoreError> {
        let sql = format!("COPY {table} ({}) FROM STDIN", columns.join(", "));
        let failures = self.failures;
        let mut writer = self
            .link
            .client
            .copy_in(&sql)
            .map_err(|error| failures.failed(&error))?;
        let mut line = Vec::new();
        for values in rows {
            line.clear();
            copied(&values, &mut line);
            writer
                .write_all(&line)
                .map_err(|error| failures.interrupted(&error))?;
        }
        writer.finish().map_err(|error| failures.failed(&error))
    }

    fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        let sql = "SELECT pg_advisory_xact_lock(CAST(?1 AS integer), CAST(?2 AS integer))";
        let values = [Value::from(APPLICATION_ID), Value::from(hash(name))];
        self.each(sql, &values, &mut |_| Ok(()))
    }
}

/// Returns the lock number of a name (FNV-1a).
fn hash(name: &str) -> i32 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    i32::from_ne_bytes(hash.to_ne_bytes())
}

type Anything = Box<dyn std::error::Error + Sync + Send>;

impl Columns for postgres::Row {
    fn names(&self) -> Vec<&str> {
        self.columns().iter().map(Column::name).collect()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.columns()
            .iter()
            .position(|column| column.name() == name)
    }

    fn read(&self, index: usize) -> Result<Value, String> {
        let value = self.try_get::<usize, Option<Value>>(index);
        match value {
            Ok(value) => Ok(value.unwrap_or(Value::Null)),
            Err(error) => Err(match error.source() {
                Some(source) => source.to_string(),
                None => error.to_string(),
            }),
        }
    }
}

/// Returns true if values of a type are read in binary form; other types are cast to text.
fn is_read(kind: &Type) -> bool {
    let known = [
        Type::BOOL,
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::NUMERIC,
        Type::TEXT,
        Type::VARCHAR,
        Type::BPCHAR,
        Type::NAME,
        Type::UNKNOWN,
        Type::JSON,
        Type::JSONB,
        Type::BYTEA,
        Type::TIMESTAMPTZ,
        Type::TIMESTAMP,
        Type::FLOAT8_ARRAY,
    ];
    known.contains(kind)
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Anything> {
        Ok(match *kind {
            Type::BOOL => Self::Int(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Self::Int(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Self::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => numeric(raw).ok_or("a number that cannot be read")?,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::JSON => {
                Self::Text(std::str::from_utf8(raw)?.to_owned())
            }
            // Text after a byte with the version of the format.
            Type::JSONB => {
                Self::Text(std::str::from_utf8(raw.get(1..).unwrap_or_default())?.into())
            }
            Type::BYTEA => Self::Blob(raw.to_owned()),
            Type::TIMESTAMPTZ | Type::TIMESTAMP => {
                timestamp(raw).ok_or("a time that cannot be read")?
            }
            Type::FLOAT8_ARRAY => Self::Reals(Vec::from_sql(kind, raw)?),
            _ => return Err(format!("its type {kind} is not known here: cast it to text").into()),
        })
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }
}

/// Reads a number of any size: count of base-10000 digits, weight, sign, scale, and the digits.
/// Whole numbers that fit remain whole.
fn numeric(raw: &[u8]) -> Option<Value> {
    let mut words = raw.chunks_exact(2).map(|word| {
        <[u8; 2]>::try_from(word)
            .map(i16::from_be_bytes)
            .unwrap_or_default()
    });
    let _count = words.next()?;
    let weight = i32::from(words.next()?);
    let sign = words.next()?;
    let behind = words.next()?;
    let digits: Vec<i16> = words.collect();
    let sign = match sign {
        0 => 1.0,
        0x4000 => -1.0,
        _ => return Some(Value::Real(f64::NAN)),
    };
    // Parsed as text, so that the result is the nearest number.
    let mut text = String::from("0");
    for &digit in &digits {
        let _ = write!(text, "{digit:04}");
    }
    let exponent = (weight + 1 - i32::try_from(digits.len()).ok()?).checked_mul(4)?;
    let number: f64 = format!("{text}e{exponent}").parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "far below the limits")]
    match behind == 0 && number < 9e15 {
        true => Some(Value::Int((sign * number) as i64)),
        false => Some(Value::Real(sign * number)),
    }
}

/// Formats microseconds since 2000 as `2026-03-14T09:26:53.589Z`.
fn timestamp(raw: &[u8]) -> Option<Value> {
    const FROM_1970: i64 = 946_684_800_000;
    let micros = i64::from_be_bytes(raw.try_into().ok()?);
    if micros == i64::MAX || micros == i64::MIN {
        return Some(Value::Null);
    }
    let ms = micros.div_euclid(1_000) + FROM_1970;
    let at = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(Value::Text(
        at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
    ))
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Anything> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => whole(*number, kind, out),
            Self::Real(number) => match *kind {
                #[expect(clippy::cast_possible_truncation, reason = "the column is that small")]
                Type::FLOAT4 => (*number as f32).to_sql(kind, out),
                Type::FLOAT8 => number.to_sql(kind, out),
                _ => Err(unfit(self, kind)),
            },
            Self::Text(text) => match *kind {
                Type::BYTEA => Err(unfit(self, kind)),
                // PostgreSQL's text cannot contain this character.
                _ => text.replace('\0', "\u{fffd}").to_sql(kind, out),
            },
            Self::Blob(bytes) => match *kind {
                Type::BYTEA => bytes.to_sql(kind, out),
                _ => Err(unfit(self, kind)),
            },
            Self::Reals(numbers) => match *kind {
                Type::FLOAT8_ARRAY => numbers.to_sql(kind, out),
                _ => Err(unfit(self, kind)),
            },
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[expect(clippy::cast_precision_loss, reason = "as SQLite does")]
fn whole(number: i64, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Anything> {
    match *kind {
        Type::BOOL => (number != 0).to_sql(kind, out),
        Type::INT2 => i16::try_from(number)?.to_sql(kind, out),
        Type::INT4 => i32::try_from(number)?.to_sql(kind, out),
        Type::INT8 => number.to_sql(kind, out),
        Type::FLOAT8 => (number as f64).to_sql(kind, out),
        _ => Err(unfit(&Value::Int(number), kind)),
    }
}

fn unfit(value: &Value, kind: &Type) -> Anything {
    format!("{} was given for the type {kind}", value.kind()).into()
}

/// Appends a line in the text format of COPY.
fn copied(values: &[Value], line: &mut Vec<u8>) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            line.push(b'\t');
        }
        match value {
            Value::Null => line.extend(b"\\N"),
            Value::Int(number) => line.extend(number.to_string().as_bytes()),
            Value::Real(number) => line.extend(number.to_string().as_bytes()),
            Value::Text(text) => escaped(text, line),
            Value::Blob(bytes) => {
                line.extend(b"\\\\x");
                line.extend(
                    bytes
                        .iter()
                        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]),
                );
            }
            Value::Reals(numbers) => {
                let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
                line.extend(format!("{{{}}}", texts.join(",")).as_bytes());
            }
        }
    }
    line.push(b'\n');
}

fn escaped(text: &str, line: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'\\' => line.extend(b"\\\\"),
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            b'\t' => line.extend(b"\\t"),
            0 => line.extend("\u{fffd}".bytes()),
            byte => line.push(byte),
        }
    }
}

fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        let at = |ms: i64| {
            let micros = (ms - 946_684_800_000) * 1_000;
            match timestamp(&micros.to_be_bytes()) {
                Some(Value::Text(text)) => text,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(at(1_773_480_413_589), "2026-03-14T09:26:53.589Z");
        assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_line_of_a_copy_keeps_its_values_apart() {
        let mut line = Vec::new();
        let values = [
            Value::Null,
            "a\tb\\c\nd".into(),
            vec![0_u8, 0xaf].into(),
            vec![1.5, -2.0].into(),
            7_u32.into(),
        ];
        copied(&values, &mut line);
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, "\\N\ta\\tb\\\\c\\nd\t\\\\x00af\t{1.5,-2}\t7\n");
    }
}

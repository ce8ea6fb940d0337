//! Statements on a connection to PostgreSQL.

use super::Link;
use super::errors::{self, Failures};
use super::types::copied;
use crate::backend::{Dialect, Row, Statements, Value};
use crate::error::StoreError;
use crate::schema::APPLICATION_ID;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use std::io::Write;

/// Maximum number of prepared statements of a connection.
const MOST_PREPARED: usize = 100;

/// Connection in use by a session.
pub struct Open<'a> {
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
    fn prepared(&mut self, sql: &str) -> Result<postgres::Statement, postgres::Error> {
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
        let lost = |error: &postgres::Error| renewable && errors::is_lost(error);
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

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

/// Most statements that the server keeps prepared for a connection.
const MOST_PREPARED: usize = 100;

/// A connection that is held.
pub struct Open<'a> {
    link: &'a mut Link,
    failures: Failures<'a>,
    /// Makes another connection, for a first statement that changes nothing.
    renew: Option<&'a dyn Fn() -> Result<Link, StoreError>>,
}

impl<'a> Open<'a> {
    /// Within a transaction, which ends with its connection.
    pub fn new(link: &'a mut Link, failures: Failures<'a>) -> Self {
        Self {
            link,
            failures,
            renew: None,
        }
    }

    /// For statements that only read, outside of a transaction.
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

    /// The statement as the server knows it.
    fn prepared(&mut self, sql: &str) -> Result<postgres::Statement, postgres::Error> {
        if let Some(known) = self.link.prepared.get(sql) {
            return Ok(known.clone());
        }
        // Statements differ by the numbers of their values: without a limit they would pile up.
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

    /// Tries once; `true` if the connection was lost before anything came.
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
        // The next one may come after this one's result was used.
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

/// A number for a name (FNV-1a).
fn hash(name: &str) -> i32 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    i32::from_ne_bytes(hash.to_ne_bytes())
}

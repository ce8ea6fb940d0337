//! Statements on an open SQLite file.

use crate::backend::row::Columns;
use crate::backend::{Row, Statements, Value};
use crate::error::StoreError;
use crate::location::Location;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::path::Path;

/// Connection in use by a session.
pub struct Open<'a> {
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

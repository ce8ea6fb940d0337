//! One row of an answer, read by the names of its columns.

use super::value::{FromValue, Value};
use crate::error::StoreError;
use crate::location::Location;

/// Columns of a row, as a back end has them.
pub trait Columns {
    /// Names of the columns, in order.
    fn names(&self) -> Vec<&str>;
    /// Place of a column.
    fn find(&self, name: &str) -> Option<usize>;
    /// The value of a column.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn read(&self, index: usize) -> Result<Value, String>;
}

/// One row of an answer.
pub struct Row<'a> {
    columns: &'a dyn Columns,
    store: &'a Location,
}

impl<'a> Row<'a> {
    pub(super) fn new(columns: &'a dyn Columns, store: &'a Location) -> Self {
        Self { columns, store }
    }

    /// The value of the column of that name: `row.get::<Option<u64>>("finished_unix_ms")?`.
    ///
    /// # Errors
    /// If there is no such column, or its value is of another kind.
    pub fn get<T: FromValue>(&self, column: &str) -> Result<T, StoreError> {
        let index = self.columns.find(column);
        let index = index.ok_or_else(|| self.wrong(column, "there is no such column"))?;
        T::from_value(self.at(index)?)
            .map_err(|found| self.wrong(column, &format!("{} stands there", found.kind())))
    }

    /// The value of a column by its place, from 0.
    ///
    /// # Errors
    /// If there is no such column, or it has a type that this program does not know.
    pub fn at(&self, index: usize) -> Result<Value, StoreError> {
        self.columns.read(index).map_err(|why| {
            let names = self.names();
            self.wrong(names.get(index).unwrap_or(&"?"), &why)
        })
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> Vec<&str> {
        self.columns.names()
    }

    /// An error about the value of a column.
    pub fn wrong(&self, column: &str, why: &str) -> StoreError {
        StoreError::Failed {
            store: self.store.clone(),
            reason: format!("column {column}: {why}"),
        }
    }
}

//! One row of an answer, read by the names of its columns.

use super::value::{FromValue, Value};
use crate::error::StoreError;
use crate::location::Location;

/// Access to the columns of a row, implemented by each back end.
pub trait Columns {
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
    pub(super) fn new(columns: &'a dyn Columns, store: &'a Location) -> Self {
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

//! Values of statements and rows.

use crate::error::StoreError;
use crate::location::Location;

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

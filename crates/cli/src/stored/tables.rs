//! Rows of the store's views as tables for other programs.

use assay_report::data::{self, Column, Kind};
use assay_store::Value;
use assay_store::views::{ColumnType, StoreView};

/// Converts a row for outputs.
pub fn row(values: Vec<Value>) -> Vec<data::Value> {
    values.into_iter().map(value).collect()
}

fn value(value: Value) -> data::Value {
    match value {
        Value::Null => data::Value::Null,
        Value::Int(number) => data::Value::Integer(number),
        Value::Real(number) => data::Value::Real(number),
        Value::Text(text) => data::Value::Text(text),
        Value::Blob(bytes) => data::Value::Text(hex(&bytes)),
        Value::Reals(numbers) => data::Value::Text(format!("{numbers:?}")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the columns of a view.
pub fn columns(view: &StoreView) -> Vec<Column> {
    let columns = view.columns.iter();
    columns
        .map(|(name, kind)| Column {
            name: (*name).to_owned(),
            kind: match kind {
                ColumnType::Text => Kind::Text,
                ColumnType::Integer => Kind::Integer,
                ColumnType::Real => Kind::Real,
                ColumnType::Time => Kind::Time,
            },
        })
        .collect()
}

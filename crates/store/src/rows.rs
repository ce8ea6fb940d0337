//! Readers of columns that several tables share: annotations, JSON, owners.

use crate::backend::Row;
use crate::error::StoreError;
use crate::{Owner, runs};
use assay_model::annotation::Annotation;
use serde::de::DeserializeOwned;

/// Reads the annotation columns of a row; they are NULL for a record without one.
pub(crate) fn annotation(row: &Row<'_>) -> Result<Annotation, StoreError> {
    Ok(Annotation {
        name: row.get("name")?,
        tags: optional_words(row, "tags")?,
        note: row.get("note")?,
    })
}

/// Reads a JSON column.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, StoreError> {
    let text: String = row.get(column)?;
    runs::from_text(&text).map_err(|error| row.wrong(column, &error.to_string()))
}

/// Reads a JSON list of words; NULL is an empty list.
pub(crate) fn optional_words(row: &Row<'_>, column: &str) -> Result<Vec<String>, StoreError> {
    match row.get::<Option<String>>(column)? {
        Some(_) => json(row, column),
        None => Ok(Vec::new()),
    }
}

/// Reads the owner of a run from a row.
pub(crate) fn owner(row: &Row<'_>) -> Result<Owner, StoreError> {
    Ok(Owner {
        pid: row.get("owner_pid")?,
        boot_id: row.get("owner_boot_id")?,
        start_ticks: row.get("owner_start_ticks")?,
    })
}

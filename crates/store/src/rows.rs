//! Parts of rows that several tables have: annotations, JSON, owners.

use crate::backend::Row;
use crate::error::StoreError;
use crate::{Owner, record};
use assay_model::annotation::Annotation;
use serde::de::DeserializeOwned;

/// The annotation in a row with its columns, which are NULL where there is none.
pub(crate) fn annotation(row: &Row<'_>) -> Result<Annotation, StoreError> {
    Ok(Annotation {
        name: row.get("name")?,
        tags: optional_words(row, "tags")?,
        note: row.get("note")?,
    })
}

/// Reads a column with JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, StoreError> {
    let text: String = row.get(column)?;
    record::from_text(&text).map_err(|error| row.wrong(column, &error.to_string()))
}

/// Words of a column with a JSON list; none where it is NULL.
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

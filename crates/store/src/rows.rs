//! Parts of rows that several tables have: annotations, lists of words, owners.

use crate::backend::Row;
use crate::error::StoreError;
use crate::{Owner, record};
use assay_model::annotation::Annotation;
use std::io;

/// The annotation in a row with its columns, which are NULL where there is none.
pub(crate) fn annotation(row: &Row<'_>) -> Result<Annotation, StoreError> {
    let has_tags = row.get::<Option<String>>("tags")?.is_some();
    Ok(Annotation {
        name: row.get("name")?,
        tags: match has_tags {
            true => words(row, "tags")?,
            false => Vec::new(),
        },
        note: row.get("note")?,
    })
}

/// Words that are stored as a JSON list.
pub(crate) fn words(row: &Row<'_>, column: &str) -> Result<Vec<String>, StoreError> {
    let text: String = row.get(column)?;
    record::from_text(&text).map_err(|error: io::Error| row.wrong(column, &error.to_string()))
}

/// The words of a column, none where it is NULL.
pub(crate) fn optional_words(row: &Row<'_>, column: &str) -> Result<Vec<String>, StoreError> {
    match row.get::<Option<String>>(column)? {
        Some(_) => words(row, column),
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

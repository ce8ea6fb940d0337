//! Results measured by other programs.

use crate::backend::{Row, UNLESS_THERE, Value, rows};
use crate::error::StoreError;
use crate::rows::{annotation, json};
use crate::runs;
use crate::runs::{Store, unwritable};
use assay_model::annotation::Annotation;
use assay_model::figures::Import;

/// Import in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSummary {
    /// [`Import::id`].
    pub id: String,
    /// Time of the import, milliseconds since 1970 (UTC).
    pub imported_unix_ms: u64,
    /// Program that measured.
    pub tool: String,
    /// Files that were imported.
    pub files: Vec<String>,
    /// Number of figures.
    pub figures: u32,
    /// Name, tags and note of the user.
    pub annotation: Annotation,
}

impl Store {
    /// Stores an import. Once this returns, the import survives a kill and a power cut.
    ///
    /// # Errors
    /// If the file cannot be written, or the id exists.
    pub fn save_import(&mut self, import: &Import) -> Result<(), StoreError> {
        let blob = runs::to_blob(import).map_err(unwritable(&import.id))?;
        let annotation = std::mem::take(&mut self.next);
        let row = import_row(import, &blob, None)?;
        self.add(&import.id, &annotation, "runs", |t| {
            t.put_many("imports", IMPORT_COLUMNS, &[row], UNLESS_THERE)
        })
    }

    /// Returns all imports, newest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn imports(&self) -> Result<Vec<ImportSummary>, StoreError> {
        self.import_summaries("", &[])
    }

    /// Returns imports as rows of a list, newest first.
    pub(crate) fn import_summaries(
        &self,
        condition: &str,
        values: &[Value],
    ) -> Result<Vec<ImportSummary>, StoreError> {
        let sequence = self.database.dialect().sequence();
        let sql = format!(
            "SELECT id, imported_unix_ms, tool, files, figures, name, tags, note \
             FROM imports LEFT JOIN annotations USING (id) {condition} \
             ORDER BY imported_unix_ms DESC, imports.{sequence} DESC"
        );
        self.database.query(&sql, values, summary)
    }

    /// Loads an import with all its figures.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::DamagedImport`], or when the
    /// file cannot be read.
    pub fn load_import(&self, id: &str) -> Result<Import, StoreError> {
        let sql = "SELECT record FROM imports WHERE id = ?1";
        let blob = self
            .database
            .first(sql, &[id.into()], |row| row.get::<Vec<u8>>("record"))?;
        let blob = blob.ok_or_else(|| self.no_such_run(id))?;
        let import = runs::from_blob(&blob).map_err(|source| StoreError::DamagedImport {
            import: id.to_owned(),
            source,
        })?;
        let annotation = self.annotation(id)?;
        Ok(Import {
            annotation,
            ..import
        })
    }
}

rows! {
    /// Columns of `imports`.
    pub(crate) IMPORT_COLUMNS of import_row(
        import: &Import,
        blob: &[u8],
        content_sha256: Option<&str>,
    ) {
        id = &import.id,
        imported_unix_ms = import.imported_unix_ms,
        tool = &import.results.tool,
        files = runs::to_text(&import.files).map_err(unwritable(&import.id))?,
        figures = import.results.figures.len(),
        record = blob,
        content_sha256 = content_sha256,
    }
}

pub(crate) fn summary(row: &Row<'_>) -> Result<ImportSummary, StoreError> {
    Ok(ImportSummary {
        id: row.get("id")?,
        imported_unix_ms: row.get("imported_unix_ms")?,
        tool: row.get("tool")?,
        files: json(row, "files")?,
        figures: row.get("figures")?,
        annotation: annotation(row)?,
    })
}

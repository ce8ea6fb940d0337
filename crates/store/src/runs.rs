//! Writing runs and trials, and the results measured by other programs. Records are stored as JSON,
//! which is zlib-compressed for trials and imports.

use crate::backend::{Access, Database, Row, UNLESS_THERE, Value, rows};
use crate::error::StoreError;
use crate::location::Location;
use assay_model::annotation::Annotation;
use assay_model::figures::Import;
use assay_model::run::{Run, RunHeader, RunStatus};
use assay_model::trial::TrialRecord;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Outcome in the table of trials for a trial that found lost data; the record has the details.
pub(crate) const DATA_LOST: &str = "data lost";

/// Store of runs and imports. Several processes can use it at the same time.
#[derive(Debug)]
pub struct Store {
    pub(crate) database: Database,
    /// Annotation of the next run or import.
    pub(crate) next: Annotation,
}

/// Process that makes a run, identified so that a later process with the same id is not mistaken
/// for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// `/proc/sys/kernel/random/boot_id`: differs between machines, and after
    /// each boot.
    pub boot_id: String,
    /// Start of the process, clock ticks since boot (`/proc/PID/stat`, field
    /// 22).
    pub start_ticks: u64,
}

/// Run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// [`RunHeader::id`].
    pub id: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Finish time, milliseconds since 1970 (UTC); `None` while the run is under way, and if its
    /// end was not recorded.
    pub finished_unix_ms: Option<u64>,
    /// Status of the run.
    pub status: RunStatus,
    /// [`RunHeader::target`].
    pub target: Option<String>,
    /// [`RunHeader::command`].
    pub command: Vec<String>,
    /// Path that was measured.
    pub path: String,
    /// Description of the device in a few words.
    pub device: String,
    /// Number of stored trials, with any outcome.
    pub trials_done: u32,
    /// Number of trials in the plan.
    pub trials_planned: u32,
    /// True if a trial found lost data. Older stores do not list it.
    pub data_lost: bool,
    /// Name, tags and note of the user.
    pub annotation: Annotation,
}

/// Run with the trials that can be read.
#[derive(Debug)]
pub struct LoadedRun {
    /// The run, without its damaged trials.
    pub run: Run,
    /// One [`StoreError::DamagedTrial`] for each trial that cannot be read.
    pub damaged: Vec<StoreError>,
}

impl Store {
    /// Opens a store for a new run; creates a missing file and its folders, or the tables of a
    /// database.
    ///
    /// # Errors
    /// If it cannot be created, reached or written, or is not a store of a known format. Such a
    /// file is never changed.
    pub fn open(at: impl Into<Location>) -> Result<Self, StoreError> {
        Self::open_for(&at.into(), Access::Create)
    }

    /// Opens an existing store, which may be read-only; creates nothing.
    ///
    /// # Errors
    /// If the store cannot be opened, as for [`Store::open`]; [`StoreError::Missing`] or
    /// [`StoreError::NotMade`] if there is no store.
    pub fn open_existing(at: impl Into<Location>) -> Result<Self, StoreError> {
        Self::open_for(&at.into(), Access::Existing)
    }

    /// Opens an existing store for reading: changes nothing in it, not even its format, and waits
    /// for no other process.
    ///
    /// # Errors
    /// As [`Store::open_existing`], and if another process is writing the file.
    pub fn open_to_read(at: impl Into<Location>) -> Result<Self, StoreError> {
        Self::open_for(&at.into(), Access::Read)
    }

    fn open_for(location: &Location, access: Access) -> Result<Self, StoreError> {
        Ok(Self {
            database: Database::open(location, access)?,
            next: Annotation::default(),
        })
    }

    /// Returns the file or database of the store.
    pub fn location(&self) -> &Location {
        self.database.location()
    }

    /// Returns the absolute path of a file store; empty for a database.
    pub fn path(&self) -> &Path {
        self.location().file().unwrap_or(Path::new(""))
    }

    /// Stores a new run, which `owner` makes.
    ///
    /// # Errors
    /// If the file cannot be written, or the id or the name of [`Self::annotate_next`] exists.
    pub fn begin_run(&mut self, header: &RunHeader, owner: &Owner) -> Result<(), StoreError> {
        let text = to_text(header).map_err(unwritable(&header.id))?;
        let annotation = std::mem::take(&mut self.next);
        let row = run_row(
            header,
            Some(owner),
            &RunStatus::Running,
            None,
            &text,
            None,
            0,
        )?;
        self.add(&header.id, &annotation, "imports", |t| {
            t.put_many("runs", RUN_COLUMNS, &[row], UNLESS_THERE)
        })
    }

    /// Stores a completed trial. Once this returns, the trial survives a kill and a power cut.
    ///
    /// # Errors
    /// If the file cannot be written, has no such run, or has a trial at that position.
    pub fn save_trial(&mut self, run_id: &str, trial: &TrialRecord) -> Result<(), StoreError> {
        self.save_trials(run_id, std::slice::from_ref(trial))
    }

    /// Stores consecutive trials, all or none. Once this returns, they survive a kill and a power
    /// cut.
    ///
    /// # Errors
    /// As [`Self::save_trial`].
    pub fn save_trials(&mut self, run_id: &str, trials: &[TrialRecord]) -> Result<(), StoreError> {
        let rows = trials.iter().map(|trial| trial_row(run_id, trial));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        self.database.transaction(|t| {
            t.insert_many("trials", TRIAL_COLUMNS, rows)?;
            Ok(())
        })
    }

    /// Stores status and finish time (milliseconds since 1970, UTC) of a run. The owner's status
    /// replaces one of [`Self::mark_interrupted`].
    ///
    /// # Errors
    /// If the file cannot be written, was replaced, or has no such run.
    pub fn finish_run(
        &mut self,
        run_id: &str,
        status: &RunStatus,
        finished_unix_ms: u64,
    ) -> Result<(), StoreError> {
        let changed = self.database.execute(
            "UPDATE runs SET status = ?1, error = ?2, finished_unix_ms = ?3, \
             content_sha256 = NULL, facts_version = 0 WHERE id = ?4",
            &[
                status.word().into(),
                error_of(status).into(),
                finished_unix_ms.into(),
                run_id.into(),
            ],
        )?;
        self.expect_one(changed, run_id)
    }

    /// Fails unless all trials of a finished run are stored: one may be missing, and a file whose
    /// contents were replaced is still the same file.
    ///
    /// # Errors
    /// If the file lacks the run or one of its `trials`, or cannot be read.
    pub fn expect_trials(&self, run_id: &str, trials: usize) -> Result<(), StoreError> {
        let sql = "SELECT count(*) AS there FROM trials WHERE run_id = ?1";
        let there = self
            .database
            .first(sql, &[run_id.into()], |row| row.get::<usize>("there"))?
            .unwrap_or_default();
        match there == trials {
            true => Ok(()),
            false => Err(StoreError::Incomplete {
                run: run_id.to_owned(),
                store: self.location().clone(),
                there,
                trials,
            }),
        }
    }

    /// Marks a run of [`Self::abandoned_runs`] as interrupted, without a finish time. A run that
    /// ended meanwhile is not changed.
    ///
    /// # Errors
    /// If the file cannot be written or has no such run.
    pub fn mark_interrupted(&mut self, run_id: &str) -> Result<(), StoreError> {
        let changed = self.database.execute(
            "UPDATE runs SET content_sha256 = NULL, facts_version = 0, \
             status = CASE WHEN status = ?1 THEN ?2 ELSE status END WHERE id = ?3",
            &[
                RunStatus::Running.word().into(),
                RunStatus::Interrupted.word().into(),
                run_id.into(),
            ],
        )?;
        self.expect_one(changed, run_id)
    }

    /// Sets a run that ended early under way again, with a new owner. Deletes its trials from
    /// position `first_missing` on: they will be repeated.
    ///
    /// # Errors
    /// If the file cannot be written or has no such run.
    pub fn reopen_run(
        &mut self,
        run_id: &str,
        owner: &Owner,
        first_missing: usize,
    ) -> Result<(), StoreError> {
        let changed = self.database.transaction(|t| {
            t.execute(
                "DELETE FROM trials WHERE run_id = ?1 AND position >= ?2",
                &[run_id.into(), first_missing.into()],
            )?;
            t.execute(
                "UPDATE runs SET status = ?1, error = NULL, finished_unix_ms = NULL, \
                 content_sha256 = NULL, facts_version = 0, owner_pid = ?2, owner_boot_id = ?3, \
                 owner_start_ticks = ?4 WHERE id = ?5",
                &[
                    RunStatus::Running.word().into(),
                    owner.pid.into(),
                    (&owner.boot_id).into(),
                    owner.start_ticks.into(),
                    run_id.into(),
                ],
            )
        })?;
        self.expect_one(changed, run_id)
    }

    /// Replaces the header of a run that gets more trials; they are added once it is
    /// [reopened](Self::reopen_run).
    ///
    /// # Errors
    /// If the file cannot be written or has no such run.
    pub fn extend_run(&mut self, header: &RunHeader) -> Result<(), StoreError> {
        let text = to_text(header).map_err(unwritable(&header.id))?;
        let changed = self.database.execute(
            "UPDATE runs SET header = ?1, trials_planned = ?2, content_sha256 = NULL WHERE id = ?3",
            &[
                text.as_str().into(),
                header.plan.order.len().into(),
                (&header.id).into(),
            ],
        )?;
        self.expect_one(changed, &header.id)
    }

    /// Deletes a run without trials.
    ///
    /// # Errors
    /// If the file cannot be written, or has no such run without trials.
    pub fn forget_run(&mut self, run_id: &str) -> Result<(), StoreError> {
        let changed = self.database.execute(
            "DELETE FROM runs WHERE id = ?1 AND NOT EXISTS \
             (SELECT 1 FROM trials WHERE run_id = ?1)",
            &[run_id.into()],
        )?;
        self.expect_one(changed, run_id)
    }

    fn expect_one(&self, changed: u64, run_id: &str) -> Result<(), StoreError> {
        match changed {
            0 => Err(self.no_such_run(run_id)),
            _ => Ok(()),
        }
    }

    pub(crate) fn no_such_run(&self, text: &str) -> StoreError {
        StoreError::NoSuchRun {
            text: text.to_owned(),
            store: self.location().clone(),
        }
    }
}

rows! {
    /// Columns of `runs`.
    pub(crate) RUN_COLUMNS of run_row(
        header: &RunHeader,
        owner: Option<&Owner>,
        status: &RunStatus,
        finished_unix_ms: Option<u64>,
        header_text: &str,
        content_sha256: Option<&str>,
        facts_version: u32,
    ) {
        id = &header.id,
        started_unix_ms = header.started_unix_ms,
        finished_unix_ms = finished_unix_ms,
        status = status.word(),
        error = error_of(status),
        owner_pid = owner.map_or(0, |owner| owner.pid),
        owner_boot_id = owner.map_or("", |owner| &owner.boot_id),
        owner_start_ticks = owner.map_or(0, |owner| owner.start_ticks),
        path = header.storage.path.display().to_string(),
        device = header.storage.words(),
        trials_planned = header.plan.order.len(),
        header = header_text,
        target = header.target.as_ref(),
        command = to_text(&header.command).map_err(unwritable(&header.id))?,
        content_sha256 = content_sha256,
        facts_version = facts_version,
    }
}

rows! {
    /// Columns of `trials`.
    pub(crate) TRIAL_COLUMNS of trial_row(run_id: &str, trial: &TrialRecord) {
        run_id = run_id,
        position = trial.position,
        job = &trial.job.name,
        trial = trial.trial,
        outcome = outcome(trial),
        started_unix_ms = trial.started_unix_ms,
        record = to_blob(trial).map_err(unwritable(run_id))?,
    }
}

/// Returns the error message of a failed run.
pub(crate) fn error_of(status: &RunStatus) -> Option<&str> {
    match status {
        RunStatus::Failed { error } => Some(error),
        _ => None,
    }
}

/// Returns the outcome of a trial for lists: lost data takes precedence.
fn outcome(trial: &TrialRecord) -> &'static str {
    match trial.lost_data() {
        true => DATA_LOST,
        false => trial.outcome.word(),
    }
}

/// Returns the error for a record that cannot be serialized.
pub(crate) fn unwritable(run_id: &str) -> impl FnOnce(io::Error) -> StoreError {
    let run = run_id.to_owned();
    |source| StoreError::Unwritable { run, source }
}

/// Maximum size of a decompressed record. Records of assay are much smaller, and messages of the
/// protocol have the same limit; a damaged or hostile record may exceed it.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// Serializes headers, names of files and tags as text, so that SQLite's JSON functions and its
/// shell can read them.
pub fn to_text(record: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(serde_json::to_string(record)?)
}

/// Inverse of [`to_text`].
pub fn from_text<T: DeserializeOwned>(text: &str) -> io::Result<T> {
    Ok(serde_json::from_str(text)?)
}

/// Serializes and compresses a trial or an import. Refuses a record too large to be read again.
pub fn to_blob(record: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(record)?;
    match json.len() as u64 > MAX_RECORD_BYTES {
        true => Err(too_long()),
        false => compressed(&json),
    }
}

/// Compresses the whole text at once: serde writes a few bytes at a time, and each write to the
/// encoder is slow.
fn compressed(json: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(json)?;
    encoder.finish()
}

fn too_long() -> io::Error {
    io::Error::other("it is longer than 64 MiB")
}

/// Inverse of [`to_blob`]; zlib's checksum detects flipped bits.
pub fn from_blob<T: DeserializeOwned>(blob: &[u8]) -> io::Result<T> {
    let mut json = Vec::new();
    ZlibDecoder::new(blob)
        .take(MAX_RECORD_BYTES + 1)
        .read_to_end(&mut json)?;
    if json.len() as u64 > MAX_RECORD_BYTES {
        return Err(too_long());
    }
    Ok(serde_json::from_slice(&json)?)
}

/// Reads the annotation columns of a row; they are NULL for a record without one.
pub(crate) fn read_annotation(row: &Row<'_>) -> Result<Annotation, StoreError> {
    Ok(Annotation {
        name: row.get("name")?,
        tags: read_words(row, "tags")?,
        note: row.get("note")?,
    })
}

/// Reads a JSON column.
pub(crate) fn read_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, StoreError> {
    let text: String = row.get(column)?;
    from_text(&text).map_err(|error| row.wrong(column, &error.to_string()))
}

/// Reads a JSON list of words; NULL is an empty list.
pub(crate) fn read_words(row: &Row<'_>, column: &str) -> Result<Vec<String>, StoreError> {
    match row.get::<Option<String>>(column)? {
        Some(_) => read_json(row, column),
        None => Ok(Vec::new()),
    }
}

/// Reads the owner of a run from a row.
pub(crate) fn read_owner(row: &Row<'_>) -> Result<Owner, StoreError> {
    Ok(Owner {
        pid: row.get("owner_pid")?,
        boot_id: row.get("owner_boot_id")?,
        start_ticks: row.get("owner_start_ticks")?,
    })
}

/// Returns the milliseconds since 1970 (UTC).
pub fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

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
        let blob = to_blob(import).map_err(unwritable(&import.id))?;
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
        self.database.query(&sql, values, import_summary)
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
        let import = from_blob(&blob).map_err(|source| StoreError::DamagedImport {
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
        files = to_text(&import.files).map_err(unwritable(&import.id))?,
        figures = import.results.figures.len(),
        record = blob,
        content_sha256 = content_sha256,
    }
}

pub(crate) fn import_summary(row: &Row<'_>) -> Result<ImportSummary, StoreError> {
    Ok(ImportSummary {
        id: row.get("id")?,
        imported_unix_ms: row.get("imported_unix_ms")?,
        tool: row.get("tool")?,
        files: read_json(row, "files")?,
        figures: row.get("figures")?,
        annotation: read_annotation(row)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_longer_than_it_may_be_is_neither_read_nor_written() {
        let text = |bytes: u64| "x".repeat(usize::try_from(bytes).unwrap());
        let fits = to_blob(&text(MAX_RECORD_BYTES - 2)).unwrap();
        assert!(fits.len() < 1 << 20, "it is small until it is read");
        assert_eq!(
            from_blob::<String>(&fits).unwrap().len() as u64,
            MAX_RECORD_BYTES - 2
        );
        let large = text(MAX_RECORD_BYTES);
        let json = serde_json::to_vec(&large).unwrap();
        let read = from_blob::<String>(&compressed(&json).unwrap());
        for why in [to_blob(&large).unwrap_err(), read.unwrap_err()] {
            assert_eq!(why.to_string(), "it is longer than 64 MiB");
        }
    }
}

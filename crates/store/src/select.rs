//! Reading runs and trials, and finding what an id stands for.

use crate::error::StoreError;
use crate::record;
use crate::rows::{annotation, owner, words};
use crate::runs::{DATA_LOST, LoadedRun, Owner, RunSummary, Store};
use assay_model::annotation::Annotation;
use assay_model::run::{Run, RunHeader, RunStatus};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Rowids grow: of two runs that began in the same millisecond, the later
/// one is the newer.
const NEWEST_FIRST: &str = "ORDER BY started_unix_ms DESC, runs.rowid DESC";

/// Record that an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredId {
    /// A run of assay's own: [`Store::load`].
    Run(String),
    /// Results that were made elsewhere: [`Store::load_import`].
    Import(String),
}

impl StoredId {
    /// The whole id.
    pub fn id(&self) -> &str {
        match self {
            Self::Run(id) | Self::Import(id) => id,
        }
    }
}

/// Run or import that a beginning of an id or a name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCandidate {
    /// The whole id.
    pub id: String,
    /// Name that the user gave it.
    pub name: Option<String>,
    /// Start of the run, or time of the import, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The device in a few words, or the tool of an import.
    pub device: String,
    /// [`RunHeader::command`]; empty for an import.
    pub command: Vec<String>,
    /// [`RunHeader::target`].
    pub target: Option<String>,
}

impl Store {
    /// Returns the newest runs and imports whose id or name begins with `beginning`, at most
    /// `most` of them.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn candidates(
        &self,
        beginning: &str,
        most: u32,
    ) -> Result<Vec<StoredCandidate>, StoreError> {
        // Headers are long: only those of the newest are read.
        let sql = "SELECT newest.*, \
             CASE WHEN json_valid(header) THEN header ->> '$.command' ELSE '[]' END AS command, \
             CASE WHEN json_valid(header) THEN header ->> '$.target' END AS target \
             FROM (SELECT id, name, at, device FROM \
             (SELECT id, started_unix_ms AS at, device FROM runs \
             UNION ALL SELECT id, imported_unix_ms, tool FROM imports) \
             LEFT JOIN annotations USING (id) \
             WHERE substr(id, 1, length(?1)) = ?1 OR substr(name, 1, length(?1)) = ?1 \
             ORDER BY at DESC LIMIT ?2) AS newest \
             LEFT JOIN runs USING (id) ORDER BY at DESC";
        let read = |row: &Row<'_>| {
            Ok(StoredCandidate {
                id: row.get("id")?,
                name: row.get("name")?,
                started_unix_ms: row.get("at")?,
                device: row.get("device")?,
                command: words(row, "command")?,
                target: row.get("target")?,
            })
        };
        self.database.with(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map(params![beginning, most], read)?;
            rows.collect()
        })
    }

    /// Returns all runs, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let runs = self.runs_and_owners()?;
        Ok(runs.into_iter().map(|(run, _)| run).collect())
    }

    /// Runs that are stored as under way but whose owner is not alive, newest
    /// first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn abandoned_runs(
        &self,
        is_alive: impl Fn(&Owner) -> bool,
    ) -> Result<Vec<RunSummary>, StoreError> {
        let runs = self.runs_and_owners()?.into_iter();
        Ok(runs
            .filter(|(run, owner)| run.status == RunStatus::Running && !is_alive(owner))
            .map(|(run, _)| run)
            .collect())
    }

    /// Ids of the runs that a process made, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn runs_of(&self, maker: &Owner) -> Result<Vec<String>, StoreError> {
        let runs = self.runs_and_owners()?.into_iter();
        Ok(runs
            .filter(|(_, owner)| owner == maker)
            .map(|(run, _)| run.id)
            .collect())
    }

    fn runs_and_owners(&self) -> Result<Vec<(RunSummary, Owner)>, StoreError> {
        let sql = format!(
            "SELECT id, started_unix_ms, finished_unix_ms, status, error, path, device, \
             (SELECT count(*) FROM trials WHERE run_id = id) AS trials_done, trials_planned, \
             EXISTS (SELECT 1 FROM trials WHERE run_id = id AND outcome = '{DATA_LOST}') \
             AS data_lost, \
             CASE WHEN json_valid(header) THEN header ->> '$.target' END AS target, \
             owner_pid, owner_boot_id, owner_start_ticks, name, tags, note \
             FROM runs LEFT JOIN annotations USING (id) {NEWEST_FIRST}"
        );
        self.rows(&sql, |row| Ok((summary(row)?, owner(row)?)))
    }

    /// The run or import that `text` names: an id, a name, `last` for the newest, or a
    /// beginning of an id that fits no other.
    ///
    /// # Errors
    /// [`StoreError::Empty`], [`StoreError::NoSuchRun`],
    /// [`StoreError::Ambiguous`], or when the file cannot be read.
    pub fn find(&self, text: &str) -> Result<StoredId, StoreError> {
        // Whole ids are most of what is asked for, thousands of them for all pages.
        if let Some(found) = self.exactly(text)? {
            return Ok(found);
        }
        if let Some(id) = self.holder_of(text)?
            && let Some(found) = self.exactly(&id)?
        {
            return Ok(found);
        }
        let mut all = self.everything()?;
        if all.is_empty() {
            return Err(StoreError::Empty {
                path: self.path().to_owned(),
            });
        }
        if text == "last" {
            return Ok(all.swap_remove(0));
        }
        let fits = |found: &StoredId| !text.is_empty() && found.id().starts_with(text);
        let mut candidates: Vec<StoredId> = all.into_iter().filter(fits).collect();
        match candidates.len() {
            0 => Err(self.no_such_run(text)),
            1 => Ok(candidates.remove(0)),
            _ => Err(StoreError::Ambiguous {
                text: text.to_owned(),
                candidates: candidates
                    .iter()
                    .map(|found| found.id().to_owned())
                    .collect(),
            }),
        }
    }

    /// The run or the import of that id.
    fn exactly(&self, id: &str) -> Result<Option<StoredId>, StoreError> {
        let sql = "SELECT 0 FROM runs WHERE id = ?1 UNION ALL SELECT 1 FROM imports WHERE id = ?1";
        let imported: Option<bool> = self
            .database
            .with(|connection| connection.query_row(sql, [id], |row| row.get(0)).optional())?;
        let id = id.to_owned();
        Ok(imported.map(|imported| match imported {
            false => StoredId::Run(id),
            true => StoredId::Import(id),
        }))
    }

    /// Runs and imports, newest first. Of one millisecond the runs come first.
    fn everything(&self) -> Result<Vec<StoredId>, StoreError> {
        self.rows(
            "SELECT id, 0 AS imported, started_unix_ms AS at, rowid AS place FROM runs \
             UNION ALL SELECT id, 1, imported_unix_ms, rowid FROM imports \
             ORDER BY at DESC, imported, place DESC",
            |row| {
                let id = row.get("id")?;
                Ok(match row.get("imported")? {
                    false => StoredId::Run(id),
                    true => StoredId::Import(id),
                })
            },
        )
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.database.with(|connection| {
            let mut statement = connection.prepare(sql)?;
            statement.query_map([], |row| read(row))?.collect()
        })
    }

    /// The run or import of that name.
    fn holder_of(&self, name: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT id FROM annotations WHERE name = ?1";
        self.database.with(|connection| {
            connection
                .query_row(sql, [name], |row| row.get(0))
                .optional()
        })
    }

    /// A run with all its trials that can be read.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::DamagedRun`], or when the file
    /// cannot be read. A damaged trial is no error of the whole: it is in
    /// [`LoadedRun::damaged`].
    pub fn load(&self, run_id: &str) -> Result<LoadedRun, StoreError> {
        self.load_some(run_id, |_| SomeTrials::All)
    }

    /// A run with those of its trials that `choose` picks by its header: a list of runs
    /// needs a few of each.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_some(
        &self,
        run_id: &str,
        choose: impl FnOnce(&RunHeader) -> SomeTrials,
    ) -> Result<LoadedRun, StoreError> {
        let damaged = |source| StoreError::DamagedRun {
            run: run_id.to_owned(),
            source,
        };
        let read = self.database.with(|connection| {
            // As of one moment, even if the run is under way.
            let transaction = connection.unchecked_transaction()?;
            let Some(stored) = read_run(&transaction, run_id)? else {
                return Ok(None);
            };
            let header = match record::from_text(&stored.header) {
                Ok(header) => header,
                Err(source) => return Ok(Some(Err(source))),
            };
            let trials = read_trials(&transaction, run_id, &choose(&header))?;
            Ok(Some(Ok((stored, header, trials))))
        })?;
        let read = read.ok_or_else(|| self.no_such_run(run_id))?;
        let (stored, header, rows) = read.map_err(damaged)?;
        let mut trials = Vec::new();
        let mut damaged = Vec::new();
        for StoredTrial { job, trial, blob } in rows {
            match record::from_blob(&blob) {
                Ok(record) => trials.push(record),
                Err(source) => damaged.push(StoreError::DamagedTrial {
                    run: run_id.to_owned(),
                    job,
                    trial,
                    source,
                }),
            }
        }
        let run = Run {
            header,
            status: stored.status,
            finished_unix_ms: stored.finished_unix_ms,
            trials,
            annotation: stored.annotation,
        };
        Ok(LoadedRun { run, damaged })
    }
}

/// Trials of a run that are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SomeTrials {
    /// Returns the sum of the phases, in microseconds.
    All,
    /// Those of one job.
    OfJob(String),
    /// The one that was stored last.
    Last,
}

/// A row of `runs`, its header not decoded yet.
struct StoredRun {
    header: String,
    status: RunStatus,
    finished_unix_ms: Option<u64>,
    annotation: Annotation,
}

struct StoredTrial {
    job: String,
    trial: u32,
    blob: Vec<u8>,
}

fn read_run(connection: &Connection, run_id: &str) -> rusqlite::Result<Option<StoredRun>> {
    let read = |row: &Row<'_>| {
        Ok(StoredRun {
            header: row.get("header")?,
            status: status(row)?,
            finished_unix_ms: row.get("finished_unix_ms")?,
            annotation: annotation(row)?,
        })
    };
    let sql = "SELECT header, status, error, finished_unix_ms, name, tags, note \
               FROM runs LEFT JOIN annotations USING (id) WHERE id = ?";
    connection.query_row(sql, [run_id], read).optional()
}

fn read_trials(
    connection: &Connection,
    run_id: &str,
    wanted: &SomeTrials,
) -> rusqlite::Result<Vec<StoredTrial>> {
    let (condition, job) = match wanted {
        SomeTrials::All => ("?2 IS NULL", None),
        SomeTrials::OfJob(job) => ("job = ?2", Some(job)),
        SomeTrials::Last => (
            "?2 IS NULL AND position = (SELECT max(position) FROM trials WHERE run_id = ?1)",
            None,
        ),
    };
    let mut statement = connection.prepare(&format!(
        "SELECT job, trial, record FROM trials WHERE run_id = ?1 AND {condition} ORDER BY position"
    ))?;
    let read = |row: &Row<'_>| {
        Ok(StoredTrial {
            job: row.get("job")?,
            trial: row.get("trial")?,
            blob: row.get("record")?,
        })
    };
    statement.query_map(params![run_id, job], read)?.collect()
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    Ok(RunSummary {
        id: row.get("id")?,
        started_unix_ms: row.get("started_unix_ms")?,
        finished_unix_ms: row.get("finished_unix_ms")?,
        status: status(row)?,
        target: row.get("target")?,
        path: row.get("path")?,
        device: row.get("device")?,
        trials_done: row.get("trials_done")?,
        trials_planned: row.get("trials_planned")?,
        data_lost: row.get("data_lost")?,
        annotation: annotation(row)?,
    })
}

/// Inverse of [`RunStatus::word`].
fn status(row: &Row<'_>) -> rusqlite::Result<RunStatus> {
    let word: String = row.get("status")?;
    let known = [
        RunStatus::Running,
        RunStatus::Finished,
        RunStatus::Interrupted,
        RunStatus::Failed {
            error: row
                .get::<_, Option<String>>("error")?
                .unwrap_or_else(|| "the reason was not stored".to_owned()),
        },
    ];
    let found = known.into_iter().find(|status| status.word() == word);
    found.ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            row.as_ref().column_index("status").unwrap_or_default(),
            Type::Text,
            format!("unknown status '{word}'").into(),
        )
    })
}

//! Reads runs and trials, and resolves ids and names.

use crate::backend::{Row, SqlSession, Value, listed};
use crate::error::StoreError;
use crate::runs;
use crate::runs::{
    DATA_LOST, LoadedRun, Owner, RunSummary, Store, read_annotation, read_owner, read_words,
};
use assay_model::annotation::Annotation;
use assay_model::run::{Run, RunHeader, RunStatus};
use std::collections::HashMap;

/// Kind and id of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredId {
    /// Run measured by assay: [`Store::load`].
    Run(String),
    /// Results measured by another program: [`Store::load_import`].
    Import(String),
}

impl StoredId {
    /// Returns the whole id.
    pub fn id(&self) -> &str {
        match self {
            Self::Run(id) | Self::Import(id) => id,
        }
    }
}

/// Run or import that matches the beginning of an id or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCandidate {
    /// The whole id.
    pub id: String,
    /// Name given by the user.
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
    /// If the file cannot be read.
    pub fn candidates(
        &self,
        beginning: &str,
        most: u32,
    ) -> Result<Vec<StoredCandidate>, StoreError> {
        let sql = "SELECT id, name, at, device, target, command FROM \
             (SELECT id, started_unix_ms AS at, device, target, command FROM runs \
             UNION ALL SELECT id, imported_unix_ms, tool, NULL, NULL FROM imports) AS everything \
             LEFT JOIN annotations USING (id) \
             WHERE substr(id, 1, length(?1)) = ?1 OR substr(name, 1, length(?1)) = ?1 \
             ORDER BY at DESC LIMIT ?2";
        let read = |row: &Row<'_>| {
            Ok(StoredCandidate {
                id: row.get("id")?,
                name: row.get("name")?,
                started_unix_ms: row.get("at")?,
                device: row.get("device")?,
                command: read_words(row, "command")?,
                target: row.get("target")?,
            })
        };
        let values = [beginning.into(), most.into()];
        self.database.query(sql, &values, read)
    }

    /// Returns all runs, newest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.summaries("", &[], summary)
    }

    /// Returns runs that are stored as under way but whose owner is not alive, newest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn abandoned_runs(
        &self,
        is_alive: impl Fn(&Owner) -> bool,
    ) -> Result<Vec<RunSummary>, StoreError> {
        // A literal in a subquery, not a placeholder: only then does SQLite use the partial index
        // of running runs although the query is sorted by time.
        let running = format!(
            "WHERE id IN (SELECT id FROM runs WHERE status = '{}')",
            RunStatus::Running.word()
        );
        let read = |row: &Row<'_>| Ok((summary(row)?, read_owner(row)?));
        let runs = self.summaries(&running, &[], read)?.into_iter();
        Ok(runs
            .filter(|(_, owner)| !is_alive(owner))
            .map(|(run, _)| run)
            .collect())
    }

    /// Returns the newest runs on the storage with this description, at most `most` of them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs_on(&self, device: &str, most: u32) -> Result<Vec<RunSummary>, StoreError> {
        let newest = "WHERE id IN (SELECT id FROM runs WHERE device = ?1 \
                      ORDER BY started_unix_ms DESC LIMIT ?2)";
        self.summaries(newest, &[device.into(), most.into()], summary)
    }

    /// Returns the position and the start, in milliseconds since 1970 (UTC) by the clock of the
    /// target, of each trial of a run, in the order of the run.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn trial_starts(&self, run_id: &str) -> Result<Vec<(u32, u64)>, StoreError> {
        self.database.query(
            "SELECT position, started_unix_ms FROM trials WHERE run_id = ?1 ORDER BY position",
            &[run_id.into()],
            |row| Ok((row.get("position")?, row.get("started_unix_ms")?)),
        )
    }

    /// Returns the ids of the runs that a process made, newest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs_of(&self, maker: &Owner) -> Result<Vec<String>, StoreError> {
        let sequence = self.database.dialect().sequence();
        self.database.query(
            &format!(
                "SELECT id FROM runs WHERE owner_pid = ?1 AND owner_boot_id = ?2 \
                 AND owner_start_ticks = ?3 ORDER BY started_unix_ms DESC, {sequence} DESC"
            ),
            &[
                maker.pid.into(),
                (&maker.boot_id).into(),
                maker.start_ticks.into(),
            ],
            |row| row.get("id"),
        )
    }

    /// Returns runs as rows of a list with their owners, newest first.
    pub(crate) fn summaries<T>(
        &self,
        condition: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let sequence = self.database.dialect().sequence();
        let sql = format!(
            "SELECT id, started_unix_ms, finished_unix_ms, status, error, path, device, \
             (SELECT count(*) FROM trials WHERE run_id = runs.id) AS trials_done, trials_planned, \
             EXISTS (SELECT 1 FROM trials WHERE run_id = runs.id AND outcome = '{DATA_LOST}') \
             AS data_lost, target, command, \
             owner_pid, owner_boot_id, owner_start_ticks, name, tags, note \
             FROM runs LEFT JOIN annotations USING (id) {condition} \
             ORDER BY started_unix_ms DESC, runs.{sequence} DESC"
        );
        self.database.query(&sql, values, read)
    }

    /// Finds the run or import that `text` names: an id, a name, `last` for the newest, or an
    /// unambiguous beginning of an id.
    ///
    /// # Errors
    /// [`StoreError::Empty`], [`StoreError::NoSuchRun`],
    /// [`StoreError::Ambiguous`], or when the file cannot be read.
    pub fn find(&self, text: &str) -> Result<StoredId, StoreError> {
        // Whole ids are the most frequent case: thousands of them to list all pages.
        if let Some(found) = self.exactly(text)? {
            return Ok(found);
        }
        if let Some(id) = self.holder_of(text)?
            && let Some(found) = self.exactly(&id)?
        {
            return Ok(found);
        }
        if text == "last" {
            return self.newest()?.ok_or_else(|| self.empty());
        }
        let mut candidates = self.beginning_with(text)?;
        match candidates.len() {
            0 if self.newest()?.is_none() => Err(self.empty()),
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

    fn empty(&self) -> StoreError {
        StoreError::Empty {
            store: self.location().clone(),
        }
    }

    /// Returns the run or the import of that exact id.
    fn exactly(&self, id: &str) -> Result<Option<StoredId>, StoreError> {
        let sql = "SELECT id, 0 AS imported FROM runs WHERE id = ?1 \
                   UNION ALL SELECT id, 1 FROM imports WHERE id = ?1";
        self.database.first(sql, &[id.into()], stored_id)
    }

    /// Returns the newest record. A run precedes an import of the same millisecond.
    fn newest(&self) -> Result<Option<StoredId>, StoreError> {
        let sequence = self.database.dialect().sequence();
        let newest = |table: &str, time: &str, imported: u8| {
            format!(
                "SELECT * FROM (SELECT id, {imported} AS imported, {time} AS at FROM {table} \
                 ORDER BY {time} DESC, {sequence} DESC LIMIT 1) AS newest_of_{table}"
            )
        };
        let sql = format!(
            "{} UNION ALL {} ORDER BY at DESC, imported LIMIT 1",
            newest("runs", "started_unix_ms", 0),
            newest("imports", "imported_unix_ms", 1)
        );
        self.database.first(&sql, &[], stored_id)
    }

    /// Returns runs and imports whose id begins with a text, newest first.
    fn beginning_with(&self, text: &str) -> Result<Vec<StoredId>, StoreError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let sequence = self.database.dialect().sequence();
        let sql = format!(
            "SELECT id, 0 AS imported, started_unix_ms AS at, {sequence} AS place FROM runs \
             WHERE id >= ?1 AND id <= ?2 \
             UNION ALL SELECT id, 1, imported_unix_ms, {sequence} FROM imports \
             WHERE id >= ?1 AND id <= ?2 ORDER BY at DESC, imported, place DESC"
        );
        let last = format!("{text}{}", char::MAX);
        self.database
            .query(&sql, &[text.into(), last.into()], stored_id)
    }

    /// Returns the id of the run or import with that name.
    fn holder_of(&self, name: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT id FROM annotations WHERE name = ?1";
        self.database
            .first(sql, &[name.into()], |row| row.get("id"))
    }

    /// Loads a run with its readable trials.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::DamagedRun`], or if the file cannot be read. A
    /// damaged trial is not an error: it is in [`LoadedRun::damaged`].
    pub fn load(&self, run_id: &str) -> Result<LoadedRun, StoreError> {
        self.load_some(run_id, |_| SomeTrials::All)
    }

    /// Loads a run with the trials that `choose` selects by its header: a list of runs needs few
    /// trials of each.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_some(
        &self,
        run_id: &str,
        choose: impl FnOnce(&RunHeader) -> SomeTrials,
    ) -> Result<LoadedRun, StoreError> {
        let mut choose = Some(choose);
        let some = |header: &RunHeader| {
            let choose = choose.take();
            choose.map_or(SomeTrials::All, |choose| choose(header))
        };
        let loaded = self.load_several(&[run_id], some)?.remove(run_id);
        loaded.unwrap_or_else(|| Err(self.no_such_run(run_id)))
    }

    /// Loads several runs by their ids like [`Self::load_some`], in two statements. Unknown ids are
    /// left out.
    ///
    /// # Errors
    /// If the store cannot be read. A damaged run has its own error in the result.
    pub fn load_several(
        &self,
        ids: &[&str],
        mut choose: impl FnMut(&RunHeader) -> SomeTrials,
    ) -> Result<HashMap<String, Result<LoadedRun, StoreError>>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        // One snapshot, because a run may be under way.
        self.database.snapshot(|t| {
            let (mut loaded, mut wanted) = (HashMap::new(), Vec::new());
            for stored in read_runs(t, ids)? {
                let id = stored.id.clone();
                let run = stored.run();
                if let Ok(run) = &run {
                    wanted.push((id.clone(), choose(&run.run.header)));
                }
                loaded.insert(id, run);
            }
            for trial in read_trials(t, &wanted)? {
                if let Some(Ok(run)) = loaded.get_mut(&trial.run) {
                    trial.put_into(run);
                }
            }
            Ok(loaded)
        })
    }
}

/// Selection of a run's trials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SomeTrials {
    /// Every trial.
    All,
    /// Trials of one job.
    OfJob(String),
    /// The last stored trial.
    Last,
}

/// Row of `runs` with its header not decoded.
struct StoredRun {
    id: String,
    header: String,
    status: RunStatus,
    finished_unix_ms: Option<u64>,
    annotation: Annotation,
}

impl StoredRun {
    /// Decodes the run, without trials.
    fn run(self) -> Result<LoadedRun, StoreError> {
        let header = runs::from_text(&self.header);
        let header = header.map_err(|source| StoreError::DamagedRun {
            run: self.id,
            source,
        });
        let run = Run {
            header: header?,
            status: self.status,
            finished_unix_ms: self.finished_unix_ms,
            trials: Vec::new(),
            annotation: self.annotation,
        };
        Ok(LoadedRun {
            run,
            damaged: Vec::new(),
        })
    }
}

struct StoredTrial {
    run: String,
    job: String,
    trial: u32,
    blob: Vec<u8>,
}

impl StoredTrial {
    fn put_into(self, run: &mut LoadedRun) {
        match runs::from_blob(&self.blob) {
            Ok(record) => run.run.trials.push(record),
            Err(source) => run.damaged.push(StoreError::DamagedTrial {
                run: self.run,
                job: self.job,
                trial: self.trial,
                source,
            }),
        }
    }
}

fn read_runs(t: &mut SqlSession<'_>, ids: &[&str]) -> Result<Vec<StoredRun>, StoreError> {
    let read = |row: &Row<'_>| {
        Ok(StoredRun {
            id: row.get("id")?,
            header: row.get("header")?,
            status: status(row)?,
            finished_unix_ms: row.get("finished_unix_ms")?,
            annotation: read_annotation(row)?,
        })
    };
    let (marks, values) = listed(ids);
    let sql = format!(
        "SELECT id, header, status, error, finished_unix_ms, name, tags, note \
         FROM runs LEFT JOIN annotations USING (id) WHERE id IN ({marks})"
    );
    t.query(&sql, &values, read)
}

/// Reads the selected trials of runs, in the order of their positions.
fn read_trials(
    t: &mut SqlSession<'_>,
    wanted: &[(String, SomeTrials)],
) -> Result<Vec<StoredTrial>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut values: Vec<Value> = Vec::new();
    let mut place = |value: &String| {
        values.push(value.into());
        format!("?{}", values.len())
    };
    let of_runs = wanted.iter().map(|(run, some)| {
        let run = place(run);
        match some {
            SomeTrials::All => format!("run_id = {run}"),
            SomeTrials::OfJob(job) => format!("(run_id = {run} AND job = {})", place(job)),
            SomeTrials::Last => format!(
                "(run_id = {run} AND position = \
                 (SELECT max(position) FROM trials WHERE run_id = {run}))"
            ),
        }
    });
    let of_runs = of_runs.collect::<Vec<_>>().join(" OR ");
    let read = |row: &Row<'_>| {
        Ok(StoredTrial {
            run: row.get("run_id")?,
            job: row.get("job")?,
            trial: row.get("trial")?,
            blob: row.get("record")?,
        })
    };
    let sql = format!(
        "SELECT run_id, job, trial, record FROM trials WHERE {of_runs} ORDER BY run_id, position"
    );
    t.query(&sql, &values, read)
}

/// Returns the id of a row and whether it is an import.
fn stored_id(row: &Row<'_>) -> Result<StoredId, StoreError> {
    let id = row.get("id")?;
    Ok(match row.get("imported")? {
        false => StoredId::Run(id),
        true => StoredId::Import(id),
    })
}

pub(crate) fn summary(row: &Row<'_>) -> Result<RunSummary, StoreError> {
    Ok(RunSummary {
        id: row.get("id")?,
        started_unix_ms: row.get("started_unix_ms")?,
        finished_unix_ms: row.get("finished_unix_ms")?,
        status: status(row)?,
        target: row.get("target")?,
        command: read_words(row, "command")?,
        path: row.get("path")?,
        device: row.get("device")?,
        trials_done: row.get("trials_done")?,
        trials_planned: row.get("trials_planned")?,
        data_lost: row.get("data_lost")?,
        annotation: read_annotation(row)?,
    })
}

/// Parses [`RunStatus::word`].
pub(crate) fn status(row: &Row<'_>) -> Result<RunStatus, StoreError> {
    let word: String = row.get("status")?;
    let known = [
        RunStatus::Running,
        RunStatus::Finished,
        RunStatus::Interrupted,
        RunStatus::Failed {
            error: row
                .get::<Option<String>>("error")?
                .unwrap_or_else(|| "the reason was not stored".to_owned()),
        },
    ];
    let found = known.into_iter().find(|status| status.word() == word);
    found.ok_or_else(|| row.wrong("status", &format!("unknown status '{word}'")))
}

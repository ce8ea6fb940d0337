//! Records as they are stored, to be copied from one store into another.

use crate::backend::{Row, Session, Value};
use crate::error::StoreError;
use crate::rows;
use crate::runs::{Owner, Store};
use crate::select::status;
use assay_model::annotation::Annotation;
use assay_model::run::RunStatus;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A run as it is stored. Only its annotation ever changes, once it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRun {
    /// Its id.
    pub id: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// End, milliseconds since 1970 (UTC).
    pub finished_unix_ms: Option<u64>,
    /// How it ended.
    pub status: RunStatus,
    /// The process that made it.
    pub owner: Owner,
    /// The path that was asked about.
    pub path: String,
    /// The device in a few words.
    pub device: String,
    /// Trials in the plan.
    pub trials_planned: u32,
    /// Its header, as JSON.
    pub header: String,
    /// Its trials by position.
    pub trials: Vec<RawTrial>,
    /// Name, tags and note of the user.
    pub annotation: Annotation,
    /// When the annotation was last changed, milliseconds since 1970 (UTC); 0 if nobody knows.
    pub annotation_changed_unix_ms: u64,
}

/// A trial as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTrial {
    /// Its place in the run.
    pub position: u32,
    /// Name of its job.
    pub job: String,
    /// Repetition, from 1.
    pub trial: u32,
    /// A word for lists.
    pub outcome: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Its record, compressed.
    pub record: Vec<u8>,
}

/// What became of a record that was to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// It is there now.
    Added,
    /// The same record was there already.
    Present,
    /// Another record has its id.
    Conflict,
    /// It was removed there.
    Removed,
}

impl RawRun {
    /// SHA-256 over header, status, error and finish time, and position and record of each
    /// trial, each after its length.
    pub fn content_sha256(&self) -> String {
        let error = match &self.status {
            RunStatus::Failed { error } => error.as_str(),
            _ => "",
        };
        let finished = self
            .finished_unix_ms
            .map_or_else(String::new, |at| at.to_string());
        let mut content = Content::default();
        content.add(self.header.as_bytes());
        content.add(self.status.word().as_bytes());
        content.add(error.as_bytes());
        content.add(finished.as_bytes());
        for trial in &self.trials {
            content.add(trial.position.to_string().as_bytes());
            content.add(&trial.record);
        }
        content.hex()
    }
}

/// Parts that are hashed one after the other, so that none can pass for two.
#[derive(Default)]
struct Content(Sha256);

impl Content {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    fn hex(self) -> String {
        self.0
            .finalize()
            .iter()
            .fold(String::new(), |mut hex, byte| {
                // Writing into a string does not fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            })
    }
}

impl Store {
    /// A run as it is stored.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or when the store cannot be read.
    pub fn raw_run(&self, id: &str) -> Result<RawRun, StoreError> {
        self.database.snapshot(|t| {
            let run = read_run(t, id)?.ok_or_else(|| self.no_such_run(id))?;
            let trials = read_trials(t, id)?;
            Ok(RawRun { trials, ..run })
        })
    }

    /// The SHA-256 of a run that has ended ([`RawRun::content_sha256`]), computed when it is asked
    /// for the first time; `None` while the run is under way.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or when the store cannot be read. That it cannot be written
    /// is no error.
    pub fn content_sha256(&self, id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT content_sha256 FROM runs WHERE id = ?1";
        let known = self.database.first(sql, &[id.into()], |row| {
            row.get::<Option<String>>("content_sha256")
        })?;
        let known = known.ok_or_else(|| self.no_such_run(id))?;
        if known.is_some() {
            return Ok(known);
        }
        let run = self.raw_run(id)?;
        if run.status == RunStatus::Running {
            return Ok(None);
        }
        let computed = run.content_sha256();
        // It is computed again next time if it cannot be kept, and a run that was gone on with
        // meanwhile is under way.
        let _ = self.database.execute(
            "UPDATE runs SET content_sha256 = ?1 WHERE id = ?2 AND status = ?3",
            &[(&computed).into(), id.into(), run.status.word().into()],
        );
        Ok(Some(computed))
    }

    /// Adds a run of another store, unless it is there or was removed. It gets its annotation if
    /// nobody has its name here; else it gets it without the name.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add_copy(&mut self, run: &RawRun) -> Result<Copied, StoreError> {
        let sha256 = run.content_sha256();
        let added = self.database.transaction(|t| {
            let id = || [Value::from(&run.id)];
            if t.first("SELECT id FROM tombstones WHERE id = ?1", &id(), |_| Ok(()))?
                .is_some()
            {
                return Ok(Copied::Removed);
            }
            if t.first("SELECT id FROM imports WHERE id = ?1", &id(), |_| Ok(()))?
                .is_some()
            {
                return Ok(Copied::Conflict);
            }
            if insert_run(t, run, &sha256)? == 0 {
                return Ok(Copied::Present);
            }
            let rows = run.trials.iter().map(|trial| trial_row(&run.id, trial));
            t.insert_many("trials", crate::runs::TRIAL_COLUMNS, rows)?;
            crate::annotations::put_copy(
                t,
                &run.id,
                &run.annotation,
                run.annotation_changed_unix_ms,
            )?;
            Ok(Copied::Added)
        })?;
        if added == Copied::Present && self.content_sha256(&run.id)? != Some(sha256) {
            return Ok(Copied::Conflict);
        }
        Ok(added)
    }
}

fn insert_run(t: &mut Session<'_>, run: &RawRun, sha256: &str) -> Result<u64, StoreError> {
    let error = match &run.status {
        RunStatus::Failed { error } => Some(error.as_str()),
        _ => None,
    };
    t.execute(
        "INSERT INTO runs (id, started_unix_ms, finished_unix_ms, status, error, owner_pid, \
         owner_boot_id, owner_start_ticks, path, device, trials_planned, header, content_sha256) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
         ON CONFLICT (id) DO NOTHING",
        &[
            (&run.id).into(),
            run.started_unix_ms.into(),
            run.finished_unix_ms.into(),
            run.status.word().into(),
            error.into(),
            run.owner.pid.into(),
            (&run.owner.boot_id).into(),
            run.owner.start_ticks.into(),
            (&run.path).into(),
            (&run.device).into(),
            run.trials_planned.into(),
            (&run.header).into(),
            sha256.into(),
        ],
    )
}

fn trial_row(run_id: &str, trial: &RawTrial) -> Vec<Value> {
    vec![
        run_id.into(),
        trial.position.into(),
        (&trial.job).into(),
        trial.trial.into(),
        (&trial.outcome).into(),
        trial.started_unix_ms.into(),
        trial.record.as_slice().into(),
    ]
}

fn read_run(t: &mut Session<'_>, id: &str) -> Result<Option<RawRun>, StoreError> {
    let sql = "SELECT id, started_unix_ms, finished_unix_ms, status, error, owner_pid, \
               owner_boot_id, owner_start_ticks, path, device, trials_planned, header, \
               name, tags, note, changed_unix_ms \
               FROM runs LEFT JOIN annotations USING (id) WHERE id = ?1";
    let read = |row: &Row<'_>| {
        Ok(RawRun {
            id: row.get("id")?,
            started_unix_ms: row.get("started_unix_ms")?,
            finished_unix_ms: row.get("finished_unix_ms")?,
            status: status(row)?,
            owner: rows::owner(row)?,
            path: row.get("path")?,
            device: row.get("device")?,
            trials_planned: row.get("trials_planned")?,
            header: row.get("header")?,
            trials: Vec::new(),
            annotation: rows::annotation(row)?,
            annotation_changed_unix_ms: row.get::<Option<u64>>("changed_unix_ms")?.unwrap_or(0),
        })
    };
    t.first(sql, &[id.into()], read)
}

fn read_trials(t: &mut Session<'_>, id: &str) -> Result<Vec<RawTrial>, StoreError> {
    let sql = "SELECT position, job, trial, outcome, started_unix_ms, record FROM trials \
               WHERE run_id = ?1 ORDER BY position";
    let read = |row: &Row<'_>| {
        Ok(RawTrial {
            position: row.get("position")?,
            job: row.get("job")?,
            trial: row.get("trial")?,
            outcome: row.get("outcome")?,
            started_unix_ms: row.get("started_unix_ms")?,
            record: row.get("record")?,
        })
    };
    t.query(sql, &[id.into()], read)
}

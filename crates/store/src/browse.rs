//! Totals of a store, the state of a record, and pages of lists.

use crate::backend::Value;
use crate::error::StoreError;
use crate::runs::{Owner, Store};
use crate::{rows, select};
use assay_model::run::RunStatus;
use std::fmt;

/// Page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedPage<T> {
    /// Rows of this page.
    pub rows: Vec<T>,
    /// Key of its last row; `None` on the last page.
    pub next: Option<PageKey>,
}

/// Position in a list in order of time. The next page starts after it, also if rows were added
/// meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKey {
    /// Time of the row, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
    /// Distinguishes rows of the same time.
    pub id: String,
}

impl fmt::Display for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.at_unix_ms, self.id)
    }
}

impl PageKey {
    /// Parses the output of its `Display`; `None` for other texts.
    pub fn read(text: &str) -> Option<Self> {
        let (at, id) = text.split_once('-')?;
        Some(Self {
            at_unix_ms: at.parse().ok()?,
            id: id.to_owned(),
        })
    }
}

/// Numbers of records and devices in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of runs.
    pub runs: u64,
    /// Number of imports.
    pub imports: u64,
    /// Number of different device models among runs with facts.
    pub devices: u64,
    /// Start of the newest run, milliseconds since 1970 (UTC).
    pub newest_unix_ms: Option<u64>,
}

/// State of a run or an import, which determines how it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordState {
    /// Text that changes with every change of the state.
    pub text: String,
    /// Process that makes the run while it is under way.
    pub owner: Option<Owner>,
}

/// Conditions joined by AND, with the values of their placeholders.
#[derive(Default)]
pub(crate) struct Conditions {
    sql: Vec<String>,
    /// Values of the placeholders.
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// Returns an empty list of conditions; placeholders are numbered after `values`.
    pub(crate) fn after(values: Vec<Value>) -> Self {
        let sql = Vec::new();
        Self { sql, values }
    }

    /// Adds a condition; each `?` in it stands for the value.
    pub(crate) fn add(&mut self, sql: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let place = format!("?{}", self.values.len());
        self.sql.push(sql.replace('?', &place));
    }

    /// Adds the condition that a row follows a key in descending order.
    pub(crate) fn behind(&mut self, time: &str, id: &str, key: &PageKey) {
        self.values.push(key.at_unix_ms.into());
        self.values.push((&key.id).into());
        let n = self.values.len();
        self.sql
            .push(format!("({time}, {id}) < (?{}, ?{n})", n - 1));
    }

    /// Adds a LIMIT of one row more than a page has.
    pub(crate) fn limit(&mut self, most: u32) -> String {
        self.values.push((u64::from(most) + 1).into());
        format!("LIMIT ?{}", self.values.len())
    }

    /// Returns the WHERE clause; empty without conditions.
    pub(crate) fn clause(&self) -> String {
        match self.sql.is_empty() {
            true => String::new(),
            false => format!("WHERE {}", self.sql.join(" AND ")),
        }
    }
}

impl Store {
    /// Counts records and devices.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        // Steps from one model to the next in the index: there are few models among many runs.
        let sql = "WITH RECURSIVE models (model) AS (SELECT min(model) FROM facts UNION ALL \
                   SELECT (SELECT min(facts.model) FROM facts WHERE facts.model > models.model) \
                   FROM models WHERE model IS NOT NULL) \
                   SELECT (SELECT count(*) FROM runs) AS runs, \
                   (SELECT count(*) FROM imports) AS imports, \
                   (SELECT count(model) FROM models) AS devices, \
                   (SELECT max(started_unix_ms) FROM runs) AS newest";
        let totals = self.database.first(sql, &[], |row| {
            Ok(Totals {
                runs: row.get("runs")?,
                imports: row.get("imports")?,
                devices: row.get("devices")?,
                newest_unix_ms: row.get("newest")?,
            })
        })?;
        Ok(totals.unwrap_or_default())
    }

    /// Returns the start of the newest run, in milliseconds since 1970 (UTC). A cheap check that
    /// the store can be read: it uses one lookup in an index.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_start(&self) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT started_unix_ms FROM runs ORDER BY started_unix_ms DESC LIMIT 1";
        self.database
            .first(sql, &[], |row| row.get("started_unix_ms"))
    }

    /// Returns a text that changes whenever the store changes. Only texts of the same [`Store`] can
    /// be compared.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn revision(&self) -> Result<String, StoreError> {
        let sql = self.database.dialect().revision();
        let revision = self.database.first(sql, &[], |row| row.get("revision"))?;
        Ok(revision.unwrap_or_default())
    }

    /// Returns the state that determines how a run or an import is shown, without reading its
    /// record.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or if the store cannot be read.
    pub fn state_of(&self, id: &str) -> Result<RecordState, StoreError> {
        let sql = "SELECT status, error, finished_unix_ms, owner_pid, owner_boot_id, \
                   owner_start_ticks, name, tags, note, \
                   (SELECT count(*) FROM trials WHERE run_id = runs.id) AS trials \
                   FROM runs LEFT JOIN annotations USING (id) WHERE id = ?1";
        let state = self.database.first(sql, &[id.into()], |row| {
            let status = select::status(row)?;
            let finished: Option<u64> = row.get("finished_unix_ms")?;
            let trials: u64 = row.get("trials")?;
            let annotation = rows::annotation(row)?;
            let running = status == RunStatus::Running;
            let owner = running.then(|| rows::owner(row)).transpose()?;
            Ok(RecordState {
                text: format!("{status:?} {finished:?} {trials} {annotation:?}"),
                owner,
            })
        })?;
        match state {
            Some(state) => Ok(state),
            // Only the annotation of an import can change.
            None => Ok(RecordState {
                text: format!("{:?}", self.annotation(id)?),
                owner: None,
            }),
        }
    }
}

/// Makes a page of rows, of which there is one too many if another page follows.
pub(crate) fn page<T>(mut rows: Vec<T>, most: u32, key: impl Fn(&T) -> PageKey) -> KeyedPage<T> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let more = rows.len() > most;
    rows.truncate(most);
    let next = rows.last().filter(|_| more).map(key);
    KeyedPage { rows, next }
}

//! Totals of a store, the state of a record, statements of users, and lists in pages, newest first:
//! a store may contain a million runs. A statement of a user is read-only and has a time limit.

use crate::backend::{Dialect, Question, Row, Value, listed};
use crate::error::StoreError;
use crate::runs::{ImportSummary, Owner, RunSummary, Store};
use crate::select::summary;
use crate::{runs, select};
use assay_model::run::RunStatus;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// Filter of a list; a run or an import must match every given field. ASCII letters match in either
/// case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Earliest start of a run or time of an import, milliseconds since 1970 (UTC).
    pub since_unix_ms: Option<u64>,
    /// Part of the command line; imports have the command `import`.
    pub command: Option<String>,
    /// Part of the device, or of the tool of an import.
    pub device: Option<String>,
    /// Part of id, path, device, target, files, name, a tag or note.
    pub text: Option<String>,
    /// Conditions on runs.
    pub of_runs: RunsFilter,
}

/// Conditions that only runs can match: with any of them given, a list contains no imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunsFilter {
    /// Latest start, exclusive, milliseconds since 1970 (UTC).
    pub before_unix_ms: Option<u64>,
    /// Name of the status.
    pub status: Option<String>,
    /// Part of the machine's name in the facts.
    pub target: Option<String>,
    /// Model of the device in the facts.
    pub model: Option<String>,
    /// Unit of the device in the facts.
    pub unit: Option<String>,
}

/// Position of a run or an import in a list; the next page begins after it. Its text form is a
/// word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListKey {
    at_unix_ms: u64,
    is_import: bool,
    place: i64,
}

impl fmt::Display for ListKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_import = u8::from(self.is_import);
        write!(f, "{}-{is_import}-{}", self.at_unix_ms, self.place)
    }
}

impl FromStr for ListKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, rest) = text.split_once('-').ok_or(())?;
        let (is_import, place) = rest.split_once('-').ok_or(())?;
        Ok(Self {
            at_unix_ms: at.parse().map_err(|_| ())?,
            is_import: match is_import {
                "0" => false,
                "1" => true,
                _ => return Err(()),
            },
            place: place.parse().map_err(|_| ())?,
        })
    }
}

/// Row of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A run.
    Run(RunSummary),
    /// An import.
    Import(ImportSummary),
}

/// Page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Rows of the page, newest first.
    pub entries: Vec<Listed>,
    /// Key for the next page; `None` on the last.
    pub next: Option<ListKey>,
}

/// Description of a table that lists read.
struct Table {
    name: &'static str,
    is_import: bool,
    time: &'static str,
    command: &'static str,
    device: &'static str,
    /// Lowercase text to search, without annotations.
    words: &'static str,
}

const RUNS: Table = Table {
    name: "runs",
    is_import: false,
    time: "started_unix_ms",
    command: "command",
    device: "device",
    words: "words",
};
const IMPORTS: Table = Table {
    name: "imports",
    is_import: true,
    time: "imported_unix_ms",
    command: "'import'",
    device: "tool",
    words: "lower(id || ' ' || tool || ' ' || files)",
};
const NOTED: &[&str] = &["name", "tags", "note"];

/// Values of a statement; adding one returns its placeholder.
#[derive(Default)]
struct Placeholders(Vec<Value>);

impl Placeholders {
    fn add(&mut self, value: impl Into<Value>) -> String {
        self.0.push(value.into());
        format!("?{}", self.0.len())
    }
}

impl ListFilter {
    /// Returns the condition for rows of a table.
    fn condition(&self, table: &Table, dialect: Dialect, values: &mut Placeholders) -> String {
        let mut all = Vec::new();
        if let Some(since) = self.since_unix_ms {
            all.push(format!("{} >= {}", table.time, values.add(since)));
        }
        if let Some(command) = &self.command {
            let wanted = values.add(like(command));
            all.push(fits(table.command, &wanted));
        }
        if let Some(device) = &self.device {
            let wanted = values.add(like(device));
            all.push(fits(table.device, &wanted));
        }
        if let Some(text) = &self.text {
            let wanted = values.add(like(text));
            let noted = NOTED.iter().map(|column| fits(column, &wanted));
            let noted = noted.collect::<Vec<_>>().join(" OR ");
            let worded = format!("{} LIKE {wanted} ESCAPE '!'", table.words);
            let worded = match table.is_import {
                true => worded,
                false => dialect.by_words(&worded),
            };
            // Reads each annotation once, and only the index of runs.
            all.push(format!(
                "({worded} OR id IN (SELECT id FROM annotations WHERE {noted}))"
            ));
        }
        if self.of_runs != RunsFilter::default() {
            all.push(match table.is_import {
                true => "1 = 0".to_owned(),
                false => self.of_runs.condition(values),
            });
        }
        match all.is_empty() {
            true => "1 = 1".to_owned(),
            false => all.join(" AND "),
        }
    }
}

impl RunsFilter {
    /// Returns the condition for runs. Facts are looked up row by row, because only the newest runs
    /// are needed.
    fn condition(&self, values: &mut Placeholders) -> String {
        let fact = |condition: &str| {
            format!("EXISTS (SELECT 1 FROM facts WHERE run_id = runs.id AND {condition})")
        };
        let mut all = Vec::new();
        if let Some(before) = self.before_unix_ms {
            all.push(format!("started_unix_ms < {}", values.add(before)));
        }
        if let Some(status) = &self.status {
            all.push(format!("status = {}", values.add(status)));
        }
        if let Some(target) = &self.target {
            let wanted = values.add(like(target));
            all.push(fact(&fits("facts.target", &wanted)));
        }
        if let Some(model) = &self.model {
            all.push(fact(&format!("facts.model = {}", values.add(model))));
        }
        if let Some(unit) = &self.unit {
            all.push(fact(&format!("facts.unit = {}", values.add(unit))));
        }
        all.join(" AND ")
    }
}

fn fits(column: &str, wanted: &str) -> String {
    format!("lower({column}) LIKE {wanted} ESCAPE '!'")
}

/// Returns a LIKE pattern that finds a text anywhere in a lowercase column.
pub(crate) fn like(text: &str) -> String {
    format!("%{}%", literally(&text.to_ascii_lowercase()))
}

/// Escapes a text for LIKE with `!` as the escape character.
pub(crate) fn literally(text: &str) -> String {
    let escaped = text.replace('!', "!!");
    escaped.replace('%', "!%").replace('_', "!_")
}

impl Store {
    /// Returns at most `limit` runs and imports after a position of the list, newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn page(
        &self,
        filter: &ListFilter,
        after: Option<ListKey>,
        limit: u32,
    ) -> Result<ListPage, StoreError> {
        let mut values = Placeholders::default();
        let more = i64::from(limit) + 1;
        let parts =
            [RUNS, IMPORTS].map(|table| self.part(&table, filter, after, more, &mut values));
        let limit_of_all = values.add(more);
        let sql = format!(
            "{} ORDER BY at DESC, imported, place DESC LIMIT {limit_of_all}",
            parts.join(" UNION ALL ")
        );
        let read = |row: &Row<'_>| {
            let key = ListKey {
                at_unix_ms: row.get("at")?,
                is_import: row.get("imported")?,
                place: row.get("place")?,
            };
            Ok((row.get::<String>("id")?, key))
        };
        let mut found = self.database.query(&sql, &values.0, read)?;
        let is_last = found.len() <= limit as usize;
        found.truncate(limit as usize);
        let next = found.last().map(|(_, key)| *key);
        Ok(ListPage {
            next: next.filter(|_| !is_last),
            entries: self.entries(&found)?,
        })
    }

    /// Counts the runs and imports that match.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn count(&self, filter: &ListFilter) -> Result<u64, StoreError> {
        let mut all = 0;
        for table in [RUNS, IMPORTS] {
            let mut values = Placeholders::default();
            let condition = filter.condition(&table, self.database.dialect(), &mut values);
            let name = table.name;
            let sql = format!("SELECT count(*) AS number FROM {name} WHERE {condition}");
            let read = |row: &Row<'_>| row.get::<u64>("number");
            all += self
                .database
                .first(&sql, &values.0, read)?
                .unwrap_or_default();
        }
        Ok(all)
    }

    /// Returns the keys of the first matching rows of a table.
    fn part(
        &self,
        table: &Table,
        filter: &ListFilter,
        after: Option<ListKey>,
        limit: i64,
        values: &mut Placeholders,
    ) -> String {
        let sequence = self.database.dialect().sequence();
        let (name, time) = (table.name, table.time);
        let is_import = u8::from(table.is_import);
        let place = format!("{name}.{sequence}");
        let mut condition = filter.condition(table, self.database.dialect(), values);
        if let Some(key) = after {
            let at = values.add(key.at_unix_ms);
            // Runs precede imports of the same millisecond.
            let same = match (table.is_import, key.is_import) {
                (false, true) => "1 = 0".to_owned(),
                (true, false) => "1 = 1".to_owned(),
                _ => format!("{place} < {}", values.add(key.place)),
            };
            condition += &format!(" AND {time} <= {at} AND ({time} < {at} OR {same})");
        }
        let limit = values.add(limit);
        format!(
            "SELECT * FROM (SELECT id, {is_import} AS imported, {time} AS at, {place} AS place \
             FROM {name} WHERE {condition} ORDER BY {time} DESC, {place} DESC LIMIT {limit}) \
             AS of_{name}"
        )
    }

    /// Loads the entries of keys, in their order. Entries removed meanwhile are left out.
    fn entries(&self, keys: &[(String, ListKey)]) -> Result<Vec<Listed>, StoreError> {
        let ids = |is_import| -> Vec<&String> {
            let of_kind = keys.iter().filter(|(_, key)| key.is_import == is_import);
            of_kind.map(|(id, _)| id).collect()
        };
        let mut entries = HashMap::new();
        for ids in ids(false).chunks(CHUNK) {
            let (marks, values) = listed(ids);
            let condition = format!("WHERE id IN ({marks})");
            for run in self.summaries(&condition, &values, summary)? {
                entries.insert(run.id.clone(), Listed::Run(run));
            }
        }
        for ids in ids(true).chunks(CHUNK) {
            let (marks, values) = listed(ids);
            let condition = format!("WHERE id IN ({marks})");
            for import in self.import_summaries(&condition, &values)? {
                entries.insert(import.id.clone(), Listed::Import(import));
            }
        }
        let in_order = keys.iter().filter_map(|(id, _)| entries.remove(id));
        Ok(in_order.collect())
    }
}

/// Maximum number of values in a statement.
const CHUNK: usize = 500;

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

    /// Calls `row` with each row of the answer to a user's statement. Returns the names of the
    /// columns. The statement can only read the views of the store.
    ///
    /// # Errors
    /// If the statement is not a single SELECT over views, exceeds its time limit, or fails.
    pub fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.database.ask(question, row)
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
            let annotation = runs::read_annotation(row)?;
            let running = status == RunStatus::Running;
            let owner = running.then(|| runs::read_owner(row)).transpose()?;
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

//! Lists in pages, newest first: a store may contain a million runs.

use crate::backend::{Dialect, Row, Value, listed};
use crate::error::StoreError;
use crate::imports::ImportSummary;
use crate::runs::{RunSummary, Store};
use crate::select::summary;
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

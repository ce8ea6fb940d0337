//! Derived tables: facts of runs, evidence of trials, and series with their points and changes.
//! They are computed from the records, outside of this crate, and can be dropped and computed
//! again.
//!
//! The users' opinions on changes are stored separately: dropping the derived data does not remove
//! them. A withdrawn opinion remains as a mark, so that a copy in another store does not restore
//! it.
//!
//! To add a derived table: add a step of the schema, and a module here that `drop_derived` and the
//! removal of runs know. The crate `assay-series` computes its rows.

pub(crate) mod series;

pub use series::{CheckedSeries, DeviceSummary, SeriesFilter, UnitFigure};

use crate::backend::{Row, SqlSession, Value, listed};
use crate::error::StoreError;
use crate::runs;
use crate::runs::{Store, now_unix_ms, unwritable};
use assay_model::annotation::parse_note;
use assay_model::figures::{Opinion, OpinionState, RunFacts, TrialEvidence};
use assay_model::text::clean;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};

/// Name of the lock for all derived tables.
const DERIVED: &str = "derived";

/// Value of `series.checked` for a series whose changes must be searched again.
const UNCHECKED: i64 = -1;

impl Store {
    /// Drops all derived data. Opinions remain.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn drop_derived(&mut self) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            for table in ["changes", "points", "series", "trial_evidence", "facts"] {
                t.execute(&format!("DELETE FROM {table}"), &[])?;
            }
            t.execute("UPDATE runs SET facts_version = 0", &[])?;
            Ok(())
        })
    }
}

/// Removes the derived data of runs, and marks their series as unchecked.
pub(crate) fn forget(t: &mut SqlSession<'_>, runs: &[&str]) -> Result<(), StoreError> {
    if runs.is_empty() {
        return Ok(());
    }
    let (marks, values) = listed(runs);
    let unchecked = format!(
        "UPDATE series SET checked = {UNCHECKED} \
         WHERE id IN (SELECT series FROM points WHERE run_id IN ({marks}))"
    );
    t.execute(&unchecked, &values)?;
    for table in ["points", "trial_evidence", "facts"] {
        let sql = format!("DELETE FROM {table} WHERE run_id IN ({marks})");
        t.execute(&sql, &values)?;
    }
    Ok(())
}

/// Returns the number of a series in the tables: its key, read as a hexadecimal number.
fn number(key: &str) -> i64 {
    i64::from_str_radix(key, 16).unwrap_or_default()
}

/// Returns the variant whose name is in a column.
fn named<T: Copy>(
    row: &Row<'_>,
    column: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, StoreError> {
    let word: String = row.get(column)?;
    let mut all = all.iter().copied();
    let found = all.find(|known| name(*known) == word);
    found.ok_or_else(|| row.wrong(column, &format!("unknown word '{word}'")))
}

/// Maximum length of an author's name, in bytes.
const LONGEST_NAME: usize = 256;
/// Maximum difference between the clocks of two machines, in milliseconds.
const CLOCKS_MS: u64 = 86_400_000;

/// Opinion of a user on the change of a series at a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidOfChange {
    /// Key of the series.
    pub series: String,
    /// First run after the change.
    pub run: String,
    /// The opinion; `None` if it was withdrawn.
    pub state: Option<OpinionState>,
    /// Reason, in the user's words.
    pub note: String,
    /// Name of the user.
    pub author: String,
    /// Time of the opinion, milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
}

impl SaidOfChange {
    /// Returns true if assay could have written this opinion. Its text must be safe to print on
    /// terminals, and its time must not be in the far future, where no later opinion could replace
    /// it.
    pub(crate) fn is_sound(&self) -> bool {
        let is_key = self.series.len() == 12 && self.series.bytes().all(|b| b.is_ascii_hexdigit());
        let is_note = parse_note(&self.note).is_ok_and(|note| note == self.note);
        let author = &self.author;
        let is_author = author.len() <= LONGEST_NAME && clean(author) == *author;
        let is_past = self.at_unix_ms <= now_unix_ms().saturating_add(CLOCKS_MS);
        is_key && is_note && is_author && is_past
    }
}

/// Adds the evidence of runs that have none stored. The table is for the view
/// `assay_trial_evidence`. It has one row per run, so that a push remains fast.
fn insert(t: &mut SqlSession<'_>, all: &[&RunFacts]) -> Result<(), StoreError> {
    let with_evidence = all.iter().filter(|facts| !facts.evidence.is_empty());
    let rows: Result<Vec<Vec<Value>>, StoreError> = with_evidence
        .map(|facts| {
            let trials: Vec<_> = facts.evidence.iter().map(columns).collect();
            let trials = runs::to_text(&trials).map_err(unwritable(&facts.run))?;
            Ok(vec![(&facts.run).into(), trials.into()])
        })
        .collect();
    t.insert_many("trial_evidence", &["run_id", "trials"], rows?)?;
    Ok(())
}

/// Returns values in the order in which the view `assay_trial_evidence` numbers them. Their names,
/// which would be half of the text, are left out.
fn columns(trial: &TrialEvidence) -> impl Serialize + '_ {
    (
        trial.position,
        &trial.condition,
        &trial.direction,
        &trial.label,
        &trial.latency_label,
        &trial.because,
        trial.job_bytes,
        trial.device_bytes,
        trial.device_share,
        trial.flushes,
        trial.volatile_cache.map(u8::from),
        trial.dirty_bytes,
        trial.foreign_bytes,
    )
}

/// Stored state of a withdrawn opinion.
const WITHDRAWN: &str = "withdrawn";

impl Store {
    /// Stores an opinion, replacing one on the same change, and marks the series as unchecked.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn save_opinion(&mut self, opinion: &Opinion) -> Result<(), StoreError> {
        let said = SaidOfChange {
            series: opinion.series.clone(),
            run: opinion.run.clone(),
            state: Some(opinion.state),
            note: opinion.note.clone(),
            author: opinion.author.clone(),
            at_unix_ms: opinion.at_unix_ms,
        };
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            let at_unix_ms = later_than_stored(t, &said)?.unwrap_or(said.at_unix_ms);
            put_opinion(t, &SaidOfChange { at_unix_ms, ..said })?;
            Ok(())
        })
    }

    /// Withdraws the opinion on a change, and marks the series as unchecked.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn remove_opinion(&mut self, series: &str, run: &str) -> Result<(), StoreError> {
        self.database.transaction(|t| {
            t.lock(DERIVED)?;
            let withdrawn = SaidOfChange {
                series: series.to_owned(),
                run: run.to_owned(),
                state: None,
                note: String::new(),
                author: String::new(),
                at_unix_ms: now_unix_ms(),
            };
            if let Some(at_unix_ms) = later_than_stored(t, &withdrawn)? {
                put_opinion(
                    t,
                    &SaidOfChange {
                        at_unix_ms,
                        ..withdrawn
                    },
                )?;
            }
            Ok(())
        })
    }

    /// Returns the opinions on the changes of a series, or on all changes; oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn opinions(&self, series: Option<&str>) -> Result<Vec<Opinion>, StoreError> {
        let (condition, values) = match series {
            Some(key) => ("AND series_key = ?1", vec![key.into()]),
            None => ("", Vec::new()),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM opinions WHERE state <> '{WITHDRAWN}' {condition} \
             ORDER BY at_unix_ms, series_key, run_id"
        );
        let all = self
            .database
            .query(&sql, &values, read_opinion)?
            .into_iter();
        let opinions = all.filter_map(|said| {
            Some(Opinion {
                state: said.state?,
                series: said.series,
                run: said.run,
                note: said.note,
                author: said.author,
                at_unix_ms: said.at_unix_ms,
            })
        });
        Ok(opinions.collect())
    }
}

/// Returns a time for an opinion that is later than the stored one on the same change, even if the
/// clocks of the two authors differ; `None` if none is stored.
fn later_than_stored(
    t: &mut SqlSession<'_>,
    now: &SaidOfChange,
) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT at_unix_ms FROM opinions WHERE series_key = ?1 AND run_id = ?2";
    let of = [(&now.series).into(), (&now.run).into()];
    let there = t.first(sql, &of, |row| row.get::<u64>("at_unix_ms"))?;
    Ok(there.map(|at| now.at_unix_ms.max(at + 1)))
}

/// Returns the opinions on changes that begin with these runs, including withdrawn ones.
pub(crate) fn said_of(
    t: &mut SqlSession<'_>,
    runs: &[String],
) -> Result<Vec<SaidOfChange>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let (marks, values) = listed(runs);
    let sql = format!(
        "SELECT {COLUMNS} FROM opinions WHERE run_id IN ({marks}) ORDER BY run_id, series_key"
    );
    t.query(&sql, &values, read_opinion)
}

/// Stores the opinions of another store on changes that begin with known runs. Returns the number
/// of those that are newer than the stored ones.
pub(crate) fn take_opinions(
    t: &mut SqlSession<'_>,
    all: &[SaidOfChange],
) -> Result<usize, StoreError> {
    if all.is_empty() {
        return Ok(0);
    }
    t.lock(DERIVED)?;
    let runs: BTreeSet<&str> = all.iter().map(|said| said.run.as_str()).collect();
    let runs: Vec<&str> = runs.into_iter().collect();
    let (marks, values) = listed(&runs);
    let sql = format!("SELECT id FROM runs WHERE id IN ({marks})");
    let there = t.query(&sql, &values, |row| row.get("id"))?;
    let there: HashSet<String> = there.into_iter().collect();
    let mut newer = 0;
    for said in all.iter().filter(|said| there.contains(&said.run)) {
        newer += usize::from(put_opinion(t, said)?);
    }
    Ok(newer)
}

/// Stores an opinion unless the stored one on the same change is as new. Returns true if it was
/// stored.
fn put_opinion(t: &mut SqlSession<'_>, said: &SaidOfChange) -> Result<bool, StoreError> {
    let sql = format!(
        "INSERT INTO opinions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (series_key, run_id) DO UPDATE SET state = excluded.state, \
         note = excluded.note, author = excluded.author, at_unix_ms = excluded.at_unix_ms \
         WHERE opinions.at_unix_ms < excluded.at_unix_ms"
    );
    let values = [
        (&said.series).into(),
        (&said.run).into(),
        said.state.map_or(WITHDRAWN, OpinionState::name).into(),
        (&said.note).into(),
        (&said.author).into(),
        said.at_unix_ms.into(),
    ];
    let stored = t.execute(&sql, &values)? > 0;
    if stored {
        let sql = format!("UPDATE series SET checked = {UNCHECKED} WHERE id = ?1");
        t.execute(&sql, &[number(&said.series).into()])?;
    }
    Ok(stored)
}

const COLUMNS: &str = "series_key, run_id, state, note, author, at_unix_ms";

fn read_opinion(row: &Row<'_>) -> Result<SaidOfChange, StoreError> {
    let state: String = row.get("state")?;
    Ok(SaidOfChange {
        series: row.get("series_key")?,
        run: row.get("run_id")?,
        state: match &*state {
            WITHDRAWN => None,
            _ => Some(named(row, "state", &OpinionState::ALL, OpinionState::name)?),
        },
        note: row.get("note")?,
        author: row.get("author")?,
        at_unix_ms: row.get("at_unix_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_in_the_far_future() {
        let mut said = SaidOfChange {
            series: "0123456789ab".to_owned(),
            run: "k3v9".to_owned(),
            state: None,
            note: String::new(),
            author: "ann".to_owned(),
            at_unix_ms: now_unix_ms(),
        };
        assert!(said.is_sound());
        said.at_unix_ms = u64::MAX;
        assert!(!said.is_sound());
    }
}

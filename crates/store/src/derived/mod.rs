//! Derived tables: facts of runs, evidence of trials, and series with their points and changes.
//! They are computed from the records, outside of this crate, and can be dropped and computed
//! again. The users' opinions on changes are stored separately and remain.
//!
//! To add a derived table: add a step of the schema, and a module here that `drop_derived` and the
//! removal of runs know. The crate `assay-series` computes its rows.

pub(crate) mod opinions;
pub(crate) mod series;

pub use series::{CheckedSeries, DeviceSummary, SeriesFilter};

use crate::backend::{Row, SqlSession, Value, listed};
use crate::clock::now_unix_ms;
use crate::error::StoreError;
use crate::runs;
use crate::runs::{Store, unwritable};
use assay_model::annotation::parse_note;
use assay_model::figures::{OpinionState, RunFacts, TrialEvidence};
use assay_model::text::clean;
use serde::{Deserialize, Serialize};

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

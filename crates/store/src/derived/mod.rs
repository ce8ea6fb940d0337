//! Derived tables: facts of runs, and series with their points and changes. They are computed from
//! the records, outside of this crate, and can be dropped and computed again. The users' opinions
//! on changes are stored separately and remain.
//!
//! To add a derived table: add a step of the schema, and a module here that `drop_derived` and the
//! removal of runs know. The crate `assay-series` computes its rows.

mod changes;
mod evidence;
pub(crate) mod facts;
pub(crate) mod opinions;
mod pages;
mod said;
mod series;

pub use changes::CheckedSeries;
pub use pages::DeviceSummary;
pub use said::SaidOfChange;
pub use series::SeriesFilter;

use crate::backend::{Row, SqlSession, listed};
use crate::error::StoreError;
use crate::runs::Store;

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

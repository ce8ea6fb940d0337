//! Derived tables: facts of runs, series with their points and changes. All of it follows from the
//! records and is made outside of this crate; it can be dropped and made again. What users say of
//! changes lies beside it and stays.

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

/// The lock of all derived tables.
const DERIVED: &str = "derived";

/// Mark in `series.checked`: changes have to be looked for again.
const UNCHECKED: i64 = -1;

impl Store {
    /// Drops everything that is derived. Opinions stay.
    ///
    /// # Errors
    /// When the store cannot be written.
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

/// Removes what was derived from runs; their series are to be checked again.
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

/// Number of a series in the tables: its key, read as a number.
fn number(key: &str) -> i64 {
    i64::from_str_radix(key, 16).unwrap_or_default()
}

/// The variant whose name stands in a column.
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

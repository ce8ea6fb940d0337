//! Keeps the data derived from the runs of a store up to date: their facts, the points that these
//! add to series, changes of the series, and the events at a change.
//!
//! The store keeps the tables and derives nothing; this crate applies the rules of other crates to
//! it. Commands that read series call [`refresh`] first. A store that receives pushed runs gets
//! their facts with them, so that little work remains.

mod check;
mod events;
mod population;
#[cfg(test)]
mod tests;

pub use population::standings;

use assay_model::figures::{FACTS_VERSION, RunFacts};
use assay_report::facts;
use assay_store::{Store, StoreError};
use std::ops::ControlFlow;

/// Number of runs whose facts are stored in one transaction.
const BATCH: usize = 50;

/// Work of a refresh, for progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Runs whose facts were derived.
    pub runs: usize,
    /// Runs that cannot be read; they are in no series.
    pub damaged: usize,
    /// Jobs whose series were searched for changes.
    pub jobs: usize,
}

/// Derives facts of all runs that have none of the current version, and searches all series that
/// gained or lost runs for changes. Calls `go_on` between steps, with the work so far and the
/// number of runs without facts; the next refresh completes one that ended early.
///
/// # Errors
/// When the store cannot be read or written.
pub fn refresh(
    store: &mut Store,
    mut go_on: impl FnMut(Refreshed, usize) -> ControlFlow<()>,
) -> Result<Refreshed, StoreError> {
    let mut done = Refreshed::default();
    let stale = store.runs_without_facts(FACTS_VERSION, u32::MAX)?;
    for batch in stale.chunks(BATCH) {
        if go_on(done, stale.len()).is_break() {
            return Ok(done);
        }
        let mut all = Vec::new();
        for id in batch {
            all.extend(facts_of(store, id)?);
        }
        store.save_facts(&all)?;
        done.runs += all.len();
        done.damaged += batch.len() - all.len();
    }
    let opinions = check::Opinions::of(store)?;
    for group in store.unchecked_series()? {
        if go_on(done, stale.len()).is_break() {
            return Ok(done);
        }
        check::job(store, &group, &opinions)?;
        done.jobs += 1;
    }
    Ok(done)
}

/// Returns the facts of a run; `None` if it cannot be read, or was removed meanwhile.
fn facts_of(store: &Store, id: &str) -> Result<Option<RunFacts>, StoreError> {
    match store.load(id) {
        Ok(loaded) => Ok(Some(facts::of(&loaded.run))),
        Err(StoreError::DamagedRun { .. } | StoreError::NoSuchRun { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Drops all derived data and derives it again.
///
/// # Errors
/// As [`refresh`].
pub fn rebuild(
    store: &mut Store,
    go_on: impl FnMut(Refreshed, usize) -> ControlFlow<()>,
) -> Result<Refreshed, StoreError> {
    store.drop_derived()?;
    refresh(store, go_on)
}

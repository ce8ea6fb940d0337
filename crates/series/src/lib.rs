//! Keeps what is derived from the runs of a store up to date: their facts, the points that these add
//! to series, changes of the series, and the events that stand at a change.
//!
//! The store keeps the tables and derives nothing; here the rules of other crates are applied to
//! it. Commands that read series call [`refresh`] first. A store that is pushed to gets the facts
//! with the runs, so that little is left to do.

mod check;
mod events;
mod population;
#[cfg(test)]
mod tests;

pub use population::standings;

use assay_model::facts::{FACTS_VERSION, RunFacts};
use assay_report::facts;
use assay_store::{Store, StoreError};
use std::ops::ControlFlow;

/// Runs whose facts are stored together.
const BATCH: usize = 50;

/// Work of a refresh, for progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Runs whose facts were derived.
    pub runs: usize,
    /// Runs that cannot be read, and are in no series.
    pub damaged: usize,
    /// Jobs whose series were searched for changes.
    pub jobs: usize,
}

/// Derives facts of all runs that have none of the current version, and searches all series that
/// got or lost runs for changes. `go_on` is asked between steps, with the work so far and all runs
/// that have no facts; a refresh that ends early is completed by the next one.
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

/// Facts of a run; `None` if it cannot be read, or was removed meanwhile.
fn facts_of(store: &Store, id: &str) -> Result<Option<RunFacts>, StoreError> {
    match store.load(id) {
        Ok(loaded) => Ok(Some(facts::of(&loaded.run))),
        Err(StoreError::DamagedRun { .. } | StoreError::NoSuchRun { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Drops all that is derived and derives it again.
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

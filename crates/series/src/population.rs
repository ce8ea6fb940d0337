//! Place of a run among those of other units in the same store.

use assay_model::figures::{Circumstance, RunFacts};
use assay_report::population::{KinFigure, Others, Standings};
use assay_store::{Store, StoreError};
use std::collections::BTreeSet;

/// Compares a run with other units of its kind, by the newest of their runs, at most `most`.
///
/// # Errors
/// When the store cannot be read.
pub fn standings(store: &Store, facts: &RunFacts, most: u32) -> Result<Standings, StoreError> {
    let known = |circumstance| facts.known(circumstance).unwrap_or_default();
    let (bus, unit) = (known(Circumstance::Bus), known(Circumstance::Unit));
    let figures = store.figures_of_kind(&facts.run, bus, unit, most)?;
    let runs: BTreeSet<&str> = figures.iter().map(|figure| figure.run.as_str()).collect();
    let runs = runs.len();
    let others = figures.into_iter().map(|figure| KinFigure {
        unit: figure.unit,
        job: figure.job_hash,
        metric: figure.metric,
        label: figure.label,
        value: figure.centre,
    });
    let mut standings = others.collect::<Others>().place(facts);
    standings.newest_runs = Some(runs);
    Ok(standings)
}

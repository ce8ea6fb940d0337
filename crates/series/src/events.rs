//! Events at a change: circumstances that differ between the runs on both sides of it.

use assay_model::figures::{Circumstance, CircumstanceChange, SeriesPoint};
use assay_stats::changes::ChangePoint;
use assay_store::{Store, StoreError};
use std::collections::BTreeMap;

/// Values of circumstances, by run and then by name of the circumstance.
pub type Circumstances = BTreeMap<String, BTreeMap<String, String>>;

/// Runs by which a change may be misplaced; events between these runs count too.
const OFF: usize = 1;

/// Reads the circumstances of the runs around changes.
///
/// # Errors
/// When the store cannot be read.
pub fn around(
    store: &Store,
    points: &[SeriesPoint],
    changes: &[ChangePoint],
) -> Result<Circumstances, StoreError> {
    let places = changes.iter().flat_map(|change| near(change.index));
    let runs = places.filter_map(|place| points.get(place));
    let runs: Vec<&str> = runs.map(|point| point.run.as_str()).collect();
    store.circumstances(&runs)
}

/// Indices of the points on both sides of a change.
fn near(index: usize) -> impl Iterator<Item = usize> {
    index.saturating_sub(1 + OFF)..=index + OFF
}

/// Returns the circumstances that differ across a change, in order of importance. Compares the two
/// runs next to it, else those one run further away. A circumstance that is not known on one side
/// is not an event.
pub fn at(
    points: &[SeriesPoint],
    index: usize,
    circumstances: &Circumstances,
) -> Vec<CircumstanceChange> {
    let all = Circumstance::ALL.into_iter();
    let found = all.filter_map(|circumstance| {
        let name = circumstance.name();
        let value = |place: usize| circumstances.get(&points.get(place)?.run)?.get(name);
        let differing = |off: usize| {
            let before = value(index.checked_sub(1 + off)?)?;
            let after = value(index + off)?;
            (before != after).then(|| CircumstanceChange {
                circumstance: name.to_owned(),
                before: before.clone(),
                after: after.clone(),
            })
        };
        (0..=OFF).find_map(differing)
    });
    found.collect()
}

//! Changes of all series of one job: tails change only together with another metric.

use super::{ChangePoint, JITTER, Opinion, Rules, RunSeries, find};

/// Finds the changes of all metrics of one job on one device, in the order of `series`, with the
/// opinions on each.
///
/// A change of a tail counts only if a series that is not a tail changed at the same run, or at
/// most [`JITTER`] runs from it. A change that the user accepted always counts.
pub fn find_in_job(series: &[(RunSeries, Vec<Opinion>)], rules: &Rules) -> Vec<Vec<ChangePoint>> {
    let found = series.iter();
    let mut found: Vec<_> = found
        .map(|(series, opinions)| find(series, opinions, rules))
        .collect();
    let mut steady = Vec::new();
    for ((of, _), changes) in series.iter().zip(&found) {
        if !of.tail {
            steady.extend(changes.iter().map(|change| change.run_id.clone()));
        }
    }
    for ((of, _), changes) in series.iter().zip(&mut found) {
        if of.tail {
            changes.retain(|change| change.accepted || is_near(of, change, &steady));
        }
    }
    found
}

/// `true` if one of the runs is near the change of a series.
fn is_near(series: &RunSeries, change: &ChangePoint, runs: &[String]) -> bool {
    let first = change.index.saturating_sub(JITTER);
    let near = series.points.iter().skip(first).take(2 * JITTER + 1);
    let mut near = near.map(|point| &point.run_id);
    near.any(|id| runs.contains(id))
}

//! Candidates for change points: E-divisive means in sliding windows, with Student's t in place of
//! permutations (Fleming and others 2023, "Hunter", arXiv 2301.03034; Apache Otava is its
//! successor). The result is the same on every machine.

use super::divisive::best_cut;
use crate::distributions::student;
use crate::summary::mean;
use std::ops::Range;

assay_model::defaults! {
    /// Settings of the search for candidates.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Windows {
        /// Values of a window; at least 2.
        pub length: usize = 50,
        /// Largest p value of a candidate.
        pub max_p: f64 = 0.001,
        /// Smallest relative change of a candidate, as a share of the smaller mean.
        pub min_magnitude: f64,
    }
}

/// Position where a series may have changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// Index of the first value after the change.
    pub index: usize,
    /// p value of Student's t-test between the values up to both neighbouring cuts.
    pub p: f64,
    /// Relative change between the means of both sides, relative to the smaller one.
    pub magnitude: f64,
}

/// Finds candidates in a series, in order.
///
/// Cuts each window at its best place, then its parts, as long as the cut is significant at a
/// relaxed level. Merges the cuts of all windows: drops the weakest cut and tests those behind it
/// again with their new parts, until all are significant.
///
/// ```
/// use assay_stats::changes::windows::{Windows, suspects};
/// let series = [10.0, 10.1, 9.9, 10.0, 10.1, 12.0, 12.1, 11.9, 12.0, 12.1];
/// let found = suspects(&series, &Windows::default());
/// assert_eq!(found.iter().map(|s| s.index).collect::<Vec<_>>(), [5]);
/// ```
pub fn suspects(values: &[f64], windows: &Windows) -> Vec<Suspect> {
    merge(&weak_cuts(values, windows), values, windows)
}

/// Returns the level of the cuts before they are merged, as in Otava.
fn relaxed(max_p: f64) -> f64 {
    match max_p {
        p if p < 0.05 => 10.0 * p,
        p if p < 0.5 => 2.0 * p,
        p => p,
    }
}

/// Returns the cuts of all windows. Each window begins half a window after the previous one, or
/// later at the latest cut.
fn weak_cuts(values: &[f64], windows: &Windows) -> Vec<usize> {
    let length = windows.length.max(2);
    let (mut start, mut cuts) = (0, Vec::new());
    while let Some(rest) = values.get(start..).filter(|rest| !rest.is_empty()) {
        let window = rest.get(..length).unwrap_or(rest);
        let found = cuts_of_window(window, relaxed(windows.max_p));
        cuts.extend(found.iter().map(|at| start + at));
        let last = found.last().map_or(0, |at| start + at);
        start = last.max(start + length / 2);
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Cuts a window repeatedly at its best place until the cut is not significant; returns the cuts in
/// order.
fn cuts_of_window(window: &[f64], max_p: f64) -> Vec<usize> {
    let mut cuts: Vec<usize> = Vec::new();
    loop {
        let parts = parts(&cuts, window.len());
        let found = parts.filter_map(|part| {
            let cut = best_cut(window.get(part.clone())?)?;
            Some((cut.divergence, part.start, part.start + cut.at, part.end))
        });
        // The first of several equal cuts is chosen.
        let best = found.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((_, start, at, end)) = best else {
            return cuts;
        };
        // A p value of NaN is not significant.
        let significant = suspect(window, start, at, end).p <= max_p;
        if !significant {
            return cuts;
        }
        let place = cuts.partition_point(|cut| *cut < at);
        cuts.insert(place, at);
    }
}

/// Returns the parts of a series between cuts.
pub(super) fn parts(cuts: &[usize], length: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(length));
    starts.zip(ends).map(|(start, end)| start..end)
}

fn merge(cuts: &[usize], values: &[f64], windows: &Windows) -> Vec<Suspect> {
    let mut found = tested(cuts, values);
    while let Some(weakest) = weakest(&found, windows) {
        found.remove(weakest);
        let cuts: Vec<usize> = found.iter().map(|suspect| suspect.index).collect();
        // As in Otava, the two cuts after the dropped one are tested again, and the one before it
        // keeps its result.
        let again = tested(&cuts, values);
        for (old, new) in found.iter_mut().zip(again).skip(weakest).take(2) {
            *old = new;
        }
    }
    found
}

/// Returns the cut with the largest p value, or, if all are significant, the cut with the smallest
/// change; `None` if all cuts are kept.
fn weakest(found: &[Suspect], windows: &Windows) -> Option<usize> {
    let first = |better: fn(&Suspect, &Suspect) -> bool| {
        let all = 0..found.len();
        all.reduce(|best, next| match (found.get(best), found.get(next)) {
            (Some(a), Some(b)) if better(b, a) => next,
            _ => best,
        })
    };
    let by_p = first(|one, other| one.p > other.p)?;
    if found
        .get(by_p)
        .is_some_and(|weakest| weakest.p < windows.max_p)
    {
        let by_change = first(|one, other| one.magnitude < other.magnitude)?;
        let smallest = found.get(by_change)?.magnitude;
        return (smallest <= windows.min_magnitude).then_some(by_change);
    }
    Some(by_p)
}

/// Tests each cut between its neighbours.
fn tested(cuts: &[usize], values: &[f64]) -> Vec<Suspect> {
    let bounds: Vec<usize> = std::iter::once(0)
        .chain(cuts.iter().copied())
        .chain(std::iter::once(values.len()))
        .collect();
    let around = bounds.windows(3);
    around
        .filter_map(|bounds| match *bounds {
            [start, at, end] => Some(suspect(values, start, at, end)),
            _ => None,
        })
        .collect()
}

/// Runs Student's t-test between both sides of a cut. Uses population deviations, as Otava does.
fn suspect(values: &[f64], start: usize, at: usize, end: usize) -> Suspect {
    let left = values.get(start..at).unwrap_or_default();
    let right = values.get(at..end).unwrap_or_default();
    let (n, m) = (left.len() as f64, right.len() as f64);
    let (mean_left, mean_right) = (mean(left), mean(right));
    let df = n + m - 2.0;
    let squares = (n - 1.0) * variance(left, mean_left) + (m - 1.0) * variance(right, mean_right);
    let se = (squares / df * (n.recip() + m.recip())).sqrt();
    let p = match df > 0.0 {
        true => student::two_sided((mean_left - mean_right) / se, df),
        false => 1.0,
    };
    let change = |from: f64, to: f64| match from == 0.0 {
        true => 0.0,
        false => (to / from - 1.0).abs(),
    };
    let magnitude = change(mean_left, mean_right).max(change(mean_right, mean_left));
    Suspect {
        index: at,
        p,
        magnitude,
    }
}

/// Returns the population variance (divisor n, not n - 1).
fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / values.len() as f64
}

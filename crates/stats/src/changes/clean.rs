//! Single outliers of a series, and its noise.

use crate::summary::median;

/// Number of neighbours on each side with which a value is compared.
const NEIGHBOURS: usize = 4;

/// Distance from the median of its neighbours beyond which a value is an outlier, in robust
/// standard deviations.
const FAR: f64 = 4.0;

/// A median absolute deviation times this is a normal standard deviation.
const FROM_MEDIAN: f64 = 1.4826;

/// Replaces single outliers by the median of their neighbours, so that they neither hide a change
/// nor look like two.
///
/// A value is an outlier only if both neighbourhoods lie on the same side of it, and it is farther
/// from both than they are from each other. The first values of a new level are therefore no
/// outliers.
pub(super) fn without_outliers(values: &[f64]) -> Vec<f64> {
    let noise = noise(values);
    let cleaned = values.iter().enumerate();
    cleaned
        .map(|(at, value)| replacement(values, at, noise).unwrap_or(*value))
        .collect()
}

fn replacement(values: &[f64], at: usize, noise: f64) -> Option<f64> {
    let value = values.get(at)?;
    let before = values.get(at.saturating_sub(NEIGHBOURS)..at)?;
    let rest = values.get(at + 1..)?;
    let after = rest.get(..NEIGHBOURS).unwrap_or(rest);
    let off = |side: &[f64]| Some(value - median(side)?);
    let (off_before, off_after) = (off(before)?, off(after)?);
    let nearer = off_before.abs().min(off_after.abs());
    let between = off_before * off_after <= 0.0;
    let step = (off_before - off_after).abs();
    if between || nearer <= step.max(FAR * noise) {
        return None;
    }
    let around: Vec<f64> = before.iter().chain(after).copied().collect();
    median(&around)
}

/// Returns the standard deviation of a value, from the differences of neighbours, which ignore
/// levels.
pub(super) fn noise(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values
        .windows(2)
        .filter_map(|pair| match *pair {
            [one, next] => Some((next - one).abs()),
            _ => None,
        })
        .collect();
    FROM_MEDIAN * median(&steps).unwrap_or(0.0) / std::f64::consts::SQRT_2
}

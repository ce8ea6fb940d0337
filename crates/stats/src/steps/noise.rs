//! Noise of a series around its levels, and its outliers.

use super::MIN_SEGMENT;
use crate::summary::{mean, variance};

/// Smallest noise assumed, as a share of the largest value: prevents cuts at every small change of
/// constant or coarsely counted series.
const NOISE_FLOOR: f64 = 0.01;
/// Ratio of the standard deviation of normal noise to its median absolute deviation.
const MAD_TO_STDEV: f64 = 1.4826;
/// Distance from its neighbourhood beyond which a sample is an outlier, in standard deviations of
/// the noise.
const OUTLIER: f64 = 3.0;

/// Returns the standard deviation of the noise around the levels, unaffected by the levels: the
/// largest of three estimates.
///
/// - Differences of samples one shortest segment apart, by their median absolute deviation: a step
///   affects only ten of them. Direct neighbours would be too similar in autocorrelated noise.
/// - The median of the variances within windows of one shortest segment: detects noise that is
///   mostly flat with rare jumps (counts of large blocks, occasional stalls), which the first
///   estimate misses.
/// - A floor of 1 % of the largest value.
pub fn stdev(values: &[f64]) -> f64 {
    let apart: Vec<f64> = values
        .iter()
        .zip(values.iter().skip(MIN_SEGMENT))
        .map(|(early, late)| late - early)
        .collect();
    let centre = median(apart.clone());
    let deviations = apart.iter().map(|difference| (difference - centre).abs());
    let slow = MAD_TO_STDEV * median(deviations.collect()) / std::f64::consts::SQRT_2;

    let windows = values.chunks_exact(MIN_SEGMENT);
    let rare = median(windows.filter_map(|w| variance(w, mean(w))).collect()).sqrt();

    let largest = values
        .iter()
        .fold(0.0, |max: f64, value| max.max(value.abs()));
    slow.max(rare).max(NOISE_FLOOR * largest)
}

/// Returns the lower median: of two windows, the one without the step. 0 for no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len().saturating_sub(1) / 2;
    values.sort_by(f64::total_cmp);
    values.get(middle).copied().unwrap_or(0.0)
}

/// Limits single outliers of a series (a stall, a burst) to three standard deviations from the
/// median of the eleven samples around them. A few stalls close together then do not form a
/// segment, and steps keep their position, since a running median does not move them. At both ends
/// the eleven outermost samples are used, so that few samples do not decide there.
pub fn without_outliers(values: &[f64], stdev: f64) -> Vec<f64> {
    let width = (MIN_SEGMENT + 1).min(values.len());
    let pull_in = |(index, value): (usize, &f64)| {
        let start = index.saturating_sub(width / 2).min(values.len() - width);
        let around = median(values[start..start + width].to_vec());
        value.clamp(around - OUTLIER * stdev, around + OUTLIER * stdev)
    };
    values.iter().enumerate().map(pull_in).collect()
}

//! Analysis within one trial: warm-up, steadiness, and the precision of percentiles. Diagnostics
//! only: samples of a trial depend on each other, so verdicts use one value per trial.
//!
//! [`Percentile::estimable`] decides whether a latency percentile may be shown at all.

pub mod steady;

use crate::histogram::Percentile;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Probability on each side of a 95 % interval.
const TAIL: f64 = 0.025;

/// Returns the ranks, counted from 1, of the two I/Os (in order of latency) that enclose the
/// percentile with a confidence of 95 %: the binomial's quantile .025, and its quantile .975 plus
/// 1. `None` if an end is beyond the last I/O (below 368 I/Os for p99, 3 688 for p99.9).
///
/// The interval holds for independent I/Os only. The I/Os of a trial are not independent: verdicts
/// use the percentile of each trial as one value.
///
/// ```
/// use assay_stats::histogram::Percentile;
/// use assay_stats::within_trial::interval_ranks;
/// assert_eq!(interval_ranks(Percentile::P99, 10_000), Some((9_880, 9_920)));
/// assert_eq!(interval_ranks(Percentile::P99, 367), None);
/// ```
pub fn interval_ranks(percentile: Percentile, n: u64) -> Option<(u64, u64)> {
    if n == 0 || percentile == Percentile::P100 {
        return None;
    }
    let binomial = Binomial::new(percentile.share(), n).ok()?;
    let (low, high) = (
        quantile(&binomial, n, TAIL),
        quantile(&binomial, n, 1.0 - TAIL) + 1,
    );
    (low >= 1 && high <= n).then_some((low, high))
}

/// Returns the least number that is not exceeded with this probability.
fn quantile(binomial: &Binomial, n: u64, probability: f64) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if binomial.cdf(middle) >= probability {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Samples per batch.
const BATCH: usize = 5;

/// Fewest batches for the search.
const MIN_BATCHES: usize = 8;

/// Returns the number of samples to leave out at the start, by MSER-5 (White 1997): of means z of
/// five samples, the cut d that minimizes sum_{i > d} (z_i - mean)^2 / (N - d)^2, the squared error
/// of the mean of the remaining samples. `None` without a steady state: if more than half would be
/// left out, with fewer than 40 samples, or if one is not finite.
///
/// The last quarter is not searched: a few batches that are similar by chance would look like a
/// steady state.
///
/// ```
/// use assay_stats::within_trial::cut;
/// let mut speed = vec![200.0, 150.0, 130.0, 115.0, 105.0];
/// speed.extend((0..75).map(|i| if i % 2 == 0 { 100.0 } else { 101.0 }));
/// assert_eq!(cut(&speed), Some(5));
/// ```
pub fn cut(values: &[f64]) -> Option<usize> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let batches: Vec<f64> = values
        .chunks_exact(BATCH)
        .map(|five| five.iter().sum::<f64>() / BATCH as f64)
        .collect();
    let n = batches.len();
    if n < MIN_BATCHES {
        return None;
    }
    let (error, d) = least_error(&batches);
    (error.is_finite() && 2 * d <= n).then_some(d * BATCH)
}

/// Returns the least squared error of the mean of the remaining samples, and its cut; the first of
/// several. The sum of squares is updated batch by batch from the end (Welford 1962).
fn least_error(batches: &[f64]) -> (f64, usize) {
    let (mut kept, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (d, z) in batches.iter().enumerate().rev() {
        kept += 1.0;
        let off = z - mean;
        mean += off / kept;
        squares += off * (z - mean);
        let error = squares / (kept * kept);
        if 4 * d <= 3 * batches.len() && error <= best.0 {
            best = (error, d);
        }
    }
    best
}

/// Number of rounds that are evaluated together.
pub const WINDOW: usize = 5;
/// Largest range of the rounds, as a share of their mean.
const RANGE: f64 = 0.20;
/// Largest rise or fall of their trend over the window, as a share of their mean.
const TREND: f64 = 0.10;

/// Evaluation of the last rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Mean of the rounds.
    pub mean: f64,
    /// Largest minus smallest round, divided by the mean.
    pub range: f64,
    /// Absolute change of the least-squares line from the first to the last round, divided by the
    /// mean.
    pub trend: f64,
}

impl Window {
    /// Evaluates the last [`WINDOW`] rounds; `None` if there are fewer, or if their mean is not
    /// positive.
    ///
    /// Source: SNIA Solid State Storage Performance Test Specification, steady
    /// state: over five rounds, the range is at most 20 % of the average, and
    /// the best linear fit changes by at most 10 % of it.
    ///
    /// ```
    /// use assay_stats::within_trial::Window;
    /// let window = Window::of(&[90.0, 100.0, 100.0, 101.0, 99.0, 100.0]).unwrap();
    /// assert!(window.is_steady());
    /// assert!(!Window::of(&[100.0, 90.0, 80.0, 72.0, 65.0]).unwrap().is_steady());
    /// ```
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let last = rounds.last_chunk::<WINDOW>()?;
        let mean = last.iter().sum::<f64>() / WINDOW as f64;
        if mean <= 0.0 || !mean.is_finite() {
            return None;
        }
        let low = last.iter().copied().fold(f64::INFINITY, f64::min);
        let high = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Least squares over x = -2 .. 2: the sum of x^2 is 10.
        let moments = (-2_i32..).zip(last).map(|(x, y)| f64::from(x) * y);
        let slope = moments.sum::<f64>() / 10.0;
        Some(Self {
            mean,
            range: (high - low) / mean,
            trend: slope.abs() * (WINDOW - 1) as f64 / mean,
        })
    }

    /// `true` if both limits hold.
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE && self.trend <= TREND
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_reference() {
        assert_eq!(
            interval_ranks(Percentile::P99, 10_000),
            Some((9_880, 9_920))
        );
        assert_eq!(
            interval_ranks(Percentile::P99_9, 10_000),
            Some((9_983, 9_997))
        );
    }

    #[test]
    fn the_least_numbers_are_those_of_the_reference() {
        for (n, percentile) in [
            (368, Percentile::P99),
            (3_688, Percentile::P99_9),
            (36_887, Percentile::P99_99),
        ] {
            assert!(interval_ranks(percentile, n).is_some(), "{percentile}");
            assert_eq!(interval_ranks(percentile, n - 1), None, "{percentile}");
        }
    }

    #[test]
    fn extremes_have_no_ranks() {
        let least = Percentile::ppm(0);
        assert_eq!(interval_ranks(least, 1_000), None);
        assert_eq!(interval_ranks(Percentile::P100, 1_000), None);
        assert_eq!(interval_ranks(Percentile::P50, 0), None);
    }

    fn noisy(n: u32, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let noise = |i: f64| 2.0 * (12.9898 * i).sin();
        (0..n).map(f64::from).map(|i| level(i) + noise(i)).collect()
    }

    #[test]
    fn what_is_level_is_kept() {
        assert_eq!(cut(&noisy(120, |_| 100.0)), Some(0));
        assert_eq!(cut(&[100.0; 60]), Some(0));
    }

    #[test]
    fn a_burst_is_cut_off() {
        let found = cut(&noisy(120, |i| if i < 22.0 { 300.0 } else { 100.0 }));
        assert!(matches!(found, Some(20..=30)), "{found:?}");
    }

    #[test]
    fn what_never_settles_has_no_cut() {
        assert_eq!(cut(&noisy(120, |i| 300.0 - 2.0 * i)), None);
        assert_eq!(
            cut(&noisy(120, |i| if i < 80.0 { 300.0 } else { 100.0 })),
            None
        );
        assert_eq!(cut(&noisy(39, |_| 100.0)), None);
        assert_eq!(cut(&[f64::NAN; 60]), None);
    }

    #[test]
    fn the_cut_is_that_of_the_definition() {
        let batches: Vec<f64> = noisy(40, |i| 100.0 + 80.0 * (-i / 6.0).exp());
        let error = |d: usize| {
            let kept = &batches[d..];
            let n = kept.len() as f64;
            let mean = kept.iter().sum::<f64>() / n;
            kept.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (n * n)
        };
        let (found, d) = least_error(&batches);
        assert!((found - error(d)).abs() < 1e-12);
        assert!((0..=30).all(|other| error(other) >= found - 1e-12));
    }

    proptest! {
        #[test]
        fn at_most_half_goes(values in prop::collection::vec(any::<f64>(), 0..90)) {
            prop_assert!(cut(&values).is_none_or(|d| 2 * d <= values.len()));
        }
    }

    #[test]
    fn a_trend_counts_as_well_as_a_range() {
        // Ranges by 16 %, but all in one direction: 4 x 4 % = 16 % > 10 %.
        let window = Window::of(&[92.0, 96.0, 100.0, 104.0, 108.0]).unwrap();
        assert!((window.range - 0.16).abs() < 1e-9 && (window.trend - 0.16).abs() < 1e-9);
        assert!(!window.is_steady());
        let window = Window::of(&[92.0, 108.0, 100.0, 92.0, 108.0]).unwrap();
        assert!(window.is_steady(), "{window:?}");
        let window = Window::of(&[85.0, 107.0, 100.0, 86.0, 106.0]).unwrap();
        assert!(!window.is_steady(), "ranges by more than 20 %: {window:?}");
    }

    #[test]
    fn four_rounds_are_too_few_and_nothing_is_no_speed() {
        assert_eq!(Window::of(&[1.0; 4]), None);
        assert_eq!(Window::of(&[0.0; 5]), None);
    }
}

//! Detection of a series' warm-up.

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
/// use assay_stats::within_trial::warmup::cut;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}

//! Precision of a latency percentile for a number of I/Os. [`Percentile::estimable`] decides
//! whether the percentile may be shown at all.

use crate::percentile::Percentile;
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
/// use assay_stats::percentile::Percentile;
/// use assay_stats::within_trial::quantiles::interval_ranks;
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

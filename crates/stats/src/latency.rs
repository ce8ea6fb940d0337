//! Evaluation of a stored latency distribution: mean, deviation, percentiles, curve.

mod damage;

pub use damage::DamagedRecord;

use crate::histogram::bucket_bounds;
use crate::percentile::Percentile;
use assay_model::latency::LatencyRecord;
use std::collections::BTreeMap;

/// A latency distribution whose record is consistent.
///
/// ```
/// use assay_stats::histogram::Histogram;
/// use assay_stats::latency::Distribution;
/// use assay_stats::percentile::Percentile;
/// let mut histogram = Histogram::new();
/// (1..=1000).for_each(|us| histogram.record(us * 1_000));
/// let record = histogram.to_record();
/// let latency = Distribution::of(&record)?;
/// assert_eq!(latency.mean_ns(), Some(500_500.0));
/// let p99 = latency.percentile_ns(Percentile::P99).unwrap();
/// assert!(p99.abs_diff(990_000) < 9_900);
/// # Ok::<(), assay_stats::latency::DamagedRecord>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'a> {
    record: &'a LatencyRecord,
}

impl<'a> Distribution<'a> {
    /// Checks the record.
    ///
    /// # Errors
    /// When its parts contradict each other: it was damaged or not written by assay, and no figure
    /// may be derived from it.
    pub fn of(record: &'a LatencyRecord) -> Result<Self, DamagedRecord> {
        damage::check(record)?;
        Ok(Self { record })
    }

    /// Returns the number of operations.
    pub const fn count(&self) -> u64 {
        self.record.count
    }

    /// Returns the shortest latency; `None` when there was no operation.
    pub fn min_ns(&self) -> Option<u64> {
        (self.record.count > 0).then_some(self.record.min_ns)
    }

    /// Returns the longest latency; `None` when there was no operation.
    pub fn max_ns(&self) -> Option<u64> {
        (self.record.count > 0).then_some(self.record.max_ns)
    }

    /// Returns the arithmetic mean, from the exact sum. `None` when there was no operation, or when
    /// the sum overflowed (584 years).
    pub fn mean_ns(&self) -> Option<f64> {
        let LatencyRecord { count, sum_ns, .. } = *self.record;
        // The result is rounded once: the quotient and the remainder are exact.
        (count > 0 && sum_ns < u64::MAX)
            .then(|| (sum_ns / count) as f64 + (sum_ns % count) as f64 / count as f64)
    }

    /// Returns the sample standard deviation (divisor n - 1). `None` below two operations, or when
    /// the sum overflowed (584 years).
    pub fn stdev_ns(&self) -> Option<f64> {
        let LatencyRecord { count, sum_ns, .. } = *self.record;
        if count < 2 || sum_ns == u64::MAX {
            return None;
        }
        Some((squared_deviations(self.record)? / (count - 1) as f64).sqrt())
    }

    /// Returns the latency that a share of the operations does not exceed: the middle of the first
    /// bin at which the cumulative count reaches p * n, limited to minimum and maximum, so that
    /// p100 is the exact maximum. The error is at most 1/128. `None` when there was no operation.
    /// Check [`Percentile::estimable`] before showing it.
    pub fn percentile_ns(&self, percentile: Percentile) -> Option<u64> {
        if percentile == Percentile::P100 {
            return self.max_ns();
        }
        self.at_rank(percentile.rank(self.record.count))
    }

    /// Returns the latency of the operation of this rank, from 1, in ascending order; the error is
    /// at most 1/128.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut cumulative = 0;
        let &(index, _) = self.record.bins.iter().find(|(_, operations)| {
            cumulative += operations;
            cumulative >= rank
        })?;
        let (low, high) = bucket_bounds(index)?;
        let middle = low + (high - low) / 2;
        Some(middle.clamp(self.record.min_ns, self.record.max_ns))
    }

    /// Returns the cumulative distribution, one point per bin in use: `fraction` of the operations
    /// took at most `value_ns`. Both are exact; between two points the precision is 1/64.
    pub fn cumulative(&self) -> Vec<CumulativePoint> {
        let mut cumulative = 0;
        let bins = self.record.bins.iter();
        bins.filter_map(|&(index, operations)| {
            cumulative += operations;
            let (_, high) = bucket_bounds(index)?;
            Some(CumulativePoint {
                value_ns: high.min(self.record.max_ns),
                fraction: cumulative as f64 / self.record.count as f64,
            })
        })
        .collect()
    }
}

/// A point of a cumulative distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CumulativePoint {
    /// Latency in nanoseconds.
    pub value_ns: u64,
    /// Share of operations that took at most that long, 0 to 1.
    pub fraction: f64,
}

/// Merges the operations of the existing records; `None` if there is no record.
pub fn pooled_where_any<'a>(
    records: impl IntoIterator<Item = Option<&'a LatencyRecord>>,
) -> Option<LatencyRecord> {
    let records: Vec<&LatencyRecord> = records.into_iter().flatten().collect();
    (!records.is_empty()).then(|| pooled(records))
}

/// Merges the operations of several records into one record by adding bins and sums. Percentiles of
/// pooled operations are computed from it, never averaged. Damage in one record may not be
/// detectable in the pool: check each record with [`Distribution::of`] before.
pub fn pooled<'a>(records: impl IntoIterator<Item = &'a LatencyRecord>) -> LatencyRecord {
    let mut bins: BTreeMap<u32, u64> = BTreeMap::new();
    let mut pool = LatencyRecord::default();
    for record in records {
        for &(index, operations) in &record.bins {
            let bin = bins.entry(index).or_default();
            *bin = bin.saturating_add(operations);
        }
        if record.count > 0 {
            pool.min_ns = match pool.count {
                0 => record.min_ns,
                _ => pool.min_ns.min(record.min_ns),
            };
        }
        pool.max_ns = pool.max_ns.max(record.max_ns);
        pool.count = pool.count.saturating_add(record.count);
        pool.sum_ns = pool.sum_ns.saturating_add(record.sum_ns);
        pool.sum_sq_ns2 = pool.sum_sq_ns2.saturating_add(record.sum_sq_ns2);
    }
    pool.bins = bins.into_iter().collect();
    pool
}

/// Returns the sum of (x - mean)^2; `None` when there is no operation, or when the sum of squares
/// is too small for the sum.
///
/// With sum = q n + r, 0 <= r < n, it is sum_sq - n q^2 - 2 q r - r^2 / n. Only the fraction of the
/// last term is not an integer, so no precision is lost by cancellation; no term exceeds 128 bits,
/// because n q <= sum < 2^64 and r < n.
fn squared_deviations(record: &LatencyRecord) -> Option<f64> {
    let n = u128::from(record.count);
    let sum = u128::from(record.sum_ns);
    let (q, r) = (sum.checked_div(n)?, sum.checked_rem(n)?);
    let whole = record
        .sum_sq_ns2
        .checked_sub(n * q * q)?
        .checked_sub(2 * q * r)?
        .checked_sub(r * r / n)?;
    let fraction = (r * r % n) as f64 / n as f64;
    (whole > 0 || fraction == 0.0).then_some(whole as f64 - fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use proptest::prelude::*;

    pub(super) fn record_of(values: &[u64]) -> LatencyRecord {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&ns| histogram.record(ns));
        histogram.to_record()
    }

    #[test]
    fn nothing_recorded_gives_no_figure() {
        let empty = LatencyRecord::default();
        let latency = Distribution::of(&empty).unwrap();
        assert_eq!(latency.count(), 0);
        assert_eq!((latency.min_ns(), latency.max_ns()), (None, None));
        assert_eq!((latency.mean_ns(), latency.stdev_ns()), (None, None));
        assert_eq!(latency.percentile_ns(Percentile::P50), None);
        assert_eq!(latency.percentile_ns(Percentile::P100), None);
        assert!(latency.cumulative().is_empty());
    }

    #[test]
    fn one_operation_has_a_mean_but_no_deviation() {
        let record = record_of(&[60_000_000_001]);
        let latency = Distribution::of(&record).unwrap();
        assert_eq!(latency.mean_ns(), Some(60_000_000_001.0));
        assert_eq!(latency.stdev_ns(), None);
        for p in [Percentile::P50, Percentile::P99_99, Percentile::P100] {
            assert_eq!(latency.percentile_ns(p), Some(60_000_000_001));
        }
    }

    #[test]
    fn a_tiny_deviation_on_a_huge_mean_is_not_cancelled() {
        // 10^17 ns is beyond 2^53: a difference of squares in f64 gives 0, or
        // thousands.
        let base = 100_000_000_000_000_001;
        let record = record_of(&[base, base + 1, base + 2]);
        assert_eq!(Distribution::of(&record).unwrap().stdev_ns(), Some(1.0));
        let pair = record_of(&[base, base + 1]);
        let half = Distribution::of(&pair).unwrap().stdev_ns();
        assert_eq!(half, Some(std::f64::consts::FRAC_1_SQRT_2));
        let same = record_of(&[base; 7]);
        assert_eq!(Distribution::of(&same).unwrap().stdev_ns(), Some(0.0));
    }

    #[test]
    fn an_overflowed_sum_gives_no_mean_instead_of_a_wrong_one() {
        let record = record_of(&[u64::MAX, u64::MAX, 0]);
        let latency = Distribution::of(&record).unwrap();
        assert_eq!((latency.mean_ns(), latency.stdev_ns()), (None, None));
        assert_eq!(latency.percentile_ns(Percentile::P100), Some(u64::MAX));
    }

    #[test]
    fn the_curve_ends_at_the_maximum() {
        let record = record_of(&[10, 10, 20, 1_000_003]);
        let points = Distribution::of(&record).unwrap().cumulative();
        let pairs: Vec<_> = points.iter().map(|p| (p.value_ns, p.fraction)).collect();
        assert_eq!(pairs, [(10, 0.5), (20, 0.75), (1_000_003, 1.0)]);
    }

    #[test]
    fn pooling_ignores_the_zero_minimum_of_an_empty_record() {
        let (a, b) = (record_of(&[500, 700]), record_of(&[600]));
        let empty = LatencyRecord::default();
        let pool = pooled([&empty, &a, &empty, &b]);
        assert_eq!(pool, record_of(&[500, 600, 700]));
        assert_eq!(pooled([]), empty);
    }

    /// Every magnitude alike, up to 26 days.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        let latency = (0..1u64 << 51, 0..51).prop_map(|(bits, shift)| bits >> shift);
        prop::collection::vec(latency, 1..400)
    }

    /// Latencies of one device: spread around one magnitude.
    fn alike() -> impl Strategy<Value = Vec<u64>> {
        (1u64..1 << 50).prop_flat_map(|base| prop::collection::vec(base..=base * 2, 2..400))
    }

    proptest! {
        #[test]
        fn percentiles_are_within_one_in_128_of_the_sorted_values(
            mut values in latencies(),
            shares in prop::collection::vec(0_u32..=1_000_000, 5),
        ) {
            let record = record_of(&values);
            let latency = Distribution::of(&record).unwrap();
            values.sort_unstable();
            for ppm in shares.into_iter().chain([0, 500_000, 990_000, 999_000, 1_000_000]) {
                let percentile = Percentile::ppm(ppm);
                let found = latency.percentile_ns(percentile).unwrap();
                let rank = usize::try_from(percentile.rank(record.count)).unwrap();
                let truth = values[rank - 1];
                prop_assert!(
                    u128::from(found.abs_diff(truth)) * 128 <= u128::from(truth),
                    "{percentile}: {found} instead of {truth}"
                );
                prop_assert!(record.min_ns <= found && found <= record.max_ns);
            }
            prop_assert_eq!(latency.percentile_ns(Percentile::P100), values.last().copied());
        }

        #[test]
        fn mean_and_deviation_are_those_of_two_passes(values in alike()) {
            let record = record_of(&values);
            let latency = Distribution::of(&record).unwrap();
            let n = values.len() as f64;
            let mean = values.iter().map(|&ns| ns as f64).sum::<f64>() / n;
            let squares: f64 = values.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum();
            let stdev = (squares / (n - 1.0)).sqrt();
            prop_assert!((latency.mean_ns().unwrap() - mean).abs() <= 1e-12 * mean);
            let found = latency.stdev_ns().unwrap();
            prop_assert!((found - stdev).abs() <= 1e-9 * stdev + 1e-9, "{found} {stdev}");
        }

        #[test]
        fn the_curve_agrees_with_counting(values in latencies()) {
            let record = record_of(&values);
            for point in Distribution::of(&record).unwrap().cumulative() {
                let below = values.iter().filter(|&&ns| ns <= point.value_ns).count();
                prop_assert_eq!(point.fraction, below as f64 / values.len() as f64);
            }
        }

        #[test]
        fn pooling_is_recording_all(a in latencies(), b in latencies()) {
            let pool = pooled([&record_of(&a), &record_of(&b)]);
            prop_assert_eq!(pool, record_of(&[a, b].concat()));
        }
    }
}

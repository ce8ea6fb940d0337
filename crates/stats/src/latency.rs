//! Evaluation of a stored latency distribution: mean, deviation, percentiles, curve.

use crate::course::interval_ranks;
use crate::histogram::{Percentile, bin_bounds, bin_index};
use crate::summary::Summary;
use assay_model::evidence::LatencyRecord;
use std::collections::BTreeMap;
use thiserror::Error;

/// A latency distribution whose record is consistent.
///
/// ```
/// use assay_stats::histogram::Histogram;
/// use assay_stats::latency::Distribution;
/// use assay_stats::histogram::Percentile;
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
        check(record)?;
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
        // Quotient and remainder are integers, so the error is about one unit in the last place.
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
    /// p100 is the exact maximum. The relative error is at most 1/128. `None` when there was no
    /// operation. Check [`Percentile::estimable`] before showing it.
    pub fn percentile_ns(&self, percentile: Percentile) -> Option<u64> {
        if percentile == Percentile::P100 {
            return self.max_ns();
        }
        self.at_rank(percentile.rank(self.record.count))
    }

    /// Returns the latency of the operation of this rank, from 1, in ascending order; the relative
    /// error is at most 1/128.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut cumulative = 0;
        let &(index, _) = self.record.bins.iter().find(|(_, operations)| {
            cumulative += operations;
            cumulative >= rank
        })?;
        let (low, high) = bin_bounds(index)?;
        let middle = low + (high - low) / 2;
        Some(middle.clamp(self.record.min_ns, self.record.max_ns))
    }

    /// Returns the cumulative distribution, one point per bin in use: `fraction` of the operations
    /// took at most `value_ns`. Both are exact; between points the relative precision is 1/64.
    pub fn cumulative(&self) -> Vec<CumulativePoint> {
        let mut cumulative = 0;
        let bins = self.record.bins.iter();
        bins.filter_map(|&(index, operations)| {
            cumulative += operations;
            let (_, high) = bin_bounds(index)?;
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

/// Reasons why a [`LatencyRecord`] is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DamagedRecord {
    /// A bin number is out of range.
    #[error("latency record is damaged: there is no bin {0}")]
    NoSuchBin(u32),
    /// A bin is out of order, duplicate, or empty.
    #[error("latency record is damaged: bin {0} is out of order or empty")]
    BadBin(u32),
    /// Bins and count differ.
    #[error("latency record is damaged: it counts {count} operations, but its bins hold {in_bins}")]
    Count {
        /// Count stated in the record.
        count: u64,
        /// Sum over the bins.
        in_bins: u128,
    },
    /// Minimum, maximum, sum or sum of squares is impossible for these bins.
    #[error("latency record is damaged: its {0} does not fit its bins")]
    Moment(&'static str),
}

/// Checks that the parts of a record do not contradict each other.
fn check(record: &LatencyRecord) -> Result<(), DamagedRecord> {
    check_bins(record)?;
    check_moments(record)
}

/// Checks that every bin exists and is in use, that bins ascend, and that they hold `count`.
fn check_bins(record: &LatencyRecord) -> Result<(), DamagedRecord> {
    let mut previous = None;
    let mut in_bins = 0;
    for &(index, operations) in &record.bins {
        bin_bounds(index).ok_or(DamagedRecord::NoSuchBin(index))?;
        if previous >= Some(index) || operations == 0 {
            return Err(DamagedRecord::BadBin(index));
        }
        previous = Some(index);
        in_bins += u128::from(operations);
    }
    let count = record.count;
    if in_bins != u128::from(count) {
        return Err(DamagedRecord::Count { count, in_bins });
    }
    Ok(())
}

/// Checks that the extremes lie in the outer bins, and that the sums are possible with them.
fn check_moments(record: &LatencyRecord) -> Result<(), DamagedRecord> {
    let fits = |fits: bool, what| fits.then_some(()).ok_or(DamagedRecord::Moment(what));
    let LatencyRecord {
        count,
        min_ns,
        max_ns,
        sum_ns,
        ..
    } = *record;
    let (Some(&(first, _)), Some(&(last, _))) = (record.bins.first(), record.bins.last()) else {
        // A record without bins must be empty; any other field that is set counts as a wrong sum.
        return fits(*record == LatencyRecord::default(), "sum");
    };
    fits(bin_index(min_ns) == first, "minimum")?;
    fits(bin_index(max_ns) == last && min_ns <= max_ns, "maximum")?;
    let times_count = |ns: u64| u64::try_from(u128::from(ns) * u128::from(count));
    let least = times_count(min_ns).unwrap_or(u64::MAX);
    let most = times_count(max_ns).unwrap_or(u64::MAX);
    fits((least..=most).contains(&sum_ns), "sum")?;
    // An overflowed sum has no meaning, and neither has its sum of squares.
    if sum_ns < u64::MAX {
        let above_least = squared_deviations(record).is_some();
        // Each x is at most the maximum, so the sum of x^2 is at most max * sum.
        let most = u128::from(sum_ns) * u128::from(max_ns);
        fits(above_least && record.sum_sq_ns2 <= most, "sum of squares")?;
    }
    Ok(())
}

/// One percentile over trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Percentile.
    pub percentile: Percentile,
    /// Number of trials with at least one operation.
    pub trials: usize,
    /// Number of operations of all trials.
    pub operations: u64,
    /// Percentile over all operations together, in nanoseconds.
    pub pooled_ns: u64,
    /// Interval of 95 % under the assumption of independent operations; too narrow, since the
    /// operations of a trial are not independent. `None` if it has no upper end.
    pub independent_interval_ns: Option<(u64, u64)>,
    /// Percentile per trial; `None` if a trial has too few operations.
    pub each: Option<OfTrials>,
}

/// A percentile of each trial, if all trials have enough operations for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfTrials {
    /// Geometric mean of the trials, in nanoseconds; verdicts compare it.
    pub geometric_mean_ns: f64,
    /// Percentile of the worst trial, in nanoseconds.
    pub worst_ns: u64,
}

/// Returns a percentile over the trials of a job; `None` if all operations together are too few for
/// it ([`Percentile::estimable`]), or if a record is damaged. Trials without an operation are
/// ignored.
///
/// The percentile of all trials is computed from added bins, never by averaging percentiles.
pub fn over_trials(records: &[&LatencyRecord], percentile: Percentile) -> Option<Tail> {
    let mut each = Vec::new();
    for record in records.iter().filter(|record| record.count > 0) {
        each.push(Distribution::of(record).ok()?);
    }
    let pool = pooled(records.iter().copied());
    if !percentile.estimable(pool.count) {
        return None;
    }
    let all = Distribution::of(&pool).ok()?;
    let interval = interval_ranks(percentile, pool.count);
    Some(Tail {
        percentile,
        trials: each.len(),
        operations: pool.count,
        pooled_ns: all.percentile_ns(percentile)?,
        independent_interval_ns: interval
            .and_then(|(low, high)| Some((all.at_rank(low)?, all.at_rank(high)?))),
        each: of_trials(&each, percentile),
    })
}

fn of_trials(each: &[Distribution<'_>], percentile: Percentile) -> Option<OfTrials> {
    let mut values = Vec::new();
    for trial in each {
        let enough = percentile.estimable(trial.count());
        values.push(trial.percentile_ns(percentile).filter(|_| enough)?);
    }
    let times: Vec<f64> = values.iter().map(|ns| *ns as f64).collect();
    Some(OfTrials {
        geometric_mean_ns: Summary::of(&times)?.geometric_mean?,
        worst_ns: values.into_iter().max()?,
    })
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

    /// Returns a record of `fast` operations of 1 ms and `slow` ones of 10 ms.
    fn record(fast: u64, slow: u64) -> LatencyRecord {
        let mut histogram = Histogram::new();
        (0..fast).for_each(|_| histogram.record(1_000_000));
        (0..slow).for_each(|_| histogram.record(10_000_000));
        histogram.to_record()
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found} is not {expected}"
        );
    }

    /// One trial of four stalls in 3 % of its I/Os: that is 0.75 % of all.
    #[test]
    fn the_worst_trial_does_not_hide_among_the_others() {
        let (good, bad) = (record(1_000, 0), record(970, 30));
        let tail = over_trials(&[&good, &good, &bad, &good], Percentile::P99).unwrap();
        assert_eq!((tail.trials, tail.operations), (4, 4_000));
        near(tail.pooled_ns as f64, 1e6);
        let each = tail.each.unwrap();
        near(each.worst_ns as f64, 10e6);
        near(each.geometric_mean_ns, 1e6 * 10_f64.powf(0.25));
        let (low, high) = tail.independent_interval_ns.unwrap();
        assert!(low <= tail.pooled_ns && tail.pooled_ns <= high);
    }

    #[test]
    fn together_trials_know_what_none_knows_alone() {
        let few = record(990, 10);
        let tail = over_trials(&[&few; 10], Percentile::P99_9).unwrap();
        assert_eq!(tail.each, None);
        near(tail.pooled_ns as f64, 10e6);
        assert_eq!(over_trials(&[&few; 9], Percentile::P99_9), None);
        assert_eq!(over_trials(&[], Percentile::P99), None);
    }

    #[test]
    fn damage_in_one_record_is_not_pooled() {
        let good = record(2_000, 0);
        let mut damaged = good.clone();
        damaged.count += 1;
        assert_eq!(over_trials(&[&good, &damaged], Percentile::P99), None);
        let none = LatencyRecord::default();
        let tail = over_trials(&[&good, &none], Percentile::P99).unwrap();
        assert_eq!(tail.trials, 1);
    }
}

#[cfg(test)]
mod damage_tests {
    use super::*;
    use crate::histogram::{BINS, Percentile};
    use crate::latency::tests::record_of;
    use proptest::prelude::*;

    #[test]
    fn damage_is_named() {
        let good = record_of(&[100, 200, 300]);
        let damaged = |edit: fn(&mut LatencyRecord)| {
            let mut record = good.clone();
            edit(&mut record);
            check(&record).unwrap_err()
        };
        assert_eq!(
            damaged(|r| r.bins[2].0 = 4_000),
            DamagedRecord::NoSuchBin(4_000)
        );
        assert_eq!(
            damaged(|r| r.bins.swap(0, 1)),
            DamagedRecord::BadBin(bin_index(100))
        );
        assert_eq!(
            damaged(|r| r.bins.push((3_000, 0))),
            DamagedRecord::BadBin(3_000)
        );
        assert_eq!(
            damaged(|r| r.count = 4),
            DamagedRecord::Count {
                count: 4,
                in_bins: 3
            }
        );
        for (edit, what) in [
            ((|r| r.min_ns = 99) as fn(&mut LatencyRecord), "minimum"),
            (|r| r.max_ns = 90_000, "maximum"),
            (|r| r.sum_ns = 299, "sum"),
            (|r| r.sum_ns = 901, "sum"),
            (|r| r.sum_sq_ns2 = 119_999, "sum of squares"),
            (|r| r.sum_sq_ns2 = u128::MAX, "sum of squares"),
        ] {
            assert_eq!(damaged(edit), DamagedRecord::Moment(what));
        }
        assert_eq!(
            damaged(|r| {
                r.bins.clear();
                r.count = 0;
            }),
            DamagedRecord::Moment("sum")
        );
    }

    proptest! {
        #[test]
        fn any_record_is_refused_or_read_without_panic(
            (count, min_ns, max_ns, sum_ns, sum_sq_ns2) in any::<(u64, u64, u64, u64, u128)>(),
            bins in prop::collection::vec((0..BINS + 9, any::<u64>()), 0..4),
        ) {
            let record = LatencyRecord { count, min_ns, max_ns, sum_ns, sum_sq_ns2, bins };
            prop_assert!(Distribution::of(&record).is_err());
            let pool = pooled([&record, &record]);
            prop_assert!(Distribution::of(&pool).is_err());
        }

        /// One field of a sound record replaced: mostly refused, and if not,
        /// then every figure can be read.
        #[test]
        fn a_record_with_one_wrong_field_never_panics(
            values in prop::collection::vec(0..1u64 << 50, 1..50),
            field in 0..6,
            wrong in any::<u64>(),
            shift in 0..u64::BITS,
        ) {
            let mut record = record_of(&values);
            let wrong = wrong >> shift;
            match field {
                0 => record.count = wrong,
                1 => record.min_ns = wrong,
                2 => record.max_ns = wrong,
                3 => record.sum_ns = wrong,
                4 => record.sum_sq_ns2 = u128::from(wrong) << (shift / 2),
                _ => record.bins[0].1 = wrong,
            }
            if let Ok(latency) = Distribution::of(&record) {
                prop_assert!(latency.stdev_ns().is_none_or(|ns| ns >= 0.0));
                prop_assert!(latency.mean_ns() >= latency.min_ns().map(|ns| ns as f64));
                prop_assert!(latency.percentile_ns(Percentile::P99).is_some());
                prop_assert_eq!(latency.cumulative().len(), record.bins.len());
            }
        }
    }
}

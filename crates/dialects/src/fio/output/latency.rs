//! Latencies with fio's bins and rules.

use assay_model::latency::LatencyRecord;
use assay_stats::histogram::bucket_bounds;
use assay_stats::latency::Distribution;

/// Moments of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LatencyMoments {
    pub count: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub mean_ns: f64,
    pub stdev_ns: f64,
}

/// Returns the moments; `None` if the record is empty or damaged, to avoid wrong
/// figures.
pub(super) fn moments(record: &LatencyRecord) -> Option<LatencyMoments> {
    let distribution = Distribution::of(record).ok()?;
    Some(LatencyMoments {
        count: distribution.count(),
        min_ns: distribution.min_ns()?,
        max_ns: distribution.max_ns()?,
        mean_ns: distribution.mean_ns()?,
        stdev_ns: distribution.stdev_ns().unwrap_or(0.0),
    })
}

/// Value of a bin in fio: its middle, rounded up.
pub(super) fn bin_value(index: u32) -> u64 {
    bucket_bounds(index).map_or(0, |(low, high)| low + (high - low).div_ceil(2))
}

/// Returns the percentiles in `percents`, ascending, each with the value of the
/// first bin at which the cumulative count reaches its share. Programs that read
/// fio's output recompute them from the bins, so neither rank nor value is more
/// exact here: the rank is computed as a binary fraction, and a value may lie half a
/// bin beyond the extremes. Unlike fio's, they have no ceiling at 17 s. All are 0
/// for an empty record.
pub(super) fn percentiles(record: &LatencyRecord, percents: &[f64]) -> Vec<(f64, u64)> {
    let mut bins = record.bins.iter().peekable();
    let mut cumulative = 0;
    ascending(percents)
        .into_iter()
        .map(|percent| {
            let rank = percent / 100.0 * record.count as f64;
            while let Some((_, operations)) =
                bins.next_if(|(_, operations)| ((cumulative + operations) as f64) < rank)
            {
                cumulative += operations;
            }
            let value = bins.peek().map_or(0, |(index, _)| bin_value(*index));
            (percent, value)
        })
        .collect()
}

/// Returns the list as fio uses it: sorted, and cut at the first zero.
fn ascending(percents: &[f64]) -> Vec<f64> {
    let mut percents: Vec<f64> = percents
        .iter()
        .copied()
        .take_while(|&percent| percent > 0.0)
        .map(|percent| percent.min(100.0))
        .collect();
    percents.sort_by(f64::total_cmp);
    percents
}

/// Upper bounds of the classes of `latency_ns` and `latency_us`, in their unit.
pub(super) const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Upper bounds of the `latency_ms` classes; a class without an upper bound follows.
pub(super) const CLASSES_MS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Number of operations in each of fio's latency classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Classes {
    /// Below 1 us.
    pub ns: [u64; 10],
    /// Below 1 ms.
    pub us: [u64; 10],
    /// From 1 ms.
    pub ms: [u64; 12],
}

impl Classes {
    /// Adds counts from bins. A bin that spans the end of a class counts for the
    /// class of its middle, at most 1/128 of a latency away.
    pub(super) fn add(&mut self, record: &LatencyRecord) {
        for &(index, operations) in &record.bins {
            let extremes = record.min_ns..=record.max_ns.max(record.min_ns);
            let ns = bin_value(index).clamp(*extremes.start(), *extremes.end());
            let class = match ns {
                0..1_000 => &mut self.ns[place(ns, &CLASSES)],
                1_000..1_000_000 => &mut self.us[place(ns / 1_000, &CLASSES)],
                _ => &mut self.ms[place(ns / 1_000_000, &CLASSES_MS)],
            };
            *class += operations;
        }
    }
}

/// Returns the number of bounds that the value has reached.
fn place(value: u64, ends: &[u64]) -> usize {
    ends.iter().take_while(|&&end| value >= end).count()
}

/// Returns shares in percent. A count above zero gets at least `least`, so that one
/// slow I/O among a million does not appear as zero.
fn percent<const N: usize>(counts: &[u64; N], total: u64, least: f64) -> [f64; N] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (100.0 * count as f64 / total as f64).max(least),
    })
}

/// Shares of queue depths, in percent of all counts.
pub(super) fn depth_shares(counts: &[u64; 7]) -> [f64; 7] {
    percent(counts, counts.iter().sum(), 0.1)
}

/// Shares of latency classes, in percent of all I/Os.
pub(super) fn class_shares<const N: usize>(counts: &[u64; N], ios: u64) -> [f64; N] {
    percent(counts, ios, 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_stats::histogram::{BINS, Histogram, bucket_index};

    fn record(values: &[u64]) -> LatencyRecord {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&ns| histogram.record(ns));
        histogram.to_record()
    }

    /// Checks maxima against the p99.99 that fio 3.33 printed for them.
    #[test]
    fn a_bin_has_the_value_that_fio_gives_it() {
        for (max_ns, p99_99) in [
            (257_012, 257_024),
            (3_697, 3_696),
            (29_479, 29_568),
            (206_878, 207_872),
            (641_835, 643_072),
            (1_328_200, 1_335_296),
            (339_629, 337_920),
            (40, 40),
        ] {
            assert_eq!(bin_value(bucket_index(max_ns)), p99_99);
        }
        assert!(bin_value(BINS - 1) > u64::MAX / 128 * 127);
    }

    #[test]
    fn percentiles_are_sorted_and_never_saturate() {
        let mut values = vec![100; 99];
        values.push(60_000_000_000);
        let found = percentiles(&record(&values), &[99.5, 1.0, 99.0, 0.0, 50.0]);
        assert_eq!(found.len(), 3, "a zero ends the list");
        assert_eq!(found[..2], [(1.0, 100), (99.0, 100)]);
        assert!(found[2].1.abs_diff(60_000_000_000) <= 60_000_000_000 / 128);
        assert_eq!(percentiles(&record(&[]), &[50.0]), [(50.0, 0)]);
    }

    /// Checks the rule of fio's `t/latency_percentiles.py`: the value at rank ceil(p
    /// / 100 * n), at most 1/128 off.
    #[test]
    fn the_rank_is_the_one_that_fios_test_computes() {
        let values: Vec<u64> = (1..=1000).map(|n| n * 100_000).collect();
        let record = record(&values);
        for (percent, rank) in [(1.0, 10), (30.0, 300), (99.95, 1000), (100.0, 1000)] {
            let truth = values[rank - 1];
            let (_, found) = percentiles(&record, &[percent])[0];
            assert!(found.abs_diff(truth) * 128 <= truth, "{percent}: {found}");
        }
    }

    /// In binary, 99.9 / 100 * 1000 is above 999, for fio as for its test.
    #[test]
    fn the_rank_of_a_binary_fraction_is_rounded_up() {
        let mut values = vec![100; 999];
        values.push(1_000_000);
        assert_eq!(percentiles(&record(&values), &[99.9])[0].1, 1_003_520);
    }

    #[test]
    fn classes_end_where_fios_do() {
        let mut classes = Classes::default();
        for ns in [
            0,
            1,
            2,
            999,
            1_999,
            2_000,
            999_999,
            1_000_000,
            1_999_999_999,
        ] {
            classes.add(&record(&[ns]));
        }
        classes.add(&record(&[2_000_000_000, 90_000_000_000]));
        assert_eq!(classes.ns, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(classes.us, [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(classes.ms, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_damaged_record_gives_no_figures() {
        let mut damaged = record(&[1, 2, 3]);
        damaged.count = 4;
        assert_eq!(moments(&damaged), None);
        assert_eq!(moments(&LatencyRecord::default()), None);
        assert_eq!(moments(&record(&[5])).unwrap().stdev_ns, 0.0);
    }

    #[test]
    fn a_rare_case_is_not_shown_as_none() {
        assert_eq!(
            class_shares(&[0, 1, 999_999], 1_000_000),
            [0.0, 0.01, 99.9999]
        );
        assert_eq!(depth_shares(&[1, 9_999, 0, 0, 0, 0, 0])[0], 0.1);
        assert_eq!(class_shares(&[0, 0], 0), [0.0, 0.0]);
    }
}

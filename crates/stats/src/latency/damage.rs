//! Consistency check of a stored latency record.

use super::squared_deviations;
use crate::histogram::{bucket_bounds, bucket_index};
use assay_model::latency::LatencyRecord;
use thiserror::Error;

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
pub fn check(record: &LatencyRecord) -> Result<(), DamagedRecord> {
    check_bins(record)?;
    check_moments(record)
}

/// Checks that every bin exists and is in use, that bins ascend, and that they hold `count`.
fn check_bins(record: &LatencyRecord) -> Result<(), DamagedRecord> {
    let mut previous = None;
    let mut in_bins = 0;
    for &(index, operations) in &record.bins {
        bucket_bounds(index).ok_or(DamagedRecord::NoSuchBin(index))?;
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
        return fits(*record == LatencyRecord::default(), "sum");
    };
    fits(bucket_index(min_ns) == first, "minimum")?;
    fits(bucket_index(max_ns) == last && min_ns <= max_ns, "maximum")?;
    let times_count = |ns: u64| u64::try_from(u128::from(ns) * u128::from(count));
    let least = times_count(min_ns).unwrap_or(u64::MAX);
    let most = times_count(max_ns).unwrap_or(u64::MAX);
    fits((least..=most).contains(&sum_ns), "sum")?;
    // An overflowed sum has no meaning, and neither has its sum of squares.
    if sum_ns < u64::MAX {
        let squares_least = squared_deviations(record).is_some();
        let squares_most = u128::from(sum_ns) * u128::from(max_ns);
        fits(
            squares_least && record.sum_sq_ns2 <= squares_most,
            "sum of squares",
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::BINS;
    use crate::latency::tests::record_of;
    use crate::latency::{Distribution, pooled};
    use crate::percentile::Percentile;
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
            DamagedRecord::BadBin(bucket_index(100))
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

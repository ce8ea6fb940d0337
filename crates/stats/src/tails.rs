//! Percentiles of latency over the trials of a job: of all I/Os together, and per trial.

use crate::latency::{Distribution, pooled};
use crate::percentile::Percentile;
use crate::summary::Summary;
use crate::within_trial::quantiles::interval_ranks;
use assay_model::latency::LatencyRecord;

/// One percentile over trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Percentile.
    pub percentile: Percentile,
    /// Number of trials with such operations.
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

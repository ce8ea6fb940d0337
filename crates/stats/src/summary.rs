//! Summary of one figure over several trials.

use crate::distributions;
use assay_model::figures::Better;
use assay_model::units::as_usize;
use statrs::distribution::{Beta, ContinuousCDF};
use std::collections::BTreeMap;

/// Summary of one metric over trials (one value per trial).
///
/// Comparisons use ratios of speeds, so the centre is the geometric mean, and spread and interval
/// are those of the logarithms. They exist only if every value is positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Geometric mean; `None` when a value is 0 or negative.
    pub geometric_mean: Option<f64>,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Coefficient of variation of a lognormal quantity, sqrt(exp(s^2) - 1)
    /// with s the standard deviation (n - 1) of the logarithms; `None` below
    /// two values, or when a value is 0 or negative.
    pub cv: Option<f64>,
    /// 95 % confidence interval of the geometric mean,
    /// exp(mean of logarithms +- t_{n-1} s / sqrt(n)); `None` as for `cv`.
    pub interval: Option<Interval>,
}

/// An interval of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Probability on each side of a 95 % interval.
const UPPER_TAIL: f64 = 0.025;

impl Summary {
    /// Returns the centre used in comparisons and series: the geometric mean, else the arithmetic
    /// one.
    pub fn centre(&self) -> f64 {
        self.geometric_mean.unwrap_or(self.mean)
    }

    /// Summarizes the values; `None` when there are none, or one is not finite.
    ///
    /// ```
    /// use assay_stats::summary::Summary;
    /// let summary = Summary::of(&[100.0, 110.0, 121.0]).unwrap();
    /// assert!((summary.geometric_mean.unwrap() - 110.0).abs() < 1e-9);
    /// assert_eq!(Summary::of(&[]), None);
    /// ```
    pub fn of(values: &[f64]) -> Option<Self> {
        if !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let logs = (min > 0.0).then(|| Logs::of(&sorted));
        Some(Self {
            n: sorted.len(),
            // The limits keep the mean of equal values from deviating by rounding.
            geometric_mean: logs.map(|logs| logs.0.mean.exp().clamp(min, max)),
            mean: mean(&sorted).clamp(min, max),
            median: median_of_sorted(&sorted)?,
            min,
            max,
            cv: logs.and_then(|logs| logs.cv()),
            interval: logs.and_then(|logs| logs.interval()),
        })
    }
}

/// The logarithms of positive values.
#[derive(Clone, Copy)]
struct Logs(Moments);

impl Logs {
    fn of(values: &[f64]) -> Self {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        Self(Moments::of(&logs))
    }

    fn cv(&self) -> Option<f64> {
        let cv = self.0.stdev?.powi(2).exp_m1().sqrt();
        cv.is_finite().then_some(cv)
    }

    fn interval(&self) -> Option<Interval> {
        let Moments { n, mean, stdev } = self.0;
        let error = stdev? / (n as f64).sqrt();
        let half = distributions::student_quantile(UPPER_TAIL, (n - 1) as f64) * error;
        let (low, high) = ((mean - half).exp(), (mean + half).exp());
        high.is_finite().then_some(Interval { low, high })
    }
}

/// Arithmetic mean and standard deviation of untransformed values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean; not a number without values.
    pub mean: f64,
    /// Standard deviation (n - 1); `None` below two values.
    pub stdev: Option<f64>,
}

impl Moments {
    /// Computes the moments of all values.
    pub fn of(values: &[f64]) -> Self {
        let mean = mean(values);
        Self {
            n: values.len(),
            mean,
            stdev: variance(values, mean).map(f64::sqrt),
        }
    }
}

/// Returns the arithmetic mean. If the sum would overflow, each value is divided before it is
/// added, so finite values have a finite mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    if sum.is_finite() {
        sum / n
    } else {
        values.iter().map(|value| value / n).sum()
    }
}

/// Returns the variance (divisor n - 1); `None` below two values.
pub(crate) fn variance(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() >= 2).then(|| squares / (values.len() - 1) as f64)
}

/// Returns the median: the middle value, or the mean of the two in the middle; `None` without
/// values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// Returns the median of sorted values; `None` without values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let (lower, upper) = sorted.split_at(sorted.len() / 2);
    let &middle = upper.first()?;
    Some(match lower.last() {
        Some(&below) if lower.len() == upper.len() => f64::midpoint(below, middle),
        _ => middle,
    })
}

/// Fewest units for a meaningful quantile.
pub const FEWEST_UNITS: usize = 5;

/// A figure of several units of one kind, one value a unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Population {
    /// One value for each unit, smallest first.
    values: Vec<f64>,
}

/// Percentile of a figure among those of other units: the share that it is better than.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Percentile in percent; a unit with the same figure counts half.
    pub percentile: f64,
    /// Lower end of the 90 % band.
    pub low: f64,
    /// Upper end of the 90 % band.
    pub high: f64,
    /// Number of units.
    pub units: usize,
}

impl Population {
    /// Computes one value for each unit: the median of its runs, so that frequently measured units
    /// do not weigh more than others. Values that are not finite are left out.
    ///
    /// ```
    /// use assay_stats::summary::Population;
    /// let runs = [("a", 1.0), ("a", 9.0), ("a", 2.0), ("b", 5.0)];
    /// assert_eq!(Population::of_runs(runs).units(), 2);
    /// ```
    pub fn of_runs<Unit: Ord>(runs: impl IntoIterator<Item = (Unit, f64)>) -> Self {
        let mut units: BTreeMap<Unit, Vec<f64>> = BTreeMap::new();
        for (unit, value) in runs.into_iter().filter(|(_, value)| value.is_finite()) {
            units.entry(unit).or_default().push(value);
        }
        let medians = units.values().filter_map(|runs| Summary::of(runs));
        let mut values: Vec<f64> = medians.map(|summary| summary.median).collect();
        values.sort_by(f64::total_cmp);
        Self { values }
    }

    /// Returns the number of units.
    pub fn units(&self) -> usize {
        self.values.len()
    }

    /// Returns the value that a share of the units does not exceed, with linear interpolation
    /// between units (Hyndman and Fan 1996, definition 7). `None` below [`FEWEST_UNITS`].
    pub fn quantile(&self, share: f64) -> Option<f64> {
        if self.units() < FEWEST_UNITS || !(0.0..=1.0).contains(&share) {
            return None;
        }
        let place = share * (self.units() - 1) as f64;
        let (lower, upper) = (as_usize(place.floor()), as_usize(place.ceil()));
        let (below, above) = (self.values.get(lower)?, self.values.get(upper)?);
        Some(below + (above - below) * place.fract())
    }

    /// Finds the percentile of a value among the units, with a band that contains the percentile
    /// among all units of the kind with a probability of at least 90 %, if the units are a random
    /// sample (Clopper and Pearson 1934). For a metric without a direction of improvement, the
    /// percentile is the share of smaller values. `None` below [`FEWEST_UNITS`].
    pub fn standing(&self, value: f64, better: Option<Better>) -> Option<Standing> {
        let units = self.units();
        if units < FEWEST_UNITS || !value.is_finite() {
            return None;
        }
        let sign = better.map_or(1.0, Better::sign);
        let count = |worse: fn(f64, f64) -> bool| {
            let values = self.values.iter();
            values.filter(|of| worse(sign * **of, sign * value)).count()
        };
        let (worse, alike) = (count(|of, own| of < own), count(|of, own| of == own));
        let bound = |counted: usize| {
            let counted = u32::try_from(counted).ok()?;
            upper_bound(counted, u32::try_from(units).ok()?)
        };
        // Each end is exceeded once in 20 times. Units with the same figure may be on either side.
        let (low, high) = (1.0 - bound(units - worse)?, bound(worse + alike)?);
        let share = (worse as f64 + alike as f64 / 2.0) / units as f64;
        Some(Standing {
            percentile: 100.0 * share,
            low: 100.0 * low,
            high: 100.0 * high,
            units,
        })
    }
}

/// Confidence of [`upper_bound`].
const CONFIDENCE: f64 = 0.95;

/// Returns the upper bound of the probability of a failure, with a confidence of 95 %, if
/// `failures` of `trials` independent trials failed (Clopper and Pearson 1934, one-sided). Without
/// any failure it is 1 - 0.05^(1/n), which is the rule of three (3/n) for many trials. `None`
/// without trials.
///
/// ```
/// use assay_stats::summary::upper_bound;
/// let bound = upper_bound(0, 50).unwrap();
/// assert!((bound - 0.0582).abs() < 1e-4);
/// ```
pub fn upper_bound(failures: u32, trials: u32) -> Option<f64> {
    if trials == 0 || failures > trials {
        return None;
    }
    if failures == trials {
        return Some(1.0);
    }
    let beta = Beta::new(f64::from(failures) + 1.0, f64::from(trials - failures));
    beta.ok().map(|beta| beta.inverse_cdf(CONFIDENCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::rng::SplitMix64;
    use proptest::prelude::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    fn near(found: f64, truth: f64) {
        assert!((found / truth - 1.0).abs() < 1e-9, "{found} is not {truth}");
    }

    #[test]
    fn figures_are_those_of_the_formulas() {
        // Logarithms 1, 2, 3: mean 2, s = 1, t_2 = 4.302652729911275.
        let values: Vec<f64> = [3.0, 1.0, 2.0].map(f64::exp).to_vec();
        let summary = Summary::of(&values).unwrap();
        assert_eq!(summary.n, 3);
        near(summary.geometric_mean.unwrap(), 2f64.exp());
        near(summary.mean, values.iter().sum::<f64>() / 3.0);
        near(summary.median, 2f64.exp());
        near(summary.cv.unwrap(), (1f64.exp() - 1.0).sqrt());
        let half = 4.302_652_729_911_275 / 3f64.sqrt();
        let interval = summary.interval.unwrap();
        near(interval.low, (2.0 - half).exp());
        near(interval.high, (2.0 + half).exp());
    }

    /// From a table of Student's t; a normal quantile would give 1.96.
    #[test]
    fn the_interval_is_wide_enough_for_few_trials() {
        for (n, t) in [
            (2, 12.706_205),
            (5, 2.776_445),
            (10, 2.262_157),
            (31, 2.042_272),
        ] {
            let logs = Logs(Moments {
                n,
                mean: 0.0,
                stdev: Some(1.0),
            });
            let half = logs.interval().unwrap().high.ln();
            let expected = t / (n as f64).sqrt();
            assert!((half - expected).abs() < 1e-6, "n={n}: {half}, {expected}");
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        let median = |values: &[f64]| Summary::of(values).map(|s| s.median);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn one_value_has_no_spread() {
        let one = Summary::of(&[42.0]).unwrap();
        assert_eq!(
            (one.min, one.median, one.mean, one.max),
            (42.0, 42.0, 42.0, 42.0)
        );
        assert_eq!(one.geometric_mean, Some(42.0));
        assert_eq!((one.cv, one.interval), (None, None));
    }

    #[test]
    fn without_logarithms_the_rest_is_still_there() {
        for values in [[0.0, 1.0, 5.0], [-1.0, 1.0, 6.0], [-0.0, 1.0, 5.0]] {
            let summary = Summary::of(&values).unwrap();
            assert_eq!(summary.geometric_mean, None);
            assert_eq!((summary.cv, summary.interval), (None, None));
            assert_eq!((summary.median, summary.mean), (1.0, 2.0));
        }
    }

    #[test]
    fn a_value_that_is_not_a_number_is_not_summarized() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Summary::of(&[1.0, bad, 2.0]), None);
        }
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn an_interval_beyond_all_numbers_is_absent() {
        let summary = Summary::of(&[1e-300, 1e300]).unwrap();
        assert_eq!((summary.cv, summary.interval), (None, None));
        assert_eq!(Summary::of(&[f64::MAX; 3]).map(|s| s.mean), Some(f64::MAX));
    }

    proptest! {
        #[test]
        fn centres_lie_between_the_extremes(values in prop::collection::vec(1e-3..1e12, 1..20)) {
            let s = Summary::of(&values).unwrap();
            let geometric = s.geometric_mean.unwrap();
            for centre in [geometric, s.mean, s.median] {
                prop_assert!((s.min..=s.max).contains(&centre));
            }
            prop_assert!(geometric <= s.mean * (1.0 + 1e-12));
            if let Some(Interval { low, high }) = s.interval {
                prop_assert!(low <= geometric * (1.0 + 1e-12));
                prop_assert!(geometric <= high * (1.0 + 1e-12));
            }
        }

        #[test]
        fn any_bits_are_taken_without_panic(bits in prop::collection::vec(any::<u64>(), 0..6)) {
            let values: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
            let finite = !values.is_empty() && values.iter().all(|v| v.is_finite());
            prop_assert_eq!(Summary::of(&values).is_some(), finite);
        }
    }

    fn of(values: &[f64]) -> Population {
        Population::of_runs(values.iter().copied().enumerate())
    }

    #[test]
    fn a_unit_that_is_measured_often_has_one_vote() {
        let often = (0..100).map(|_| ("often", 1.0));
        let others = ["b", "c", "d", "e"].into_iter().zip([2.0, 3.0, 4.0, 5.0]);
        let population = Population::of_runs(often.chain(others));
        assert_eq!(population.units(), 5);
        assert_eq!(population.quantile(0.5), Some(3.0));
    }

    #[test]
    fn four_units_say_nothing() {
        let four = of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(four.quantile(0.5), None);
        assert_eq!(four.standing(2.0, None), None);
        assert_eq!(of(&[f64::NAN; 9]).units(), 0);
    }

    #[test]
    fn the_percentile_counts_units_that_are_worse() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let population = of(&values);
        let percentile = |better| population.standing(4.5, better).unwrap().percentile;
        assert!((percentile(Some(Better::Higher)) - 20.0).abs() < 1e-9);
        assert!((percentile(Some(Better::Lower)) - 80.0).abs() < 1e-9);
        let alike = of(&[3.0; 10]).standing(3.0, None).unwrap();
        assert!((alike.percentile - 50.0).abs() < 1e-9, "{alike:?}");
        assert!(
            alike.low < 1e-9 && alike.high > 99.9,
            "all alike: {alike:?}"
        );
        // 17 of 44: binom.test(17, 44, conf.level = 0.9) of R gives 0.2620 to 0.5216.
        let values: Vec<f64> = (0..44).map(f64::from).collect();
        let standing = of(&values).standing(16.5, None).unwrap();
        assert!((standing.low - 26.2).abs() < 0.2 && (standing.high - 52.2).abs() < 0.2);
    }

    #[test]
    fn best_and_worst_of_all_keep_their_ends() {
        let population = of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let best = population.standing(9.0, Some(Better::Higher)).unwrap();
        assert!((best.percentile - 100.0).abs() < 1e-9 && (best.high - 100.0).abs() < 1e-9);
        assert!(best.low < 60.0, "five units say little: {best:?}");
        let worst = population.standing(0.0, Some(Better::Higher)).unwrap();
        assert!(worst.percentile.abs() < 1e-9 && worst.low.abs() < 1e-9);
    }

    /// The band holds the true share in 90 % of the samples at least.
    #[test]
    fn the_band_holds_what_it_promises() {
        let mut random = SplitMix64::new(7);
        let samples = 2_000;
        let mut held = 0;
        for _ in 0..samples {
            let values: Vec<f64> = (0..30).map(|_| random.fraction()).collect();
            let value = random.fraction();
            let standing = of(&values).standing(value, None).unwrap();
            held += u32::from((standing.low..=standing.high).contains(&(100.0 * value)));
        }
        assert!(held >= samples * 9 / 10, "{held} of {samples}");
    }

    #[test]
    fn at_the_bound_so_few_failures_come_once_in_twenty() {
        for (failures, trials) in [(0_u32, 1_u32), (0, 50), (1, 50), (10, 50), (49, 50)] {
            let bound = upper_bound(failures, trials).unwrap();
            let chance = Binomial::new(bound, trials.into())
                .unwrap()
                .cdf(failures.into());
            assert!(
                (chance - 0.05).abs() < 1e-6,
                "{failures} of {trials}: {chance}"
            );
        }
        assert_eq!(upper_bound(3, 3), Some(1.0));
        assert_eq!(upper_bound(0, 0), None);
    }
}

//! Standing of a figure among those of other units of its kind.

use crate::proportion::upper_bound;
use crate::summary::Summary;
use assay_model::figures::Better;
use assay_model::number::as_usize;
use std::collections::BTreeMap;

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
    /// use assay_stats::population::Population;
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
    /// sample (Clopper and Pearson 1934). For a metric without a better side it is the share of
    /// smaller values. `None` below [`FEWEST_UNITS`].
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::rng::SplitMix64;

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
}

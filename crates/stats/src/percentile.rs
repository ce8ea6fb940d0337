//! Percentiles with names and exact ranks.

use std::fmt;

/// A percentile, in steps of 0.0001 %. It is an integer, because the rank of p99.99 among 100 000
/// values is off by one if 0.9999 is a binary fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile {
    parts_per_million: u32,
}

const MILLION: u32 = 1_000_000;
/// Number of values that must lie beyond a percentile before it is shown.
const TAIL: u64 = 10;

impl Percentile {
    /// The median.
    pub const P50: Self = Self::ppm(500_000);
    /// 90 %.
    pub const P90: Self = Self::ppm(900_000);
    /// 95 %.
    pub const P95: Self = Self::ppm(950_000);
    /// 99 %.
    pub const P99: Self = Self::ppm(990_000);
    /// 99.9 %.
    pub const P99_9: Self = Self::ppm(999_000);
    /// 99.99 %.
    pub const P99_99: Self = Self::ppm(999_900);
    /// 100 %: the maximum.
    pub const P100: Self = Self::ppm(MILLION);

    pub(crate) const fn ppm(parts_per_million: u32) -> Self {
        Self { parts_per_million }
    }

    /// `true` if `count` values are enough to show the percentile: at least ten are expected beyond
    /// it, n (1 - q) >= 10. p99 needs 1 000 values, p99.9 10 000.
    ///
    /// ```
    /// use assay_stats::percentile::Percentile;
    /// assert!(Percentile::P99.estimable(1_000));
    /// assert!(!Percentile::P99.estimable(999));
    /// ```
    pub fn estimable(self, count: u64) -> bool {
        let beyond = u128::from(MILLION - self.parts_per_million) * u128::from(count);
        beyond >= u128::from(TAIL) * u128::from(MILLION)
    }

    /// Returns the percentile in parts per million.
    pub(crate) const fn parts_per_million(self) -> u32 {
        self.parts_per_million
    }

    /// Returns the percentile in percent.
    pub fn percent(self) -> f64 {
        f64::from(self.parts_per_million) / 1e4
    }

    /// Returns the percentile as a share, 0 to 1.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.parts_per_million) / f64::from(MILLION)
    }

    /// Returns the rank of the percentile among `count` values in ascending order, from 1.
    pub(crate) fn rank(self, count: u64) -> u64 {
        let product = u128::from(self.parts_per_million) * u128::from(count);
        let rank = product.div_ceil(u128::from(MILLION)).max(1);
        u64::try_from(rank).unwrap_or(u64::MAX)
    }
}

/// Prints `p50`, `p99.9`: the end of a metric's name.
impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.percent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_exact_where_a_binary_fraction_is_not() {
        // In f64, 100 000 * (1 - 0.9999) is 9.999999999998899.
        assert!(Percentile::P99_99.estimable(100_000));
        assert!(!Percentile::P99_99.estimable(99_999));
        assert!(Percentile::P99_9.estimable(10_000));
        assert!(!Percentile::P99_9.estimable(9_999));
        assert!(!Percentile::P100.estimable(u64::MAX));
        assert_eq!(Percentile::P99_9.rank(10_000), 9_990);
        assert_eq!(Percentile::P50.rank(5), 3);
        assert_eq!(Percentile::P50.rank(0), 1);
        assert_eq!(Percentile::P100.rank(u64::MAX), u64::MAX);
    }

    #[test]
    fn percentiles_are_named_in_percent() {
        let named = [Percentile::P50, Percentile::P99_9, Percentile::P99_99];
        let names = named.map(|percentile| percentile.to_string());
        assert_eq!(names, ["p50", "p99.9", "p99.99"]);
    }
}

//! Recorder of latencies in the engine's hot loop: log-linear bins without an upper limit.
//!
//! Values below 128 ns have a bin each. Above, every octave (power of two) is divided into 64 bins
//! of equal width, so the middle of a bin differs from any value in it by at most 1/128. These are
//! fio's bins, but they extend to `u64::MAX` instead of ending at 17 s: a stall of a minute is
//! recorded as a minute.

use assay_model::evidence::LatencyRecord;
use std::fmt;

/// Bins per octave, as a power of two.
const BINS_LOG2: u32 = 6;
/// Bins per octave.
const BINS_PER_OCTAVE: u64 = 1 << BINS_LOG2;
/// Number of bins; the last one holds `u64::MAX`.
pub const BINS: u32 = bin_index(u64::MAX) + 1;
/// Length of the table: [`BINS`] rounded up to a power of two, so that a mask instead of a branch
/// proves every index to be in range.
const SLOTS: usize = (BINS as usize).next_power_of_two();

/// Returns the bin of a latency, `0..BINS`; monotonic in `ns`.
///
/// ```
/// use assay_stats::histogram::bin_index;
/// assert_eq!(bin_index(100), 100);
/// assert_eq!(bin_index(1_000_000), bin_index(1_000_001));
/// ```
#[inline]
pub const fn bin_index(ns: u64) -> u32 {
    // The number of low bits that a bin ignores: 0 below 2 * BINS_PER_OCTAVE.
    let shift = (u64::BITS - 1 - BINS_LOG2) - (ns | BINS_PER_OCTAVE).leading_zeros();
    // The remaining value is below 2 * BINS_PER_OCTAVE, with its top bit set if shift > 0.
    #[expect(clippy::cast_possible_truncation, reason = "below 128 after the shift")]
    let leading = (ns >> shift) as u32;
    (shift << BINS_LOG2) + leading
}

/// Returns the smallest and the largest latency (ns) of a bin, both inclusive; `None` if there is
/// no such bin.
///
/// ```
/// use assay_stats::histogram::{bin_bounds, bin_index};
/// assert_eq!(bin_bounds(bin_index(1_000)), Some((1_000, 1_007)));
/// assert_eq!(bin_bounds(u32::MAX), None);
/// ```
pub const fn bin_bounds(index: u32) -> Option<(u64, u64)> {
    if index >= BINS {
        return None;
    }
    let shift = (index >> BINS_LOG2).saturating_sub(1);
    let leading = (index - (shift << BINS_LOG2)) as u64;
    let low = leading << shift;
    Some((low, low + ((1 << shift) - 1)))
}

/// Latencies of one kind of operation of one worker: 32 KiB, no allocation after
/// [`Histogram::new`].
///
/// ```
/// use assay_stats::histogram::Histogram;
/// let mut latencies = Histogram::new();
/// latencies.record(85_000);
/// latencies.record(60_000_000_000);
/// assert_eq!(latencies.count(), 2);
/// assert_eq!(latencies.to_record().max_ns, 60_000_000_000);
/// ```
#[derive(Clone)]
pub struct Histogram {
    /// `u64::MAX` while empty.
    min_ns: u64,
    max_ns: u64,
    /// Saturates at `u64::MAX` (584 years of latency).
    sum_ns: u64,
    /// Valid as long as `sum_ns` is, since it cannot exceed its square.
    sum_sq_ns2: u128,
    /// The count is the sum over the bins: adding them up at the end is cheaper than one more
    /// addition per I/O.
    bins: Box<[u64; SLOTS]>,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self {
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_sq_ns2: 0,
            bins: Box::new([0; SLOTS]),
        }
    }

    /// Adds one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.bins[bin_index(ns) as usize & (SLOTS - 1)] += 1;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.sum_sq_ns2 = self
            .sum_sq_ns2
            .saturating_add(u128::from(ns) * u128::from(ns));
    }

    /// Returns the number of latencies added. Sums all bins, so it is not suitable for a hot loop.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Returns the sum of all latencies.
    pub const fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Adds all latencies of `other`, as if each had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        for (bin, more) in self.bins.iter_mut().zip(other.bins.iter()) {
            *bin += more;
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_sq_ns2 = self.sum_sq_ns2.saturating_add(other.sum_sq_ns2);
    }

    /// Converts the histogram to the form in which it is stored and sent.
    pub fn to_record(&self) -> LatencyRecord {
        let bins: Vec<(u32, u64)> = (0..BINS)
            .zip(self.bins.iter().copied())
            .filter(|&(_, operations)| operations > 0)
            .collect();
        LatencyRecord {
            count: self.count(),
            min_ns: if bins.is_empty() { 0 } else { self.min_ns },
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            sum_sq_ns2: self.sum_sq_ns2,
            bins,
        }
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints only the bins in use.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Histogram").field(&self.to_record()).finish()
    }
}

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
    /// use assay_stats::histogram::Percentile;
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
    use proptest::prelude::*;

    /// Latencies of every magnitude alike, 1 ns to 584 years.
    fn latency() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..u64::BITS).prop_map(|(bits, shift)| bits >> shift)
    }

    /// Small enough that sums do not overflow: up to 39 hours.
    fn summable() -> impl Strategy<Value = u64> {
        (0..1u64 << 47, 0..47).prop_map(|(bits, shift)| bits >> shift)
    }

    fn recorded(latencies: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn bins_tile_all_of_u64_without_gap_or_overlap() {
        let mut next = Some(0);
        for index in 0..BINS {
            let (low, high) = bin_bounds(index).unwrap();
            assert_eq!(Some(low), next, "bin {index}");
            assert!(low <= high, "bin {index}");
            assert_eq!(bin_index(low), index);
            assert_eq!(bin_index(high), index);
            next = high.checked_add(1);
        }
        assert_eq!(next, None, "the last bin ends at u64::MAX");
        assert_eq!(bin_bounds(BINS), None);
    }

    #[test]
    fn the_table_has_room_for_every_bin_behind_its_mask() {
        assert_eq!(BINS, 3_776);
        assert_eq!(SLOTS, 4_096);
    }

    #[test]
    fn below_128_ns_bins_are_exact_and_above_64_an_octave() {
        for ns in 0..128 {
            assert_eq!(bin_bounds(bin_index(ns)), Some((ns, ns)));
        }
        let octave = |ns: u64| bin_index(2 * ns) - bin_index(ns);
        assert!((7..63).all(|power| octave(1 << power) == 64));
    }

    #[test]
    fn an_empty_histogram_is_an_empty_record() {
        assert_eq!(Histogram::new().to_record(), LatencyRecord::default());
        assert_eq!(Histogram::default().count(), 0);
    }

    #[test]
    fn the_extremes_are_kept_and_sums_stay_at_the_top() {
        let record = recorded(&[0, u64::MAX, u64::MAX]).to_record();
        assert_eq!(record.count, 3);
        assert_eq!((record.min_ns, record.max_ns), (0, u64::MAX));
        assert_eq!((record.sum_ns, record.sum_sq_ns2), (u64::MAX, u128::MAX));
        assert_eq!(record.bins, [(0, 1), (BINS - 1, 2)]);
    }

    proptest! {
        #[test]
        fn the_middle_of_a_bin_is_within_one_in_128(ns in latency()) {
            let (low, high) = bin_bounds(bin_index(ns)).unwrap();
            let middle = low + (high - low) / 2;
            prop_assert!(low <= ns && ns <= high);
            prop_assert!(u128::from(middle.abs_diff(ns)) * 128 <= u128::from(ns));
        }

        #[test]
        fn the_index_never_falls(a in latency(), b in latency()) {
            prop_assert_eq!(bin_index(a.min(b)), bin_index(a).min(bin_index(b)));
        }

        #[test]
        fn moments_are_exact(latencies in prop::collection::vec(summable(), 1..200)) {
            let record = recorded(&latencies).to_record();
            prop_assert_eq!(record.count, latencies.len() as u64);
            prop_assert_eq!(Some(&record.min_ns), latencies.iter().min());
            prop_assert_eq!(Some(&record.max_ns), latencies.iter().max());
            prop_assert_eq!(record.sum_ns, latencies.iter().sum::<u64>());
            let squares = latencies.iter().map(|&ns| u128::from(ns) * u128::from(ns));
            prop_assert_eq!(record.sum_sq_ns2, squares.sum::<u128>());
        }

        #[test]
        fn merging_is_recording_all(
            a in prop::collection::vec(latency(), 0..50),
            b in prop::collection::vec(latency(), 0..50),
        ) {
            let mut merged = recorded(&a);
            merged.merge(&recorded(&b));
            let all = recorded(&[a, b].concat());
            prop_assert_eq!(merged.to_record(), all.to_record());
        }
    }

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

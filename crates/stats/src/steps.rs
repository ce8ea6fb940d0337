//! Change points and stalls of an interval series: places where the rate of a sustained write drops
//! (a full SLC cache), and periods without any completion.
//!
//! The change points are the best cut of a series into segments of constant mean by PELT (Killick,
//! Fearnhead, Eckley 2012), exact, with pruning.

use crate::summary::{mean, variance};
use assay_model::trial::{Interval, Measurement, Series};

/// Shortest segment, in samples.
pub const MIN_SEGMENT: usize = 10;

/// Most samples that are searched individually: nearly seven minutes of 100 ms each, which takes
/// about ten milliseconds.
pub const MAX_SAMPLES: usize = 4_000;

/// A part of a series with one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Index of the first sample.
    pub start: usize,
    /// Index after the last sample.
    pub end: usize,
    /// Mean of the samples, stalls included.
    pub mean: f64,
}

/// Cuts a series where its mean changes, by minimizing the squared deviations from the segments'
/// means plus, per segment, 15 ln N times the variance of the noise (PELT). No segment is shorter
/// than [`MIN_SEGMENT`]; a series without a change is one segment. Empty if the series is, or if a
/// value is not finite.
///
/// The noise is estimated so that steps and stalls do not inflate it, and single outliers are
/// limited before the search (means use the original samples). In simulations of 20 to 1 000
/// samples without a change, more than one segment was found in less than 0.1 % of series of
/// independent noise, in at most 0.5 % with 5 to 30 % scattered stalls or with an autocorrelation
/// of 0.5, and in at most 6 % with one of 0.8. Slower variation (0.9 and more) is cut into pieces.
/// From 60 samples on, a halved speed is found within three samples at 5 % noise; with fewer
/// samples, a change is more often missed than reported wrongly.
///
/// The last point of a [`Series`] may cover a shorter interval, so callers leave it out. Time grows
/// with the square of N if nothing changes, so more than [`MAX_SAMPLES`] samples are searched in
/// groups of two or more by their means: change points then lie between groups, and [`MIN_SEGMENT`]
/// counts groups. Means of segments use the samples.
///
/// [`Series`]: assay_model::trial::Series
///
/// ```
/// use assay_stats::steps::segments;
/// let mut speed = vec![80.0; 40];
/// speed.extend([40.0; 60]);
/// let levels: Vec<_> = segments(&speed).iter().map(|s| (s.start, s.mean)).collect();
/// assert_eq!(levels, [(0, 80.0), (40, 40.0)]);
/// ```
pub fn segments(values: &[f64]) -> Vec<Segment> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let group = values.len().div_ceil(MAX_SAMPLES);
    let coarse: Vec<f64> = values.chunks(group).map(mean).collect();
    let mut bounds = change_points(&coarse);
    bounds.iter_mut().for_each(|bound| *bound *= group);
    bounds.push(values.len());
    let mut start = 0;
    let segment = |end| {
        let mean = mean(&values[start..end]);
        let segment = Segment { start, end, mean };
        start = end;
        segment
    };
    bounds.into_iter().map(segment).collect()
}

fn change_points(values: &[f64]) -> Vec<usize> {
    let stdev = noise_deviation(values);
    if stdev > 0.0 {
        best_change_points(&without_outliers(values, stdev), stdev)
    } else {
        Vec::new() // All zero.
    }
}

/// A period in which no byte was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Index of the first interval.
    pub start_index: usize,
    /// Number of consecutive intervals.
    pub intervals: usize,
}

/// Returns the runs of intervals in which no byte was moved. The last interval is ignored, since it
/// may be too short.
///
/// A flush that the job requested is not a stall, as in [`Measurement::longest_gap`]: if there were
/// flushes, a run that is longer than the longest gap can only be the wait for a flush, and is left
/// out. A shorter run may still be one.
///
/// An interval is also empty if a single I/O takes longer than it, so a stall means "no completion
/// for that long" without a cause.
pub fn stalls(measured: &Measurement) -> Vec<Stall> {
    let mut stalls = empty_runs(&measured.series);
    if let (1.., Some(gap)) = (measured.flush.count, measured.longest_gap) {
        let width_ns = measured.series.interval_ns.max(1);
        let longest = gap.length_ns / width_ns;
        stalls.retain(|stall| stall.intervals as u64 <= longest);
    }
    stalls
}

fn empty_runs(series: &Series) -> Vec<Stall> {
    let mut runs: Vec<Stall> = Vec::new();
    let whole = series
        .points
        .split_last()
        .map_or(&[][..], |(_, whole)| whole);
    for (index, _) in whole
        .iter()
        .enumerate()
        .filter(|(_, point)| is_empty(point))
    {
        match runs.last_mut() {
            Some(last) if last.start_index + last.intervals == index => last.intervals += 1,
            _ => runs.push(Stall {
                start_index: index,
                intervals: 1,
            }),
        }
    }
    runs
}

const fn is_empty(interval: &Interval) -> bool {
    interval.read_bytes == 0 && interval.write_bytes == 0
}

/// Smallest noise assumed, as a share of the largest value: prevents cuts at every small change of
/// constant or coarsely counted series.
const NOISE_FLOOR: f64 = 0.01;
/// Ratio of the standard deviation of normal noise to its median absolute deviation.
const MAD_TO_STDEV: f64 = 1.4826;
/// Distance from its neighbourhood beyond which a sample is an outlier, in standard deviations of
/// the noise.
const OUTLIER: f64 = 3.0;

/// Returns the standard deviation of the noise around the levels, unaffected by the levels: the
/// largest of three estimates.
///
/// - Differences of samples one shortest segment apart, by their median absolute deviation: a step
///   affects only ten of them. Direct neighbours would be too similar in autocorrelated noise.
/// - The median of the variances within windows of one shortest segment: detects noise that is
///   mostly flat with rare jumps (counts of large blocks, occasional stalls), which the first
///   estimate misses.
/// - A floor of 1 % of the largest value.
fn noise_deviation(values: &[f64]) -> f64 {
    let apart: Vec<f64> = values
        .iter()
        .zip(values.iter().skip(MIN_SEGMENT))
        .map(|(early, late)| late - early)
        .collect();
    let centre = lower_median(apart.clone());
    let deviations = apart.iter().map(|difference| (difference - centre).abs());
    let slow = MAD_TO_STDEV * lower_median(deviations.collect()) / std::f64::consts::SQRT_2;

    let windows = values.chunks_exact(MIN_SEGMENT);
    let rare = lower_median(windows.filter_map(|w| variance(w, mean(w))).collect()).sqrt();

    let largest = values
        .iter()
        .fold(0.0, |max: f64, value| max.max(value.abs()));
    slow.max(rare).max(NOISE_FLOOR * largest)
}

/// Returns the lower median: of two windows, the one without the step. 0 for no values.
fn lower_median(mut values: Vec<f64>) -> f64 {
    let middle = values.len().saturating_sub(1) / 2;
    values.sort_by(f64::total_cmp);
    values.get(middle).copied().unwrap_or(0.0)
}

/// Limits single outliers of a series (a stall, a burst) to three standard deviations from the
/// median of the eleven samples around them. A few stalls close together then do not form a
/// segment, and steps keep their position, since a running median does not move them. At both ends
/// the eleven outermost samples are used, so that few samples do not decide there.
fn without_outliers(values: &[f64], stdev: f64) -> Vec<f64> {
    let width = (MIN_SEGMENT + 1).min(values.len());
    let pull_in = |(index, value): (usize, &f64)| {
        let start = index.saturating_sub(width / 2).min(values.len() - width);
        let around = lower_median(values[start..start + width].to_vec());
        value.clamp(around - OUTLIER * stdev, around + OUTLIER * stdev)
    };
    values.iter().enumerate().map(pull_in).collect()
}

/// Smallest gain that justifies one more segment, in units of ln N times the variance of the noise.
/// It is fifteen instead of the two or three of independent samples, because throughput is
/// autocorrelated: it stays high or low for a while by chance, without a change of level.
const PENALTY: f64 = 15.0;

/// Squared deviations from the mean of any part of a series, in units of the noise's variance,
/// computed in constant time from cumulative sums.
struct Cost {
    /// (sum, sum of squares) of the first i scaled samples.
    sums: Vec<(f64, f64)>,
}

impl Cost {
    fn new(values: &[f64], noise: f64) -> Self {
        // Deviations from a typical value avoid cancellation, which squares of raw byte counts
        // would suffer.
        let centre = lower_median(values.to_vec());
        let mut sums = vec![(0.0, 0.0)];
        sums.extend(values.iter().scan((0.0, 0.0), |total, value| {
            let scaled = (value - centre) / noise;
            *total = (total.0 + scaled, total.1 + scaled * scaled);
            Some(*total)
        }));
        Self { sums }
    }

    #[cfg(test)]
    fn of(&self, start: usize, end: usize) -> f64 {
        let sum = self.sums[end].0 - self.sums[start].0;
        let squares = self.sums[end].1 - self.sums[start].1;
        squares - sum * sum / (end - start) as f64
    }
}

/// Possible starts of the last segment, one vector per field: a compiler vectorizes [`Self::least`]
/// only in this layout, and it takes most of the time of a long series.
#[derive(Default)]
struct Candidates {
    start: Vec<usize>,
    /// Start as a floating-point number.
    index: Vec<f64>,
    /// Sum of the samples before the start.
    sum: Vec<f64>,
    /// Least cost of all samples before the start with the penalty of one more segment, minus the
    /// sum of their squares.
    before: Vec<f64>,
    /// Buffer for the costs.
    costs: Vec<f64>,
}

impl Candidates {
    fn push(&mut self, start: usize, before: f64, cost: &Cost) {
        let (sum, squares) = cost.sums[start];
        self.start.push(start);
        self.index.push(start as f64);
        self.sum.push(sum);
        self.before.push(before - squares);
    }

    /// Returns the cost of all samples before `end`, for each start.
    fn costs(&mut self, end: usize, cost: &Cost) -> &[f64] {
        let (sum, squares) = cost.sums[end];
        let end = end as f64;
        let places = self.index.iter().zip(&self.sum).zip(&self.before);
        self.costs.clear();
        self.costs
            .extend(places.map(|((index, before_sum), before)| {
                let own = sum - before_sum;
                squares + before - own * own / (end - index)
            }));
        &self.costs
    }

    /// Returns the cost of all samples before `end`, and the best start of the segment that ends
    /// there.
    fn least(&mut self, end: usize, cost: &Cost) -> (f64, usize) {
        let costs = self.costs(end, cost);
        let least = smallest(costs);
        let place = costs.iter().position(|cost| *cost <= least);
        (least, place.map_or(0, |place| self.start[place]))
    }

    /// Drops the starts that cost more than `ceiling` at `end`.
    fn prune(&mut self, end: usize, ceiling: f64, cost: &Cost) {
        self.costs(end, cost);
        let costs = std::mem::take(&mut self.costs);
        let mut kept = 0;
        for place in (0..costs.len()).filter(|place| costs[*place] <= ceiling) {
            self.start[kept] = self.start[place];
            self.index[kept] = self.index[place];
            self.sum[kept] = self.sum[place];
            self.before[kept] = self.before[place];
            kept += 1;
        }
        self.start.truncate(kept);
        self.index.truncate(kept);
        self.sum.truncate(kept);
        self.before.truncate(kept);
        self.costs = costs;
    }
}

/// Returns the smallest value. Compares several values at a time, since a chain of comparisons is
/// slow.
fn smallest(values: &[f64]) -> f64 {
    const LANES: usize = 8;
    let less = |a: f64, b: f64| if b < a { b } else { a };
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f64::INFINITY; LANES];
    for chunk in whole {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = less(*lane, *value);
        }
    }
    let all = lanes.iter().chain(rest).copied();
    all.fold(f64::INFINITY, less)
}

/// Interval of ends at which pruning pays for its time.
const PRUNED: usize = 16;

/// Returns the best change points in ascending order: for every end the best start of the last
/// segment, from the best solutions of all shorter series.
fn best_change_points(values: &[f64], noise: f64) -> Vec<usize> {
    let n = values.len();
    let cost = Cost::new(values, noise);
    let penalty = PENALTY * (n as f64).ln();
    // least[end] and last[end] are the cost, and the start of the last segment, of the best
    // solution for the samples before `end`.
    let mut least = vec![f64::INFINITY; n + 1];
    let mut last = vec![0; n + 1];
    let mut candidates = Candidates::default();
    candidates.push(0, 0.0, &cost);
    for end in MIN_SEGMENT..=n {
        // A segment that begins at `fresh` is now long enough. A start that was worse there by more
        // than a penalty can never be the best again: a new segment at `fresh` is cheaper for every
        // later end.
        let fresh = end - MIN_SEGMENT;
        if fresh >= MIN_SEGMENT {
            let ceiling = least[fresh] + penalty;
            if end % PRUNED == 0 {
                candidates.prune(fresh, ceiling, &cost);
            }
            candidates.push(fresh, ceiling, &cost);
        }
        (least[end], last[end]) = candidates.least(end, &cost);
    }
    let starts = std::iter::successors(Some(last[n]), |&start| Some(last[start]));
    let mut points: Vec<usize> = starts.take_while(|&start| start > 0).collect();
    points.reverse();
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::rng::SplitMix64;
    use assay_model::trial::Gap;
    use proptest::prelude::*;

    /// Normal noise of unit variance (Box-Muller).
    fn normal(rng: &mut SplitMix64) -> f64 {
        let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    /// Levels around which every sample scatters by 5 %.
    fn noisy(levels: &[(f64, usize)], seed: u64) -> Vec<f64> {
        let mut rng = SplitMix64::new(seed);
        let levels = levels.iter().flat_map(|&(level, n)| vec![level; n]);
        levels
            .map(|level| level * (1.0 + 0.05 * normal(&mut rng)))
            .collect()
    }

    fn starts(values: &[f64]) -> Vec<usize> {
        segments(values).iter().map(|s| s.start).collect()
    }

    #[test]
    fn a_constant_is_one_segment() {
        for n in [1, 2, 9, 10, 19, 20, 21, 500] {
            for level in [0.0, 1.0, 8e8] {
                let whole = Segment {
                    start: 0,
                    end: n,
                    mean: level,
                };
                assert_eq!(segments(&vec![level; n]), [whole], "{n} times {level}");
            }
        }
    }

    #[test]
    fn no_samples_or_broken_ones_give_no_segment() {
        assert_eq!(segments(&[]), []);
        for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut values = vec![1.0; 40];
            values[20] = broken;
            assert_eq!(segments(&values), []);
        }
    }

    #[test]
    fn extreme_values_do_not_panic() {
        let values: Vec<f64> = (0..60)
            .map(|i| if i < 30 { f64::MAX } else { -f64::MAX })
            .collect();
        assert!(!segments(&values).is_empty());
        assert_eq!(segments(&[f64::MIN_POSITIVE; 60]).len(), 1);
    }

    #[test]
    fn independent_noise_is_one_segment() {
        assay_testkit::needs!(full);
        for (n, series) in [(20, 1_000), (60, 1_000), (300, 300), (1_000, 50)] {
            let cut = (0..series)
                .filter(|&seed| segments(&noisy(&[(80e6, n)], seed)).len() > 1)
                .count();
            assert_eq!(cut, 0, "of {series} series of {n} samples");
        }
    }

    #[test]
    fn autocorrelated_noise_is_seldom_cut() {
        let cut = (0..200).filter(|&seed| {
            let mut rng = SplitMix64::new(seed);
            let mut state = normal(&mut rng);
            let mut wander = || {
                state = 0.8 * state + 0.6 * normal(&mut rng);
                100.0 + 5.0 * state
            };
            let values: Vec<f64> = (0..300).map(|_| wander()).collect();
            segments(&values).len() > 1
        });
        let cut = cut.count();
        assert!(cut <= 20, "{cut} of 200");
    }

    #[test]
    fn a_halved_speed_is_found_within_three_samples() {
        for seed in 0..40 {
            for (before, after) in [(40, 60), (150, 150), (500, 100), (20, 300)] {
                let found = starts(&noisy(&[(80e6, before), (40e6, after)], seed));
                assert_eq!(found.len(), 2, "seed {seed}, {before}+{after}: {found:?}");
                let off = found[1].abs_diff(before);
                assert!(off <= 3, "seed {seed}, {before}+{after}: {found:?}");
            }
        }
    }

    #[test]
    fn a_step_is_found_without_any_noise() {
        let values = [vec![80e6; 40], vec![40e6; 60]].concat();
        assert_eq!(starts(&values), [0, 40]);
        let flicker = [vec![80e6; 40], vec![80.1e6; 60]].concat();
        assert_eq!(starts(&flicker), [0], "0.1 % is no step");
    }

    #[test]
    fn stalls_at_either_end_are_no_segment() {
        for seed in 0..20 {
            let mut values = noisy(&[(100.0, 300)], seed);
            for index in [0, 2, 4, 295, 297, 299] {
                values[index] = 0.0;
            }
            assert_eq!(starts(&values), [0], "seed {seed}");
        }
    }

    #[test]
    fn burst_cliff_and_recovery_are_three_levels() {
        let found = segments(&noisy(&[(300.0, 50), (40.0, 200), (120.0, 80)], 5));
        let levels: Vec<f64> = found.iter().map(|s| s.mean).collect();
        assert_eq!(levels.len(), 3, "{found:?}");
        for (level, truth) in levels.iter().zip([300.0, 40.0, 120.0]) {
            assert!((level / truth - 1.0).abs() < 0.02, "{level} is not {truth}");
        }
    }

    #[test]
    fn scattered_stalls_neither_cut_a_series_nor_hide_a_cliff() {
        for seed in 0..100 {
            let mut rng = SplitMix64::new(seed + 1_000);
            let mut with_stalls = |levels: &[(f64, usize)]| {
                let mut values = noisy(levels, seed);
                for value in &mut values {
                    if rng.below(20) == 0 {
                        *value = 0.0;
                    }
                }
                starts(&values)
            };
            let flat = with_stalls(&[(100.0, 300)]);
            assert_eq!(flat, [0], "seed {seed}");
            let cliff = with_stalls(&[(100.0, 150), (50.0, 150)]);
            assert_eq!(cliff.len(), 2, "seed {seed}: {cliff:?}");
            assert!(cliff[1].abs_diff(150) <= 4, "seed {seed}: {cliff:?}");
        }
    }

    #[test]
    fn coarse_counts_are_one_segment() {
        // Three or four large blocks fit into an interval.
        let mut rng = SplitMix64::new(3);
        let mut count = || if rng.below(10) == 0 { 4.0 } else { 3.0 };
        let values: Vec<f64> = (0..300).map(|_| count() * 1_048_576.0).collect();
        assert_eq!(segments(&values).len(), 1);
    }

    fn series(bytes: &[u64]) -> Measurement {
        let point = |&write_bytes| Interval {
            write_bytes,
            ..Interval::default()
        };
        Measurement {
            series: Series {
                interval_ns: 100_000_000,
                points: bytes.iter().map(point).collect(),
            },
            ..Measurement::default()
        }
    }

    fn stall(start_index: usize, intervals: usize) -> Stall {
        Stall {
            start_index,
            intervals,
        }
    }

    #[test]
    fn runs_of_empty_intervals_are_stalls() {
        let found = stalls(&series(&[0, 5, 0, 0, 0, 5, 5, 0, 5]));
        assert_eq!(found, [stall(0, 1), stall(2, 3), stall(7, 1)]);
    }

    #[test]
    fn the_last_interval_is_no_stall() {
        assert_eq!(stalls(&series(&[5, 5, 0])), []);
        assert_eq!(stalls(&series(&[5, 0, 0])), [stall(1, 1)]);
        assert_eq!(stalls(&series(&[0])), []);
        assert_eq!(stalls(&series(&[])), []);
    }

    #[test]
    fn reading_while_not_writing_is_no_stall() {
        let mut both = series(&[5, 0, 5, 5]);
        both.series.points[1].read_bytes = 4_096;
        assert_eq!(stalls(&both), []);
    }

    #[test]
    fn the_wait_for_a_flush_is_no_stall() {
        let mut measured = series(&[5, 0, 0, 0, 5, 0, 5]);
        measured.longest_gap = Some(Gap {
            start_ns: 490_000_000,
            length_ns: 120_000_000,
        });
        let both = [stall(1, 3), stall(5, 1)];
        assert_eq!(stalls(&measured), both, "there was no flush");
        measured.flush.count = 1;
        assert_eq!(stalls(&measured), both[1..]);
        measured.longest_gap.as_mut().unwrap().length_ns = 350_000_000;
        assert_eq!(stalls(&measured), both, "the device stalled that long");
        measured.longest_gap = None;
        assert_eq!(stalls(&measured), both, "nobody can tell");
    }

    #[test]
    fn a_day_of_samples_is_searched_in_groups() {
        let n = 864_000;
        let cliff = 300_000;
        let values = noisy(&[(80e6, cliff), (40e6, n - cliff)], 9);
        let found = segments(&values);
        assert_eq!(found.len(), 2, "{found:?}");
        let group = n.div_ceil(MAX_SAMPLES);
        assert!(found[0].end.abs_diff(cliff) <= 3 * group, "{found:?}");
        assert_eq!((found[1].start, found[1].end), (found[0].end, n));
        assert!((found[1].mean / 40e6 - 1.0).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn groups_start_only_above_the_limit() {
        for n in [MAX_SAMPLES, MAX_SAMPLES + 1, 3 * MAX_SAMPLES - 1] {
            let cliff = n / 3;
            let found = starts(&noisy(&[(80e6, cliff), (40e6, n - cliff)], 1));
            assert_eq!(found.len(), 2, "{n}: {found:?}");
            let off = found[1].abs_diff(cliff);
            assert!(off <= 3 * n.div_ceil(MAX_SAMPLES), "{n}: {found:?}");
        }
    }

    /// Returns the same minimum without pruning, as reference.
    fn least_cost(values: &[f64], noise: f64) -> f64 {
        let cost = Cost::new(values, noise);
        let penalty = PENALTY * (values.len() as f64).ln();
        let mut least = vec![f64::INFINITY; values.len() + 1];
        for end in MIN_SEGMENT..=values.len() {
            least[end] = (MIN_SEGMENT..=end - MIN_SEGMENT)
                .map(|start| least[start] + penalty + cost.of(start, end))
                .fold(cost.of(0, end), f64::min);
        }
        least[values.len()]
    }

    proptest! {
        #[test]
        fn pruning_loses_nothing(
            levels in prop::collection::vec((0.0..100.0, 1usize..40), 1..6),
            scatter in prop::collection::vec(-4.0..4.0, 200),
        ) {
            let levels = levels.iter().flat_map(|&(level, n): &(f64, usize)| vec![level; n]);
            let values: Vec<f64> = levels.zip(&scatter).map(|(level, s)| level + s).collect();
            prop_assume!(values.len() >= MIN_SEGMENT);
            let mut bounds = best_change_points(&values, 2.0);
            let cost = Cost::new(&values, 2.0);
            let penalty = PENALTY * (values.len() as f64).ln() * bounds.len() as f64;
            bounds.push(values.len());
            let mut start = 0;
            let mut total = penalty;
            for end in bounds {
                prop_assert!(end - start >= MIN_SEGMENT);
                total += cost.of(start, end);
                start = end;
            }
            let least = least_cost(&values, 2.0);
            prop_assert!((total - least).abs() <= 1e-6 * (1.0 + least), "{total} {least}");
        }
    }
}

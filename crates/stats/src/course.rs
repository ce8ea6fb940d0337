//! Analysis within one trial: its course (rate over time, levels and stalls), the end of the
//! warm-up, steadiness, and the precision of percentiles. Diagnostics only: samples of a trial
//! depend on each other, so verdicts use one value per trial.
//!
//! [`Percentile::estimable`] decides whether a latency percentile may be shown at all.

use crate::distributions;
use crate::histogram::Percentile;
use crate::steps::{Segment, segments, stalls};
use assay_model::trial::{Gap, Interval, Measurement};
use assay_model::units::{Bytes, Nanos};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Probability on each side of a 95 % interval.
const TAIL: f64 = 0.025;

/// Returns the ranks, counted from 1, of the two I/Os (in order of latency) that enclose the
/// percentile with a confidence of 95 %: the binomial's quantile .025, and its quantile .975 plus
/// 1. `None` if an end is beyond the last I/O (below 368 I/Os for p99, 3 688 for p99.9).
///
/// The interval holds for independent I/Os only. The I/Os of a trial are not independent: verdicts
/// use the percentile of each trial as one value.
///
/// ```
/// use assay_stats::histogram::Percentile;
/// use assay_stats::course::interval_ranks;
/// assert_eq!(interval_ranks(Percentile::P99, 10_000), Some((9_880, 9_920)));
/// assert_eq!(interval_ranks(Percentile::P99, 367), None);
/// ```
pub fn interval_ranks(percentile: Percentile, n: u64) -> Option<(u64, u64)> {
    if n == 0 || percentile == Percentile::P100 {
        return None;
    }
    let binomial = Binomial::new(percentile.share(), n).ok()?;
    let (low, high) = (
        quantile(&binomial, n, TAIL),
        quantile(&binomial, n, 1.0 - TAIL) + 1,
    );
    (low >= 1 && high <= n).then_some((low, high))
}

/// Returns the least number that is not exceeded with this probability.
fn quantile(binomial: &Binomial, n: u64, probability: f64) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if binomial.cdf(middle) >= probability {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Samples per batch.
const BATCH: usize = 5;

/// Fewest batches for the search.
const MIN_BATCHES: usize = 8;

/// Returns the number of samples to leave out at the start, by MSER-5 (White 1997): of means z of
/// five samples, the cut d that minimizes sum_{i > d} (z_i - mean)^2 / (N - d)^2, the squared error
/// of the mean of the remaining samples. `None` without a steady state: if more than half would be
/// left out, with fewer than 40 samples, or if one is not finite.
///
/// The last quarter is not searched: a few batches that are similar by chance would look like a
/// steady state.
///
/// ```
/// use assay_stats::course::cut;
/// let mut speed = vec![200.0, 150.0, 130.0, 115.0, 105.0];
/// speed.extend((0..75).map(|i| if i % 2 == 0 { 100.0 } else { 101.0 }));
/// assert_eq!(cut(&speed), Some(5));
/// ```
pub fn cut(values: &[f64]) -> Option<usize> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let batches: Vec<f64> = values
        .chunks_exact(BATCH)
        .map(|five| five.iter().sum::<f64>() / BATCH as f64)
        .collect();
    let n = batches.len();
    if n < MIN_BATCHES {
        return None;
    }
    let (error, d) = least_error(&batches);
    (error.is_finite() && 2 * d <= n).then_some(d * BATCH)
}

/// Returns the least squared error of the mean of the remaining samples, and its cut; the first of
/// several. The sum of squares is updated batch by batch from the end (Welford 1962).
fn least_error(batches: &[f64]) -> (f64, usize) {
    let (mut kept, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (d, z) in batches.iter().enumerate().rev() {
        kept += 1.0;
        let off = z - mean;
        mean += off / kept;
        squares += off * (z - mean);
        let error = squares / (kept * kept);
        if 4 * d <= 3 * batches.len() && error <= best.0 {
            best = (error, d);
        }
    }
    best
}

/// Number of rounds that are evaluated together.
pub const WINDOW: usize = 5;
/// Largest range of the rounds, as a share of their mean.
const RANGE: f64 = 0.20;
/// Largest rise or fall of their trend over the window, as a share of their mean.
const TREND: f64 = 0.10;

/// Evaluation of the last rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Mean of the rounds.
    pub mean: f64,
    /// Largest minus smallest round, divided by the mean.
    pub range: f64,
    /// Absolute change of the least-squares line from the first to the last round, divided by the
    /// mean.
    pub trend: f64,
}

impl Window {
    /// Evaluates the last [`WINDOW`] rounds; `None` if there are fewer, or if their mean is not
    /// positive.
    ///
    /// Source: SNIA Solid State Storage Performance Test Specification, steady
    /// state: over five rounds, the range is at most 20 % of the average, and
    /// the best linear fit changes by at most 10 % of it.
    ///
    /// ```
    /// use assay_stats::course::Window;
    /// let window = Window::of(&[90.0, 100.0, 100.0, 101.0, 99.0, 100.0]).unwrap();
    /// assert!(window.is_steady());
    /// assert!(!Window::of(&[100.0, 90.0, 80.0, 72.0, 65.0]).unwrap().is_steady());
    /// ```
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let last = rounds.last_chunk::<WINDOW>()?;
        let mean = last.iter().sum::<f64>() / WINDOW as f64;
        if mean <= 0.0 || !mean.is_finite() {
            return None;
        }
        let low = last.iter().copied().fold(f64::INFINITY, f64::min);
        let high = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Least squares over x = -2 .. 2: the sum of x^2 is 10.
        let moments = (-2_i32..).zip(last).map(|(x, y)| f64::from(x) * y);
        let slope = moments.sum::<f64>() / 10.0;
        Some(Self {
            mean,
            range: (high - low) / mean,
            trend: slope.abs() * (WINDOW - 1) as f64 / mean,
        })
    }

    /// `true` if both limits hold.
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE && self.trend <= TREND
    }
}

/// Largest drift over the windows of a steady series, as a share.
pub const DRIFT_TOLERANCE: f64 = 0.05;

/// Fewest windows for the check.
pub const MIN_STEADY_WINDOWS: usize = 10;

/// Error of each of the two one-sided tests.
const DRIFT_TAIL: f64 = 0.05;

/// Result of the check on the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// Change from the first window to the last on the fitted line, as a share
    /// of the mean.
    pub drift: f64,
    /// Half of the width of the interval of `drift` (confidence 90 %).
    pub error: f64,
    /// `true` if the whole interval is within [`DRIFT_TOLERANCE`], and no level changed.
    pub steady: bool,
    /// `true` if SNIA's rule on the last five windows holds, which accepts drifts of 10 %.
    pub snia: bool,
}

/// Checks windows of equal bytes (or time), 10 to 30 of them. `None` with fewer than 10, or if
/// their mean is not positive.
pub fn steadiness(windows: &[f64]) -> Option<Steadiness> {
    if windows.len() < MIN_STEADY_WINDOWS {
        return None;
    }
    let line = FittedLine::fit(windows)?;
    let df = windows.len() as f64 - 2.0;
    let drift = line.excursion / line.mean;
    let error = distributions::student_quantile(DRIFT_TAIL, df) * line.excursion_error / line.mean;
    Some(Steadiness {
        drift,
        error,
        steady: drift.abs() + error <= DRIFT_TOLERANCE && segments(windows).len() == 1,
        snia: Window::of(windows).is_some_and(|window| window.is_steady()),
    })
}

/// A straight line through equally spaced values.
struct FittedLine {
    mean: f64,
    /// Change of the line from the first to the last value.
    excursion: f64,
    /// Standard error of the change.
    excursion_error: f64,
}

impl FittedLine {
    fn fit(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let middle = (n - 1.0) / 2.0;
        let placed = || {
            values
                .iter()
                .enumerate()
                .map(|(i, y)| (i as f64 - middle, y - mean))
        };
        let squares: f64 = placed().map(|(x, _)| x * x).sum();
        let slope = placed().map(|(x, y)| x * y).sum::<f64>() / squares;
        let left: f64 = placed().map(|(x, y)| (y - slope * x).powi(2)).sum();
        let span = n - 1.0;
        let excursion_error = span * (left / (n - 2.0) / squares).sqrt();
        let usable = mean > 0.0 && mean.is_finite() && excursion_error.is_finite();
        usable.then_some(Self {
            mean,
            excursion: span * slope,
            excursion_error,
        })
    }
}

/// Shortest stall that is not part of a level.
const LONG_STALL: Nanos = Nanos::millis(500);

/// Rate in each interval, empty ones included.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Width of an interval.
    pub interval_s: f64,
    /// Bytes per second, reads and writes together.
    pub values: Vec<f64>,
}

/// A part of a trial with one level of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// First interval.
    pub start: usize,
    /// Index after the last interval.
    pub end: usize,
    /// Rate in bytes per second. A single level includes the stalls; one of several levels excludes
    /// them.
    pub rate: f64,
    /// Bytes transferred before the level began.
    pub bytes_before: Bytes,
}

/// A period without a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallTime {
    /// Start of the stall, relative to clock start.
    pub start: Nanos,
    /// Duration of the stall.
    pub length: Nanos,
    /// First interval of the stall.
    pub first: usize,
    /// Number of intervals in the stall.
    pub intervals: usize,
}

/// Course of one trial over time: rate levels, stalls, warm-up and steadiness.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Rate over time.
    pub rates: Rates,
    /// Rate levels; more than one means that the rate changed permanently.
    pub levels: Vec<Level>,
    /// Stalls, in order.
    pub stalls: Vec<StallTime>,
    /// Warm-up time (`cut`); `None` if the trial never settled or is too short.
    pub warm_up: Option<Nanos>,
    /// Steadiness after the warm-up, at the last level; `None` if the trial is too short.
    pub settled: Option<Settled>,
}

/// Steadiness of a trial from a point in time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Time from which on the check applies, relative to clock start.
    pub from: Nanos,
    /// Result of the check.
    pub steadiness: Steadiness,
}

impl Course {
    /// Returns the course of a measurement; `None` when it has no series.
    pub fn of(measured: &Measurement) -> Option<Self> {
        let series = &measured.series;
        if series.points.is_empty() || series.interval_ns == 0 {
            return None;
        }
        let rates = Rates::of(measured);
        let stalls = stall_times(measured);
        let levels = levels(measured, &rates, &stalls);
        let whole = &rates.values[..series.points.len() - 1];
        let warm_up = cut(whole);
        let last_level = levels.last().map_or(0, |level| level.start);
        let from = warm_up.unwrap_or(0).max(last_level);
        let steadiness = steadiness(&of_equal_bytes(&whole[from..]));
        Some(Self {
            levels,
            stalls,
            warm_up: warm_up.map(|intervals| time_of(intervals, measured)),
            settled: steadiness.map(|steadiness| Settled {
                from: time_of(from, measured),
                steadiness,
            }),
            rates,
        })
    }

    /// Returns the number of whole intervals without a completion.
    pub fn empty_intervals(&self) -> usize {
        let lengths = self.stalls.iter().map(|stall| stall.intervals);
        lengths.sum()
    }

    /// Returns the longest stall.
    pub fn longest_stall(&self) -> Option<StallTime> {
        self.stalls.iter().copied().max_by_key(|stall| stall.length)
    }
}

/// Returns the levels of the rate. A stall is a separate event, not a part of a level: it would
/// look like a phase that the device never had.
fn levels(measured: &Measurement, rates: &Rates, stalls: &[StallTime]) -> Vec<Level> {
    let points = &measured.series.points;
    let whole = &rates.values[..points.len() - 1];
    let counted = outside_stalls(whole.len(), stalls);
    let values: Vec<f64> = counted.iter().map(|&index| whole[index]).collect();
    let segments = segments(&values);
    if segments.len() < 2 {
        return vec![Level {
            start: 0,
            end: whole.len().max(1),
            rate: rate_of_all(measured),
            bytes_before: Bytes(0),
        }];
    }
    let start_of = |segment: &Segment| counted.get(segment.start).copied().unwrap_or(0);
    let ends = segments[1..].iter().map(start_of).chain([whole.len()]);
    segments
        .iter()
        .zip(ends)
        .map(|(segment, end)| Level {
            start: start_of(segment),
            end,
            rate: segment.mean,
            bytes_before: Bytes(points[..start_of(segment)].iter().map(moved).sum()),
        })
        .collect()
}

/// Returns the intervals that are in no long stall. If long stalls take most of the time they are
/// normal for the device, and all intervals count.
fn outside_stalls(intervals: usize, stalls: &[StallTime]) -> Vec<usize> {
    let long: Vec<&StallTime> = stalls.iter().filter(|s| s.length >= LONG_STALL).collect();
    let stalled: usize = long.iter().map(|stall| stall.intervals).sum();
    let in_stall = |index: usize| {
        long.iter()
            .any(|stall| (stall.first..stall.first + stall.intervals).contains(&index))
    };
    (0..intervals)
        .filter(|&index| stalled * 2 > intervals || !in_stall(index))
        .collect()
}

impl Rates {
    /// Computes the rates. A shorter last interval counts with its actual width, or not at all
    /// below half of a width, where a single block would look like a burst or a cliff.
    fn of(measured: &Measurement) -> Self {
        let series = &measured.series;
        let width_s = Nanos(series.interval_ns).as_secs_f64();
        let mut values: Vec<f64> = series.points.iter().map(|p| rate(p, width_s)).collect();
        let before_last = series.interval_ns.saturating_mul(values.len() as u64 - 1);
        let last_ns = measured.elapsed_ns.saturating_sub(before_last);
        let is_only = values.len() == 1;
        if last_ns < series.interval_ns && last_ns > 0 {
            values.pop();
            if is_only || last_ns >= series.interval_ns / 2 {
                let last_s = Nanos(last_ns).as_secs_f64();
                values.extend(series.points.last().map(|point| rate(point, last_s)));
            }
        }
        Self {
            interval_s: width_s,
            values,
        }
    }
}

/// Returns the mean rate of the whole measurement, stalls included.
fn rate_of_all(measured: &Measurement) -> f64 {
    let bytes: u64 = measured.series.points.iter().map(moved).sum();
    let seconds = Nanos(measured.elapsed_ns).as_secs_f64();
    if seconds > 0.0 {
        bytes as f64 / seconds
    } else {
        0.0
    }
}

/// Returns the runs of empty intervals. The run that contains the longest gap has the gap's exact
/// time.
fn stall_times(measured: &Measurement) -> Vec<StallTime> {
    let time = |intervals| time_of(intervals, measured).0;
    let stalls = stalls(measured).into_iter().map(|stall| {
        let (start_ns, length_ns) = (time(stall.start_index), time(stall.intervals));
        let holds = |gap: &Gap| {
            let end_ns = gap.start_ns.saturating_add(gap.length_ns);
            gap.start_ns <= start_ns && end_ns >= start_ns.saturating_add(length_ns)
        };
        let exact = measured.longest_gap.filter(holds);
        StallTime {
            start: Nanos(exact.map_or(start_ns, |gap| gap.start_ns)),
            length: Nanos(exact.map_or(length_ns, |gap| gap.length_ns)),
            first: stall.start_index,
            intervals: stall.intervals,
        }
    });
    stalls.collect()
}

const fn time_of(intervals: usize, measured: &Measurement) -> Nanos {
    Nanos(measured.series.interval_ns.saturating_mul(intervals as u64))
}

const fn moved(point: &Interval) -> u64 {
    point.read_bytes.saturating_add(point.write_bytes)
}

fn rate(point: &Interval, width_s: f64) -> f64 {
    moved(point) as f64 / width_s
}

/// Most windows; enough to detect any trend. The windows of the steadiness check have equal bytes,
/// so that a slow window has the same weight as a fast one.
const MOST: usize = 30;

/// Fewest intervals per window.
const INTERVALS: usize = 3;

/// Returns the bytes per interval of each of at most [`MOST`] windows of equal bytes; if a window
/// ends within an interval, the bytes of the interval are spread evenly over it. Empty when there
/// are no bytes.
fn of_equal_bytes(intervals: &[f64]) -> Vec<f64> {
    let windows = (intervals.len() / INTERVALS).min(MOST);
    let each = intervals.iter().sum::<f64>() / windows as f64;
    let mut rates = Vec::new();
    if !each.is_finite() || each <= 0.0 {
        return rates;
    }
    let (mut moved, mut began) = (0.0, 0.0);
    for (start, bytes) in intervals.iter().enumerate() {
        let mut end = (rates.len() + 1) as f64 * each;
        // The last window ends with the course, independent of rounding.
        while moved + bytes >= end && rates.len() + 1 < windows {
            let now = start as f64 + (end - moved) / bytes;
            rates.push(each / (now - began));
            began = now;
            end += each;
        }
        moved += bytes;
    }
    rates.push(each / (intervals.len() as f64 - began));
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::trial::Series;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_reference() {
        assert_eq!(
            interval_ranks(Percentile::P99, 10_000),
            Some((9_880, 9_920))
        );
        assert_eq!(
            interval_ranks(Percentile::P99_9, 10_000),
            Some((9_983, 9_997))
        );
    }

    #[test]
    fn the_least_numbers_are_those_of_the_reference() {
        for (n, percentile) in [
            (368, Percentile::P99),
            (3_688, Percentile::P99_9),
            (36_887, Percentile::P99_99),
        ] {
            assert!(interval_ranks(percentile, n).is_some(), "{percentile}");
            assert_eq!(interval_ranks(percentile, n - 1), None, "{percentile}");
        }
    }

    #[test]
    fn extremes_have_no_ranks() {
        let least = Percentile::ppm(0);
        assert_eq!(interval_ranks(least, 1_000), None);
        assert_eq!(interval_ranks(Percentile::P100, 1_000), None);
        assert_eq!(interval_ranks(Percentile::P50, 0), None);
    }

    fn noisy(n: u32, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let noise = |i: f64| 2.0 * (12.9898 * i).sin();
        (0..n).map(f64::from).map(|i| level(i) + noise(i)).collect()
    }

    #[test]
    fn what_is_level_is_kept() {
        assert_eq!(cut(&noisy(120, |_| 100.0)), Some(0));
        assert_eq!(cut(&[100.0; 60]), Some(0));
    }

    #[test]
    fn a_burst_is_cut_off() {
        let found = cut(&noisy(120, |i| if i < 22.0 { 300.0 } else { 100.0 }));
        assert!(matches!(found, Some(20..=30)), "{found:?}");
    }

    #[test]
    fn what_never_settles_has_no_cut() {
        assert_eq!(cut(&noisy(120, |i| 300.0 - 2.0 * i)), None);
        assert_eq!(
            cut(&noisy(120, |i| if i < 80.0 { 300.0 } else { 100.0 })),
            None
        );
        assert_eq!(cut(&noisy(39, |_| 100.0)), None);
        assert_eq!(cut(&[f64::NAN; 60]), None);
    }

    #[test]
    fn the_cut_is_that_of_the_definition() {
        let batches: Vec<f64> = noisy(40, |i| 100.0 + 80.0 * (-i / 6.0).exp());
        let error = |d: usize| {
            let kept = &batches[d..];
            let n = kept.len() as f64;
            let mean = kept.iter().sum::<f64>() / n;
            kept.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (n * n)
        };
        let (found, d) = least_error(&batches);
        assert!((found - error(d)).abs() < 1e-12);
        assert!((0..=30).all(|other| error(other) >= found - 1e-12));
    }

    proptest! {
        #[test]
        fn at_most_half_goes(values in prop::collection::vec(any::<f64>(), 0..90)) {
            prop_assert!(cut(&values).is_none_or(|d| 2 * d <= values.len()));
        }
    }

    #[test]
    fn a_trend_counts_as_well_as_a_range() {
        // Ranges by 16 %, but all in one direction: 4 x 4 % = 16 % > 10 %.
        let window = Window::of(&[92.0, 96.0, 100.0, 104.0, 108.0]).unwrap();
        assert!((window.range - 0.16).abs() < 1e-9 && (window.trend - 0.16).abs() < 1e-9);
        assert!(!window.is_steady());
        let window = Window::of(&[92.0, 108.0, 100.0, 92.0, 108.0]).unwrap();
        assert!(window.is_steady(), "{window:?}");
        let window = Window::of(&[85.0, 107.0, 100.0, 86.0, 106.0]).unwrap();
        assert!(!window.is_steady(), "ranges by more than 20 %: {window:?}");
    }

    #[test]
    fn four_rounds_are_too_few_and_nothing_is_no_speed() {
        assert_eq!(Window::of(&[1.0; 4]), None);
        assert_eq!(Window::of(&[0.0; 5]), None);
    }

    fn windows(drift: f64, noise: f64) -> Vec<f64> {
        let of = |i: f64| 100.0 * (1.0 + drift * i / 19.0 + noise * (12.9898 * i).sin());
        (0..20).map(f64::from).map(of).collect()
    }

    #[test]
    fn little_drift_and_little_noise_are_steady() {
        let found = steadiness(&windows(0.01, 0.01)).unwrap();
        assert!(found.steady && found.snia, "{found:?}");
    }

    /// Neither drift nor ignorance passes; SNIA's rule lets the first one.
    #[test]
    fn drift_and_noise_are_not_steady() {
        let drifting = steadiness(&windows(0.10, 0.001)).unwrap();
        assert!(!drifting.steady && drifting.snia, "{drifting:?}");
        assert!((drifting.drift - 0.10 / 1.05).abs() < 2e-3);
        assert!(!steadiness(&windows(0.0, 0.15)).unwrap().steady);
    }

    #[test]
    fn a_cliff_is_not_steady() {
        let mut values = vec![100.0; 10];
        values.extend([97.0; 10]);
        let tent: Vec<f64> = values
            .iter()
            .enumerate()
            .map(|(i, v)| v + 0.01 * (i % 3) as f64)
            .collect();
        assert!(!steadiness(&tent).unwrap().steady);
    }

    #[test]
    fn what_tells_nothing_is_none() {
        assert_eq!(steadiness(&[1.0; 9]), None);
        assert_eq!(steadiness(&[0.0; 12]), None);
        assert_eq!(steadiness(&[f64::NAN; 12]), None);
    }

    fn measured(bytes: &[u64], elapsed_ns: u64) -> Measurement {
        let points = bytes.iter().map(|bytes| Interval {
            write_bytes: *bytes,
            ..Interval::default()
        });
        Measurement {
            elapsed_ns,
            series: Series {
                interval_ns: 100_000_000,
                points: points.collect(),
            },
            ..Measurement::default()
        }
    }

    #[test]
    fn a_long_stall_near_the_end_is_no_cliff() {
        let mut bytes = vec![80_000_000; 25];
        bytes.extend([0; 21]);
        bytes.extend([70_000_000, 85_000_000, 78_000_000, 82_000_000, 10_000_000]);
        let course = Course::of(&measured(&bytes, 5_020_000_000)).unwrap();
        assert_eq!(course.levels.len(), 1, "{:?}", course.levels);
        assert_eq!(course.stalls.len(), 1);
    }

    #[test]
    fn a_cliff_after_a_long_stall_is_found_where_it_is() {
        let mut bytes = vec![80_000_000; 30];
        bytes.extend([0; 10]);
        bytes.extend([80_000_000; 10]);
        bytes.extend([10_000_000; 40]);
        let course = Course::of(&measured(&bytes, 9_000_000_000)).unwrap();
        let levels: Vec<(usize, f64)> = course.levels.iter().map(|l| (l.start, l.rate)).collect();
        assert_eq!(levels, [(0, 800e6), (50, 100e6)]);
    }

    #[test]
    fn a_cliff_is_two_levels_and_tells_after_how_much() {
        let mut bytes = vec![8_000_000; 50];
        bytes.extend([1_000_000; 51]);
        let course = Course::of(&measured(&bytes, 10_100_000_000)).unwrap();
        let levels = course.levels.iter();
        let levels: Vec<(u64, f64)> = levels.map(|l| (l.bytes_before.0, l.rate.round())).collect();
        assert_eq!(levels, [(0, 80e6), (400_000_000, 10e6)]);
        assert_eq!(course.stalls, []);
    }

    #[test]
    fn stalls_keep_their_time() {
        let course = Course::of(&measured(&[1, 0, 0, 0, 1, 1], 600_000_000)).unwrap();
        let stall = course.longest_stall().unwrap();
        assert_eq!(
            (stall.start, stall.length),
            (Nanos::millis(100), Nanos::millis(300))
        );
    }

    #[test]
    fn the_longest_stall_has_its_exact_time() {
        let mut measured = measured(&[1, 0, 0, 0, 1, 0, 1], 700_000_000);
        measured.longest_gap = Some(Gap {
            start_ns: 92_000_000,
            length_ns: 350_000_000,
        });
        let stalls = Course::of(&measured).unwrap().stalls;
        let times: Vec<(u64, u64)> = stalls.iter().map(|s| (s.start.0, s.length.0)).collect();
        assert_eq!(
            times,
            [(92_000_000, 350_000_000), (500_000_000, 100_000_000)]
        );
    }

    #[test]
    fn a_single_level_is_the_rate_of_the_whole() {
        let course = Course::of(&measured(&[100, 100, 60], 230_000_000)).unwrap();
        let levels: Vec<f64> = course.levels.iter().map(|l| l.rate.round()).collect();
        assert_eq!(levels, [1130.0]); // 260 bytes in 0.23 s
    }

    #[test]
    fn a_short_last_interval_is_neither_slow_nor_a_burst() {
        let rates = |elapsed_ns| Course::of(&measured(&[100, 60], elapsed_ns)).unwrap().rates;
        let rounded = |rates: Rates| rates.values.iter().map(|r| r.round()).collect::<Vec<_>>();
        assert_eq!(rounded(rates(160_000_000)), [1000.0, 1000.0]);
        assert_eq!(rounded(rates(110_000_000)), [1000.0]);
        assert_eq!(rounded(rates(200_000_000)), [1000.0, 600.0]);
    }

    #[test]
    fn after_a_burst_it_is_steady() {
        let course = |burst: usize, n: usize| {
            let level = |i| if i < burst { 9_000_000 } else { 3_000_000 };
            let bytes: Vec<u64> = (0..n)
                .map(|i| level(i) + (i as u64 * 7 % 5) * 10_000)
                .collect();
            Course::of(&measured(&bytes, n as u64 * 100_000_000)).unwrap()
        };
        let found = course(20, 121);
        assert_eq!(found.warm_up, Some(Nanos::secs(2)));
        assert!(found.settled.unwrap().steadiness.steady, "{found:?}");
        // Most of it is burst: it never settled, but its last level is steady.
        let late = course(80, 121);
        assert_eq!(late.warm_up, None);
        let settled = late.settled.unwrap();
        assert_eq!(settled.from, Nanos::secs(8));
        assert!(settled.steadiness.steady, "{late:?}");
        let short = course(0, 25);
        assert_eq!((short.warm_up, short.settled), (None, None));
    }

    #[test]
    fn no_series_no_course() {
        assert_eq!(Course::of(&measured(&[], 0)), None);
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }

    #[test]
    fn each_window_holds_as_much() {
        near(&of_equal_bytes(&[6.0; 9]), &[6.0; 3]);
        // 54 bytes in two windows: the first one ends 9 bytes into the 24.
        near(
            &of_equal_bytes(&[6.0, 6.0, 6.0, 24.0, 6.0, 0.0, 6.0]),
            &[27.0 / 3.375, 27.0 / 3.625],
        );
        assert_eq!(of_equal_bytes(&[1.0; 900]).len(), MOST);
    }

    #[test]
    fn nothing_moved_has_no_windows() {
        assert!(of_equal_bytes(&[0.0; 90]).is_empty());
        assert!(of_equal_bytes(&[]).is_empty());
        assert!(of_equal_bytes(&[1.0, 1.0]).is_empty());
    }

    #[test]
    fn a_burst_of_one_interval_does_not_divide_by_nothing() {
        let mut intervals = vec![0.0; 60];
        intervals[0] = 1e9;
        let rates = of_equal_bytes(&intervals);
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
    }
}

//! Course of one trial: rate over time, its levels, its stalls, the end of the warm-up, and
//! steadiness. Samples of a trial depend on each other, so this is a diagnosis only: verdicts use
//! one value per trial.

use crate::steps::{Segment, segments, stalls};
use crate::within_trial;
use crate::within_trial::steady::{Steadiness, steadiness};
use assay_model::trial::{Gap, Interval, Measurement};
use assay_model::units::{Bytes, Nanos};

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
        let warm_up = within_trial::cut(whole);
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

//! The course of one trial: rate over time, its steady levels, its stalls.

use assay_model::trial::{Interval, Measurement};
use assay_model::units::{Bytes, Nanos};
use assay_stats::steps::{segments, stalls};

/// Rate in each interval, empty ones included.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Width of an interval.
    pub interval_s: f64,
    /// Bytes per second, reads and writes together.
    pub values: Vec<f64>,
}

/// A stretch with one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// First interval.
    pub start: usize,
    /// After the last interval.
    pub end: usize,
    /// Bytes per second, stalls included.
    pub rate: f64,
    /// What was moved before it began.
    pub bytes_before: Bytes,
}

/// A time in which nothing completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallTime {
    /// From clock start.
    pub start: Nanos,
    /// How long.
    pub length: Nanos,
    /// The same in intervals.
    pub intervals: usize,
}

/// What happened over the time of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Rate over time.
    pub rates: Rates,
    /// Its levels: more than one means that the rate changed for good.
    pub levels: Vec<Level>,
    /// Its stalls, in order.
    pub stalls: Vec<StallTime>,
}

impl Course {
    /// The course of a measurement; `None` when it has no series.
    #[must_use]
    pub fn of(measured: &Measurement) -> Option<Self> {
        let series = &measured.series;
        if series.points.is_empty() || series.interval_ns == 0 {
            return None;
        }
        let rates = Rates::of(measured);
        let whole = &rates.values[..series.points.len() - 1];
        let levels = segments(whole).into_iter().map(|segment| Level {
            start: segment.start,
            end: segment.end,
            rate: segment.mean,
            bytes_before: Bytes(series.points[..segment.start].iter().map(moved).sum()),
        });
        let time = |intervals: usize| Nanos(series.interval_ns.saturating_mul(intervals as u64));
        let stalls = stalls(series).into_iter().map(|stall| StallTime {
            start: time(stall.start_index),
            length: time(stall.intervals),
            intervals: stall.intervals,
        });
        Some(Self {
            levels: levels.collect(),
            stalls: stalls.collect(),
            rates,
        })
    }

    /// How many whole intervals had no completion.
    #[must_use]
    pub fn empty_intervals(&self) -> usize {
        let lengths = self.stalls.iter().map(|stall| stall.intervals);
        lengths.sum()
    }

    /// The longest stall.
    #[must_use]
    pub fn longest_stall(&self) -> Option<StallTime> {
        self.stalls.iter().copied().max_by_key(|stall| stall.length)
    }
}

impl Rates {
    /// The last interval may be shorter than the others: it counts with its
    /// own width, or not at all below half of one, where a single block more
    /// or less would look like a burst or a cliff.
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

const fn moved(point: &Interval) -> u64 {
    point.read_bytes.saturating_add(point.write_bytes)
}

#[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
fn rate(point: &Interval, width_s: f64) -> f64 {
    moved(point) as f64 / width_s
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
    fn a_short_last_interval_is_neither_slow_nor_a_burst() {
        let rates = |elapsed_ns| Course::of(&measured(&[100, 60], elapsed_ns)).unwrap().rates;
        let rounded = |rates: Rates| rates.values.iter().map(|r| r.round()).collect::<Vec<_>>();
        assert_eq!(rounded(rates(160_000_000)), [1000.0, 1000.0]);
        assert_eq!(rounded(rates(110_000_000)), [1000.0]);
        assert_eq!(rounded(rates(200_000_000)), [1000.0, 600.0]);
    }

    #[test]
    fn no_series_no_course() {
        assert_eq!(Course::of(&measured(&[], 0)), None);
    }
}

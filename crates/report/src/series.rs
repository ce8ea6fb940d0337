//! The course of one trial: rate over time, its steady levels, its stalls.

use assay_model::trial::{Gap, Interval, Measurement};
use assay_model::units::{Bytes, Nanos};
use assay_stats::steps::{Segment, segments, stalls};

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
        let mut segments = segments(whole);
        if segments.is_empty() {
            segments.push(Segment {
                start: 0,
                end: series.points.len(),
                mean: 0.0,
            });
        }
        let last = segments.len() - 1;
        let levels = segments.iter().enumerate().map(|(index, segment)| Level {
            start: segment.start,
            end: segment.end,
            rate: if index == last {
                rate_from(measured, segment.start)
            } else {
                segment.mean
            },
            bytes_before: Bytes(series.points[..segment.start].iter().map(moved).sum()),
        });
        Some(Self {
            levels: levels.collect(),
            stalls: stall_times(measured),
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

/// Mean rate from an interval to the end of the measurement: with the last,
/// shorter interval, so that a single level is the rate of the whole.
#[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
fn rate_from(measured: &Measurement, start: usize) -> f64 {
    let series = &measured.series;
    let bytes: u64 = series.points[start..].iter().map(moved).sum();
    let before_ns = series.interval_ns.saturating_mul(start as u64);
    let seconds = Nanos(measured.elapsed_ns.saturating_sub(before_ns)).as_secs_f64();
    if seconds > 0.0 {
        bytes as f64 / seconds
    } else {
        0.0
    }
}

/// Runs of empty intervals. The one that the longest gap fell into has the
/// gap's own time, which is exact.
fn stall_times(measured: &Measurement) -> Vec<StallTime> {
    let width_ns = measured.series.interval_ns;
    let time = |intervals: usize| width_ns.saturating_mul(intervals as u64);
    let stalls = stalls(&measured.series).into_iter().map(|stall| {
        let (start_ns, length_ns) = (time(stall.start_index), time(stall.intervals));
        let holds = |gap: &Gap| {
            let end_ns = gap.start_ns.saturating_add(gap.length_ns);
            gap.start_ns <= start_ns && end_ns >= start_ns.saturating_add(length_ns)
        };
        let exact = measured.longest_gap.filter(holds);
        StallTime {
            start: Nanos(exact.map_or(start_ns, |gap| gap.start_ns)),
            length: Nanos(exact.map_or(length_ns, |gap| gap.length_ns)),
            intervals: stall.intervals,
        }
    });
    stalls.collect()
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
    fn no_series_no_course() {
        assert_eq!(Course::of(&measured(&[], 0)), None);
    }
}

//! Merges several streams of a load into one measurement; widens and sums series of completions.

use crate::latency::{pooled, pooled_where_any};
use assay_model::load::Ddir;
use assay_model::load::report::{DirectionReport, StreamReport};
use assay_model::trial::{
    DirectionTotals, Gap, Interval, IoErrorRecord, IoErrors, Measurement, Series,
};

/// Most errors that are kept in detail.
const MAX_ERRORS_KEPT: usize = 64;
/// Resolution of start times; starts that differ by less count as simultaneous.
const START_STEP_MS: u64 = 1;

/// Merges all started streams of one reporting group into one measurement, from the first start to
/// the last end. Trims are not included.
pub fn measurement(streams: &[&StreamReport]) -> Measurement {
    let streams: Vec<&StreamReport> = streams.iter().copied().filter(|s| s.started).collect();
    let elapsed = streams.iter().map(|stream| stream.runtime_ns);
    Measurement {
        elapsed_ns: elapsed.max().unwrap_or(0),
        read: totals(&streams, Ddir::Read),
        write: totals(&streams, Ddir::Write),
        flush: pooled(streams.iter().map(|stream| &stream.sync)),
        durable: pooled_where_any(streams.iter().map(|stream| stream.durable.as_ref())),
        unflushed_bytes: unflushed(&streams),
        series: common_series(&streams),
        longest_gap: common_gap(&streams),
        errors: errors(&streams),
        cpu: streams.iter().map(|stream| stream.cpu).sum(),
    }
}

/// Sums the unflushed bytes of all streams that wrote.
fn unflushed(streams: &[&StreamReport]) -> Option<u64> {
    let writers = streams.iter().filter(|s| s.moved_bytes.write > 0);
    let mut left = writers.map(|stream| stream.unflushed_bytes).peekable();
    left.peek()?;
    left.sum()
}

/// Returns the longest clock of a direction; `None` if it ran as long as the measurement.
fn clock_ns(streams: &[&StreamReport], ddir: Ddir) -> Option<u64> {
    let moved = streams
        .iter()
        .filter(|stream| stream.directions[ddir].ios > 0);
    let clocks = moved.map(|stream| match stream.directions[ddir].runtime_ns {
        0 => stream.runtime_ns,
        clock => clock.min(stream.runtime_ns),
    });
    let whole = streams.iter().map(|stream| stream.runtime_ns).max();
    clocks.max().filter(|clock| Some(*clock) < whole)
}

fn totals(streams: &[&StreamReport], ddir: Ddir) -> DirectionTotals {
    let all = || streams.iter().map(|stream| &stream.directions[ddir]);
    let total = |direction: &'_ DirectionReport| {
        let total = direction.total.as_ref();
        total.unwrap_or(&direction.completion).clone()
    };
    let latencies: Vec<_> = all().map(total).collect();
    let submission = pooled(all().map(|direction| &direction.submission));
    DirectionTotals {
        ios: all().map(|direction| direction.ios).sum(),
        bytes: all().map(|direction| direction.bytes).sum(),
        short_ios: all().map(|direction| direction.short_ios).sum(),
        latency: pooled(&latencies),
        submission: (submission.count > 0).then_some(submission),
        clock_ns: clock_ns(streams, ddir),
    }
}

/// Returns the completions over time, from the first stream's start; empty if the intervals do not
/// match.
fn common_series(streams: &[&StreamReport]) -> Series {
    let begin_ms = streams.iter().map(|stream| stream.started_unix_ms).min();
    let begin_ms = begin_ms.unwrap_or(0).saturating_add(START_STEP_MS);
    let all = streams.iter().map(|stream| {
        let later_ms = stream.started_unix_ms.saturating_sub(begin_ms);
        (&stream.series, later_ms.saturating_mul(1_000_000))
    });
    sum(all).unwrap_or_default()
}

/// Returns the longest gap of the group. Each stream reports the same gap, relative to its own
/// start, so the stream that started first reports the latest time.
fn common_gap(streams: &[&StreamReport]) -> Option<Gap> {
    let gaps = streams.iter().filter_map(|stream| stream.longest_gap);
    gaps.max_by_key(|gap| gap.start_ns)
}

fn errors(streams: &[&StreamReport]) -> IoErrors {
    let first = streams.iter().flat_map(|stream| &stream.errors.first);
    let mut first: Vec<IoErrorRecord> = first.cloned().collect();
    first.sort_by_key(|error| error.at_ns);
    first.truncate(MAX_ERRORS_KEPT);
    IoErrors {
        count: streams.iter().map(|stream| stream.errors.count).sum(),
        first,
    }
}

/// Doubles the width of all intervals; totals are kept.
pub fn widen(series: &mut Series) {
    series.interval_ns = series.interval_ns.saturating_mul(2);
    series.points = series
        .points
        .chunks(2)
        .map(|pair| pair.iter().copied().fold(Interval::default(), together))
        .collect();
}

/// Sums several series, each with its start relative to the first (rounded down to whole
/// intervals). The result has the width of the widest; `None` if doubling does not give equal
/// widths.
pub fn sum<'a>(all: impl IntoIterator<Item = (&'a Series, u64)>) -> Option<Series> {
    let mut all: Vec<(Series, u64)> = all
        .into_iter()
        .map(|(series, later_ns)| (series.clone(), later_ns))
        .collect();
    let widest_ns = all.iter().map(|(series, _)| series.interval_ns).max()?;
    let mut points: Vec<Interval> = Vec::new();
    for (series, later_ns) in &mut all {
        while series.interval_ns > 0 && series.interval_ns < widest_ns {
            widen(series);
        }
        if series.interval_ns != widest_ns || widest_ns == 0 {
            return None;
        }
        let first = usize::try_from(*later_ns / widest_ns).ok()?;
        let end = first.checked_add(series.points.len())?;
        if points.len() < end {
            points.resize(end, Interval::default());
        }
        for (sum, point) in points[first..].iter_mut().zip(&series.points) {
            *sum = together(*sum, *point);
        }
    }
    Some(Series {
        interval_ns: widest_ns,
        points,
    })
}

/// Returns the fewest bytes written in one whole second of a series, with seconds counted from
/// clock start; `None` if it has no whole second.
///
/// Intervals that do not divide a second are combined to the next longer time, and the result is
/// scaled to one second.
pub fn lowest_second_written(series: &Series) -> Option<f64> {
    const SECOND_NS: u64 = 1_000_000_000;
    if series.interval_ns == 0 {
        return None;
    }
    let per_window = usize::try_from(SECOND_NS.div_ceil(series.interval_ns)).ok()?;
    let window_ns = series.interval_ns as f64 * per_window as f64;
    // The last interval may be shorter than the others, so it is left out.
    let whole = series.points.len().saturating_sub(1);
    let windows = series.points[..whole].chunks_exact(per_window);
    let bytes = windows.map(|window| window.iter().map(|point| point.write_bytes).sum::<u64>());
    let lowest = bytes.min()?;
    Some(lowest as f64 * SECOND_NS as f64 / window_ns)
}

fn together(a: Interval, b: Interval) -> Interval {
    Interval {
        read_bytes: a.read_bytes + b.read_bytes,
        write_bytes: a.write_bytes + b.write_bytes,
        read_ios: a.read_ios + b.read_ios,
        write_ios: a.write_ios + b.write_ios,
        trim_bytes: a.trim_bytes + b.trim_bytes,
        trim_ios: a.trim_ios + b.trim_ios,
        max_latency_ns: a.max_latency_ns.max(b.max_latency_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::evidence::LatencyRecord;
    use assay_model::job::Direction;
    use assay_model::trial::Interval;

    const SECOND: u64 = 1_000_000_000;

    fn latencies(values: &[u64]) -> LatencyRecord {
        let mut histogram = crate::histogram::Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram.to_record()
    }

    fn stream(started_unix_ms: u64, reads: &[u64]) -> StreamReport {
        let points = reads.iter().map(|&read_ios| Interval {
            read_ios,
            ..Interval::default()
        });
        let mut stream = StreamReport {
            started: true,
            started_unix_ms,
            runtime_ns: SECOND,
            series: Series {
                interval_ns: 1_000_000,
                points: points.collect(),
            },
            ..StreamReport::default()
        };
        stream.directions.read.ios = reads.iter().sum();
        stream.directions.read.completion = latencies(&[10, 20]);
        stream
    }

    #[test]
    fn streams_that_start_together_are_added_interval_by_interval() {
        let (a, mut b) = (stream(1000, &[1, 2]), stream(1001, &[10, 20, 30]));
        b.runtime_ns = 2 * SECOND;
        let both = measurement(&[&a, &b]);
        let reads: Vec<u64> = both.series.points.iter().map(|p| p.read_ios).collect();
        assert_eq!(reads, [11, 22, 30]);
        assert_eq!(both.elapsed_ns, 2 * SECOND);
        assert_eq!(both.read.ios, 63);
        assert_eq!(both.read.latency.count, 4);
        assert_eq!(both.read.submission, None);
    }

    #[test]
    fn a_rate_is_of_the_clock_of_its_direction() {
        let mut verified = stream(0, &[2]);
        verified.runtime_ns = 3 * SECOND;
        verified.directions.write.ios = 2;
        verified.directions.write.runtime_ns = SECOND;
        verified.directions.read.runtime_ns = 2 * SECOND;
        let one = measurement(&[&verified]);
        assert_eq!(one.elapsed_ns, 3 * SECOND);
        let clocks = [Direction::Read, Direction::Write].map(|way| one.clock_ns(way));
        assert_eq!(clocks, [2 * SECOND, SECOND]);
        verified.directions.write.runtime_ns = 3 * SECOND;
        assert_eq!(measurement(&[&verified]).write.clock_ns, None);
    }

    #[test]
    fn latencies_reach_from_submission_to_completion() {
        let mut apart = stream(0, &[2]);
        apart.directions.read.submission = latencies(&[1, 2]);
        apart.directions.read.total = Some(latencies(&[11, 22]));
        let one = measurement(&[&apart]);
        assert_eq!(one.read.latency, latencies(&[11, 22]));
        assert_eq!(one.read.submission, Some(latencies(&[1, 2])));
    }

    #[test]
    fn what_was_never_started_is_no_part_of_it() {
        let ran = stream(1_700_000_000_000, &[1]);
        let none = StreamReport::default();
        assert_eq!(measurement(&[&none, &ran]), measurement(&[&ran]));
        assert_eq!(measurement(&[&none]), Measurement::default());
    }

    #[test]
    fn the_gap_counts_from_the_first_start() {
        let gap = |start_ns| {
            Some(Gap {
                start_ns,
                length_ns: 5,
            })
        };
        let (mut a, mut b) = (stream(1000, &[]), stream(1002, &[]));
        (a.longest_gap, b.longest_gap) = (gap(3_000_000), gap(1_000_000));
        assert_eq!(measurement(&[&a, &b]).longest_gap, gap(3_000_000));
    }

    fn series(interval_ns: u64, reads: &[u64]) -> Series {
        let point = |&read_ios: &u64| Interval {
            read_ios,
            max_latency_ns: read_ios,
            ..Interval::default()
        };
        Series {
            interval_ns,
            points: reads.iter().map(point).collect(),
        }
    }

    fn reads(series: &Series) -> Vec<u64> {
        series.points.iter().map(|point| point.read_ios).collect()
    }

    #[test]
    fn series_are_added_where_they_were_at_the_same_time() {
        let (first, later) = (series(100, &[1, 2, 3]), series(100, &[10, 20, 30]));
        let all = sum([(&first, 0), (&later, 150)]).unwrap();
        assert_eq!(reads(&all), [1, 12, 23, 30]);
        assert_eq!(all.points[1].max_latency_ns, 10);
    }

    #[test]
    fn the_slowest_second_is_a_whole_one() {
        let points = |bytes: &[u64]| {
            let point = |&write_bytes: &u64| Interval {
                write_bytes,
                ..Interval::default()
            };
            bytes.iter().map(point).collect()
        };
        let halves = |bytes: &[u64]| Series {
            interval_ns: 500_000_000,
            points: points(bytes),
        };
        let lowest = |bytes: &[u64]| lowest_second_written(&halves(bytes));
        assert_eq!(lowest(&[5, 5, 0, 8, 9, 9, 1]), Some(8.0));
        assert_eq!(lowest(&[5, 5]), None, "the last may be shorter");
        let wide = Series {
            interval_ns: 2_000_000_000,
            points: points(&[10, 30, 1]),
        };
        assert_eq!(lowest_second_written(&wide), Some(5.0));
    }

    #[test]
    fn the_widest_interval_holds_for_all() {
        let (narrow, wide) = (series(100, &[1, 2, 3]), series(200, &[10, 20]));
        let all = sum([(&narrow, 0), (&wide, 0)]).unwrap();
        assert_eq!((all.interval_ns, reads(&all)), (200, vec![13, 23]));
        assert_eq!(sum([(&narrow, 0), (&series(300, &[]), 0)]), None);
        assert_eq!(sum([(&narrow, 0), (&series(0, &[]), 0)]), None);
    }
}

//! Merges several streams of a load into one measurement.

use crate::latency::{pooled, pooled_where_any};
use crate::series;
use assay_model::load::Ddir;
use assay_model::load::report::{DirectionReport, StreamReport};
use assay_model::trial::{DirectionTotals, Gap, IoErrorRecord, IoErrors, Measurement, Series};

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
    series::sum(all).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Direction;
    use assay_model::latency::LatencyRecord;
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
}

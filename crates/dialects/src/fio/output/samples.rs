//! Bandwidth and IOPS over time.
//!
//! fio leaves out every interval in which no byte moved, so that a device which stalls for seconds
//! shows its usual minimum and hardly any deviation. Here such intervals count as zero.

use assay_model::load::report::StreamReport;
use assay_model::load::{Ddir, Stream};

/// Bytes and I/Os of equal intervals. An interval that was cut short by the end
/// is not included.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    interval_ns: u64,
    points: Vec<SamplePoint>,
    /// Set after the addition of series with different intervals, which have no
    /// common series.
    unlike: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SamplePoint {
    bytes: u64,
    ios: u64,
}

/// Figures over the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub stdev: f64,
    pub count: usize,
}

impl Samples {
    /// Returns the intervals of a direction; none if the job disabled them.
    pub(super) fn of(stream: &Stream, report: &StreamReport, ddir: Ddir) -> Self {
        let series = &report.series;
        let recorded = series.interval_ns > 0 && !series.points.is_empty();
        if !stream.stats.bandwidth || !recorded || report.directions[ddir].ios == 0 {
            return Self::default();
        }
        let mut points: Vec<SamplePoint> = series
            .points
            .iter()
            .map(|point| match ddir {
                Ddir::Read => SamplePoint {
                    bytes: point.read_bytes,
                    ios: point.read_ios,
                },
                Ddir::Write => SamplePoint {
                    bytes: point.write_bytes,
                    ios: point.write_ios,
                },
                Ddir::Trim => SamplePoint {
                    bytes: point.trim_bytes,
                    ios: point.trim_ios,
                },
            })
            .collect();
        // Keep complete intervals only; missing intervals had no completions.
        let complete = report.runtime_ns / series.interval_ns;
        points.resize(
            usize::try_from(complete).unwrap_or(0),
            SamplePoint::default(),
        );
        if stream.verify.is_some() {
            keep_its_phase(&mut points);
        }
        Self {
            interval_ns: series.interval_ns,
            points,
            unlike: false,
        }
    }

    /// Adds the samples of another stream that began `later_ns` later. Series
    /// with different intervals have no common series; the result is then
    /// empty.
    pub(super) fn add(&mut self, other: &Self, later_ns: u64) {
        if other.points.is_empty() || self.unlike {
            return;
        }
        if self.points.is_empty() {
            self.interval_ns = other.interval_ns;
        }
        if self.interval_ns != other.interval_ns {
            self.unlike = true;
            self.points.clear();
            return;
        }
        let first = usize::try_from(later_ns / self.interval_ns).unwrap_or(0);
        let end = first + other.points.len();
        if self.points.len() < end {
            self.points.resize(end, SamplePoint::default());
        }
        for (sum, point) in self.points[first..].iter_mut().zip(&other.points) {
            sum.bytes += point.bytes;
            sum.ios += point.ios;
        }
    }

    /// Bandwidth in units of `base` bytes per second, truncated as in fio.
    pub(super) fn bandwidth(&self, base: u64) -> Option<Spread> {
        self.spread(|point| self.per_second(point.bytes) / base)
    }

    /// I/Os per second, truncated as in fio.
    pub(super) fn iops(&self) -> Option<Spread> {
        self.spread(|point| self.per_second(point.ios))
    }

    fn per_second(&self, number: u64) -> u64 {
        let per_second = u128::from(number) * 1_000_000_000 / u128::from(self.interval_ns.max(1));
        u64::try_from(per_second).unwrap_or(u64::MAX)
    }

    fn spread(&self, value: impl Fn(&SamplePoint) -> u64) -> Option<Spread> {
        let values: Vec<u64> = self.points.iter().map(value).collect();
        let n = values.len() as f64;
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / n;
        let squares: f64 = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
        Some(Spread {
            min: *values.iter().min()?,
            max: *values.iter().max()?,
            mean,
            stdev: (squares / (n - 1.0).max(1.0)).sqrt(),
            count: values.len(),
        })
    }
}

/// Removes intervals before a direction's first and after its last I/O. A job
/// that verifies its data first writes, then reads: the other phase is not a
/// stall.
fn keep_its_phase(points: &mut Vec<SamplePoint>) {
    let moved = |point: &SamplePoint| point.ios > 0;
    let last = points.iter().rposition(moved).map_or(0, |last| last + 1);
    points.truncate(last);
    let first = points.iter().position(moved).unwrap_or(0);
    points.drain(..first);
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::blocks::{Verify, VerifyKind};
    use assay_model::trial::{Interval, Series};

    fn report(read_mib: &[u64], runtime_ms: u64) -> StreamReport {
        let mut report = StreamReport {
            runtime_ns: runtime_ms * 1_000_000,
            series: Series {
                interval_ns: 500_000_000,
                points: read_mib
                    .iter()
                    .map(|&mib| Interval {
                        read_bytes: mib << 20,
                        read_ios: mib,
                        ..Interval::default()
                    })
                    .collect(),
            },
            ..StreamReport::default()
        };
        report.directions.read.ios = read_mib.iter().sum();
        report
    }

    fn samples(read_mib: &[u64], runtime_ms: u64) -> Samples {
        Samples::of(&Stream::new("s"), &report(read_mib, runtime_ms), Ddir::Read)
    }

    #[test]
    fn a_stall_counts_and_a_short_last_interval_does_not() {
        let stalled = samples(&[10, 10, 0, 0, 10, 3], 2_700);
        let bw = stalled.bandwidth(1024).unwrap();
        assert_eq!((bw.min, bw.max, bw.count), (0, 20_480, 5));
        assert!((bw.mean - 12_288.0).abs() < 1e-9);
        assert!((bw.stdev - 11_217.3).abs() < 0.1, "{}", bw.stdev);
        assert_eq!(stalled.iops().unwrap().max, 20);
    }

    #[test]
    fn a_stall_at_the_end_counts_even_if_the_series_ends_before_it() {
        assert_eq!(samples(&[10], 2_000).iops().unwrap().count, 4);
        assert_eq!(samples(&[10], 499).iops(), None);
    }

    #[test]
    fn the_phase_before_a_check_is_no_stall_of_its_reads() {
        let mut stream = Stream::new("s");
        stream.verify = Some(Verify::new(VerifyKind::Crc32c));
        let samples = Samples::of(&stream, &report(&[0, 0, 4, 0, 4], 2_500), Ddir::Read);
        let iops = samples.iops().unwrap();
        assert_eq!(
            (iops.min, iops.count),
            (0, 3),
            "a stall between checks stays"
        );
    }

    #[test]
    fn streams_are_added_where_they_ran() {
        let mut sum = Samples::default();
        sum.add(&samples(&[1, 2, 3], 1_500), 0);
        sum.add(&samples(&[10, 10, 10], 1_500), 1_000_000_000);
        let iops = sum.iops().unwrap();
        assert_eq!((iops.min, iops.max, iops.count), (2, 26, 5));
    }

    #[test]
    fn streams_of_different_intervals_have_no_sum() {
        let mut slow = samples(&[1, 2], 1_000);
        slow.interval_ns *= 2;
        let mut sum = Samples::default();
        sum.add(&samples(&[1, 2], 1_000), 0);
        sum.add(&slow, 0);
        sum.add(&samples(&[1, 2], 1_000), 0);
        assert_eq!(sum.iops(), None);
    }

    #[test]
    fn a_direction_that_was_not_measured_has_no_samples() {
        let mut stream = Stream::new("s");
        assert_eq!(
            Samples::of(&stream, &report(&[5], 500), Ddir::Trim).iops(),
            None
        );
        stream.stats.bandwidth = false;
        assert_eq!(
            Samples::of(&stream, &report(&[5], 500), Ddir::Read).iops(),
            None
        );
    }
}

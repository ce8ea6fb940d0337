//! Operations on series of completions: widening and summing.

use assay_model::trial::{Interval, Series};

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

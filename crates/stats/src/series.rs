//! Series of completions: made coarser, and put together.

use assay_model::trial::{Interval, Series};

/// Doubles the width of all intervals. Nothing is lost but detail.
pub fn widen(series: &mut Series) {
    series.interval_ns = series.interval_ns.saturating_mul(2);
    series.points = series
        .points
        .chunks(2)
        .map(|pair| pair.iter().copied().fold(Interval::default(), together))
        .collect();
}

/// The sum of several series, each with the time that it began after the first
/// (rounded down to whole intervals). All get the width of the widest; `None`
/// when doubling does not lead there, so that they have no common series.
#[must_use]
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
    fn the_widest_interval_holds_for_all() {
        let (narrow, wide) = (series(100, &[1, 2, 3]), series(200, &[10, 20]));
        let all = sum([(&narrow, 0), (&wide, 0)]).unwrap();
        assert_eq!((all.interval_ns, reads(&all)), (200, vec![13, 23]));
        assert_eq!(sum([(&narrow, 0), (&series(300, &[]), 0)]), None);
        assert_eq!(sum([(&narrow, 0), (&series(0, &[]), 0)]), None);
    }
}

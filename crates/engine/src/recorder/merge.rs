//! The records of all workers as one.

use super::{MAX_ERRORS_KEPT, Recorder};
use crate::gaps::{SharedGaps, Span};
use assay_model::trial::{DirectionTotals, Gap, Interval, IoErrors, Series};

/// The records of all workers as one.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) read: DirectionTotals,
    pub(crate) write: DirectionTotals,
    pub(crate) flush: assay_model::latency::LatencyRecord,
    pub(crate) series: Series,
    pub(crate) longest_gap: Option<Gap>,
    pub(crate) errors: IoErrors,
}

/// Puts the records of all workers together, which have all ended. `None`
/// without workers.
pub(crate) fn merge(records: Vec<Recorder>, gaps: &SharedGaps) -> Option<Merged> {
    let sum = records.into_iter().reduce(|mut sum, next| {
        sum.add(next);
        sum
    })?;
    let since_start = |gap: Span| Gap {
        start_ns: gap.from_ns.saturating_sub(sum.start_ns),
        length_ns: gap.length_ns(),
    };
    let directions = &sum.directions;
    Some(Merged {
        read: directions.read.totals(),
        write: directions.write.totals(),
        flush: sum.flush.to_record(),
        longest_gap: gaps.longest().map(since_start),
        series: sum.series,
        errors: sum.errors,
    })
}

impl Recorder {
    fn add(&mut self, other: Self) {
        for (ddir, theirs) in other.directions.iter() {
            self.directions[ddir].merge(theirs);
        }
        self.flush.merge(&other.flush);
        add_series(&mut self.series, other.series);
        self.errors.count += other.errors.count;
        let room = MAX_ERRORS_KEPT.saturating_sub(self.errors.first.len());
        self.errors
            .first
            .extend(other.errors.first.into_iter().take(room));
    }
}

/// Adds a series interval by interval, at the wider of the two widths.
fn add_series(sum: &mut Series, mut other: Series) {
    while sum.interval_ns < other.interval_ns {
        widen(sum);
    }
    while other.interval_ns < sum.interval_ns {
        widen(&mut other);
    }
    if sum.points.len() < other.points.len() {
        sum.points.resize(other.points.len(), Interval::default());
    }
    for (mine, theirs) in sum.points.iter_mut().zip(&other.points) {
        *mine = together(*mine, *theirs);
    }
}

/// Doubles the width of all intervals.
pub(super) fn widen(series: &mut Series) {
    series.interval_ns *= 2;
    series.points = series
        .points
        .chunks(2)
        .map(|pair| pair.iter().copied().fold(Interval::default(), together))
        .collect();
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

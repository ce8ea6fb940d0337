//! Describes the results of a replay.

use crate::results::findings::Finding;
use crate::words::clean;
use assay_lang::{counted, tr};
use assay_model::act::ReplayStep;
use assay_model::evidence::LatencyRecord;
use assay_model::units::{Bytes, Nanos};
use assay_stats::histogram::Percentile;
use assay_stats::latency::Distribution;

/// Median delay above which a replay did not keep the recorded times, in nanoseconds.
const IN_TIME_NS: u64 = 1_000_000;

/// Describes the I/O of a replay, and whether it kept the recorded times.
pub fn finding(step: &ReplayStep) -> Finding {
    let ios: u64 = step.ios.iter().map(|(_, count)| *count).sum();
    let ios = counted!(ios, "{n} I/O", "{n} I/Os");
    let trace = clean(&step.trace);
    let lateness = step.lateness.as_ref().map_or_else(String::new, lateness);
    let mut lines = vec![match step.speed {
        None => tr!("{ios} of {trace} as fast as possible", ios, trace),
        Some(1.0) => tr!(
            "{ios} of {trace} at the recorded speed: {lateness}",
            ios,
            trace,
            lateness
        ),
        Some(speed) => tr!(
            "{ios} of {trace} at {speed} times the recorded speed: {lateness}",
            ios,
            trace,
            speed,
            lateness
        ),
    }];
    if let Some(how) = &step.shrunk {
        lines.push(tr!(
            "the trace reaches to {recorded}, behind the end of the storage: it was put on the first {size} ({how}), {moved} I/Os at other offsets",
            recorded = Bytes(step.recorded_extent),
            size = Bytes(step.extent),
            how = clean(how),
            moved = step.moved
        ));
    } else if step.moved > 0 {
        lines.push(tr!(
            "files of the trace lie behind each other: {moved} I/Os are at other offsets",
            moved = step.moved
        ));
    }
    if step.trims_left_out > 0 {
        lines.push(tr!(
            "{trims} trims were left out: a file has none",
            trims = step.trims_left_out
        ));
    }
    Finding::concluding(false, lines)
}

/// Describes the delays with which I/Os began.
fn lateness(record: &LatencyRecord) -> String {
    let Ok(late) = Distribution::of(record) else {
        return String::new();
    };
    let at = |percentile| late.percentile_ns(percentile).map(Nanos);
    let (Some(median), Some(most)) = (at(Percentile::P50), late.max_ns().map(Nanos)) else {
        return String::new();
    };
    let tail = at(Percentile::P99).unwrap_or(most);
    if median.0 > IN_TIME_NS {
        return tr!(
            "NOT in time, late by {median} at the median, {tail} at p99, {most} at most: the device or --iodepth does not keep up",
            median,
            tail,
            most
        );
    }
    tr!(
        "in time, late by {median} at the median, {tail} at p99, {most} at most",
        median,
        tail,
        most
    )
}

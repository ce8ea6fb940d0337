//! Direction of a metric, and the label shown beside it.

use crate::percentile::Percentile;
use assay_judge::{Judgement, Measured, Quantity};
use assay_model::job::Direction;
use std::borrow::Cow;

/// Returns the direction of a metric, from its name; flushes and commits belong to writes.
pub fn direction_of(metric: &str) -> Option<Direction> {
    match metric.split('_').next() {
        Some("read") => Some(Direction::Read),
        Some("write" | "flush" | "commit" | "durable") => Some(Direction::Write),
        _ => None,
    }
}

/// Returns the quantity that a metric measures, from its name. The quantity determines the label.
///
/// ```
/// use assay_judge::Quantity;
/// use assay_stats::derive::quantity_of;
/// assert_eq!(quantity_of("write_bw"), Quantity::Whole);
/// assert_eq!(quantity_of("write_lat_mean"), Quantity::Call);
/// assert_eq!(quantity_of("write_lat_p99"), Quantity::Percentile(990_000));
/// assert_eq!(quantity_of("read_lat_min"), Quantity::Percentile(0));
/// assert_eq!(quantity_of("flush_lat_p99"), Quantity::Whole);
/// ```
pub fn quantity_of(metric: &str) -> Quantity {
    let of_calls = ["read_lat_", "read_slat_", "write_lat_", "write_slat_"];
    let percentile = ["read_lat_", "write_lat_"].iter().find_map(|calls| {
        let ending = metric.strip_prefix(calls)?;
        let mut known = super::IO_PERCENTILES.into_iter();
        match ending {
            "min" => Some(0),
            "max" => Some(Percentile::P100.parts_per_million()),
            _ => known
                .find(|percentile| percentile.to_string() == ending)
                .map(Percentile::parts_per_million),
        }
    });
    if let Some(parts_per_million) = percentile {
        Quantity::Percentile(parts_per_million)
    } else if metric == "longest_gap" || of_calls.iter().any(|calls| metric.starts_with(calls)) {
        Quantity::Call
    } else if metric.starts_with("operation_lat_") {
        Quantity::Operation
    } else if metric.ends_with("_level_bw") || metric.ends_with("_level_bytes") {
        Quantity::Level
    } else {
        Quantity::Whole
    }
}

/// Returns the measured layers behind a metric, reads first: those of its direction, or of both
/// directions for a metric of the whole trial.
pub fn measured_of<'a>(metric: &str, judgement: &'a Judgement) -> Vec<Cow<'a, Measured>> {
    let (read, write) = (judgement.read.as_ref(), judgement.write.as_ref());
    let sides = match direction_of(metric) {
        Some(Direction::Read) => [read, None],
        Some(Direction::Write) => [None, write],
        None => [read, write],
    };
    let quantity = quantity_of(metric);
    let sides = sides.into_iter().flatten();
    sides.map(|evidence| evidence.of(quantity)).collect()
}

/// Returns the label that is shown next to a metric. A metric of the whole trial has the common
/// label of both directions, or both if they differ, reads first: `device+page-cache`.
pub fn label_of(metric: &str, judgement: Option<&Judgement>) -> String {
    let measured = judgement.map_or_else(Vec::new, |judgement| measured_of(metric, judgement));
    let labels: Vec<&str> = measured.iter().map(|measured| measured.label()).collect();
    match labels[..] {
        [read, write] if read != write => format!("{read}+{write}"),
        [one, ..] => one.to_owned(),
        // Nothing was judged, so no layer can be claimed.
        [] => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a rule for both `write_bw` and `write_lat` by their common prefix.
    #[test]
    fn only_single_calls_flushes_apart_are_calls() {
        let is_call =
            |name: &&str| matches!(quantity_of(name), Quantity::Call | Quantity::Percentile(_));
        let names = [
            "write_bw",
            "write_iops",
            "write_lat_mean",
            "write_lat_p99.9",
            "write_slat_mean",
            "read_lat_p50",
            "longest_gap",
            "flush_lat_p50",
            "flush_count",
            "commit_lat_p99",
            "commit_tps",
            "durable_write_lat_p50",
            "act_time",
            "operation_lat_p99",
            "write_last_level_bw",
            "write_sample_bw_mean",
        ];
        let calls: Vec<&str> = names.into_iter().filter(is_call).collect();
        assert_eq!(
            calls,
            [
                "write_lat_mean",
                "write_lat_p99.9",
                "write_slat_mean",
                "read_lat_p50",
                "longest_gap"
            ]
        );
    }
}

//! What a metric is about, and which label stands beside it.

use assay_model::job::Direction;
use assay_model::label::{DirectionEvidence, Judgement};

/// The direction a metric is about, from its name; flushes and commits belong
/// to writes.
#[must_use]
pub fn direction_of(metric: &str) -> Option<Direction> {
    match metric.split('_').next() {
        Some("read") => Some(Direction::Read),
        Some("write" | "flush" | "commit") => Some(Direction::Write),
        _ => None,
    }
}

/// The label that stands next to a metric: that of its direction. A metric of
/// the whole trial has the one label of both directions, or both where they
/// differ, `device+page-cache`, reads first.
#[must_use]
pub fn label_of(metric: &str, judgement: Option<&Judgement>) -> String {
    let (read, write) = judgement.map_or((None, None), |j| (j.read.as_ref(), j.write.as_ref()));
    let label = |evidence: Option<&DirectionEvidence>| evidence.map(|e| e.measured.label());
    let (first, second) = match direction_of(metric) {
        Some(Direction::Read) => (label(read), None),
        Some(Direction::Write) => (label(write), None),
        None => (label(read), label(write)),
    };
    match (first, second) {
        (Some(read), Some(write)) if read != write => format!("{read}+{write}"),
        (Some(one), _) | (None, Some(one)) => one.to_owned(),
        // Nothing was judged, so nothing may be claimed.
        (None, None) => "unknown".to_owned(),
    }
}

//! Details of a replayed trace beyond the measurement.

use crate::latency::LatencyRecord;
use crate::load::PerDirection;
use serde::{Deserialize, Serialize};

/// A trace that was replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayStep {
    /// The file of the trace, as its user named it.
    pub trace: String,
    /// The format that it was read from.
    pub format: String,
    /// Replay speed: 1 keeps the recorded times, 2 halves them; `None`: as fast as possible.
    pub speed: Option<f64>,
    /// From the first I/O or flush that was recorded to the last.
    pub recorded_ns: u64,
    /// I/Os that were recorded and replayed.
    pub ios: PerDirection<u64>,
    /// Flushes that were.
    pub flushes: u64,
    /// Trims that were left out: files have none.
    pub trims_left_out: u64,
    /// Bytes from 0 to the end of the recorded I/O that ends last.
    pub recorded_extent: u64,
    /// The same of the replay.
    pub extent: u64,
    /// Treatment of offsets beyond the end of smaller storage: `wrap` or `scale`.
    pub shrunk: Option<String>,
    /// I/Os that are not at their recorded offset.
    pub moved: u64,
    /// Lateness of each I/O or flush: submission time less due time; `None` where times are not
    /// kept.
    pub lateness: Option<LatencyRecord>,
}

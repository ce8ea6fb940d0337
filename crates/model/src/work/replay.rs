//! Details of a replayed trace beyond the measurement.

use crate::latency::LatencyRecord;
use crate::load::PerDirection;
use serde::{Deserialize, Serialize};

/// A replayed trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayStep {
    /// File of the trace, as named by the user.
    pub trace: String,
    /// Format of the trace.
    pub format: String,
    /// Replay speed: 1 keeps the recorded times, 2 halves them; `None`: as fast as possible.
    pub speed: Option<f64>,
    /// Time from the first recorded I/O or flush to the last.
    pub recorded_ns: u64,
    /// I/Os that were recorded and replayed.
    pub ios: PerDirection<u64>,
    /// Flushes that were recorded and replayed.
    pub flushes: u64,
    /// Trims that were left out, since files do not support them.
    pub trims_left_out: u64,
    /// Bytes from 0 to the end of the recorded I/O with the highest end.
    pub recorded_extent: u64,
    /// Bytes from 0 to the end of the replayed I/O with the highest end.
    pub extent: u64,
    /// Treatment of offsets beyond the end of smaller storage: `wrap` or `scale`.
    pub shrunk: Option<String>,
    /// Number of I/Os that are not at their recorded offset.
    pub moved: u64,
    /// Lateness of each I/O or flush (submission time minus due time); `None` if times are not
    /// kept.
    pub lateness: Option<LatencyRecord>,
}

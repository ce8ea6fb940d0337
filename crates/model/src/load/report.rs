//! Results of a load: raw counters of every stream, and evidence of every wave.

use super::priority::IoPriority;
use super::stats::SteadyCriterion;
use super::{Load, PerDirection};
use crate::evidence::{DeviceCounters, Evidence, OwnIo, Snapshot};
use crate::latency::LatencyRecord;
use crate::measurement::{CpuUse, Gap, IoErrors, Series};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Results of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// One for each stream of the load, in its order.
    pub streams: Vec<StreamReport>,
    /// Kernel evidence around each wave, for each storage its files are on.
    pub evidence: Vec<WaveEvidence>,
    /// Counters of the disks over the whole load (fio's disk_util).
    pub disks: Vec<DiskUse>,
    /// When the report was made, milliseconds since 1970.
    pub at_unix_ms: u64,
    /// More follows (`--status-interval`).
    pub interim: bool,
    /// It was stopped before all streams had done what they were to do.
    #[serde(default)]
    pub stopped: bool,
    /// A device that went away while a wave worked on it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// Kernel evidence while a wave ran, for one storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaveEvidence {
    /// The wave.
    pub wave: u32,
    /// Indices of the streams whose files are on that storage.
    pub streams: Vec<u32>,
    /// The evidence.
    pub evidence: Evidence,
    /// Counters when the clocks of streams stopped that went on with something else then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<ClockStop>,
}

/// Kernel evidence from the moment when the clocks of some streams stopped, before they read back
/// what they had written, closed or removed their files, or ran a command of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockStop {
    /// The streams.
    pub streams: Vec<u32>,
    /// Counters at their last stop.
    pub after: Snapshot,
    /// The sum of all times between their passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<BetweenPasses>,
}

/// Counters of the times between two passes, when the clocks of streams stood still; all such times
/// together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BetweenPasses {
    /// Number of times that the clocks stood still.
    pub times: u64,
    /// Time that the clocks stood still, in nanoseconds.
    pub elapsed_ns: u64,
    /// Block-layer counters of these times.
    pub devices: Vec<DeviceCounters>,
    /// I/O that the kernel accounted to the agent in these times.
    pub own_io: Option<OwnIo>,
    /// Bytes that were dirty or under write-back when the clocks stopped.
    pub dirty_bytes: Option<u64>,
    /// Bytes that were cached when they went on.
    pub cached_bytes: Option<u64>,
}

/// The wave of a load that a trial was part of, without what only reports need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaveRecord {
    /// The streams of the wave.
    pub load: Load,
    /// Results of the wave, without series and latencies.
    pub report: LoadReport,
    /// Which of the streams are the trial's.
    pub members: Vec<u32>,
}

/// Results of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Number of the thread.
    pub tid: u32,
    /// It was started.
    pub started: bool,
    /// When, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// First error's number; 0: none.
    pub errno: i32,
    /// Errors that count in its exit code.
    pub total_errors: u64,
    /// The first error in words.
    pub problem: Option<String>,
    /// A mismatch of data was found.
    pub data_mismatches: u64,
    /// From the start of its measured time to its end.
    pub runtime_ns: u64,
    /// Time since the load began, when it ended.
    pub elapsed_ns: u64,
    /// Measured I/O. Reads include those of checks.
    pub directions: PerDirection<DirectionReport>,
    /// Bytes moved, ramp and checks included; evidence is compared with them.
    pub moved_bytes: PerDirection<u64>,
    /// Flush calls.
    pub sync: LatencyRecord,
    /// Groups of writes that a flush follows, each from its first write to the end of that
    /// flush; `None` where the job does not flush after so many writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<LatencyRecord>,
    /// Calls of `sync_file_range(2)` among them, which make nothing durable.
    #[serde(default)]
    pub range_syncs: u64,
    /// `true` if all files were flushed after the last write, as the job asks.
    #[serde(default)]
    pub flushed_at_end: bool,
    /// Bytes it wrote that no flush covers which began after they were written and ended
    /// before its clock stopped; `None` when it wrote none, and in records before this field
    /// existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unflushed_bytes: Option<u64>,
    /// When the clock that gives the rate of its writes stopped for the last time, as time
    /// since the load began; `None`: not before it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
    /// Completions over time.
    pub series: Series,
    /// Longest time without a completion of any stream that reports as one with
    /// it, from its own start on.
    pub longest_gap: Option<Gap>,
    /// Failed I/Os.
    pub errors: IoErrors,
    /// Processor use.
    pub cpu: CpuUse,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// Distribution of the queue depth.
    pub depths: DepthUse,
    /// Result of the search for a latency target.
    pub latency_target: Option<LatencyTargetReached>,
    /// Result of the steady-state check.
    pub steady_state: Option<SteadyStateReached>,
    /// Files: (path, size when it ran).
    pub files: Vec<(PathBuf, Bytes)>,
    /// The part of each file that it worked on, in the order of `files`; empty in records
    /// before this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<FilePart>,
    /// Lateness of each I/O or flush: submission time less due time, in a replay that keeps times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<LatencyRecord>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePart {
    /// Start of the part, in bytes.
    pub offset: u64,
    /// Length of the part, in bytes.
    pub length: u64,
}

impl FilePart {
    /// First offset after the part.
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// One direction of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that the kernel cut short.
    pub short_ios: u64,
    /// I/Os that failed and were dropped.
    pub dropped_ios: u64,
    /// From the start of its first pass in this direction to the end of the
    /// last: what rates are divided by. Time spent checking does not count
    /// for writes, and so on.
    pub runtime_ns: u64,
    /// Time in the submission call; empty for synchronous engines.
    pub submission: LatencyRecord,
    /// From there to completion.
    pub completion: LatencyRecord,
    /// Both together; `None`: the same as `completion`.
    pub total: Option<LatencyRecord>,
    /// Latencies by I/O priority, where single I/Os have one: total latencies where percentiles of
    /// these are asked for (`lat_percentiles`), else completion latencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<(IoPriority, LatencyRecord)>,
}

/// Distribution of the queue depth, counted at each submission and completion in fio's classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthUse {
    /// In flight when an I/O was handed over: 1, 2, 4, 8, 16, 32, 64 and more.
    pub level: [u64; 7],
    /// Handed over together: 0, up to 4, 8, 16, 32, 64 and more.
    pub submit: [u64; 7],
    /// Taken back together.
    pub complete: [u64; 7],
}

/// Result of the search for a latency target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyTargetReached {
    /// Largest depth that kept the latency; 0: none did.
    pub depth: u32,
}

/// Result of the steady-state check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyStateReached {
    /// Criterion of the check.
    pub criterion: SteadyCriterion,
    /// The limit, as asked.
    pub limit: f64,
    /// It is in percent.
    pub percent: bool,
    /// The window.
    pub duration_ns: u64,
    /// It was reached.
    pub attained: bool,
    /// Value that was compared with the limit (percent, or absolute).
    pub value: f64,
    /// Largest deviation from the mean in the window.
    pub deviation: f64,
    /// Slope in the window.
    pub slope: f64,
    /// IOPS of the intervals in the window.
    pub iops: Vec<u64>,
    /// Bytes per second.
    pub bw: Vec<u64>,
    /// Mean latency (ns).
    pub lat: Vec<u64>,
}

/// Counters of one disk over the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Kernel name.
    pub name: String,
    /// Reads.
    pub read_ios: u64,
    /// Writes.
    pub write_ios: u64,
    /// Reads that were merged into others.
    pub read_merges: u64,
    /// Writes that were.
    pub write_merges: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time of all reads together (ms).
    pub read_ms: u64,
    /// Time of all writes together (ms).
    pub write_ms: u64,
    /// Time weighted by the I/Os under way (ms).
    pub queue_ms: u64,
    /// Time with I/O under way (ms).
    pub busy_ms: u64,
    /// Time looked at (ms).
    pub over_ms: u64,
    /// It lies on these (partitions, dm, md): their names.
    pub below: Vec<String>,
}

/// Progress of the streams of a load; for the line with the time left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadProgress {
    /// Since the load began.
    pub elapsed_ns: u64,
    /// Each stream, in the load's order.
    pub streams: Vec<StreamProgress>,
}

/// Progress of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamProgress {
    /// State of the stream.
    pub state: StreamState,
    /// Time on its clock.
    pub elapsed_ns: u64,
    /// I/Os completed, since it started.
    pub ios: PerDirection<u64>,
    /// Bytes moved.
    pub bytes: PerDirection<u64>,
    /// Files it has open.
    pub open_files: u32,
    /// Bytes it will have moved when it is done; 0: only time limits it.
    pub goal_bytes: u64,
    /// Time after which it ends at the latest; 0: none.
    pub goal_ns: u64,
}

/// State of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamState {
    /// Not started yet.
    #[default]
    Waiting,
    /// Making its files ready.
    SettingUp,
    /// Before its measured time.
    Ramp,
    /// Doing its I/O.
    Running,
    /// Reading its files beforehand.
    PreReading,
    /// In a flush call.
    Flushing,
    /// Checking what it wrote.
    Verifying,
    /// Ended.
    Done,
    /// Ended by an error.
    Failed,
}

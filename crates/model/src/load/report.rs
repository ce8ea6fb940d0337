//! Results of a load: raw counters of every stream, and evidence of every wave.

use super::{IoPriority, Load, PerDirection};
use crate::evidence::{
    CpuUse, DeviceCounters, Evidence, Gap, IoErrors, LatencyRecord, OwnIo, Series, Snapshot,
};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Results of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Report of each stream, in the order of the load.
    pub streams: Vec<StreamReport>,
    /// Kernel evidence around each wave, for each storage its files are on.
    pub evidence: Vec<WaveEvidence>,
    /// Counters of the disks over the whole load (fio's disk_util).
    pub disks: Vec<DiskUse>,
    /// Time of the report, milliseconds since 1970.
    pub at_unix_ms: u64,
    /// `true` if more reports follow (`--status-interval`).
    pub interim: bool,
    /// `true` if the load was stopped before all streams were complete.
    #[serde(default)]
    pub stopped: bool,
    /// Device that was lost while a wave used it, in words.
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
    /// Counters at the times when the clocks of some streams stopped before those streams ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<ClockStop>,
}

/// Kernel evidence from the moment when the clocks of some streams stopped, before they read their
/// data back, closed or removed their files, or ran a command of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockStop {
    /// Indices of the streams.
    pub streams: Vec<u32>,
    /// Counters at the last stop of the clocks.
    pub after: Snapshot,
    /// Sum of the counters between their passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<BetweenPasses>,
}

/// Counters of the times between two passes, when the clocks of streams were paused; all such times
/// together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BetweenPasses {
    /// Number of pauses of the clocks.
    pub times: u64,
    /// Total length of the pauses, in nanoseconds.
    pub elapsed_ns: u64,
    /// Block-layer counters of these times.
    pub devices: Vec<DeviceCounters>,
    /// I/O that the kernel accounted to the agent during the pauses.
    pub own_io: Option<OwnIo>,
    /// Bytes that were dirty or under write-back when the clocks stopped.
    pub dirty_bytes: Option<u64>,
    /// Bytes that were cached when the clocks restarted.
    pub cached_bytes: Option<u64>,
}

/// The wave of a load that a trial was part of, without the parts that only reports use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaveRecord {
    /// The streams of the wave.
    pub load: Load,
    /// Results of the wave, without series and latencies.
    pub report: LoadReport,
    /// Indices of the trial's streams.
    pub members: Vec<u32>,
}

/// Results of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Number of the thread.
    pub tid: u32,
    /// `true` if the stream was started.
    pub started: bool,
    /// Start time, milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Number of the first error; 0: none.
    pub errno: i32,
    /// Number of errors that affect the exit code.
    pub total_errors: u64,
    /// The first error in words.
    pub problem: Option<String>,
    /// Number of mismatches of data.
    pub data_mismatches: u64,
    /// Time from the start of the measured time to its end.
    pub runtime_ns: u64,
    /// Time from the start of the load to the end of the stream.
    pub elapsed_ns: u64,
    /// Measured I/O. Reads include those of checks.
    pub directions: PerDirection<DirectionReport>,
    /// Bytes moved, ramp and checks included; evidence is compared with them.
    pub moved_bytes: PerDirection<u64>,
    /// Flush calls.
    pub sync: LatencyRecord,
    /// Groups of writes that a flush follows, each from its first write to the end of that flush;
    /// `None` if the job does not flush between writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<LatencyRecord>,
    /// Calls of `sync_file_range(2)` in `sync`, which do not make data durable.
    #[serde(default)]
    pub range_syncs: u64,
    /// `true` if all files were flushed after the last write, as the job requests.
    #[serde(default)]
    pub flushed_at_end: bool,
    /// Written bytes that are not covered by a flush that began after the write and ended before
    /// the clock stopped; `None` without writes, and in records before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unflushed_bytes: Option<u64>,
    /// Time from the start of the load to the last stop of the clock of its writes; `None` if the
    /// clock did not stop before the end of the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
    /// Completions over time.
    pub series: Series,
    /// Longest time without a completion of any stream of the report group, relative to this
    /// stream's start.
    pub longest_gap: Option<Gap>,
    /// Failed I/Os.
    pub errors: IoErrors,
    /// Processor use.
    pub cpu: CpuUse,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Distribution of the queue depth.
    pub depths: DepthUse,
    /// Result of the search for a latency target.
    pub latency_target: Option<LatencyTargetReached>,
    /// Result of the steady-state check.
    pub steady_state: Option<SteadyStateReached>,
    /// Files with their size during the run.
    pub files: Vec<(PathBuf, Bytes)>,
    /// Part of each file that the stream used, in the order of `files`; empty in records before
    /// this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<FilePart>,
    /// Lateness of each I/O or flush (submission time minus due time), in a replay that keeps
    /// times.
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
    /// Returns the first offset after the part.
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
    /// I/Os that the kernel completed only partly.
    pub short_ios: u64,
    /// I/Os that failed and were dropped.
    pub dropped_ios: u64,
    /// Time from the start of the first pass in this direction to the end of the last; the divisor
    /// of rates. Time of verification does not count for writes, and so on.
    pub runtime_ns: u64,
    /// Time in the submission call; empty for synchronous engines.
    pub submission: LatencyRecord,
    /// Time from submission to completion.
    pub completion: LatencyRecord,
    /// Submission and completion together; `None` if equal to `completion`.
    pub total: Option<LatencyRecord>,
    /// Latencies by I/O priority, if single I/Os have one: total latencies if percentiles of these
    /// are requested (`lat_percentiles`), else completion latencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<(IoPriority, LatencyRecord)>,
}

/// Distribution of the queue depth, counted at each submission and completion in fio's classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthUse {
    /// I/Os in flight at a submission: 1, 2, 4, 8, 16, 32, 64 and more.
    pub level: [u64; 7],
    /// I/Os submitted together: 0, up to 4, 8, 16, 32, 64 and more.
    pub submit: [u64; 7],
    /// I/Os completed together.
    pub complete: [u64; 7],
}

/// Result of the search for a latency target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyTargetReached {
    /// Largest depth that kept the latency; 0 if none did.
    pub depth: u32,
}

/// Result of the steady-state check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyStateReached {
    /// Criterion of the check.
    pub criterion: SteadyCriterion,
    /// Requested limit.
    pub limit: f64,
    /// `true` if the limit is in percent.
    pub percent: bool,
    /// Length of the window.
    pub duration_ns: u64,
    /// `true` if the steady state was reached.
    pub attained: bool,
    /// Value that was compared with the limit (percent, or absolute).
    pub value: f64,
    /// Largest deviation from the mean in the window.
    pub deviation: f64,
    /// Slope in the window.
    pub slope: f64,
    /// IOPS of the intervals in the window.
    pub iops: Vec<u64>,
    /// Bytes per second of the intervals.
    pub bw: Vec<u64>,
    /// Mean latency of the intervals, in nanoseconds.
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
    /// Writes that were merged into others.
    pub write_merges: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time of all reads together (ms).
    pub read_ms: u64,
    /// Time of all writes together (ms).
    pub write_ms: u64,
    /// Sum over time of the I/Os in flight (ms).
    pub queue_ms: u64,
    /// Time with I/O in flight (ms).
    pub busy_ms: u64,
    /// Time of observation (ms).
    pub over_ms: u64,
    /// Names of the devices below it (partitions, dm, md).
    pub below: Vec<String>,
}

/// Progress of the streams of a load, for the progress line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadProgress {
    /// Time since the load began.
    pub elapsed_ns: u64,
    /// Progress of each stream, in the load's order.
    pub streams: Vec<StreamProgress>,
}

/// Progress of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamProgress {
    /// State of the stream.
    pub state: StreamState,
    /// Time on the stream's clock.
    pub elapsed_ns: u64,
    /// I/Os completed, since it started.
    pub ios: PerDirection<u64>,
    /// Bytes moved.
    pub bytes: PerDirection<u64>,
    /// Number of open files.
    pub open_files: u32,
    /// Bytes that it moves until it is complete; 0: only time limits it.
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
    /// Preparing its files.
    SettingUp,
    /// Before its measured time.
    Ramp,
    /// Running its I/O.
    Running,
    /// Reading its files before the I/O.
    PreReading,
    /// In a flush call.
    Flushing,
    /// Verifying its data.
    Verifying,
    /// Ended.
    Done,
    /// Ended by an error.
    Failed,
}

crate::defaults! {
    /// Statistics to collect and show.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct StatsOptions {
        /// `true` if the copies of a job are reported as one.
        pub group_reporting: bool,
        /// `true` if the stream is in the report (`stats`).
        pub shown: bool = true,
        /// Combined or separate reporting of directions.
        pub unified: Unified,
        /// Percentiles of completion latency.
        pub clat_percentiles: bool = true,
        /// Percentiles of total latency.
        pub lat_percentiles: bool,
        /// Percentiles of submission latency.
        pub slat_percentiles: bool,
        /// List of percentiles.
        pub percentiles: Vec<f64> = vec![
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ],
        /// Significant figures of percentiles in the normal output.
        pub significant_figures: u8 = 4,
        /// Total latency is measured.
        pub lat: bool = true,
        /// Completion latency is measured.
        pub clat: bool = true,
        /// Submission latency is measured.
        pub slat: bool = true,
        /// Bandwidth and IOPS over time are measured.
        pub bandwidth: bool = true,
        /// The disk's counters are shown.
        pub disk_util: bool = true,
        /// Width of the bandwidth samples.
        pub bw_interval: Nanos = Nanos::millis(500),
        /// Width of the IOPS samples.
        pub iops_interval: Nanos = Nanos::millis(500),
        /// Sizes are shown in thousands instead of 1024s (`kb_base=1000`).
        pub kb_base_1000: bool,
        /// Rates are shown in bits (`unit_base=1`).
        pub in_bits: bool,
    }
}

/// fio's `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unified {
    /// Each direction separately.
    #[default]
    Split,
    /// One report for all directions, called `mixed`.
    Mixed,
    /// Both reports.
    Both,
}

/// fio's steadystate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Criterion of the steady state.
    pub criterion: SteadyCriterion,
    /// Limit of the deviation or of the slope.
    pub limit: f64,
    /// `true` if `limit` is in percent of the mean.
    pub percent: bool,
    /// Length of the window.
    pub duration: Nanos,
    /// Time at the beginning that is not evaluated.
    pub ramp: Nanos,
    /// Interval of evaluations (fio: 1 s).
    pub interval: Nanos,
}

/// Criterion of a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyCriterion {
    /// Largest deviation of the IOPS from their mean.
    Iops,
    /// Slope of the IOPS.
    IopsSlope,
    /// Largest deviation of the bandwidth.
    Bw,
    /// Slope of the bandwidth.
    BwSlope,
    /// Largest deviation of the mean latency.
    Lat,
    /// Slope of the mean latency.
    LatSlope,
}

/// Errors that end a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPolicy {
    /// `true` if failed reads do not end it (`continue_on_error`).
    pub continue_on_read: bool,
    /// `true` if failed writes do not end it.
    pub continue_on_write: bool,
    /// `true` if mismatches do not end it.
    pub continue_on_verify: bool,
    /// Error numbers that are not errors, for reads (`ignore_error`).
    pub ignore_read: Vec<i32>,
    /// Error numbers that are not errors, for writes.
    pub ignore_write: Vec<i32>,
    /// Error numbers that are not errors, for checks.
    pub ignore_verify: Vec<i32>,
    /// Number of medium errors (`EIO`, `EILSEQ`, `ENODATA`) that do not end it, regardless of the
    /// other fields; 0: they are treated like other errors.
    pub bad_spots: u32,
    /// `true` to report ignored errors (`error_dump`).
    pub say_ignored: bool,
}

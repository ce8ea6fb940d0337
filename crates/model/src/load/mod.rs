//! A load: the complete description of the I/O that one fio job file requests.
//!
//! A dialect parses a foreign format and creates a [`Load`]; the engine runs it and returns a
//! [`LoadReport`](report::LoadReport). A load does not depend on the machine: sizes in percent and
//! files that do not exist yet are resolved where it runs.
//!
//! A **stream** is one thread of a load: a copy of a job of the file, after expansion of `numjobs`.
//! Streams with the same `wave` run together; the next wave starts when the previous one has ended
//! (fio's `stonewall`).

pub mod blocks;
pub mod report;

use crate::job::{EngineKind, Flush, FlushCall, OpenSync};
use crate::rng::SplitMix64;
use crate::units::Nanos;
use blocks::{Blocks, Files, Region, TrimOptions, Verify};
use report::{ErrorPolicy, StatsOptions, SteadyState};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Several streams and their common options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Streams, in the order of the file.
    pub streams: Vec<Stream>,
    /// `true` to forbid all writes (`--readonly`).
    pub readonly: bool,
    /// `true` if a block device may be overwritten. (For a file, naming it is sufficient.)
    pub destroy_data: bool,
    /// Directory for relative auxiliary files (logs, verify states) (`--aux-path`); `None`: the
    /// current directory.
    pub aux_path: Option<PathBuf>,
    /// Interval of full reports (`--status-interval`).
    pub status_interval: Option<Nanos>,
    /// `true` to log the bandwidth of all streams together (`--bandwidth-log`).
    #[serde(default)]
    pub bandwidth_log: bool,
    /// Seed of everything that is not repeatable (`randrepeat=0`).
    pub entropy: u64,
    /// Run whose private folder holds the file that a trace is redirected to; the file is created
    /// and removed with it. The stream names the parent folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_for: Option<String>,
}

impl Load {
    /// Returns the seed of all random numbers of a stream: the same in every run, unless the job
    /// requests random seeds.
    pub fn seed_of(&self, stream: &Stream) -> u64 {
        let blocks = &stream.blocks;
        let mut seed = blocks.seed.unwrap_or(DEFAULT_SEED);
        if !blocks.repeat && blocks.seed.is_none() {
            seed ^= self.entropy;
        }
        SplitMix64::new(seed ^ (u64::from(stream.number) << 32)).next_u64()
    }
}

/// Default seed, so that every run is the same by default.
///
/// The value is arbitrary. This one passes fio's test t0008, which expects the share of writes that
/// fio's own seed gives (50.6 % of 8192 I/Os, within half a percent). It must not change: with
/// another seed, the same job would do other I/Os than before.
const DEFAULT_SEED: u64 = 1;

crate::defaults! {
    /// A thread of a load. Groups of fields follow fio's groups of options, and so do their names
    /// and defaults.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Stream {
        /// The job's name.
        pub name: String,
        /// Number in the load, from 1 (fio's thread number).
        pub number: u32 = 1,
        /// Number among the copies that `numjobs` makes, from 0.
        pub clone: u32,
        /// fio's groupid.
        pub group: u32,
        /// Wave that it runs in, from 0.
        pub wave: u32,
        /// Report group: streams of the same value are reported as one (`group_reporting`).
        pub report: u32,
        /// Free text of the user.
        pub description: Option<String>,
        /// Start of the stream, and streams that its end affects.
        pub schedule: Schedule,
        /// Priorities and processors.
        pub process: Process,
        /// Files of the stream.
        pub files: Files,
        /// Part of each file that is used.
        pub region: Region,
        /// Directions, block sizes and the order of offsets.
        pub blocks: Blocks,
        /// Amount of I/O and running time.
        pub length: Length,
        /// I/O engine and its settings.
        pub engine: Engine,
        /// Direct I/O, synchronous I/O and flushes.
        pub durability: Durability,
        /// Limits on the pace.
        pub pace: PaceLimits,
        /// Verification of written data.
        pub verify: Option<Verify>,
        /// Trims between writes.
        pub trim: TrimOptions,
        /// Content of written blocks.
        pub content: WriteContent,
        /// Recording and replaying of I/O.
        pub trace: Trace,
        /// Log files.
        pub logs: Logs,
        /// Steady state at which the stream ends.
        pub steady_state: Option<SteadyState>,
        /// Statistics to collect and show.
        pub stats: StatsOptions,
        /// Errors that end the stream.
        pub errors: ErrorPolicy,
    }
}

impl Stream {
    /// Returns the number of the first copy of the job: the same for all copies that `numjobs`
    /// creates.
    pub const fn job(&self) -> u32 {
        self.number.saturating_sub(self.clone)
    }

    /// Creates a stream with fio's defaults: sequential reads of 4 KiB with psync, named `name`.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }
}

crate::named! {
    /// Direction of an I/O of a load. Unlike [`Direction`](crate::job::Direction) it includes
    /// trims, which move no data.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Ddir {
        /// From the storage.
        Read = "read",
        /// To the storage.
        Write = "write",
        /// Discards a block that is no longer needed.
        Trim = "trim",
    }
}

impl Ddir {
    /// Returns fio's number of the direction in log files.
    pub const fn number(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::Trim => 2,
        }
    }
}

/// One value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerDirection<T> {
    /// Value for reads.
    pub read: T,
    /// Value for writes.
    pub write: T,
    /// Value for trims.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// Creates the value of each direction with a function.
    pub fn from_fn(mut value: impl FnMut(Ddir) -> T) -> Self {
        Self {
            read: value(Ddir::Read),
            write: value(Ddir::Write),
            trim: value(Ddir::Trim),
        }
    }

    /// Returns the values with their directions.
    pub fn iter(&self) -> impl Iterator<Item = (Ddir, &T)> {
        [
            (Ddir::Read, &self.read),
            (Ddir::Write, &self.write),
            (Ddir::Trim, &self.trim),
        ]
        .into_iter()
    }
}

impl<T: Clone> PerDirection<T> {
    /// Creates equal values for all directions.
    pub fn all(value: T) -> Self {
        Self {
            read: value.clone(),
            write: value.clone(),
            trim: value,
        }
    }
}

impl<T> std::ops::Index<Ddir> for PerDirection<T> {
    type Output = T;

    #[inline]
    fn index(&self, direction: Ddir) -> &T {
        match direction {
            Ddir::Read => &self.read,
            Ddir::Write => &self.write,
            Ddir::Trim => &self.trim,
        }
    }
}

impl<T> std::ops::IndexMut<Ddir> for PerDirection<T> {
    #[inline]
    fn index_mut(&mut self, direction: Ddir) -> &mut T {
        match direction {
            Ddir::Read => &mut self.read,
            Ddir::Write => &mut self.write,
            Ddir::Trim => &mut self.trim,
        }
    }
}

/// A length: fixed, or a share of the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Percent of the whole, 0 to 100.
    Percent(f64),
}

crate::defaults! {
    /// Amount of I/O that a stream does, and its running time.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Length {
        /// Bytes to move, if that is not the size of the region.
        pub io_size: Option<Extent>,
        /// Number of I/Os after which it ends.
        pub number_ios: Option<u64>,
        /// Number of repetitions; 1 runs the job once.
        pub loops: u64 = 1,
        /// Time after which it ends at the latest.
        pub runtime: Option<Nanos>,
        /// `true` to repeat until `runtime` is over.
        pub time_based: bool,
        /// Time at the beginning that is not measured.
        pub ramp_time: Nanos,
        /// `true` to write until the device is full.
        pub fill_device: bool,
    }
}

crate::defaults! {
    /// I/O engine of a stream and its settings.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Engine {
        /// fio's ioengine.
        pub kind: EngineKind = EngineKind::Psync,
        /// I/Os kept in flight.
        pub iodepth: u32 = 1,
        /// I/Os submitted together (`iodepth_batch`).
        pub batch: u32 = 1,
        /// Least number of completions to wait for (`iodepth_batch_complete_min`); 0: poll without
        /// waiting.
        pub batch_complete_min: u32 = 1,
        /// Most completions to reap at once (`iodepth_batch_complete_max`), but not fewer than the
        /// least number.
        #[serde(default)]
        pub batch_complete_max: u32,
        /// Depth to drain to before more is queued, after the depth was reached (`iodepth_low`); 0:
        /// queue as soon as a slot is free.
        pub iodepth_low: u32,
        /// `true` if overlapping I/Os are never in flight together.
        pub serialize_overlap: bool,
        /// Polled completions (`hipri`; pvsync2, io_uring).
        pub hipri: bool,
        /// Registered files (io_uring `registerfiles`).
        pub register_files: bool,
        /// A kernel thread submits (io_uring `sqthread_poll`).
        pub sq_thread_poll: bool,
        /// `RWF_NOWAIT`.
        pub nowait: bool,
        /// Priorities of single I/Os (libaio, io_uring).
        #[serde(default)]
        pub priorities: PerDirection<Vec<PriorityShare>>,
    }
}

/// Direct or buffered, synchronous or not, and flushes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_SYNC`, `O_DSYNC`.
    pub sync: OpenSync,
    /// fsync after that many writes; 0: never.
    pub fsync: u32,
    /// fdatasync after that many writes; 0: never.
    pub fdatasync: u32,
    /// `sync_file_range(2)` after some writes.
    pub sync_file_range: Option<SyncFileRange>,
    /// A flush after the last write (`end_fsync`: fsync).
    pub at_end: Option<FlushCall>,
    /// `true` if flushes between writes wait until nothing is in flight, so that they cover all
    /// writes before them. (fio's do not wait.)
    pub drained: bool,
    /// fsync before each close.
    pub fsync_on_close: bool,
}

impl Durability {
    /// Converts the durability of a job: its flushes cover all writes before them.
    pub fn of_job(direct: bool, sync: OpenSync, flush: Flush) -> Self {
        let every = |wanted: FlushCall| match flush.every {
            Some((every, call)) if call == wanted => every,
            _ => 0,
        };
        Self {
            direct,
            sync,
            fsync: every(FlushCall::Fsync),
            fdatasync: every(FlushCall::Fdatasync),
            at_end: flush.at_end,
            drained: true,
            ..Self::default()
        }
    }
}

/// fio's `sync_file_range=flags:N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncFileRange {
    /// `true` to wait for earlier write-back first.
    pub wait_before: bool,
    /// `true` to start write-back.
    pub write: bool,
    /// `true` to wait for the write-back.
    pub wait_after: bool,
    /// Number of writes after which it is called.
    pub every: u32,
}

crate::defaults! {
    /// Content of write buffers.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct WriteContent {
        /// Zero bytes only (`zero_buffers`).
        pub zero: bool,
        /// New random content for every write (`refill_buffers`); otherwise the random content is
        /// generated once.
        pub refill: bool,
        /// Slightly changed for every write (`scramble_buffers`).
        pub scramble: bool = true,
        /// Pattern that is repeated to fill the block; empty: random content.
        pub pattern: ContentPattern,
        /// Compressibility of a block, in percent; `None`: not requested.
        pub compress_percent: Option<u8>,
        /// Size of the parts with that compressibility; 0: the block.
        pub compress_chunk: u32 = 512,
        /// Share of repeated blocks, in percent.
        pub dedupe_percent: u8,
        /// Source of the repeated blocks.
        pub dedupe_mode: DedupeMode,
        /// Size of the working set, in percent of the region.
        pub dedupe_set_percent: u8 = 5,
        /// `true` if copies of other streams count too (`dedupe_global`).
        pub dedupe_global: bool,
    }
}

/// Bytes that are repeated, with positions for inserted values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentPattern {
    /// Bytes of the pattern; empty if there is no pattern.
    pub bytes: Vec<u8>,
    /// Positions of the block's offset (`%o`) in the pattern, a little-endian 64-bit number.
    pub offsets_at: Vec<u32>,
    /// Number of bytes of a block after which the pattern restarts, as if another block began there
    /// (`verify_pattern_interval`); 0: only with each block.
    #[serde(default)]
    pub interval: u32,
}

/// fio's `dedupe_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DedupeMode {
    /// Repeats the previous block.
    #[default]
    Repeat,
    /// Repeats any block of a working set.
    WorkingSet,
}

/// Log files of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    /// Prefix of the names of the bandwidth log; `None`: no log. (fio's `write_bw_log`; the job's
    /// name if that has no value.)
    pub bandwidth: Option<String>,
    /// Prefix of the names of the latency logs (`write_lat_log`: slat, clat and lat).
    pub latency: Option<String>,
    /// Prefix of the name of the IOPS log.
    pub iops: Option<String>,
    /// Prefix of the name of the histogram log.
    pub histogram: Option<String>,
    /// `true` for one file per name; otherwise each stream has its own (`per_job_logs`).
    pub shared: bool,
    /// Interval of averages; 0: every I/O is logged.
    pub average: Nanos,
    /// Value that is logged for the I/Os of an interval.
    pub window_value: WindowValue,
    /// `true` to log offsets.
    pub offset: bool,
    /// `true` to log priorities.
    pub priority: bool,
    /// `true` to log the times at which I/Os were issued.
    #[serde(default)]
    pub issue_time: bool,
    /// Time between two histograms; 0: none.
    pub histogram_interval: Nanos,
    /// Logarithm to base 2 of the number of bins that are merged.
    pub histogram_coarseness: u8,
    /// `true` to log times since 1970 instead of since the start.
    pub unix_epoch: bool,
    /// Clock whose times are logged instead (`log_alternate_epoch_clock_id`).
    pub epoch_clock: Option<i32>,
    /// Bytes from which entries are compressed in memory (`log_compression`); 0: never.
    pub compress_from: u64,
    /// `true` to store them compressed (`log_store_compressed`, name ends in `.fz`).
    pub store_compressed: bool,
}

/// fio's `log_window_value`. Rates have a single value for all of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowValue {
    /// The mean.
    #[default]
    Mean,
    /// The maximum.
    Max,
    /// The mean and the maximum.
    Both,
}

/// A fixed value, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
}

crate::defaults! {
    /// Limits on the rate of a stream. A rate of 0 is unlimited.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PaceLimits {
        /// Bytes per second.
        pub rate: PerDirection<u64>,
        /// Least bytes per second; below it the stream fails.
        pub rate_min: PerDirection<u64>,
        /// I/Os per second.
        pub rate_iops: PerDirection<u64>,
        /// Least I/Os per second; below it the stream fails.
        pub rate_iops_min: PerDirection<u64>,
        /// Time over which the least rates are averaged.
        pub rate_cycle: Nanos = Nanos::millis(1000),
        /// `true` if I/Os arrive as a Poisson process instead of evenly.
        pub poisson: bool,
        /// `true` if the latency of an I/O counts from when it was due, and all that are overdue are
        /// issued.
        pub from_due: bool,
        /// `true` if think time does not count against the rate.
        pub ignore_think_time: bool,
        /// Pauses between I/Os.
        pub think: Option<ThinkTime>,
        /// Search for the depth that keeps a latency.
        pub latency_target: Option<LatencyTarget>,
        /// Latency above which an I/O ends the stream with an error; 0: no limit.
        pub max_latency: PerDirection<Nanos>,
        /// Proportion to the I/O of other streams.
        pub flow: Option<Flow>,
    }
}

crate::defaults! {
    /// Pauses between I/Os (fio's thinktime family).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ThinkTime {
        /// Length of a pause.
        pub pause: Nanos,
        /// Busy-waiting part of the pause.
        pub spin: Nanos,
        /// Number of blocks between pauses.
        pub blocks: u32 = 1,
        /// `true` if blocks are counted when issued instead of when completed.
        pub count_issued: bool,
        /// Time of I/O after which a pause follows (`thinktime_iotime`); 0: not used.
        pub io_time: Nanos,
    }
}

crate::defaults! {
    /// fio's latency_target family.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct LatencyTarget {
        /// Latency to keep.
        pub target: Nanos,
        /// Window over which latency is evaluated.
        pub window: Nanos,
        /// Share of the I/Os that must keep the latency, in percent.
        pub percentile: f64 = 100.0,
        /// `true` to continue at the depth that was found.
        pub run: bool,
    }
}

/// fio's flow: streams of the same id keep their I/O in proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Id of the group of streams.
    pub id: i64,
    /// Share of this stream.
    pub weight: u32,
    /// Pause of a stream that is ahead; 0: it polls.
    pub sleep: Nanos,
}

/// An I/O priority in the kernel's encoding (`linux/ioprio.h`): the class above 13 bits of level. 0
/// uses the thread's priority.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct IoPriority(pub u16);

impl IoPriority {
    /// Uses the thread's priority.
    pub const NONE: Self = Self(0);

    /// Creates a priority of class 1 (real time), 2 (best effort) or 3 (idle) and level 0 (highest)
    /// to 7. Larger numbers are truncated.
    pub const fn new(class: u8, level: u8) -> Self {
        Self((class as u16 & 7) << 13 | level as u16 & 7)
    }

    /// Returns the priority class; 0: none.
    pub const fn class(self) -> u16 {
        self.0 >> 13
    }

    /// Returns the level within the class.
    pub const fn level(self) -> u16 {
        self.0 & 7
    }
}

/// A share of the I/Os of a direction with a separate priority (fio's `cmdprio` options).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    /// Block size that the share applies to; `None`: all blocks.
    pub size: Option<u32>,
    /// Share of those I/Os, in percent.
    pub percent: u8,
    /// Priority that they get.
    pub priority: IoPriority,
}

/// Start of a stream, and streams that its end affects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Name of the streams that must end before it starts.
    pub wait_for: Option<String>,
    /// Delay after the start of its wave (ns).
    pub start_delay: Option<Range>,
    /// Kernel number of the clock that the start time is read from (`job_start_clock_id`); 0: the
    /// time since 1970.
    #[serde(default)]
    pub start_clock: i32,
    /// Streams that end when this one ends (`exitall`).
    pub exit_all: Option<ExitWhat>,
    /// `true` if a failure of this stream ends all others.
    pub exit_all_on_error: bool,
    /// Command that is run by `sh -c` before the stream starts.
    pub exec_before: Option<String>,
    /// Command that is run by `sh -c` after its end.
    pub exec_after: Option<String>,
}

/// fio's `exit_what`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitWhat {
    /// Streams of its report group.
    Group,
    /// Streams of its wave.
    Stonewall,
    /// Every stream.
    All,
}

/// Scheduling properties of a stream's thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Processors that it may run on; empty: all.
    pub cpus: Vec<u32>,
    /// `true` if each copy gets one processor in turn (`cpus_allowed_policy=split`).
    pub split_cpus: bool,
    /// Increment of the nice value.
    pub nice: i32,
    /// Class of its I/O priority: 1 real time, 2 best effort, 3 idle.
    pub io_class: Option<u8>,
    /// I/O priority of the thread, 0 (highest) to 7.
    pub io_priority: Option<u8>,
    /// `true` if a separate process was requested (no `thread`). Streams are always threads; the
    /// value is only recorded.
    pub forked: bool,
}

impl Process {
    /// Returns the I/O priority of the stream; a level without a class is best effort.
    pub fn priority(&self) -> IoPriority {
        const BEST_EFFORT: u8 = 2;
        match (self.io_class, self.io_priority) {
            (None, None) => IoPriority::NONE,
            (class, level) => IoPriority::new(class.unwrap_or(BEST_EFFORT), level.unwrap_or(0)),
        }
    }
}

crate::defaults! {
    /// Recording and replaying of I/O.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Trace {
        /// File that every I/O is recorded in (fio's iolog, version 3).
        pub write: Option<PathBuf>,
        /// File that I/O is replayed from: an iolog (version 2 or 3) or the binary trace of
        /// blktrace.
        pub read: Option<PathBuf>,
        /// Text of the iolog, if the machine that replays it does not have the file; `read` is then
        /// only its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recorded: Option<Arc<str>>,
        /// `true` to read the iolog in chunks instead of at once.
        pub read_chunked: bool,
        /// `true` to replay as fast as possible.
        pub no_stall: bool,
        /// Percentage of the recorded speed: 200 is twice as fast.
        pub time_scale_percent: u32 = 100,
        /// File or device that replaces all recorded ones.
        pub redirect: Option<PathBuf>,
        /// Divisor of offsets; 0: not used.
        pub scale: u32,
        /// Alignment to which offsets are rounded down; 0: not used.
        pub align: u32,
        /// Directions that are left out.
        pub skip: PerDirection<bool>,
        /// `true` to leave out flushes.
        pub skip_sync: bool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_numbered_as_in_the_kernel() {
        let real_time = IoPriority::new(1, 3);
        assert_eq!(real_time.0, 0x2003);
        assert_eq!((real_time.class(), real_time.level()), (1, 3));
    }
}

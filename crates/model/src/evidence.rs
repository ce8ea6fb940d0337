//! Evidence of the kernel and the device around a trial: raw counters, taken just before the clock
//! starts and just after it stops. The crate `assay-judge` draws conclusions from them.
//! [`Measurement`] has the raw results of the measured time between.
//!
//! To add a counter: add a field of `Snapshot`, an `Option` that old records may lack. Read it in
//! `assay_probe::snapshot`: in `counters` if it belongs to one trial however short, in
//! `add_machine_state` if it belongs to the machine and may be a moment old. Test it with a folder
//! of files for a kernel that has it and one that lacks it. Give it a value in
//! `report::testing::fixture`, write it in `report::machine::json::evidence` and in `docs/json.md`,
//! and show it in `report::views::run::evidence`. `docs/evidence.md` has the order of reading;
//! `cargo xtask agent-size` checks the size of the agents.

use crate::job::Direction;
use crate::storage::Storage;
use serde::{Deserialize, Serialize};

/// Evidence of one trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The storage that the trial's file was on.
    pub storage: Storage,
    /// Settings of each layer's queue, in the order of `storage.layers`.
    pub queues: Vec<QueueSettings>,
    /// Counters just before the clock started.
    pub before: Snapshot,
    /// Counters just after the clock stopped.
    pub after: Snapshot,
    /// Glances taken while the clock ran, in order; empty in a trial of less than a second, and in
    /// records before this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<Glance>,
    /// Other processes that did I/O meanwhile, busiest first, at most eight; `None` when they
    /// cannot be read.
    pub other_processes: Option<Vec<ProcessIo>>,
}

impl Evidence {
    /// Returns the evidence of a trial on a simulated device, which contains nothing of the
    /// machine.
    pub fn simulated(storage: Storage) -> Self {
        Self {
            storage,
            queues: Vec::new(),
            before: Snapshot::default(),
            after: Snapshot::default(),
            during: Vec::new(),
            other_processes: None,
        }
    }
}

/// Values that are cheap to read while the clock runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glance {
    /// Time on the monotonic clock.
    pub at_ns: u64,
    /// Temperature of the hottest thermal zone, in thousandths of a degree Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hottest_millicelsius: Option<i64>,
    /// Dirty pages of the system (`Dirty` of `/proc/meminfo`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_bytes: Option<u64>,
    /// Pages that are being written (`Writeback`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writeback_bytes: Option<u64>,
}

/// Counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time on the monotonic clock.
    pub at_ns: u64,
    /// Block-layer counters of each layer that has them.
    pub devices: Vec<DeviceCounters>,
    /// I/O that the kernel accounts to the agent.
    pub own_io: Option<OwnIo>,
    /// Pages of the test file in the page cache.
    pub file_cache: Option<FileCache>,
    /// Cached pages of the region under test; present where the kernel reports them (Linux 6.5) and
    /// they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region_cache: Option<FileCache>,
    /// Settings of each layer's queue before the clock started, to detect a change; empty in
    /// records before this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSettings>,
    /// Holes of the region under test, before the clock started; `None` where the file system does
    /// not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holes: Option<FileHoles>,
    /// Change of a test file by another process while the clock ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_change: Option<FileChange>,
    /// `true` if every test file has the attribute `S` (`chattr +S`), with which a write returns
    /// when it is durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronous_files: Option<bool>,
    /// Memory of the system.
    pub memory: Option<MemoryCounters>,
    /// Frequency and governor of each CPU.
    pub cpus: Vec<CpuState>,
    /// Temperatures.
    pub thermal: Vec<ThermalZone>,
    /// Pressure stall information.
    pub pressure: Option<Pressure>,
    /// Context switches of the whole system.
    pub context_switches: Option<u64>,
    /// Causes besides storage that may keep the agent waiting; `None` in records before this field
    /// existed, and for steps of a few milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindrances: Option<Hindrances>,
}

/// Counters of causes besides storage that may keep the agent waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hindrances {
    /// Time for which the machine was suspended since boot.
    pub suspended_ns: u64,
    /// Latest times in which the agent was stopped, at most 32, in order.
    pub stops: Vec<AgentStop>,
    /// Time that a hypervisor took from all processors together (`steal` of `/proc/stat`).
    pub steal_ns: Option<u64>,
    /// Number of processors.
    pub processors: u32,
    /// Control groups of the agent that have a CPU limit, innermost first.
    pub throttled: Vec<Throttled>,
    /// Limits of the agent's control groups, innermost first.
    pub io_limits: Vec<IoLimit>,
}

/// Time for which a signal, a debugger or a paused virtual machine kept the agent from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStop {
    /// End of the stop, on the monotonic clock.
    pub end_ns: u64,
    /// Length of the stop.
    pub length_ns: u64,
}

impl AgentStop {
    /// Returns the part of the stop that lies between two times of the monotonic clock.
    pub fn within(self, begin_ns: u64, end_ns: u64) -> u64 {
        let began_ns = self.end_ns.saturating_sub(self.length_ns);
        self.end_ns
            .min(end_ns)
            .saturating_sub(began_ns.max(begin_ns))
    }
}

/// Time for which threads of a control group were throttled by its CPU limit, since the group was
/// created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttled {
    /// Path of the control group.
    pub group: String,
    /// Time summed over the processors (`cpu.stat`).
    pub time_ns: u64,
}

/// Limit of a block device in a control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLimit {
    /// File and group, such as `io.max of cgroup /a`.
    pub source: String,
    /// Device number, such as `8:0`.
    pub device: String,
    /// Key: `rbps`, `wbps`, `riops` or `wiops`.
    pub key: String,
    /// Limit in bytes or requests per second.
    pub per_second: u64,
}

/// Counters of `/sys/class/block/NAME/stat`. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Kernel name.
    pub name: String,
    /// Reads completed.
    pub read_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time spent reading.
    pub read_ms: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time spent writing.
    pub write_ms: u64,
    /// I/Os in flight.
    pub in_flight: u64,
    /// Time in which the device was busy.
    pub busy_ms: u64,
    /// Bytes discarded (Linux 4.18).
    pub discard_bytes: Option<u64>,
    /// Flush requests completed (Linux 5.5).
    pub flush_ios: Option<u64>,
    /// Time spent flushing.
    pub flush_ms: Option<u64>,
}

impl DeviceCounters {
    /// Combines the counters that labels use with those of another moment; times and depths become
    /// 0.
    pub fn combined(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        let maybe = |a: Option<u64>, b: Option<u64>| Some(of(a?, b?));
        Self {
            name: self.name.clone(),
            read_ios: of(self.read_ios, other.read_ios),
            read_bytes: of(self.read_bytes, other.read_bytes),
            write_ios: of(self.write_ios, other.write_ios),
            write_bytes: of(self.write_bytes, other.write_bytes),
            discard_bytes: maybe(self.discard_bytes, other.discard_bytes),
            flush_ios: maybe(self.flush_ios, other.flush_ios),
            ..Self::default()
        }
    }
}

/// Write cache of a device according to the kernel. A volatile one may lose acknowledged writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteCache {
    /// `write back`: a volatile cache that must be flushed.
    Back,
    /// `write through`: no volatile cache.
    Through,
}

/// Settings under `/sys/block/DISK/queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSettings {
    /// Name of the layer.
    pub name: String,
    /// I/O scheduler in force.
    pub scheduler: Option<String>,
    /// Schedulers available.
    pub schedulers: Vec<String>,
    /// Read-ahead.
    pub read_ahead_kib: Option<u64>,
    /// Queue depth of the scheduler.
    pub nr_requests: Option<u64>,
    /// Largest request the kernel builds.
    pub max_request_kib: Option<u64>,
    /// Volatile cache.
    pub write_cache: Option<WriteCache>,
    /// `true` if single writes can be forced to the medium (FUA).
    pub fua: Option<bool>,
    /// `true` if the kernel counts the device's I/O; `None` in records before this field existed.
    #[serde(default)]
    pub iostats: Option<bool>,
}

/// The agent's lines of `/proc/self/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnIo {
    /// Bytes that the agent made the block layer read.
    pub read_bytes: u64,
    /// Bytes that the agent dirtied or wrote directly.
    pub write_bytes: u64,
    /// Dirty bytes that the agent discarded before they were written.
    pub cancelled_write_bytes: u64,
}

impl OwnIo {
    /// Combines each counter with that of another moment.
    #[must_use]
    pub fn combined(self, other: Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            read_bytes: of(self.read_bytes, other.read_bytes),
            write_bytes: of(self.write_bytes, other.write_bytes),
            cancelled_write_bytes: of(self.cancelled_write_bytes, other.cancelled_write_bytes),
        }
    }
}

/// Source of [`FileCache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheSource {
    /// `cachestat(2)`, Linux 6.5.
    Cachestat,
    /// `mincore(2)`, which reports cached pages but not dirty ones.
    Mincore,
}

/// Pages of one file in the page cache, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCache {
    /// Origin of the figures.
    pub source: CacheSource,
    /// Cached bytes.
    pub cached_bytes: u64,
    /// Dirty bytes that are not yet being written.
    pub dirty_bytes: Option<u64>,
    /// Bytes being written.
    pub writeback_bytes: Option<u64>,
}

/// Parts of files that the kernel reads as zeros without a request to the device: holes, and
/// extents that were allocated but never written (`SEEK_HOLE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHoles {
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Bytes of the region.
    pub region_bytes: u64,
}

/// Change of an open file that removes data from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// The file became shorter (`truncate(2)`).
    Shortened,
    /// Blocks were replaced by a hole (`fallocate(2)`).
    Punched,
}

/// Lines of `/proc/meminfo`, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCounters {
    /// `MemTotal`.
    pub total_bytes: u64,
    /// `MemAvailable` (Linux 3.14).
    pub available_bytes: Option<u64>,
    /// `Cached`.
    pub cached_bytes: u64,
    /// `Buffers`.
    pub buffers_bytes: u64,
    /// `Dirty`.
    pub dirty_bytes: u64,
    /// `Writeback`.
    pub writeback_bytes: u64,
}

/// One CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuState {
    /// Number of the CPU.
    pub cpu: u32,
    /// Current frequency.
    pub khz: Option<u64>,
    /// Governor in force.
    pub governor: Option<String>,
}

/// One thermal zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThermalZone {
    /// Type of the zone, for example `cpu-thermal`.
    pub name: String,
    /// Temperature in thousandths of a degree Celsius.
    pub millicelsius: i64,
}

/// Stall time since boot (`/proc/pressure`), in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Time in which at least one task waited for I/O.
    pub io_some_us: u64,
    /// Time in which every task waited for I/O, in microseconds.
    pub io_full_us: u64,
    /// Time in which at least one task waited for a CPU.
    pub cpu_some_us: u64,
    /// Time in which at least one task waited for memory.
    pub memory_some_us: u64,
}

/// I/O of one process during the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Process id.
    pub pid: u32,
    /// Name of the process.
    pub name: String,
    /// Bytes that the process made the block layer read.
    pub read_bytes: u64,
    /// Bytes that the process dirtied or wrote directly.
    pub write_bytes: u64,
}

/// Raw results of the measured time, all workers together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// Time from clock start to clock stop.
    pub elapsed_ns: u64,
    /// Reads.
    pub read: DirectionTotals,
    /// Writes.
    pub write: DirectionTotals,
    /// Flush calls, each from call to return.
    pub flush: LatencyRecord,
    /// Groups of writes that a flush follows, each from its first write to the end of that flush;
    /// `None` if the job does not flush between writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<LatencyRecord>,
    /// Written bytes that are not covered by a flush that began after the write; `None` if they
    /// were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unflushed_bytes: Option<u64>,
    /// Completions over time.
    pub series: Series,
    /// The longest time without a completion of any worker.
    pub longest_gap: Option<Gap>,
    /// I/O errors.
    pub errors: IoErrors,
    /// Processor use of the agent.
    pub cpu: CpuUse,
}

/// One direction of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionTotals {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that the kernel completed only partly and that were continued.
    pub short_ios: u64,
    /// Latency from submission to completion (fio's clat for synchronous engines).
    pub latency: LatencyRecord,
    /// Time spent in the submission call; only asynchronous engines measure it separately.
    pub submission: Option<LatencyRecord>,
    /// Clock time of this direction, in nanoseconds, if it is less than the whole measurement: a
    /// job that writes and then reads back does one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_ns: Option<u64>,
}

impl Measurement {
    /// Returns the clock time of a direction, in nanoseconds: the divisor of its rate.
    pub fn clock_ns(&self, direction: Direction) -> u64 {
        let totals = match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        };
        totals.clock_ns.unwrap_or(self.elapsed_ns)
    }
}

/// Completions per interval, empty intervals included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Width of an interval.
    pub interval_ns: u64,
    /// Intervals from clock start; the last may be shorter.
    pub points: Vec<Interval>,
}

/// One interval of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads completed.
    pub read_ios: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Bytes trimmed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_bytes: u64,
    /// Trims completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trim_ios: u64,
    /// Longest latency that ended in the interval.
    pub max_latency_ns: u64,
}

pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A period without a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Start, relative to clock start.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
}

/// Errors, counted and located.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrors {
    /// Number of errors.
    pub count: u64,
    /// First errors in detail.
    pub first: Vec<IoErrorRecord>,
}

/// One failed I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoErrorRecord {
    /// Direction; `None` for a flush.
    pub direction: Option<Direction>,
    /// Offset in the file or device.
    pub offset: u64,
    /// Requested length.
    pub length: u64,
    /// Error number of the kernel; `None` for an unexpected end of file.
    pub errno: Option<i32>,
    /// Error message.
    pub message: String,
    /// Time, relative to clock start.
    pub at_ns: u64,
}

/// Processor time and switches of the agent during the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Time in user mode.
    pub user_ns: u64,
    /// Time in the kernel.
    pub system_ns: u64,
    /// Number of waits.
    pub voluntary_switches: u64,
    /// Number of preemptions.
    pub involuntary_switches: u64,
    /// Time spent ready to run, without a processor (`schedstat`); 0 where that is not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run_delay_ns: u64,
}

impl CpuUse {
    /// Returns the processor use since an earlier reading of the same counters.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
            run_delay_ns: self.run_delay_ns.saturating_sub(before.run_delay_ns),
        }
    }
}

/// Sums the processor use of several threads.
impl std::iter::Sum for CpuUse {
    fn sum<I: Iterator<Item = Self>>(uses: I) -> Self {
        uses.fold(Self::default(), |a, b| Self {
            user_ns: a.user_ns + b.user_ns,
            system_ns: a.system_ns + b.system_ns,
            voluntary_switches: a.voluntary_switches + b.voluntary_switches,
            involuntary_switches: a.involuntary_switches + b.involuntary_switches,
            run_delay_ns: a.run_delay_ns + b.run_delay_ns,
        })
    }
}

/// Serializes `u128` as text: many JSON readers cannot read numbers of that size.
mod wide {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

/// Latencies of one kind of operation. The bins are those of `assay_stats::histogram` (log-linear,
/// error at most 1/128); count, extremes and sums are exact. The stored form is
/// sparse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// Number of operations.
    pub count: u64,
    /// Shortest latency; 0 when there was no operation.
    pub min_ns: u64,
    /// Longest latency.
    pub max_ns: u64,
    /// Sum of all latencies.
    pub sum_ns: u64,
    /// Sum of the squares of all latencies.
    #[serde(with = "wide")]
    pub sum_sq_ns2: u128,
    /// Bins in use, ascending: bin index and number of operations.
    pub bins: Vec<(u32, u64)>,
}

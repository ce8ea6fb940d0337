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
pub mod content;
pub mod files;
pub mod logs;
pub mod pace;
pub mod priority;
pub mod report;
pub mod schedule;
pub mod stats;
pub mod trace;
pub mod verify;

use crate::job::{EngineKind, Flush, FlushCall, OpenSync};
use crate::rng::SplitMix64;
use crate::units::Nanos;
use blocks::{Blocks, Region};
use content::WriteContent;
use files::Files;
use logs::Logs;
use pace::PaceLimits;
use priority::PriorityShare;
use schedule::{Process, Schedule};
use serde::{Deserialize, Serialize};
use stats::{ErrorPolicy, StatsOptions, SteadyState};
use trace::Trace;
use verify::{TrimOptions, Verify};

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
    pub aux_path: Option<std::path::PathBuf>,
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

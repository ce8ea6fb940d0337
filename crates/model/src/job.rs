//! A job: one description of I/O, in fio's terms.

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

crate::named! {
    /// The direction of one I/O (fio's ddir).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Direction {
        /// From the storage.
        Read = "read",
        /// To the storage.
        Write = "write",
    }
}

crate::named! {
    /// The rw pattern.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Rw {
        /// Sequential reads.
        Read = "read",
        /// Sequential writes.
        Write = "write",
        /// Random reads.
        RandRead = "randread",
        /// Random writes.
        RandWrite = "randwrite",
        /// Sequential, reads and writes mixed by [`Job::read_percent`].
        Rw = "rw",
        /// Random, reads and writes mixed by [`Job::read_percent`].
        RandRw = "randrw",
    }
}

impl Rw {
    /// `true` if offsets come in random order.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw)
    }

    /// `true` if the pattern reads.
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::RandWrite)
    }

    /// `true` if the pattern writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead)
    }
}

crate::named! {
    /// I/O engine: the interface through which I/O is submitted to the kernel (fio's ioengine).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EngineKind {
        /// `pread(2)` / `pwrite(2)`.
        Psync = "psync",
        /// `lseek(2)` then `read(2)` / `write(2)`.
        Sync = "sync",
        /// Linux native asynchronous I/O (`io_submit(2)`).
        Libaio = "libaio",
        /// `io_uring(7)`.
        IoUring = "io_uring",
        /// `preadv(2)` / `pwritev(2)`.
        Pvsync = "pvsync",
        /// `preadv2(2)` / `pwritev2(2)`.
        Pvsync2 = "pvsync2",
        /// `readv(2)` / `writev(2)`, which combines adjacent blocks.
        Vsync = "vsync",
        /// Memory mapped files.
        Mmap = "mmap",
        /// POSIX asynchronous I/O (`aio(7)`).
        Posixaio = "posixaio",
        /// Completes at once without an access to storage: measures assay itself.
        Null = "null",
        /// A simulated device, in virtual time (crate `flash`).
        Sim = "sim",
        /// Each I/O creates one file.
        FileCreate = "filecreate",
        /// Each I/O reads the attributes of one file.
        FileStat = "filestat",
        /// Each I/O removes one file.
        FileDelete = "filedelete",
        /// Each I/O creates one directory.
        DirCreate = "dircreate",
        /// Each I/O reads the attributes of one directory.
        DirStat = "dirstat",
        /// Each I/O removes one directory.
        DirDelete = "dirdelete",
        /// Each write sets the end of the file to the start of its block.
        Ftruncate = "ftruncate",
        /// Each write allocates its block, each read does so without extending the file, each trim
        /// frees it (`fallocate(2)`).
        Falloc = "falloc",
    }
}

/// Treatment of the I/Os of a worker if the I/O depth is above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// Each I/O ends before the next one starts, so that the depth has no effect.
    OneByOne,
    /// Adjacent I/Os are combined into one call.
    Combined,
    /// The kernel keeps them in flight; each can have its own priority.
    Kernel,
    /// Threads of the C library keep them in flight. All its users share them, so a file descriptor
    /// must be the same file to all.
    SharedThreads,
    /// A simulated device keeps them in flight.
    Simulated,
}

/// Path of the data of an engine, which determines the counters of the kernel that include it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// Files and block devices; `/proc/diskstats` counts what reaches a device.
    BlockLayer,
    /// Loads and stores on mapped files, which cannot bypass the page cache (`O_DIRECT`).
    MemoryMap,
    /// SCSI or NVMe commands past the block layer; `/proc/diskstats` does not count them.
    PassThrough,
    /// Buffers that are filled and then discarded.
    Discarded,
    /// A simulated device.
    Simulated,
    /// Calls on files or parts of files, without data.
    NoData,
}

/// Use of a job's paths by an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUse {
    /// Names that lead nowhere.
    Unused,
    /// Files and block devices that are opened.
    OpenFile,
    /// Character devices of block devices, such as `/dev/sg0`, that are opened.
    CharacterDevice,
    /// Names of files to create.
    NewFile,
    /// Names of existing files.
    FileName,
    /// Names of directories to create.
    NewDirectory,
    /// Names of existing directories.
    DirectoryName,
}

impl PathUse {
    /// `true` if I/O needs the open file; otherwise it needs its name at most.
    pub const fn opens(self) -> bool {
        matches!(self, Self::OpenFile | Self::CharacterDevice)
    }

    /// `true` if the paths are those of directories.
    pub const fn is_of_directories(self) -> bool {
        matches!(self, Self::NewDirectory | Self::DirectoryName)
    }
}

/// Properties of an engine on which other parts of assay depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineProperties {
    /// Treatment of several I/Os.
    pub queue: QueueMode,
    /// Path of the data.
    pub data: DataPath,
    /// Use of the job's paths.
    pub paths: PathUse,
}

impl EngineKind {
    /// Returns the properties of the engine. The match is exhaustive, so that each property of a
    /// new engine must be stated.
    pub const fn properties(self) -> EngineProperties {
        use DataPath::{BlockLayer, Discarded, MemoryMap, NoData};
        use PathUse::{DirectoryName, FileName, NewDirectory, NewFile, OpenFile, Unused};
        use QueueMode::{Combined, Kernel, OneByOne, SharedThreads};
        let (queue, data, paths) = match self {
            Self::Psync | Self::Sync => (OneByOne, BlockLayer, OpenFile),
            Self::Pvsync | Self::Pvsync2 => (OneByOne, BlockLayer, OpenFile),
            Self::Vsync => (Combined, BlockLayer, OpenFile),
            Self::Libaio | Self::IoUring => (Kernel, BlockLayer, OpenFile),
            Self::Posixaio => (SharedThreads, BlockLayer, OpenFile),
            Self::Mmap => (OneByOne, MemoryMap, OpenFile),
            Self::Null => (OneByOne, Discarded, Unused),
            Self::Sim => (QueueMode::Simulated, DataPath::Simulated, Unused),
            Self::FileCreate => (OneByOne, NoData, NewFile),
            Self::FileStat | Self::FileDelete => (OneByOne, NoData, FileName),
            Self::DirCreate => (OneByOne, NoData, NewDirectory),
            Self::DirStat | Self::DirDelete => (OneByOne, NoData, DirectoryName),
            Self::Ftruncate | Self::Falloc => (OneByOne, NoData, OpenFile),
        };
        EngineProperties { queue, data, paths }
    }

    /// `true` if each I/O moves the bytes of its block to or from the storage.
    pub const fn moves_data(self) -> bool {
        use DataPath::{BlockLayer, MemoryMap, PassThrough};
        matches!(self.properties().data, BlockLayer | MemoryMap | PassThrough)
    }

    /// `true` if the engine moves the data of regular files: the jobs of a plan and the tests of
    /// files need that.
    pub const fn moves_data_of_files(self) -> bool {
        self.moves_data() && !matches!(self.properties().paths, PathUse::CharacterDevice)
    }

    /// `true` if the engine is asynchronous, so that an I/O depth above 1 has an effect.
    pub const fn is_asynchronous(self) -> bool {
        !matches!(self.properties().queue, QueueMode::OneByOne)
    }

    /// `true` if the engine maps files into memory.
    pub const fn maps_memory(self) -> bool {
        matches!(self.properties().data, DataPath::MemoryMap)
    }
}

/// Flags the file is opened with that make each write durable on return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenSync {
    /// Neither flag.
    #[default]
    None,
    /// `O_DSYNC`: data, and the metadata needed to read it back.
    Dsync,
    /// `O_SYNC`: data and all metadata.
    Sync,
}

/// Call that flushes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushCall {
    /// `fsync(2)`.
    Fsync,
    /// `fdatasync(2)`.
    Fdatasync,
}

/// Times at which the job flushes; always inside the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flush {
    /// Number of writes between flushes, and the call.
    pub every: Option<(u32, FlushCall)>,
    /// Call after the last write.
    pub at_end: Option<FlushCall>,
}

/// Limit of the rate of each worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimit {
    /// Bytes per second.
    BytesPerSec(u64),
    /// I/Os per second.
    Iops(u64),
    /// I/Os per second that arrive at random times (a Poisson process), as from many independent
    /// clients. An I/O starts when it is due, whether or not earlier ones are back, and its latency
    /// counts from then.
    Arrivals(u64),
}

/// State of the test file before the trial, established outside the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// The prepared file, with every block written.
    #[default]
    Written,
    /// A new, empty file for this job (for a block device, the device itself). For jobs that
    /// measure writing a new file, as dd does.
    Fresh,
}

/// State of the page cache before the trial, established outside the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// The file's pages are written back and evicted.
    #[default]
    Cold,
    /// The job's region is read once, so that it is cached.
    Warm,
    /// The page cache is left unchanged.
    AsIs,
}

/// Content of write buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Random and different in every block: neither compressible nor dedupable.
    #[default]
    Random,
    /// Zero bytes.
    Zero,
}

/// Order of offsets that shows a property of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlashPattern {
    /// One I/O in each of several units in turn, from the start of each unit.
    InTurn {
        /// Number of units.
        units: u32,
        /// Size of a unit, and distance between their starts.
        unit: Bytes,
    },
    /// Random multiples of a size, with half of the block before and half after.
    Across {
        /// Size.
        unit: Bytes,
    },
    /// Alternating reads and writes, each at a random offset.
    ReadThenWrite,
}

/// A pause after a number of I/Os, inside the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// I/Os between two pauses.
    pub after: u32,
    /// Length of the pause.
    pub time: Nanos,
}

/// Purpose of a job if its shape does not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// One of several ways to write the same, to be compared.
    WriteLadder,
    /// One of several ways to read the same, to be compared.
    ReadLadder,
    /// A write that lasts until the rate of a device drops (SLC cache, garbage collection).
    Sustained,
    /// Transactions of a database: their rate is the figure, not that of their writes.
    Transactions,
    /// A loop over arrays in memory, without storage.
    MemoryBandwidth,
    /// Dependent loads from memory.
    MemoryLatency,
    /// Patterns that are written to memory and checked.
    MemoryStress,
    /// An act of a scenario: its duration is the figure, or, with a given pace, the duration of its
    /// operations.
    Act,
}

crate::defaults! {
    /// One description of I/O to do. Field names and defaults follow fio.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Job {
        /// A short name. Variants of a job in a plan share it.
        pub name: String,
        /// The pattern.
        pub rw: Rw = Rw::Read,
        /// Share of reads in mixed patterns, in percent (fio's rwmixread).
        pub read_percent: u8 = 50,
        /// Block size.
        pub bs: Bytes = Bytes(4096),
        /// Engine.
        pub ioengine: EngineKind = EngineKind::Psync,
        /// I/Os kept in flight by each worker.
        pub iodepth: u32 = 1,
        /// Workers (threads), each of which does the whole job.
        pub numjobs: u32 = 1,
        /// Start of the region.
        pub offset: Bytes,
        /// Length of the region.
        pub size: Bytes,
        /// Bytes after which each worker stops; `None`: after one pass over the region, or never
        /// when `time_based`.
        pub io_size: Option<Bytes>,
        /// Time after which the clock stops at the latest.
        pub runtime: Option<Nanos>,
        /// `true` to begin another pass when the region is done, until `runtime` or `io_size`.
        pub time_based: bool,
        /// Time of I/O before the measurement starts, not counted.
        pub ramp_time: Nanos,
        /// `O_DIRECT`.
        pub direct: bool,
        /// `O_DSYNC` / `O_SYNC`.
        pub sync: OpenSync,
        /// Flush calls.
        pub flush: Flush,
        /// Limit of the rate.
        pub rate: Option<RateLimit>,
        /// State of the file before the trial.
        pub file_state: FileState,
        /// State of the page cache before the trial.
        pub cache_state: CacheState,
        /// Width of one interval of the series.
        pub interval: Nanos = Nanos::millis(100),
        /// Content of write buffers.
        pub content: Content,
        /// Purpose of the job; `None` if its shape shows it.
        #[serde(default)]
        pub purpose: Option<Purpose>,
        /// Order of offsets instead of that of `rw`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pattern: Option<FlashPattern>,
        /// Pauses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pause: Option<Pause>,
        /// Description of the job if its shape does not show it: a step of an act
        /// ([`crate::act`]), for example `SQLite insert, journal wal`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub description: Option<String>,
    }
}

impl Job {
    /// Creates a job with fio's defaults: psync, depth 1, one worker, buffered, one pass over
    /// `size` bytes from the start of the file.
    pub fn new(name: &str, rw: Rw, bs: Bytes, size: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            rw,
            bs,
            size,
            ..Self::default()
        }
    }

    /// `true` if data is forced to the device before the clock stops, by open flags or by a flush
    /// at the end.
    pub fn ends_durable(&self) -> bool {
        self.sync != OpenSync::None
            || self.flush.at_end.is_some()
            || matches!(self.flush.every, Some((1, _)))
    }

    /// Returns the job for a simulated device, which has no page cache: all I/O is direct. `None`
    /// for a job that is about the page cache.
    pub fn simulated(&self) -> Option<Self> {
        let past_the_cache =
            self.direct || self.sync != OpenSync::None || matches!(self.flush.every, Some((1, _)));
        past_the_cache.then(|| Self {
            ioengine: EngineKind::Sim,
            direct: true,
            cache_state: CacheState::AsIs,
            file_state: FileState::Written,
            ..self.clone()
        })
    }

    /// Returns the most bytes that the job can write, all workers together; `None` if only time
    /// limits it.
    pub fn max_written(&self) -> Option<Bytes> {
        if !self.rw.writes() {
            return Some(Bytes(0));
        }
        let per_worker = match self.io_size {
            Some(limit) => limit.0,
            None if self.time_based => return None,
            None => self.size.0,
        };
        Some(Bytes(per_worker.saturating_mul(u64::from(self.numjobs))))
    }
}

/// `true` if `name`, or its part before a final `*`, matches the job called `job`.
pub fn is_named(name: &str, job: &str) -> bool {
    name.strip_suffix('*')
        .map_or(name == job, |beginning| job.starts_with(beginning))
}

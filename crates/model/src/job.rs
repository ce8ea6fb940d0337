//! A job: one description of I/O to do, in fio's words.

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
        /// `readv(2)` / `writev(2)`, neighbouring blocks put together.
        Vsync = "vsync",
        /// Memory mapped files.
        Mmap = "mmap",
        /// POSIX asynchronous I/O (`aio(7)`).
        Posixaio = "posixaio",
        /// Completes at once without touching storage: measures assay itself.
        Null = "null",
        /// A simulated device, in virtual time (crate `flash`).
        Sim = "sim",
        /// Each I/O makes one file.
        FileCreate = "filecreate",
        /// Each I/O asks for the attributes of one file.
        FileStat = "filestat",
        /// Each I/O removes one file.
        FileDelete = "filedelete",
        /// Each I/O makes one directory.
        DirCreate = "dircreate",
        /// Each I/O asks for the attributes of one directory.
        DirStat = "dirstat",
        /// Each I/O removes one directory.
        DirDelete = "dirdelete",
        /// Each write makes the file end where its block starts.
        Ftruncate = "ftruncate",
        /// Each write allocates its block, each read does so without making the
        /// file longer, each trim frees it (`fallocate(2)`).
        Falloc = "falloc",
    }
}

impl EngineKind {
    /// `true` if each I/O moves the bytes of its block to or from the storage; `false` for engines
    /// that only simulate I/O or work on whole files.
    pub const fn moves_data(self) -> bool {
        !matches!(
            self,
            Self::Null
                | Self::Sim
                | Self::FileCreate
                | Self::FileStat
                | Self::FileDelete
                | Self::DirCreate
                | Self::DirStat
                | Self::DirDelete
                | Self::Ftruncate
                | Self::Falloc
        )
    }

    /// `true` if the engine is asynchronous, so that an I/O depth above 1 has an effect.
    pub const fn is_asynchronous(self) -> bool {
        matches!(
            self,
            Self::Libaio | Self::IoUring | Self::Posixaio | Self::Vsync | Self::Sim
        )
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

/// Which call flushes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushCall {
    /// `fsync(2)`.
    Fsync,
    /// `fdatasync(2)`.
    Fdatasync,
}

/// When the job flushes; always inside the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flush {
    /// After every that many writes, with this call.
    pub every: Option<(u32, FlushCall)>,
    /// Once after the last write.
    pub at_end: Option<FlushCall>,
}

/// A ceiling on the pace of each worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimit {
    /// Bytes per second.
    BytesPerSec(u64),
    /// I/Os per second.
    Iops(u64),
}

/// State that the test file is brought to before the trial, outside the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// The file as prepared: every block really written.
    #[default]
    Written,
    /// A new, empty file of its own (a block device: just the device). For
    /// jobs that measure writing a new file, as dd does.
    Fresh,
}

/// State that the page cache is brought to before the trial, outside the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// The file's pages are written back and evicted.
    #[default]
    Cold,
    /// The job's region is read once, so that it is cached.
    Warm,
    /// Left alone.
    AsIs,
}

/// Content of write buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Random and different in every block: neither compresses nor dedupes.
    #[default]
    Random,
    /// Zero bytes.
    Zero,
}

/// An order of offsets that asks flash a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlashPattern {
    /// One I/O in each of so many units of that size in turn, every unit from its begin on.
    InTurn {
        /// Number of units.
        units: u32,
        /// Size of each, and how far apart they begin.
        unit: Bytes,
    },
    /// At random multiples of that size, half of the block before and half behind.
    Across {
        /// The size.
        unit: Bytes,
    },
    /// A read and a write in turn, each at a random place.
    ReadThenWrite,
}

/// A pause after so many I/Os, inside the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// I/Os between two pauses.
    pub after: u32,
    /// Length of the pause.
    pub time: Nanos,
}

/// Purpose of a job, where its shape does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// One of several ways to write the same, to be compared.
    WriteLadder,
    /// One of several ways to read the same, to be compared.
    ReadLadder,
    /// A write that goes on until a device shows its cliffs.
    Sustained,
    /// Transactions of a database: their rate is the figure, not that of the
    /// writes they are made of.
    Transactions,
    /// A loop over arrays in memory: no storage takes part.
    MemoryBandwidth,
    /// Dependent loads from memory.
    MemoryLatency,
    /// Patterns that are written to memory and checked.
    MemoryStress,
    /// An act of a scenario: how long it takes is the figure, or, where the pace is given,
    /// how long its operations take.
    Act,
}

crate::defaults! {
    /// One description of I/O to do. Field names and defaults follow fio.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Job {
        /// A short name, unique in its plan.
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
        /// Workers (threads), each doing the whole job.
        pub numjobs: u32 = 1,
        /// Start of the region.
        pub offset: Bytes,
        /// Length of the region.
        pub size: Bytes,
        /// Each worker stops after that many bytes; `None`: after one pass over
        /// the region, or never when `time_based`.
        pub io_size: Option<Bytes>,
        /// The clock stops at the latest after this time.
        pub runtime: Option<Nanos>,
        /// Begin another pass when the region is done, until `runtime` or
        /// `io_size`.
        pub time_based: bool,
        /// I/O done before the measurement starts, not counted.
        pub ramp_time: Nanos,
        /// `O_DIRECT`.
        pub direct: bool,
        /// `O_DSYNC` / `O_SYNC`.
        pub sync: OpenSync,
        /// Flush calls.
        pub flush: Flush,
        /// Pace.
        pub rate: Option<RateLimit>,
        /// State of the file beforehand.
        pub file_state: FileState,
        /// State of the page cache beforehand.
        pub cache_state: CacheState,
        /// Width of one interval of the series.
        pub interval: Nanos = Nanos::millis(100),
        /// Content of write buffers.
        pub content: Content,
        /// Purpose of the job; `None` if its shape tells.
        #[serde(default)]
        pub purpose: Option<Purpose>,
        /// Another order of offsets than that of `rw`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pattern: Option<FlashPattern>,
        /// Pauses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pause: Option<Pause>,
        /// Description of the job where its shape does not tell: a step of a work
        /// ([`crate::work`]), for example `SQLite insert, journal wal`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub description: Option<String>,
    }
}

impl Job {
    /// A job with fio's defaults: psync, depth 1, one worker, buffered, one
    /// pass over `size` bytes from the start of the file.
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

    /// The same job on a simulated device, where all I/O is direct: there is no page cache.
    /// `None` for a job that is about the page cache.
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

    /// The most bytes the job can write, all workers together; `None` when
    /// only time limits it.
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

/// Returns true if `name`, or the beginning before its final `*`, means the job called `job`.
pub fn is_named(name: &str, job: &str) -> bool {
    name.strip_suffix('*')
        .map_or(name == job, |beginning| job.starts_with(beginning))
}

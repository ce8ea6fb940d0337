//! Blocks and files of a stream: directions, block sizes and the order of offsets; selection, size,
//! creation and removal of files.

use super::{ContentPattern, Extent, PerDirection, Range};
use crate::job::FlashPattern;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

crate::defaults! {
    /// Part of each file that a stream works on.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Region {
        /// Total size over all files (fio's size); `None`: the whole file or device.
        pub size: Option<Extent>,
        /// Start of the region in each file.
        pub offset: Extent = Extent::Bytes(0),
        /// Increment of `offset` for each earlier copy of the job.
        pub offset_increment: Extent = Extent::Bytes(0),
        /// Alignment of an `offset` in percent; 0: the smallest block size.
        pub offset_align: u64,
        /// Skipping zones.
        pub zones: Option<StridedZones>,
    }
}

/// `zonemode=strided`: work in a window, then move to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StridedZones {
    /// Bytes done in a zone before the next one.
    pub size: u64,
    /// Length of a zone; fio requires at least `size`, but it may be less.
    pub range: u64,
    /// Gap between zones.
    pub skip: u64,
}

crate::defaults! {
    /// Directions, block sizes and the order of offsets.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Blocks {
        /// The pattern.
        pub rw: RwPattern,
        /// Shares of reads in a mixed pattern, in percent.
        pub read_percent: u8 = 50,
        /// Sizes of each direction.
        pub sizes: PerDirection<BlockSizes>,
        /// `true` if blocks need not be multiples of the smallest (`bs_unaligned`).
        pub unaligned: bool,
        /// `true` if `read` sizes apply to sequential and `write` sizes to random I/O of either
        /// direction (`bs_is_seq_rand`).
        pub sizes_by_order: bool,
        /// Order of random offsets.
        pub distribution: PerDirection<Distribution>,
        /// Share of random I/O in percent, of each direction.
        pub percentage_random: PerDirection<u8> = PerDirection::all(100),
        /// `true` if offsets may repeat within a pass (`norandommap`).
        pub no_map: bool,
        /// Generator of random offsets.
        pub generator: Generator,
        /// `true` for the same order in every run (`randrepeat`).
        pub repeat: bool = true,
        /// Seed given by the user (`randseed`).
        pub seed: Option<u64>,
        /// Order of offsets that replaces all of the above, in one file and with one block size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pattern: Option<FlashPattern>,
    }
}

crate::defaults! {
    /// fio's `rw`, with the optional part after its colon.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RwPattern {
        /// `true` if the pattern reads.
        pub read: bool = true,
        /// `true` if the pattern writes.
        pub write: bool,
        /// `true` if the pattern trims.
        pub trim: bool,
        /// `true` if offsets are random.
        pub random: bool,
        /// `true` if each trim is followed by a write of the same block (`trimwrite`).
        pub trim_then_write: bool,
        /// Number of I/Os per new random offset, as in `rw=randread:8`.
        pub every: u32 = 1,
        /// Bytes added to the offset after each I/O, as in `rw=write:4k`; may be negative.
        pub skip_bytes: i64,
        /// Rule for the offsets between random ones.
        pub sequencer: Sequencer,
    }
}

impl RwPattern {
    /// `true` if the pattern changes what the storage holds.
    pub const fn changes(&self) -> bool {
        self.write || self.trim
    }
}

/// fio's `rw_sequencer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sequencer {
    /// The next offset follows the last.
    #[default]
    Sequential,
    /// The offset is repeated.
    Identical,
}

/// Block sizes of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSizes {
    /// Smallest size.
    pub min: u32,
    /// Largest size; above `min`, sizes are multiples of `min` (`bsrange`).
    pub max: u32,
    /// Pairs of size and percent, with a sum of 100 (`bssplit`); empty: none.
    pub split: Vec<(u32, u8)>,
    /// Alignment of offsets (`blockalign`); 0: `min`.
    pub align: u32,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self::fixed(4096)
    }
}

impl BlockSizes {
    /// Creates blocks of one size.
    pub const fn fixed(bytes: u32) -> Self {
        Self {
            min: bytes,
            max: bytes,
            split: Vec::new(),
            align: 0,
        }
    }
}

/// fio's `random_distribution`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every block is equally likely; each once per pass unless `no_map`.
    #[default]
    Uniform,
    /// Zipf's law.
    Zipf {
        /// Exponent, above 0 and not 1.
        theta: f64,
        /// Position of the most frequent block, 0 to 1; `None`: random.
        center: Option<f64>,
    },
    /// Pareto (80/20 at power 0.2).
    Pareto {
        /// Power, 0 to 1.
        power: f64,
        /// Position of the most frequent block, as for Zipf.
        center: Option<f64>,
    },
    /// Normal.
    Normal {
        /// Standard deviation, in percent of the region.
        deviation: f64,
        /// Position of the most frequent block, as for Zipf.
        center: Option<f64>,
    },
    /// Pairs (percent of the I/Os, percent of the region) in order; zones that are not given share
    /// the remainder.
    Zoned(Vec<(u8, u8)>),
    /// Pairs (percent of the I/Os, bytes) in order.
    ZonedAbsolute(Vec<(u8, u64)>),
}

/// fio's `random_generator`. All use assay's generator; they differ in their guarantees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// Random draws; a map ensures that each block occurs once.
    #[default]
    Tausworthe,
    /// As `Tausworthe`, with 64 bits.
    Tausworthe64,
    /// Each block occurs once by construction, even with `no_map`.
    Lfsr,
}

crate::defaults! {
    /// The files of a stream.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Files {
        /// Paths of the files, in the order of their numbers. The dialect has applied `directory`,
        /// `filename_format` and `nrfiles`.
        pub paths: Vec<PathBuf>,
        /// `true` if the user named the paths (`filename`).
        pub named: bool,
        /// Directory whose files are all added (`opendir`).
        pub opendir: Option<PathBuf>,
        /// Size of each file: fixed, or drawn from a range (`filesize`); `None`: `size` divided by
        /// the number of files.
        pub file_size: Option<Range>,
        /// Size of each file by its number, if they are known separately (a replayed trace); empty:
        /// `file_size` applies.
        #[serde(default)]
        pub sizes: Vec<u64>,
        /// `true` if new files are appended to instead of overwritten from 0 (`file_append`).
        pub append: bool,
        /// Number of files open at the same time (`openfiles`); 0: all.
        pub open_at_once: u32,
        /// Selection of the next file (`file_service_type`).
        pub service: FileService,
        /// Number of I/Os to a file before the next one is selected.
        pub service_every: u32 = 1,
        /// Allocation of the files' blocks.
        pub fallocate: Fallocate,
        /// Hint about the order of access (`fadvise_hint`).
        pub advice: Advice,
        /// `true` to write the file before it is overwritten (`overwrite`).
        pub overwrite: bool,
        /// `true` to evict the files from the page cache first (`invalidate`).
        pub invalidate: bool = true,
        /// `true` to read the files before the clock starts (`pre_read`).
        pub pre_read: bool,
        /// `true` to call fsync after a file was laid out.
        pub create_fsync: bool = true,
        /// `true` if the stream creates files when it first opens them.
        pub create_on_open: bool,
        /// `true` to only lay out the files.
        pub create_only: bool,
        /// `true` if missing files may be created.
        pub allow_create: bool = true,
        /// `true` to remove the files at the end.
        pub unlink: bool,
        /// `true` to remove the files after each loop.
        pub unlink_each_loop: bool,
        /// Lock held around each I/O.
        pub lock: FileLock,
        /// `true` if the single file was prepared before the load: it is opened without being
        /// created, checked or locked before.
        pub prepared: bool,
    }
}

impl Files {
    /// Creates the description of prepared files, which are used as they are.
    pub fn prepared(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            named: true,
            fallocate: Fallocate::None,
            advice: Advice::None,
            invalidate: false,
            create_fsync: false,
            allow_create: false,
            prepared: true,
            ..Self::default()
        }
    }
}

/// fio's `file_service_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileService {
    /// Each file in turn.
    #[default]
    RoundRobin,
    /// A file until it is complete.
    Sequential,
    /// A random file.
    Random,
    /// A file by Zipf's law with this exponent.
    Zipf(f64),
    /// A file by the Pareto distribution with this power.
    Pareto(f64),
    /// A file by the normal distribution with this deviation in percent.
    Normal(f64),
}

/// Allocation of a file's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallocate {
    /// Blocks are allocated by writing them.
    None,
    /// `fallocate(2)` if the file system supports it.
    #[default]
    Native,
    /// `posix_fallocate(3)`.
    Posix,
    /// `fallocate(2)` without changing the length.
    Keep,
    /// `ftruncate(2)` only.
    Truncate,
}

/// fio's `fadvise_hint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// No hint.
    None,
    /// Hint that follows the pattern.
    #[default]
    ByPattern,
    /// Random.
    Random,
    /// Sequential.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
}

/// fio's `lockfile`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileLock {
    /// None.
    #[default]
    None,
    /// One at a time.
    Exclusive,
    /// Many readers or one writer.
    ReadWrite,
}

crate::defaults! {
    /// Verification of written data.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Verify {
        /// Kind of verification.
        pub kind: VerifyKind = VerifyKind::Null,
        /// `true` to read back and verify at the end of each pass (`do_verify`).
        pub read_back: bool = true,
        /// `true` to write nothing and verify the data of an earlier run.
        pub only: bool,
        /// Number of bytes per header; 0: one header per block.
        pub interval: u32,
        /// Offset of the header in its interval.
        pub offset: u32,
        /// Content after the header, or of the whole block; empty: random.
        pub pattern: ContentPattern,
        /// `true` if the first mismatch ends the stream.
        pub fatal: bool,
        /// `true` to write differing blocks to files.
        pub dump: bool,
        /// Number of verifying threads; 0: the stream itself.
        pub threads: u32,
        /// Processors of those threads.
        pub thread_cpus: Vec<u32>,
        /// Number of written blocks after which they are verified; 0: at the end.
        pub backlog: u64,
        /// Number of blocks that are verified at once; 0: all.
        pub backlog_batch: u64,
        /// `true` to verify in the order of offsets if the order of writing is not needed
        /// (`verifysort`).
        pub sort: bool = true,
        /// `true` to read the number of completed writes from the state of an interrupted run.
        pub load_state: bool,
        /// Time at which the state is saved.
        pub save_state: SaveState = SaveState::WhenStopped,
        /// `true` if a block that is read back must be from the last write to that place
        /// (`verify_write_sequence`).
        #[serde(default = "yes")]
        pub check_number: bool = true,
        /// `true` if the header must have the seed of that write's content (`verify_header_seed`).
        #[serde(default = "yes")]
        pub check_seed: bool = true,
        /// State file, if its name is not derived from the names of host and job.
        pub state_path: Option<PathBuf>,
    }
}

impl Verify {
    /// Creates a verification with fio's defaults.
    pub fn new(kind: VerifyKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}

const fn yes() -> bool {
    true
}

/// Time at which a stream saves its progress (`verify_state_save`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveState {
    /// The state is never saved.
    Never,
    /// When the stream is stopped during its writes.
    WhenStopped,
    /// Also at its end, as in fio, by explicit request.
    Always,
}

/// fio's `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerifyKind {
    /// CRC-7.
    Crc7,
    /// CRC-16.
    Crc16,
    /// CRC-32 (IEEE).
    Crc32,
    /// CRC-32C; fio's `crc32c-intel` too.
    Crc32c,
    /// CRC-64.
    Crc64,
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    Sha3224,
    /// SHA3-256.
    Sha3256,
    /// SHA3-384.
    Sha3384,
    /// SHA3-512.
    Sha3512,
    /// xxHash, 32 bits.
    Xxhash,
    /// Only the header (fio's `meta` and `header`).
    Header,
    /// Only the pattern, without any header (fio's `pattern`).
    Pattern,
    /// The pattern behind a header (fio's `pattern_hdr`).
    PatternHeader,
    /// Nothing is verified, but everything else is done.
    Null,
}

/// Trims between writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimOptions {
    /// Share of written blocks that are trimmed, in percent.
    pub percent: u8,
    /// Trimmed blocks are checked to be zero.
    pub verify_zero: bool,
    /// Number of written blocks after which a trim follows.
    pub backlog: u64,
    /// Number of blocks that are trimmed at once; 0: all.
    pub backlog_batch: u64,
}

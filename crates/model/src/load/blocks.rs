//! Directions, block sizes and the order of offsets.

use super::{Extent, PerDirection};
use crate::job::FlashPattern;
use serde::{Deserialize, Serialize};

crate::defaults! {
    /// Which part of each file a stream works on.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Region {
        /// Total over all files (fio's size); `None`: the whole file or device.
        pub size: Option<Extent>,
        /// Start of the region in each file.
        pub offset: Extent = Extent::Bytes(0),
        /// Added to `offset` once for each earlier copy of the job.
        pub offset_increment: Extent = Extent::Bytes(0),
        /// `offset` in percent is rounded to this; 0: to the smallest block size.
        pub offset_align: u64,
        /// Skipping zones.
        pub zones: Option<StridedZones>,
    }
}

/// `zonemode=strided`: work in a window, then step to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StridedZones {
    /// Bytes done in a zone before the next one.
    pub size: u64,
    /// Length of a zone; at least `size` in fio's words, but may be less.
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
        /// Blocks need not be multiples of the smallest (`bs_unaligned`).
        pub unaligned: bool,
        /// `read` sizes hold for sequential and `write` sizes for random I/O,
        /// whatever the direction (`bs_is_seq_rand`).
        pub sizes_by_order: bool,
        /// Order of random offsets.
        pub distribution: PerDirection<Distribution>,
        /// Share of random I/O in percent, of each direction.
        pub percentage_random: PerDirection<u8> = PerDirection::all(100),
        /// Offsets may come twice in a pass (`norandommap`).
        pub no_map: bool,
        /// Generator of random offsets.
        pub generator: Generator,
        /// The same order in every run (`randrepeat`).
        pub repeat: bool = true,
        /// The user's seed (`randseed`).
        pub seed: Option<u64>,
        /// Another order than all of this says, in one file and with one block size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pattern: Option<FlashPattern>,
    }
}

crate::defaults! {
    /// fio's `rw`, with what may follow its colon.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RwPattern {
        /// Reads are done.
        pub read: bool = true,
        /// Writes are done.
        pub write: bool,
        /// Trims are done.
        pub trim: bool,
        /// Offsets come in random order.
        pub random: bool,
        /// Each trim is followed by a write of the same block (`trimwrite`).
        pub trim_then_write: bool,
        /// `rw=randread:8`: a new random offset only every so many I/Os.
        pub every: u32 = 1,
        /// `rw=write:4k`: added to the offset after each I/O, may be negative.
        pub skip_bytes: i64,
        /// Rule for the offsets between new ones.
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
    /// The same offset again.
    Identical,
}

/// Block sizes of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSizes {
    /// Smallest.
    pub min: u32,
    /// Largest; above `min`: any multiple of `min` between (`bsrange`).
    pub max: u32,
    /// (size, percent), adding up to 100 (`bssplit`); empty: none.
    pub split: Vec<(u32, u8)>,
    /// Offsets are multiples of this (`blockalign`); 0: of `min`.
    pub align: u32,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self::fixed(4096)
    }
}

impl BlockSizes {
    /// Blocks of one size.
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
        /// Position of the most frequent block, 0 to 1; `None`: anywhere.
        center: Option<f64>,
    },
    /// Pareto (80/20 at power 0.2).
    Pareto {
        /// Power, 0 to 1.
        power: f64,
        /// As for Zipf.
        center: Option<f64>,
    },
    /// Normal.
    Normal {
        /// Standard deviation, in percent of the region.
        deviation: f64,
        /// As for Zipf.
        center: Option<f64>,
    },
    /// (percent of the I/Os, percent of the region) in order; what is not
    /// named shares the rest.
    Zoned(Vec<(u8, u8)>),
    /// (percent of the I/Os, bytes) in order.
    ZonedAbsolute(Vec<(u8, u64)>),
}

/// fio's `random_generator`. All of them are drawn from assay's own generator;
/// they differ in what they promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// Random draws; a map sees to it that each block comes once.
    #[default]
    Tausworthe,
    /// As above, 64 bits wide.
    Tausworthe64,
    /// Each block once by construction, even with `no_map`.
    Lfsr,
}

//! Directions, block sizes and the order of offsets.

use super::{Extent, PerDirection};
use crate::job::FlashPattern;
use serde::{Deserialize, Serialize};

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

//! Content of write buffers.

use serde::{Deserialize, Serialize};

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

//! Content of write buffers.

use serde::{Deserialize, Serialize};

crate::defaults! {
    /// Content of write buffers.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct WriteContent {
        /// Zero bytes only (`zero_buffers`).
        pub zero: bool,
        /// New random content for every write (`refill_buffers`); otherwise it is
        /// random once.
        pub refill: bool,
        /// Slightly changed for every write (`scramble_buffers`).
        pub scramble: bool = true,
        /// Repeated to fill the block; empty: random.
        pub pattern: ContentPattern,
        /// Compressibility of a block, in percent; `None`: not asked for.
        pub compress_percent: Option<u8>,
        /// In pieces of that size; 0: of the block.
        pub compress_chunk: u32 = 512,
        /// Share of blocks that came before, in percent.
        pub dedupe_percent: u8,
        /// Source of the repeated blocks.
        pub dedupe_mode: DedupeMode,
        /// Size of the working set, in percent of the region.
        pub dedupe_set_percent: u8 = 5,
        /// Copies of other streams count too (`dedupe_global`).
        pub dedupe_global: bool,
    }
}

/// Bytes that are repeated, with places where something else is put.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentPattern {
    /// The bytes; empty: there is no pattern.
    pub bytes: Vec<u8>,
    /// At these places of it stands the block's offset (`%o`), as a 64-bit
    /// number with the lowest byte first.
    pub offsets_at: Vec<u32>,
    /// It begins anew every so many bytes of a block, as if another block
    /// began there (`verify_pattern_interval`); 0: only with each block.
    #[serde(default)]
    pub interval: u32,
}

/// fio's `dedupe_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DedupeMode {
    /// The block before.
    #[default]
    Repeat,
    /// Any of a working set.
    WorkingSet,
}

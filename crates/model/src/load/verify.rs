//! Checking of what was written, and trims.

use super::content::ContentPattern;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

crate::defaults! {
    /// Checking of what was written.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Verify {
        /// Kind of verification.
        pub kind: VerifyKind = VerifyKind::Null,
        /// Read back and check at the end of each pass (`do_verify`).
        pub read_back: bool = true,
        /// Nothing is written; what an earlier run wrote is checked.
        pub only: bool,
        /// A header every so many bytes; 0: one per block.
        pub interval: u32,
        /// Offset of the header in the interval.
        pub offset: u32,
        /// Filling of what follows the header, or all of it; empty: random.
        pub pattern: ContentPattern,
        /// The first mismatch ends the stream.
        pub fatal: bool,
        /// Write differing blocks to files.
        pub dump: bool,
        /// That many threads check; 0: the stream itself.
        pub threads: u32,
        /// Processors of those threads.
        pub thread_cpus: Vec<u32>,
        /// Check after that many written blocks; 0: at the end.
        pub backlog: u64,
        /// That many of them at once; 0: all.
        pub backlog_batch: u64,
        /// Checked in the order of offsets where the order of writing is not
        /// needed (`verifysort`).
        pub sort: bool = true,
        /// Up to which write was completed is taken from the state of an
        /// interrupted run.
        pub load_state: bool,
        /// When it is saved.
        pub save_state: SaveState = SaveState::WhenStopped,
        /// A block that is read back must be of the very write that was last there
        /// (`verify_write_sequence`).
        #[serde(default = "yes")]
        pub check_number: bool = true,
        /// The header must have the seed of that write's content (`verify_header_seed`).
        #[serde(default = "yes")]
        pub check_seed: bool = true,
        /// State file, where not derived from the names of host and job.
        pub state_path: Option<PathBuf>,
    }
}

impl Verify {
    /// fio's defaults.
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

/// When a stream saves how far it came (`verify_state_save`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveState {
    /// Never.
    Never,
    /// When it is stopped while it writes.
    WhenStopped,
    /// At its end, too, as fio does it: this was asked for.
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
    /// Nothing is checked, but all the rest is done.
    Null,
}

/// Trims between writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimOptions {
    /// Share of written blocks that are trimmed, in percent.
    pub percent: u8,
    /// Trimmed blocks are checked to be zero.
    pub verify_zero: bool,
    /// Trim after that many written blocks.
    pub backlog: u64,
    /// That many of them at once; 0: all.
    pub backlog_batch: u64,
}

//! Verification of written data, and trims.

use super::content::ContentPattern;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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

//! Files of a stream: selection, size, creation and removal.

use super::pace::Range;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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

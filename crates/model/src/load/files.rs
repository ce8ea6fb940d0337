//! The files of a stream: which, how large, how they come to be and to end.

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
        /// The paths were named by the user (`filename`), not made up.
        pub named: bool,
        /// Directory whose files are all added (`opendir`).
        pub opendir: Option<PathBuf>,
        /// Size of each file: fixed, or drawn from a range (`filesize`); `None`:
        /// `size` divided by the number of files.
        pub file_size: Option<Range>,
        /// Size of each file by its number, where each is known by itself (a trace
        /// that is replayed); empty: as `file_size` says.
        #[serde(default)]
        pub sizes: Vec<u64>,
        /// New files are appended to instead of overwritten from 0
        /// (`file_append`).
        pub append: bool,
        /// Open at the same time (`openfiles`); 0: all.
        pub open_at_once: u32,
        /// Which file is next (`file_service_type`).
        pub service: FileService,
        /// I/Os to a file before the next one is taken.
        pub service_every: u32 = 1,
        /// Allocation of the files' blocks.
        pub fallocate: Fallocate,
        /// Hint about the order of access (`fadvise_hint`).
        pub advice: Advice,
        /// The file is written before it is overwritten (`overwrite`).
        pub overwrite: bool,
        /// The page cache of the files is emptied first (`invalidate`).
        pub invalidate: bool = true,
        /// The files are read before the clock starts (`pre_read`).
        pub pre_read: bool,
        /// fsync after a file was laid out.
        pub create_fsync: bool = true,
        /// Files are made when they are first opened, by the stream itself.
        pub create_on_open: bool,
        /// Only lay out the files.
        pub create_only: bool,
        /// Missing files may be made.
        pub allow_create: bool = true,
        /// Remove the files at the end.
        pub unlink: bool,
        /// Remove them after each loop.
        pub unlink_each_loop: bool,
        /// Lock the file around each I/O.
        pub lock: FileLock,
        /// True if the one file was made ready before the load: it is opened as it is, and neither
        /// made, looked at nor held before.
        pub prepared: bool,
    }
}

impl Files {
    /// Files that are ready, and are used as they are.
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
    /// A file until it is done.
    Sequential,
    /// Any.
    Random,
    /// By Zipf's law with this exponent.
    Zipf(f64),
    /// Pareto with this power.
    Pareto(f64),
    /// Normal with this deviation in percent.
    Normal(f64),
}

/// Allocation of a file's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallocate {
    /// By writing them.
    None,
    /// `fallocate(2)` where the file system knows it.
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
    /// By the pattern.
    #[default]
    ByPattern,
    /// Random.
    Random,
    /// Sequential.
    Sequential,
    /// Neither (`POSIX_FADV_NOREUSE`).
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

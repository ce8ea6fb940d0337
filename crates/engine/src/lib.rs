//! I/O engines and the loop that drives them.
//!
//! [`load::run()`] runs the streams of a load and returns raw counters;
//! [`measure()`] does the same for one job. The file helpers that a trial needs
//! are here too: [`layout`] writes test files, [`page_cache`] inspects and
//! empties their cache.
//!
//! This is the only crate with `unsafe`: for aligned buffers that the kernel
//! fills, and for system calls without a safe wrapper. Each use states why it
//! is sound.

#![allow(
    unsafe_code,
    reason = "the one crate that talks to the kernel below the safe wrappers"
)]

pub mod buffer;
mod engines;
mod extra;
pub mod held;
pub mod layout;
pub mod load;
mod measure;
pub mod memory;
pub mod page_cache;
mod recorder;
pub mod registers;
#[cfg(feature = "sim")]
pub mod sim;
pub mod stdio;
mod sys;
mod verify;

pub use engines::{MappedFile, discard_range, usable};
pub use measure::{Observer, Progress, Start, measure};
pub use sys::{StartLine, Waker, handle_sigusr1, inherited, own_file_table, thread_cpu_use};

use crate::held::shown;
use assay_model::job::EngineKind;
use assay_model::units::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Reason why a job could not run: an error before or around the I/O itself. Failed I/Os of a trial
/// are data, not errors: see `assay_model::trial::IoErrors`.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A call on the file failed.
    #[error("cannot {operation} {}: {source}", shown(path))]
    File {
        /// For example `open`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// The file system refuses direct I/O.
    #[error("the file system of {} refuses direct I/O (O_DIRECT)", shown(path))]
    NoDirect {
        /// The file.
        path: PathBuf,
    },
    /// The engine does not work on this kernel.
    #[error("{engine} does not work here: {source}")]
    Unavailable {
        /// The engine.
        engine: EngineKind,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// The system does not allow as many threads as the job has workers.
    #[error(
        "cannot start {number} threads: {source}: lower numjobs or allow more (ulimit -u, the pids limit of the cgroup)"
    )]
    Threads {
        /// Number of threads that the job asks for.
        number: u32,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// A buffer cannot be allocated.
    #[error("no memory for a buffer of {0}: choose smaller blocks, or allow more (ulimit -v)")]
    Memory(Bytes),
    /// The kernel refused to take or return I/O.
    #[error("{engine} failed to {operation}: {source}")]
    Queue {
        /// The engine.
        engine: EngineKind,
        /// For example `submit`.
        operation: &'static str,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// The job contradicts itself or does not fit its file.
    #[error("job '{job}': {problem}")]
    Job {
        /// Name of the job.
        job: String,
        /// Contradiction, and how to remove it.
        problem: String,
    },
    /// The caller stopped the job.
    #[error("stopped")]
    Stopped,
}

impl EngineError {
    /// Creates the error of a failed `operation`, for example `open`, on the file at `path`.
    pub fn file(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            operation,
            path: path.to_owned(),
            source,
        }
    }

    /// Creates the error of an engine that the kernel does not support.
    pub(crate) fn unavailable(engine: EngineKind, source: io::Error) -> Self {
        Self::Unavailable { engine, source }
    }

    /// Creates the error of an engine that failed to `operation`, for example `submit`.
    pub(crate) fn queue(engine: EngineKind, operation: &'static str, source: io::Error) -> Self {
        Self::Queue {
            engine,
            operation,
            source,
        }
    }

    /// Returns the kernel's error number, if there was one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::File { source, .. }
            | Self::Unavailable { source, .. }
            | Self::Threads { source, .. }
            | Self::Queue { source, .. } => source.raw_os_error(),
            Self::NoDirect { .. } | Self::Memory(_) | Self::Job { .. } | Self::Stopped => None,
        }
    }
}

/// Number of checks of a device that returned an error, and the time between two.
const CHECKS: u32 = 10;
const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// Returns true if a device disappears within half a second. When a device is unplugged, its
/// first errors arrive before the kernel removes it.
pub fn goes_away(is_gone: impl Fn() -> bool) -> bool {
    (0..CHECKS).any(|check| {
        if check > 0 {
            std::thread::sleep(BETWEEN_CHECKS);
        }
        is_gone()
    })
}

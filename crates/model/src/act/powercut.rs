//! Acknowledged writes until a power cut, and a check of them afterwards.

use crate::act::ActSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Name of the folder that is created for the test.
pub const FOLDER: &str = "assay-powercut";

/// Writes until a power cut, or the check after the power came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Powercut {
    /// Folder or block device.
    pub path: PathBuf,
    /// `true` if `path` is a block device.
    pub device: bool,
    /// Streams that write at the same time.
    pub kinds: Vec<DurabilityKind>,
    /// File system that is mounted at `path` first, unless one is mounted there.
    pub mount: Option<Mounting>,
    /// Task to carry out.
    pub task: Task,
}

impl ActSpec for Powercut {
    fn writes(&self) -> Vec<PathBuf> {
        let device = self.device.then(|| self.path.clone());
        device.into_iter().collect()
    }

    fn claims(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

/// A file system to mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounting {
    /// The block device.
    pub device: PathBuf,
    /// Type of the file system.
    pub fs_type: String,
    /// Options, in the form of `mount -o`; empty: none.
    pub options: String,
}

/// Task of a power-cut test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Writes until a power cut.
    Write,
    /// Checks the data.
    Verify {
        /// Writes that the host has recorded, by stream, in order.
        known: Vec<KnownWrites>,
        /// Atomic write size of the device, in bytes.
        atomic: u32,
    },
}

/// Writes of a stream that the host has recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownWrites {
    /// Number of the last write that began, from 1; 0 if none.
    pub begun: u64,
    /// Number of the last acknowledged write.
    pub acknowledged: u64,
}

crate::named! {
    /// Way of making a write durable, which defines its acknowledgement.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum DurabilityKind {
        /// Overwriting 16 KiB, fsync(2).
        Fsync = "fsync",
        /// Overwriting 4 KiB, fdatasync(2).
        Fdatasync = "fdatasync",
        /// Overwriting 4 KiB, with `O_DSYNC`.
        Dsync = "dsync",
        /// Overwriting 4 KiB past the page cache, with `RWF_DSYNC`: a write with FUA if the device
        /// supports it.
        Fua = "fua",
        /// A new file of 64 KiB, fsync, rename over the old one, fsync of the folder.
        Rename = "rename",
        /// Appending 1 KiB, fsync.
        Append = "append",
        /// A row in an SQLite database with `journal_mode=WAL` and `synchronous=FULL`.
        Sqlite = "sqlite",
    }
}

impl DurabilityKind {
    /// `true` if the kind needs no file system.
    pub const fn on_device(self) -> bool {
        matches!(
            self,
            Self::Fsync | Self::Fdatasync | Self::Dsync | Self::Fua
        )
    }

    /// Returns the bytes of a write.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Fsync => 16 << 10,
            Self::Fdatasync | Self::Dsync | Self::Fua => 4 << 10,
            Self::Rename => 64 << 10,
            Self::Append | Self::Sqlite => 1 << 10,
        }
    }
}

/// An event of the writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
pub enum Word {
    /// Preparations are complete and durable: the writes begin.
    Ready {
        /// Boot id of the machine; `None` if the kernel does not report it.
        boot_id: Option<String>,
    },
    /// A write is about to begin.
    Begun {
        /// Index of its stream.
        stream: u32,
        /// Number of the write, from 1.
        sequence: u64,
    },
    /// A write was acknowledged.
    Acknowledged {
        /// Index of its stream.
        stream: u32,
        /// Number of the write.
        sequence: u64,
    },
}

/// Findings after the power came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowercutReport {
    /// Boot id of the machine; `None` if the kernel does not report it.
    pub boot_id: Option<String>,
    /// Reason why the file system could not be mounted.
    pub not_mounted: Option<String>,
    /// Kernel messages about the device while it was mounted: journal replays, errors.
    pub said: Vec<String>,
    /// Result of a file system check; `None` if there was no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<FileSystemCheck>,
    /// Findings about each stream, in order.
    pub streams: Vec<StreamFound>,
}

/// A read-only check of the file system, after its journal was replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemCheck {
    /// Command of the check.
    pub command: String,
    /// Exit code of the check; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// `true` if the exit code means that the file system is damaged.
    pub damaged: bool,
    /// First lines of its output.
    pub said: Vec<String>,
}

/// Findings about a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamFound {
    /// Kind of the stream, as named by the user.
    pub kind: String,
    /// Number of acknowledged writes.
    pub acknowledged: u64,
    /// Number of acknowledged writes that no later write could have replaced, so that their data
    /// must exist.
    pub checked: u64,
    /// Number of acknowledged writes that are missing.
    pub lost: u64,
    /// Number of writes of which less than the atomic size exists.
    pub torn: u64,
    /// Number of missing acknowledged writes although later ones of their stream exist.
    pub misordered: u64,
    /// Number of places with data that the test did not write.
    pub garbage: u64,
    /// Number of writes without acknowledgement that exist, whole or in whole sectors, which is
    /// allowed.
    pub beyond: u64,
    /// First faults in words.
    pub examples: Vec<String>,
}

impl StreamFound {
    /// `true` if there is any fault.
    pub const fn is_bad(&self) -> bool {
        self.lost + self.torn + self.misordered + self.garbage > 0
    }
}

/// A cycle: one power cut and the return of the power.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutStep {
    /// Time from the first write to the power cut, in nanoseconds.
    pub after_ns: u64,
    /// Time from the power cut until the machine was reachable again.
    pub away_ns: u64,
    /// Atomic write size of the device, in bytes.
    pub atomic: u32,
    /// Findings after the power cut.
    pub found: PowercutReport,
}

impl CutStep {
    /// `true` if there is any fault.
    pub fn is_bad(&self) -> bool {
        self.found.not_mounted.is_some()
            || self.damage().is_some()
            || self.found.streams.iter().any(StreamFound::is_bad)
    }

    /// Returns the check that found the file system damaged.
    pub fn damage(&self) -> Option<&FileSystemCheck> {
        self.found.check.as_ref().filter(|check| check.damaged)
    }
}

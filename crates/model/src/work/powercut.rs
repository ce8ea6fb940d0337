//! Acknowledged writes until the power goes, and what of them is there afterwards.

use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The folder that is made for it.
pub const FOLDER: &str = "assay-powercut";

/// Writing until the power goes, or looking at what is there since it came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Powercut {
    /// A folder, or a block device.
    pub path: PathBuf,
    /// It is a block device.
    pub device: bool,
    /// The streams, which write at the same time.
    pub kinds: Vec<DurabilityKind>,
    /// Mounted at `path` first, unless something is mounted there.
    pub mount: Option<Mounting>,
    /// Task to carry out.
    pub task: Task,
}

impl WorkSpec for Powercut {
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
    /// The type of the file system.
    pub fs_type: String,
    /// Options, as `mount -o` takes them; empty: none.
    pub options: String,
}

/// Task of a power-cut test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Writing until there is no power.
    Write,
    /// Looking at what is there.
    Verify {
        /// Writes that the host knows of, by stream, in their order.
        known: Vec<KnownWrites>,
        /// Atomic write size of the device, in bytes.
        atomic: u32,
    },
}

/// Writes of a stream that the host knows of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownWrites {
    /// Number of the last write that began, from 1; 0: none.
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
        /// Overwriting 4 KiB past the page cache, with `RWF_DSYNC`: a write with FUA where the
        /// device knows that.
        Fua = "fua",
        /// A new file of 64 KiB, fsync, renamed over the old one, fsync of the folder.
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

    /// Bytes of a write.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Fsync => 16 << 10,
            Self::Fdatasync | Self::Dsync | Self::Fua => 4 << 10,
            Self::Rename => 64 << 10,
            Self::Append | Self::Sqlite => 1 << 10,
        }
    }
}

/// A word of the writer's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
pub enum Word {
    /// Preparations are complete and on the storage: the writes begin.
    Ready {
        /// Which start of the machine it is; `None` where the kernel does not tell.
        boot_id: Option<String>,
    },
    /// A write is about to begin.
    Begun {
        /// Place of its stream.
        stream: u32,
        /// Number of the write, from 1.
        sequence: u64,
    },
    /// It was acknowledged.
    Acknowledged {
        /// Place of its stream.
        stream: u32,
        /// Number of the write.
        sequence: u64,
    },
}

/// Findings after the power came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowercutReport {
    /// Which start of the machine it was; `None` where the kernel does not tell.
    pub boot_id: Option<String>,
    /// Why the file system could not be mounted.
    pub not_mounted: Option<String>,
    /// Kernel messages about the device while it was mounted: journal replays, errors.
    pub said: Vec<String>,
    /// Result of a file system check; `None` if there was no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<FileSystemCheck>,
    /// Each stream, in their order.
    pub streams: Vec<StreamFound>,
}

/// A check of the file system that writes nothing, after its journal was replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemCheck {
    /// The command.
    pub command: String,
    /// Exit code of the check; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// `true` if the exit code says that the file system is damaged.
    pub damaged: bool,
    /// The first lines that it said.
    pub said: Vec<String>,
}

/// Findings about a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamFound {
    /// The user's word for it.
    pub kind: String,
    /// Number of acknowledged writes.
    pub acknowledged: u64,
    /// Number of acknowledged writes that no later write was to replace, so that their data must be
    /// there.
    pub checked: u64,
    /// Acknowledged writes that are not there.
    pub lost: u64,
    /// Writes of which less than the atomic size is there.
    pub torn: u64,
    /// Acknowledged writes that are not there although later ones of their stream are.
    pub misordered: u64,
    /// Places that hold what nobody wrote there.
    pub garbage: u64,
    /// Writes that were not acknowledged and are there, whole or in whole sectors: as
    /// they may.
    pub beyond: u64,
    /// The first of what is wrong.
    pub examples: Vec<String>,
}

impl StreamFound {
    /// `true` if anything is wrong.
    pub const fn is_bad(&self) -> bool {
        self.lost + self.torn + self.misordered + self.garbage > 0
    }
}

/// A cycle: the power was cut once, and came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutStep {
    /// Time from the first write to the power cut, in nanoseconds.
    pub after_ns: u64,
    /// From there until the machine could be reached again.
    pub away_ns: u64,
    /// Atomic write size of the device, in bytes.
    pub atomic: u32,
    /// Findings of the section.
    pub found: PowercutReport,
}

impl CutStep {
    /// `true` if anything is not as it was promised.
    pub fn is_bad(&self) -> bool {
        self.found.not_mounted.is_some()
            || self.damage().is_some()
            || self.found.streams.iter().any(StreamFound::is_bad)
    }

    /// The check that found the file system damaged.
    pub fn damage(&self) -> Option<&FileSystemCheck> {
        self.found.check.as_ref().filter(|check| check.damaged)
    }
}

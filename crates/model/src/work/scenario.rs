//! Scenarios: what a product does with its storage, as acts that follow each other
//! or go on at the same time.
//!
//! The host reads the file of a scenario and resolves it: sizes are scaled,
//! repetitions written out, names unique. What is left is carried out as it stands.

use crate::job::{FlushCall, Job};
use crate::latency::LatencyRecord;
use crate::units::Bytes;
use crate::work::WorkSpec;
use crate::work::androbench::{DatabasePhase, DatabaseStep};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folder that all files of a scenario are in, in its private one.
pub const SCENE: &str = "scene";
/// Names the scratch device, or the file that stands for it in a folder.
pub const DEVICE: &str = "@device";

/// A scenario in its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// A folder to make a private one in, or a block device whose data may go.
    pub path: PathBuf,
    /// `path` is a block device.
    pub on_device: bool,
    /// Room that always stays free in the file system.
    pub reserve: Bytes,
    /// Stages of the scenario, one after the other.
    pub stages: Vec<Stage>,
    /// Commands of the scenario may run: it is code then.
    pub allow_commands: bool,
}

impl WorkSpec for Scenario {
    fn writes(&self) -> Vec<PathBuf> {
        let device = self.on_device.then(|| self.path.clone());
        device.into_iter().collect()
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn claims(&self) -> Vec<PathBuf> {
        self.writes()
    }

    fn private_folder_in(&self) -> Option<&Path> {
        (!self.on_device).then_some(&self.path)
    }

    fn file_systems(&self) -> Option<(&Path, Vec<&str>)> {
        let kinds = self.acts().filter_map(|act| match &act.action {
            Action::Format { kind } => Some(kind.as_str()),
            _ => None,
        });
        self.on_device.then(|| (&*self.path, kinds.collect()))
    }
}

impl Scenario {
    /// Returns the acts, in their order.
    pub fn acts(&self) -> impl Iterator<Item = &Act> {
        self.stages.iter().flat_map(|stage| &stage.acts)
    }
}

/// Acts that begin together. The stage ends when those in the foreground have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// One, or several at the same time.
    pub acts: Vec<Act>,
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Act {
    /// Describes it to whoever judges; its name is unique in the scenario.
    pub job: Job,
    /// It only prepares others: nobody measures it.
    pub unmeasured: bool,
    /// It goes on, over and over, until the acts in the foreground have ended.
    pub background: bool,
    /// When its operations are due, and how late each may be.
    pub pace: ActPace,
    /// Action of the act.
    #[serde(rename = "deed")]
    pub action: Action,
}

/// When operations are due. An operation is a block, a file, a line or a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActPace {
    /// Time from one operation to the next; `None`: each follows the one before at once.
    pub every_ns: Option<u64>,
    /// Deadline of an operation, in nanoseconds after it is due; without a pace, its longest
    /// duration.
    pub deadline_ns: Option<u64>,
    /// The act ends after this time at the latest.
    pub limit_ns: Option<u64>,
}

/// Action of an act. Paths are relative to the scene, or [`DEVICE`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Writes a file block after block.
    Write(Writing),
    /// Reads a file block after block.
    Read(Reading),
    /// Reads one file, inflates, writes another.
    Copy(Copying),
    /// Reads a file back and compares it with what was written, by SHA-256.
    Verify(Verifying),
    /// Many files in folders of their own.
    Tree(Tree),
    /// Transactions of a database.
    Database(DatabasePhase),
    /// Work for the processor alone: so many bytes are inflated.
    Inflate {
        /// Bytes that come out.
        bytes: u64,
    },
    /// The whole device is discarded; of a file, its blocks are given back.
    Discard {
        /// The device or file.
        file: String,
    },
    /// A file system is made on the scratch device and mounted.
    Format {
        /// As in `--vary mkfs=`: `ext4:-b+1024`.
        kind: String,
    },
    /// Removes a file, or a folder with all that is in it.
    Delete {
        /// The file or folder.
        file: String,
    },
    /// Fills the file system.
    Fill(Filling),
    /// A program of the user's.
    Command(Command),
    /// Nothing, for a while.
    Pause {
        /// Length of the pause, in nanoseconds.
        time_ns: u64,
    },
    /// Everything is written back, and what can be dropped from the page cache is.
    DropCaches,
}

impl Action {
    /// Returns the files and folders that the action names.
    pub fn files(&self) -> Vec<&str> {
        match self {
            Self::Write(spec) => vec![&spec.file],
            Self::Read(spec) => vec![&spec.file],
            Self::Copy(spec) => vec![&spec.from, &spec.to],
            Self::Verify(spec) => vec![&spec.file],
            Self::Tree(spec) => vec![&spec.folder],
            Self::Discard { file } | Self::Delete { file } => vec![file],
            Self::Database(_)
            | Self::Inflate { .. }
            | Self::Format { .. }
            | Self::Fill(_)
            | Self::Command(_)
            | Self::Pause { .. }
            | Self::DropCaches => Vec::new(),
        }
    }

    /// Returns the bytes of each read or write; `None` if the action has no blocks.
    pub const fn block(&self) -> Option<u64> {
        match self {
            Self::Write(spec) => Some(spec.block),
            Self::Read(spec) => Some(spec.block),
            Self::Copy(spec) => Some(spec.block),
            Self::Verify(spec) => Some(spec.block),
            Self::Tree(spec) => Some(spec.block),
            _ => None,
        }
    }
}

/// Writes to a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Writing {
    /// The file; made if it is not there.
    pub file: String,
    /// Bytes to write.
    pub bytes: u64,
    /// Bytes of each write.
    pub block: u64,
    /// In random order over the file, which is as long already.
    pub random: bool,
    /// Behind what the file holds.
    pub append: bool,
    /// Past the page cache.
    pub direct: bool,
    /// When it is made durable.
    pub sync: Sync,
    /// Share of blocks that are left out, in percent, as a sparse image has holes.
    pub holes_percent: u8,
}

/// When what was written is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// Never.
    #[default]
    None,
    /// After each operation.
    Each(FlushCall),
    /// After so many bytes, and at the end.
    EveryBytes(u64),
    /// After the last operation.
    AtEnd,
}

/// Reads from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The file.
    pub file: String,
    /// Bytes to read; `None`: all of it.
    pub bytes: Option<u64>,
    /// Bytes of each read.
    pub block: u64,
    /// In random order.
    pub random: bool,
    /// Past the page cache.
    pub direct: bool,
    /// Drops the file's pages from the page cache first.
    pub cold: bool,
}

/// Copy of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copying {
    /// Source file, read cold.
    pub from: String,
    /// Destination file.
    pub to: String,
    /// Bytes of each read and write.
    pub block: u64,
    /// Bytes that are inflated (DEFLATE) for each hundred that are copied.
    pub inflate_percent: u32,
    /// When what was written is made durable.
    pub sync: Sync,
    /// The writes are past the page cache.
    pub direct: bool,
}

/// Verification of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verifying {
    /// The file.
    pub file: String,
    /// Bytes of each read.
    pub block: u64,
    /// Past the page cache.
    pub direct: bool,
}

/// Many files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The folder they are in.
    pub folder: String,
    /// Operation on each file.
    pub act: TreeAct,
    /// Number of files; `None`: all existing ones.
    pub files: Option<u32>,
    /// Smallest and largest size of a new one; between them small ones are as frequent
    /// as large ones by the logarithm.
    pub sizes: (u64, u64),
    /// Bytes of each read or write at most.
    pub block: u64,
    /// In random order.
    pub random: bool,
    /// Which file is next is only known when one was read: what it holds says it.
    pub chained: bool,
    /// Pages leave the page cache first.
    pub cold: bool,
    /// When new files are made durable: each, or all together.
    pub sync: Sync,
}

crate::named! {
    /// Operation on each of many files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TreeAct {
        /// It is made and written.
        Create = "create",
        /// It is read.
        Read = "read",
        /// Reads the file's attributes.
        Stat = "stat",
        /// It is removed.
        Delete = "delete",
    }
}

/// Filling of a file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filling {
    /// Until this part of it is in use, in percent.
    pub percent: u8,
    /// So much is really written at most; what is still missing before that is only
    /// allocated.
    pub write_at_most: u64,
}

/// A program of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program and its arguments; no shell looks at them.
    pub words: Vec<String>,
    /// It is ended after this time.
    pub limit_ns: u64,
}

/// Details of an act beyond its measurement. Raw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioStep {
    /// The scenario that it is an act of.
    pub scenario: String,
    /// Files, lines or transactions that were done, or blocks of a file.
    pub operations: u64,
    /// Latency of each operation that is not a single I/O: making a file includes all its writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyRecord>,
    /// Missed and met deadlines; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Result of verification; `None` if nothing was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Bytes that the processor inflated.
    #[serde(default)]
    pub inflated_bytes: u64,
    /// Bytes that were left out because they are holes.
    #[serde(default)]
    pub hole_bytes: u64,
    /// Bytes that were discarded or given back.
    #[serde(default)]
    pub discarded_bytes: u64,
    /// Bytes that were allocated, but not written.
    #[serde(default)]
    pub allocated_bytes: u64,
    /// Use of the file system at the end of filling it, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_percent: Option<u8>,
    /// Transactions of a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<DatabaseStep>,
    /// It went on in the background of others.
    #[serde(default)]
    pub background: bool,
}

impl ScenarioStep {
    /// `true` if data read differs from data written.
    pub fn differs(&self) -> bool {
        self.verified.as_ref().is_some_and(Verified::differs)
    }
}

/// Missed and met deadlines of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines {
    /// Deadline of an operation, in nanoseconds after it is due.
    pub deadline_ns: u64,
    /// Operations that had one.
    pub operations: u64,
    /// Operations that missed the deadline.
    pub missed: u64,
    /// The longest time by which one was too late.
    pub worst_late_ns: u64,
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Bytes read back.
    pub bytes: u64,
    /// SHA-256 of what was written, in hexadecimal.
    pub written: String,
    /// SHA-256 of what was read.
    pub read: String,
}

impl Verified {
    /// `true` if data read differs from data written.
    pub fn differs(&self) -> bool {
        self.written != self.read
    }
}

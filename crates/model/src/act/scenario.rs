//! Scenarios: the storage workload of a product, as acts that run one after another or at the same
//! time.
//!
//! The host parses the file of a scenario and resolves it: it scales sizes, expands repetitions,
//! and makes names unique. The agent carries out the result unchanged.
//!
//! To add an action: add a variant of `Action`, its keys in `cli::scenarios::file`, its needs in
//! `resolve` and its job in `job` there, a `Play` in `assay_workloads::scenario`, and a line in
//! `docs/scenarios.md`. A built-in scenario is a file in `cli::scenarios::library`.

use crate::act::ActSpec;
use crate::act::androbench::{DatabasePhase, DatabaseStep};
use crate::evidence::LatencyRecord;
use crate::job::{FlushCall, Job};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Folder of all files of a scenario, within its private folder.
pub const SCENE: &str = "scene";
/// Name of the scratch device, or of the file that replaces it in a folder.
pub const DEVICE: &str = "@device";

/// A scenario with the place to run it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// Folder in which a private one is created, or block device whose data may be lost.
    pub path: PathBuf,
    /// `true` if `path` is a block device.
    pub on_device: bool,
    /// Space that always stays free in the file system.
    pub reserve: Bytes,
    /// Stages of the scenario, one after the other.
    pub stages: Vec<Stage>,
    /// `true` if commands of the scenario may run; the scenario is then executable code.
    pub allow_commands: bool,
}

impl Scenario {
    /// Puts the name of the scenario in front of those of its acts, for a run with other acts.
    pub fn name_acts_apart(&mut self) {
        let name = &self.name;
        for act in self.stages.iter_mut().flat_map(|stage| &mut stage.acts) {
            act.job.name = format!("{name}.{}", act.job.name);
        }
    }
}

impl ActSpec for Scenario {
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
    pub fn acts(&self) -> impl Iterator<Item = &ScenarioAct> {
        self.stages.iter().flat_map(|stage| &stage.acts)
    }
}

/// Acts that begin together. The stage ends when its foreground acts have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Acts of the stage, which run at the same time.
    pub acts: Vec<ScenarioAct>,
}

/// An action of a scenario with its schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioAct {
    /// Job that describes the act for judgement; its name is unique in the scenario.
    pub job: Job,
    /// `true` if the act only prepares other acts and is not measured.
    pub unmeasured: bool,
    /// `true` if the act repeats until the foreground acts have ended.
    pub background: bool,
    /// Schedule and deadline of its operations.
    pub pace: ActPace,
    /// Action of the act.
    #[serde(rename = "deed")]
    pub action: Action,
}

/// Schedule of operations. An operation is a block, a file, a line or a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActPace {
    /// Time from one operation to the next; `None` if each follows the previous one at once.
    pub every_ns: Option<u64>,
    /// Deadline of an operation, in nanoseconds after it is due; without a pace, its longest
    /// duration.
    pub deadline_ns: Option<u64>,
    /// Time after which the act ends at the latest.
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
    /// Reads one file, decompresses, and writes another.
    Copy(Copying),
    /// Reads a file back and compares it with the written data, by SHA-256.
    Verify(Verifying),
    /// Operations on many files in separate folders.
    Tree(Tree),
    /// Transactions of a database.
    Database(DatabasePhase),
    /// Decompression as work for the processor alone.
    Inflate {
        /// Bytes of decompressed output.
        bytes: u64,
    },
    /// Discards the whole device; for a file, frees its blocks.
    Discard {
        /// The device or file.
        file: String,
    },
    /// Makes a file system on the scratch device and mounts it.
    Format {
        /// Kind, in the form of `--vary mkfs=`: `ext4:-b+1024`.
        kind: String,
    },
    /// Removes a file, or a folder with its contents.
    Delete {
        /// The file or folder.
        file: String,
    },
    /// Fills the file system.
    Fill(Filling),
    /// Runs a program of the user.
    Command(Command),
    /// Waits.
    Pause {
        /// Length of the pause, in nanoseconds.
        time_ns: u64,
    },
    /// Writes everything back, and drops as much as possible from the page cache.
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
    /// File; created if it does not exist.
    pub file: String,
    /// Bytes to write.
    pub bytes: u64,
    /// Bytes of each write.
    pub block: u64,
    /// `true` for random order over the file, which must have that length already.
    pub random: bool,
    /// `true` to append to the file.
    pub append: bool,
    /// `true` to bypass the page cache.
    pub direct: bool,
    /// Time at which written data is made durable.
    pub sync: Sync,
    /// Share of blocks that are left out, in percent, as the holes of a sparse image.
    pub holes_percent: u8,
}

/// Time at which written data is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// Never.
    #[default]
    None,
    /// After each operation.
    Each(FlushCall),
    /// After this many bytes, and at the end.
    EveryBytes(u64),
    /// After the last operation.
    AtEnd,
}

/// Reads from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The file.
    pub file: String,
    /// Bytes to read; `None`: the whole file.
    pub bytes: Option<u64>,
    /// Bytes of each read.
    pub block: u64,
    /// `true` for random order.
    pub random: bool,
    /// `true` to bypass the page cache.
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
    /// Bytes of decompressed output (DEFLATE) per hundred copied bytes.
    pub inflate_percent: u32,
    /// Time at which written data is made durable.
    pub sync: Sync,
    /// `true` if writes bypass the page cache.
    pub direct: bool,
}

/// Verification of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verifying {
    /// The file.
    pub file: String,
    /// Bytes of each read.
    pub block: u64,
    /// `true` to bypass the page cache.
    pub direct: bool,
}

/// Operations on many files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Folder of the files.
    pub folder: String,
    /// Operation on each file.
    pub act: TreeAct,
    /// Number of files; `None`: all existing ones.
    pub files: Option<u32>,
    /// Smallest and largest size of a new file; sizes are uniform on a logarithmic scale.
    pub sizes: (u64, u64),
    /// Most bytes of each read or write.
    pub block: u64,
    /// `true` for random order.
    pub random: bool,
    /// `true` if each file contains the name of the next one, so that it is only known after a
    /// read.
    pub chained: bool,
    /// `true` to evict the files from the page cache first.
    pub cold: bool,
    /// Time at which new files are made durable, each or all together.
    pub sync: Sync,
}

crate::named! {
    /// Operation on each of many files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TreeAct {
        /// Creates and writes the file.
        Create = "create",
        /// Reads the file.
        Read = "read",
        /// Reads the file's attributes.
        Stat = "stat",
        /// Removes the file.
        Delete = "delete",
    }
}

/// Filling of a file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filling {
    /// Percentage of the file system to fill.
    pub percent: u8,
    /// Most bytes that are actually written; the remainder is allocated first without being
    /// written.
    pub write_at_most: u64,
}

/// A program of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments, not interpreted by a shell.
    pub words: Vec<String>,
    /// Time after which it is killed.
    pub limit_ns: u64,
}

/// Details of an act beyond its measurement. Raw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScenarioStep {
    /// Scenario of the act.
    pub scenario: String,
    /// Number of files, lines or transactions, or of blocks of a file.
    pub operations: u64,
    /// Latency of each operation that is not a single I/O: creating a file includes all its writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyRecord>,
    /// Missed and met deadlines; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<Deadlines>,
    /// Result of verification; `None` if nothing was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Bytes of decompressed output.
    #[serde(default)]
    pub inflated_bytes: u64,
    /// Bytes that were left out because they are holes.
    #[serde(default)]
    pub hole_bytes: u64,
    /// Bytes that were discarded or freed.
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
    /// `true` if it ran in the background of other acts.
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
    /// Number of operations with a deadline.
    pub operations: u64,
    /// Operations that missed the deadline.
    pub missed: u64,
    /// Longest time by which an operation missed the deadline.
    pub worst_late_ns: u64,
}

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Bytes read back.
    pub bytes: u64,
    /// SHA-256 of the written data, in hexadecimal.
    pub written: String,
    /// SHA-256 of the data read.
    pub read: String,
}

impl Verified {
    /// `true` if data read differs from data written.
    pub fn differs(&self) -> bool {
        self.written != self.read
    }
}

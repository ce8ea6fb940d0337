//! Writing and checking storage for hours to weeks.
//!
//! Writes are numbered from 0. Which block a number goes to, and what the block then
//! holds, follow from the seed alone ([`order`]): so what every block must hold is known
//! after a kill too, from the number of the last checkpoint.

pub mod order;

use crate::storage::DeviceIdentity;
use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bytes of a sector: each one tells of itself, so that torn blocks are seen.
pub const SECTOR: usize = 512;

/// Parameters of a soak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soak {
    /// The file that is made, or the device.
    pub path: PathBuf,
    /// `path` is a file of assay's own.
    pub own_file: bool,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Blocks of the area.
    pub blocks: u64,
    /// Decides the order and the contents: the same in every part of a run that is
    /// resumed.
    pub seed: u64,
    /// It ends when so many blocks are written in all.
    pub last: Option<u64>,
    /// It ends when it has run for so long in all.
    pub limit_ns: Option<u64>,
    /// Time between two checkpoints.
    pub checkpoint_ns: u64,
    /// Memory that is written and checked beside it.
    pub memory_bytes: Option<u64>,
    /// The file stays at the end.
    pub keep: bool,
    /// Checkpoint to resume from; `None`: start from the beginning.
    pub from: Option<Checkpoint>,
}

impl WorkSpec for Soak {
    fn writes(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn claims(&self) -> Vec<PathBuf> {
        self.writes()
    }

    fn named_files(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.path]
    }
}

/// State that is needed to resume a soak. Every counter covers the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of the next write. All before it were flushed.
    pub next: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes read back and compared.
    pub verified_bytes: u64,
    /// Blocks that were not what had been written.
    pub faults: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Words of the memory beside it that were not what had been written.
    pub memory_flips: u64,
    /// Bytes of memory that were written and read beside it.
    pub memory_bytes: u64,
    /// Blocks whose last write failed: what they hold is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<u64>,
    /// Time that it has run.
    pub elapsed_ns: u64,
}

/// A stretch between two checkpoints, or a check of the whole area.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakStep {
    /// Kind of the stretch.
    pub of: Stretch,
    /// Checkpoint at the end of the step.
    pub checkpoint: Checkpoint,
    /// Bytes of the area.
    pub area_bytes: u64,
    /// Bytes of it that were written at least once, at the end.
    pub filled_bytes: u64,
    /// Blocks that were not what had been written, the first of this stretch.
    pub faults: Vec<Fault>,
    /// Health that the device reports after the step; `None` if it reports none.
    pub health: Option<Health>,
}

/// Kind of a soak step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stretch", rename_all = "snake_case")]
pub enum Stretch {
    /// Each block was checked, then written anew.
    Writing,
    /// The whole area was read after a kill.
    Resuming {
        /// Writes that were made after the last checkpoint, by the highest number that a
        /// block holds: they count as written.
        newer_writes: u64,
        /// Blocks whose write was under way then.
        interrupted_blocks: u64,
    },
    /// The whole area was read at the end.
    Checking,
}

/// A block that does not hold what was written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The block, from 0.
    pub block: u64,
    /// Start of the block in the file or device, in bytes.
    pub offset: u64,
    /// The first byte that differs, in the file or device.
    pub first_byte: u64,
    /// Bytes that differ.
    pub differing_bytes: u64,
    /// The number of the write that it should hold.
    pub expected: u64,
    /// Content that was found.
    pub found: HeldContent,
}

/// Content of a block that does not hold its last write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held", rename_all = "snake_case")]
pub enum HeldContent {
    /// Data of an earlier write to the block: the last write was lost.
    Stale {
        /// Number of that write.
        number: u64,
    },
    /// Sectors of different writes.
    Torn {
        /// Number of sectors from the expected write.
        new_sectors: u64,
        /// Every kind.
        sectors: u64,
    },
    /// Data that was written to another block.
    Misplaced {
        /// That block.
        block: u64,
    },
    /// Zeros.
    Zeros,
    /// Sectors of the expected write in which bits differ.
    Flipped {
        /// Number of differing bits.
        bits: u64,
    },
    /// Nothing that assay wrote.
    Foreign,
    /// It cannot be read.
    Unreadable {
        /// Error number of the kernel, where it was one.
        errno: Option<i32>,
    },
}

/// Life and health data that a device reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Estimates of life used, in words.
    pub life_time: Option<String>,
    /// Reserved blocks.
    pub pre_eol: Option<String>,
    /// Registers and logs that change with use, as hexadecimal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, String>,
}

impl Health {
    /// Returns the health data of a device; `None` when it reports nothing of its life.
    pub fn of(identity: &DeviceIdentity) -> Option<Self> {
        use crate::device::register::{EXT_CSD, NVME_SMART};
        let kept = [EXT_CSD, NVME_SMART];
        let raw = identity
            .raw
            .iter()
            .filter(|(name, _)| kept.contains(&name.as_str()));
        let health = Self {
            life_time: identity.life_time.clone(),
            pre_eol: identity.pre_eol.clone(),
            raw: raw
                .map(|(name, text)| (name.clone(), text.clone()))
                .collect(),
        };
        (health != Self::default()).then_some(health)
    }
}

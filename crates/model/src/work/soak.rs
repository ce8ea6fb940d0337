//! Writing and checking storage for hours to weeks.
//!
//! Writes are numbered from 0. The block of a number, and the content of the block after it, follow
//! from the seed alone ([`order`]). The expected content of every block is therefore known even
//! after a kill, from the number of the last checkpoint.

pub mod order;

use crate::storage::DeviceIdentity;
use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Bytes of a sector. Each sector identifies its write, so that torn blocks are detected.
pub const SECTOR: usize = 512;

/// Parameters of a soak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soak {
    /// File that is created, or the device.
    pub path: PathBuf,
    /// `true` if `path` is a file that assay creates.
    pub own_file: bool,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Blocks of the area.
    pub blocks: u64,
    /// Seed of the order and the contents, the same in every part of a resumed run.
    pub seed: u64,
    /// Total number of blocks after which it ends.
    pub last: Option<u64>,
    /// Total run time after which it ends.
    pub limit_ns: Option<u64>,
    /// Time between two checkpoints.
    pub checkpoint_ns: u64,
    /// Bytes of memory that are written and checked at the same time.
    pub memory_bytes: Option<u64>,
    /// `true` to keep the file at the end.
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
    /// Number of the next write. All writes before it were flushed.
    pub next: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes read back and compared.
    pub verified_bytes: u64,
    /// Number of blocks that did not hold the written data.
    pub faults: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Number of words of the tested memory that differed from the written ones.
    pub memory_flips: u64,
    /// Bytes of memory that were written and read.
    pub memory_bytes: u64,
    /// Blocks whose last write failed, so that their content is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<u64>,
    /// Total run time.
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
    /// Bytes of the area that were written at least once, at the end.
    pub filled_bytes: u64,
    /// First blocks of this stretch that did not hold the written data.
    pub faults: Vec<Fault>,
    /// Health that the device reports after the step; `None` if it reports none.
    pub health: Option<Health>,
}

/// Kind of a soak step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stretch", rename_all = "snake_case")]
pub enum Stretch {
    /// Checks each block, then writes it again.
    Writing,
    /// Reads the whole area after a kill.
    Resuming {
        /// Number of writes after the last checkpoint, by the highest number found in a block: they
        /// count as written.
        newer_writes: u64,
        /// Number of blocks whose write was in progress at the kill.
        interrupted_blocks: u64,
    },
    /// Reads the whole area at the end.
    Checking,
}

/// A block that does not hold the data written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Number of the block, from 0.
    pub block: u64,
    /// Start of the block in the file or device, in bytes.
    pub offset: u64,
    /// Offset of the first byte that differs, in the file or device.
    pub first_byte: u64,
    /// Number of bytes that differ.
    pub differing_bytes: u64,
    /// Number of the write that it should hold.
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
        /// Total number of sectors.
        sectors: u64,
    },
    /// Data that was written to another block.
    Misplaced {
        /// Number of that block.
        block: u64,
    },
    /// Zeros.
    Zeros,
    /// Sectors of the expected write in which bits differ.
    Flipped {
        /// Number of differing bits.
        bits: u64,
    },
    /// Data that assay did not write.
    Foreign,
    /// The block cannot be read.
    Unreadable {
        /// Error number of the kernel, if there was one.
        errno: Option<i32>,
    },
}

/// Life and health data that a device reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Estimates of life used, in words.
    pub life_time: Option<String>,
    /// Used reserved blocks, in words.
    pub pre_eol: Option<String>,
    /// Registers and logs that change with use, as hexadecimal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub raw: BTreeMap<String, String>,
}

impl Health {
    /// Returns the health data of a device; `None` if it reports nothing about its life.
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

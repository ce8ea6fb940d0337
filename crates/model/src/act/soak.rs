//! Writing and checking storage for hours to weeks.
//!
//! Writes are numbered from 0. The block of a number, and the content of the block after it, follow
//! from the seed alone ([`SoakOrder`]). The expected content of every block is therefore known even
//! after a kill, from the number of the last checkpoint.
//!
//! The area is written in passes, each block once per pass. Even passes go from the first block to
//! the last; in odd passes the block of place i is (i a + c) mod n, with a coprime to n:
//! neighbouring places are far apart, and the mapping is easy to invert.

use crate::act::ActSpec;
use crate::rng::SplitMix64;
use crate::storage::DeviceIdentity;
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

impl ActSpec for Soak {
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

/// Order of the writes over an area.
#[derive(Clone, Copy, Debug)]
pub struct SoakOrder {
    blocks: u64,
    seed: u64,
}

impl SoakOrder {
    /// Creates the order for `blocks` blocks, at least one.
    pub fn new(blocks: u64, seed: u64) -> Self {
        Self {
            blocks: blocks.max(1),
            seed,
        }
    }

    /// Returns the block of a write.
    pub fn block_of(self, number: u64) -> u64 {
        let (pass, place) = (number / self.blocks, number % self.blocks);
        let (factor, shift) = self.pass(pass);
        self.modulo(u128::from(place) * u128::from(factor) + u128::from(shift))
    }

    /// Returns the last write before `next` to a block; `None` if there was none.
    pub fn last_before(self, next: u64, block: u64) -> Option<u64> {
        let pass = next / self.blocks;
        let in_pass = |pass: u64| pass * self.blocks + self.place_of(pass, block);
        let own = in_pass(pass);
        if own < next {
            return Some(own);
        }
        pass.checked_sub(1).map(in_pass)
    }

    /// Returns the place of a block in a pass.
    fn place_of(self, pass: u64, block: u64) -> u64 {
        let (factor, shift) = self.pass(pass);
        let back = self.blocks - self.modulo(u128::from(shift));
        let shifted = self.modulo(u128::from(block) + u128::from(back));
        self.modulo(u128::from(shifted) * u128::from(self.inverse(factor)))
    }

    /// Returns factor and shift of a pass.
    fn pass(self, pass: u64) -> (u64, u64) {
        if pass.is_multiple_of(2) || self.blocks < 3 {
            return (1, 0);
        }
        let mut rng = SplitMix64::new(self.seed ^ pass.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let shift = rng.next_u64() % self.blocks;
        loop {
            let factor = 1 + rng.next_u64() % (self.blocks - 1);
            if gcd(factor, self.blocks) == 1 {
                return (factor, shift);
            }
        }
    }

    /// Returns the inverse of a factor, by Euclid's extended algorithm.
    fn inverse(self, factor: u64) -> u64 {
        let modulus = i128::from(self.blocks);
        let (mut old, mut rest) = (i128::from(factor), modulus);
        let (mut found, mut next) = (1_i128, 0_i128);
        while rest != 0 {
            let times = old / rest;
            (old, rest) = (rest, old - times * rest);
            (found, next) = (next, found - times * next);
        }
        u64::try_from(found.rem_euclid(modulus)).unwrap_or(0)
    }

    fn modulo(self, value: u128) -> u64 {
        // The remainder is less than `blocks`, which has 64 bits.
        u64::try_from(value % u128::from(self.blocks)).unwrap_or(0)
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_last_write_of_each_block_is_known_at_every_moment() {
        for blocks in [1, 2, 3, 7, 12, 64] {
            let order = SoakOrder::new(blocks, 5);
            let mut held = BTreeMap::new();
            for next in 0..5 * blocks {
                for block in 0..blocks {
                    let expected = held.get(&block).copied();
                    assert_eq!(order.last_before(next, block), expected, "{blocks} {next}");
                }
                held.insert(order.block_of(next), next);
            }
            assert_eq!(held.len() as u64, blocks, "each block was written");
        }
    }

    #[test]
    fn every_other_pass_jumps() {
        let order = SoakOrder::new(1000, 9);
        let neighbours = |pass: u64| {
            let pairs = (0..999).map(|n| (pass * 1000 + n, pass * 1000 + n + 1));
            pairs
                .filter(|(a, b)| order.block_of(*a) + 1 == order.block_of(*b))
                .count()
        };
        assert_eq!(neighbours(0), 999);
        assert!(neighbours(1) < 100);
        assert_ne!(order.block_of(1000), order.block_of(3000), "another pass");
    }
}

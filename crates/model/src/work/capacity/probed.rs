//! Result of probing a device.

use serde::{Deserialize, Serialize};

/// Behaviour of a device at addresses that it has no memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbedKind {
    /// There are none: every block probed held what was written to it.
    Good,
    /// Data written beyond the real size is lost.
    Limbo {
        /// Real size of the device, in bytes.
        real_bytes: u64,
    },
    /// Data written beyond the real size goes to the start of the device.
    Wraparound {
        /// Real size of the device, in bytes.
        real_bytes: u64,
    },
    /// Addresses repeat after `wraps_at`, and of those before it the ones from
    /// its real size on are lost.
    Chain {
        /// Real size of the device, in bytes.
        real_bytes: u64,
        /// Distance after which addresses repeat.
        wraps_at: u64,
    },
    /// Blocks are lost here and there, as by wear: it is no fake of a known
    /// kind.
    Damaged,
    /// No block that was written came back.
    Dead,
}

impl ProbedKind {
    /// `true` if such a device has memory for an address.
    pub const fn holds(self, address: u64) -> bool {
        match self {
            Self::Good | Self::Wraparound { .. } | Self::Damaged => true,
            Self::Limbo { real_bytes } => address < real_bytes,
            Self::Chain {
                real_bytes,
                wraps_at,
            } => address % wraps_at < real_bytes,
            Self::Dead => false,
        }
    }
}

/// Result of probing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// Kind of the device.
    pub kind: ProbedKind,
    /// Announced size of the device, in bytes.
    pub announced_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Blocks that were written, each once or more.
    pub blocks_written: u64,
    /// Blocks that could not be read before, and were therefore not written.
    pub unreadable: Vec<u64>,
    /// Blocks that did not hold what was written to them.
    pub lost: u64,
    /// Offset of the first lost block.
    pub first_lost: Option<u64>,
    /// Blocks that could not be put back as they were, although they hold what
    /// is written to them.
    pub not_restored: Vec<u64>,
}

impl Probed {
    /// `true` if every probed block held the data written to it, and got its old content back.
    pub fn is_good(&self) -> bool {
        self.kind == ProbedKind::Good && self.unreadable.is_empty() && self.not_restored.is_empty()
    }

    /// Returns the real size, where it was found.
    pub const fn real_bytes(&self) -> Option<u64> {
        match self.kind {
            ProbedKind::Good => Some(self.announced_bytes),
            ProbedKind::Limbo { real_bytes }
            | ProbedKind::Wraparound { real_bytes }
            | ProbedKind::Chain { real_bytes, .. } => Some(real_bytes),
            ProbedKind::Damaged => None,
            ProbedKind::Dead => Some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_whose_blocks_could_not_be_put_back_is_not_good() {
        let good = Probed {
            kind: ProbedKind::Good,
            announced_bytes: 1 << 20,
            block_bytes: 4_096,
            blocks_written: 256,
            unreadable: Vec::new(),
            lost: 0,
            first_lost: None,
            not_restored: Vec::new(),
        };
        assert!(good.is_good());
        let unrestored = Probed {
            not_restored: vec![8_192],
            ..good
        };
        assert!(!unrestored.is_good());
    }
}

//! Result of probing a device.

use serde::{Deserialize, Serialize};

/// Behaviour of a device at addresses without memory behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProbedKind {
    /// There are no such addresses: every probed block held the data written to it.
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
    /// Addresses repeat after `wraps_at`; of those before it, the ones beyond the real size are
    /// lost.
    Chain {
        /// Real size of the device, in bytes.
        real_bytes: u64,
        /// Distance after which addresses repeat.
        wraps_at: u64,
    },
    /// Single blocks are lost, as by wear: it is not a known kind of fake.
    Damaged,
    /// No written block could be read back.
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
    /// Number of blocks that were written at least once.
    pub blocks_written: u64,
    /// Blocks that could not be read before, and were therefore not written.
    pub unreadable: Vec<u64>,
    /// Number of blocks that did not hold the data written to them.
    pub lost: u64,
    /// Offset of the first lost block.
    pub first_lost: Option<u64>,
    /// Blocks whose old content could not be restored, although they hold written data.
    pub not_restored: Vec<u64>,
}

impl Probed {
    /// `true` if every probed block held the data written to it, and its old content was restored.
    pub fn is_good(&self) -> bool {
        self.kind == ProbedKind::Good && self.unreadable.is_empty() && self.not_restored.is_empty()
    }

    /// Returns the real size, if it was found.
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

//! Marked blocks: each contains the address for which it was written.

use super::super::store::BlockStore;
use crate::meter::Meter;
use assay_engine::buffer::IoBuf;
use assay_model::work::capacity::SECTOR;
use assay_model::work::capacity::content::{Class, classify, fill};
use std::cell::RefCell;

/// Bytes of a block, as `usize`.
pub(super) const LENGTH: usize = 4096;
/// Bytes of a block.
pub(super) const BLOCK: u64 = LENGTH as u64;

/// Content found in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockContent {
    /// Data written to this block.
    Own,
    /// Data written to another address, given here.
    Other(u64),
    /// Neither of these.
    Lost,
    /// It could not be read.
    Unreadable,
}

/// Writes and reads marks that differ from those of earlier probes.
pub(super) struct Marker {
    salt: u64,
    buffer: RefCell<IoBuf>,
}

impl Marker {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            salt: seed - seed % BLOCK,
            buffer: RefCell::new(IoBuf::zeroed(LENGTH)),
        }
    }

    /// Marks a block. A failure is found when the block is read.
    pub(super) fn write(&self, store: &mut dyn BlockStore, meter: &mut Meter, at: u64) {
        let mut buffer = self.buffer.borrow_mut();
        let block = buffer.block_mut();
        fill(block, self.salt.wrapping_add(at));
        // The meter counts the error; reading shows its effect.
        let _ = store.write_counted(meter, at, block);
    }

    /// Reads a block and returns its content.
    pub(super) fn look(
        &self,
        store: &mut dyn BlockStore,
        meter: &mut Meter,
        at: u64,
    ) -> BlockContent {
        let mut buffer = self.buffer.borrow_mut();
        let block = buffer.block_mut();
        if store.read_counted(meter, at, block).is_err() {
            return BlockContent::Unreadable;
        }
        let mut own = 0;
        for (sector, from_start) in block.chunks_exact(SECTOR).zip((0..).step_by(SECTOR)) {
            let marked = self.salt.wrapping_add(at + from_start);
            match classify(sector, marked) {
                Class::Ok => own += 1,
                Class::Overwritten { belongs_to } => {
                    let other = belongs_to.wrapping_sub(self.salt);
                    if other < store.bytes() && other >= from_start {
                        return BlockContent::Other(other - from_start);
                    }
                }
                Class::Changed | Class::Corrupted => {}
            }
        }
        if own == LENGTH / SECTOR {
            BlockContent::Own
        } else {
            BlockContent::Lost
        }
    }
}

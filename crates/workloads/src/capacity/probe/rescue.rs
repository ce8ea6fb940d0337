//! Original content of the probed blocks, and its restoration.

use super::super::store::BlockStore;
use super::Probe;
use super::blocks::LENGTH;
use crate::WorkError;
use crate::meter::Meter;
use assay_engine::buffer::IoBuf;
use std::collections::{BTreeMap, BTreeSet};

/// Blocks as they were.
#[derive(Default)]
pub(super) struct Rescue {
    saved: BTreeMap<u64, Box<[u8]>>,
    unreadable: BTreeSet<u64>,
}

impl Rescue {
    /// Reads blocks before they are written for the first time. One that cannot
    /// be read is left alone.
    pub(super) fn save(
        &mut self,
        probe: &mut Probe<'_, '_>,
        blocks: &[u64],
    ) -> Result<(), WorkError> {
        let mut buffer = IoBuf::zeroed(LENGTH);
        for &at in blocks {
            if self.saved.contains_key(&at) {
                continue;
            }
            let block = buffer.block_mut();
            match probe.store.read_counted(probe.meter, at, block) {
                Ok(()) => drop(self.saved.insert(at, Box::from(&*block))),
                Err(_) => drop(self.unreadable.insert(at)),
            }
            probe.tick()?;
        }
        Ok(())
    }

    /// Returns true if a block may be written.
    pub(super) fn has(&self, at: u64) -> bool {
        self.saved.contains_key(&at)
    }

    /// Blocks that may have been written.
    pub(super) fn written(&self) -> u64 {
        self.saved.len() as u64
    }

    /// Blocks that could not be read.
    pub(super) fn unreadable(&self) -> Vec<u64> {
        self.unreadable.iter().copied().collect()
    }

    /// Writes everything back, and looks whether it is there. Returns the
    /// blocks that are not as they were.
    ///
    /// Blocks at which a device has no memory are among them only if they held
    /// something else before: what is written to them is lost either way.
    pub(super) fn put_back(&self, store: &mut dyn BlockStore, meter: &mut Meter) -> Vec<u64> {
        let mut buffer = IoBuf::zeroed(LENGTH);
        for (at, saved) in &self.saved {
            let block = buffer.block_mut();
            block.copy_from_slice(saved);
            // Whether it is there is seen below.
            let _ = store.write_counted(meter, *at, block);
        }
        // A failure is counted, and seen below too.
        let _ = store.flush_counted(meter, 0);
        let mut differ = Vec::new();
        for (at, saved) in &self.saved {
            let block = buffer.block_mut();
            if store.read_counted(meter, *at, block).is_err() || *block != **saved {
                differ.push(*at);
            }
        }
        differ
    }
}

//! Detection of a device that is smaller than it announces, with few writes.
//!
//! Marked blocks are written, all of them are read back, and the content of each is
//! classified: its own mark, that of another block, or neither. To detect storage that
//! wraps around at any real size, the blocks are placed as in the baby-step giant-step
//! search (D. Shanks): the first `m` blocks of the device, and every `m`th block of the
//! rest, with `m` the square root of their number. Wherever the storage wraps
//! around, one of the giant steps coincides with one of the small ones. The giant steps
//! are written first and the small ones last, which also evicts the former from a cache
//! of the device.
//!
//! Every block is read before it is written, and restored at the end, even after an
//! error. In the free space of a file system nothing is restored, and the file's offsets are not
//! those of the device, so the real size is not searched for.

use super::BlockStore;
use crate::observer::{Meter, ProgressReporter};
use crate::{ActError, Context};
use assay_engine::buffer::IoBuf;
use assay_model::act::capacity::{Class, Probed, ProbedKind, SECTOR, classify, fill};
use assay_model::units::Bytes;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Smallest fully written leading range of large devices, in bytes: more than their cache.
const CACHE_BYTES: u64 = 8 << 20;
/// Smallest storage to probe, in blocks; filling a smaller one completely is faster.
const LEAST_BLOCKS: u64 = 256;
/// Blocks written at a time in the search for the first lost one.
const FAN: u64 = 64;

/// State of a running probe.
pub(super) struct Probe<'a, 'c> {
    pub(super) store: &'a mut dyn BlockStore,
    pub(super) meter: &'a mut Meter,
    pub(super) progress: &'a mut ProgressReporter,
    pub(super) context: &'a mut Context<'c>,
    pub(super) done: u64,
    /// `true` for a file in the free space of a file system.
    pub(super) of_free_space: bool,
}

impl Probe<'_, '_> {
    /// Counts one more block that was read or written.
    ///
    /// # Errors
    /// If the act was stopped, or the device is gone.
    fn tick(&mut self) -> Result<(), ActError> {
        self.meter.is_there(self.context, self.done)?;
        self.done += BLOCK;
        self.progress.report(self.context, self.done);
        if self.context.stopped() {
            return Err(ActError::Stopped);
        }
        Ok(())
    }
}

/// Failure of a probe, and the blocks that it did not restore.
#[derive(Debug)]
pub(super) struct ProbeEnd {
    pub(super) error: ActError,
    /// Blocks that differ from their original content.
    pub(super) not_restored: Vec<u64>,
}

impl From<ActError> for ProbeEnd {
    /// Converts an error that occurred before anything was written.
    fn from(error: ActError) -> Self {
        Self {
            error,
            not_restored: Vec::new(),
        }
    }
}

/// Probes a device, and restores its content.
///
/// # Errors
/// If it is too small, cannot be read, or the act is stopped. The content is restored
/// before, as far as possible.
pub(super) fn probe(probe: &mut Probe<'_, '_>) -> Result<Probed, ProbeEnd> {
    let blocks = probe.store.bytes() / BLOCK;
    if blocks < LEAST_BLOCKS {
        return Err(ActError::Refused(format!(
            "{} are too little to probe: fill them instead (assay capacity without --probe)",
            Bytes(probe.store.bytes())
        ))
        .into());
    }
    let mut rescue = Rescue::default();
    let found = search(probe, blocks, &mut rescue);
    let differ = match probe.of_free_space {
        true => Vec::new(),
        false => rescue.put_back(probe.store, probe.meter),
    };
    let mut probed = match found {
        Ok(probed) => probed,
        Err(error) => {
            return Err(ProbeEnd {
                error,
                not_restored: differ,
            });
        }
    };
    probed.blocks_written = rescue.saved_count();
    probed.unreadable = rescue.unreadable();
    probed.not_restored = differ
        .into_iter()
        .filter(|at| probed.kind.holds(*at))
        .collect();
    Ok(probed)
}

/// Returns the small and the giant steps over the device, each in ascending order.
fn steps(blocks: u64) -> (Vec<u64>, Vec<u64>) {
    let stride = blocks.isqrt().max(1);
    let small = stride.max(CACHE_BYTES / BLOCK).min(blocks / 4).max(stride);
    let first = small.div_ceil(stride);
    let mut giant: Vec<u64> = (first..)
        .map(|step| step * stride)
        .take_while(|block| *block < blocks)
        .collect();
    // The last block is probed, too; the steps may end before it.
    if giant.last() != Some(&(blocks - 1)) {
        giant.push(blocks - 1);
    }
    let at = |block: u64| block * BLOCK;
    (
        (0..small).map(at).collect(),
        giant.into_iter().map(at).collect(),
    )
}

fn search(probe: &mut Probe<'_, '_>, blocks: u64, rescue: &mut Rescue) -> Result<Probed, ActError> {
    let (small, giant) = steps(blocks);
    let order: Vec<u64> = giant.iter().chain(&small).copied().collect();
    let marker = Marker::new(probe.context.seed);
    rescue.save(probe, &order)?;
    let (order, unreadable): (Vec<u64>, Vec<u64>) =
        order.into_iter().partition(|at| rescue.may_write(*at));
    rescue.touched = true;
    let mut held = write_and_read(probe, &marker, &order, &order)?;
    held.extend(
        unreadable
            .into_iter()
            .map(|at| (at, BlockContent::Unreadable)),
    );
    if held.values().all(|held| *held == BlockContent::Unreadable) {
        let tried = held.len();
        return Err(ActError::failed(format!(
            "unreadable: none of the {tried} blocks that were tried can be read"
        )));
    }
    let bytes = probe.store.bytes();
    let lost: Vec<u64> = held
        .iter()
        .filter(|(_, held)| **held != BlockContent::Own)
        .map(|(at, _)| *at)
        .collect();
    let is_displaced = |held: &&BlockContent| matches!(held, BlockContent::Other(_));
    let displaced = held.values().filter(is_displaced).count();
    let kind = match judge(&order, &held) {
        Guess::Sure(kind @ (ProbedKind::Good | ProbedKind::Dead)) => kind,
        // The order of a file's blocks is not that of the device's.
        _ if probe.of_free_space => ProbedKind::Damaged,
        Guess::Sure(kind) => kind,
        Guess::Limbo { holds, lost } => {
            let small = small.as_slice();
            let real_bytes = narrow(probe, &marker, rescue, small, (holds, lost))?;
            ProbedKind::Limbo { real_bytes }
        }
        Guess::Chain {
            holds,
            lost,
            wraps_at,
        } => {
            let small = small.as_slice();
            let real_bytes = narrow(probe, &marker, rescue, small, (holds, lost))?;
            ProbedKind::Chain {
                real_bytes,
                wraps_at,
            }
        }
    };
    Ok(Probed {
        kind,
        announced_bytes: bytes,
        of_free_space: probe.of_free_space,
        displaced: displaced as u64,
        block_bytes: BLOCK,
        blocks_written: 0,
        unreadable: Vec::new(),
        lost: lost.len() as u64,
        first_lost: lost.first().copied(),
        not_restored: Vec::new(),
    })
}

/// Marks blocks in this order, then reads some of them.
fn write_and_read(
    probe: &mut Probe<'_, '_>,
    marker: &Marker,
    order: &[u64],
    to_read: &[u64],
) -> Result<BTreeMap<u64, BlockContent>, ActError> {
    for &at in order {
        marker.write(probe.store, probe.meter, at);
        probe.tick()?;
    }
    // A failure is counted; lost blocks are found when they are read.
    let _ = probe.store.flush_counted(probe.meter, 0);
    let mut held = BTreeMap::new();
    for &at in to_read {
        held.insert(at, marker.read(probe.store, probe.meter, at));
        probe.tick()?;
    }
    Ok(held)
}

/// Returns the byte address of the first lost block. `kept` and `lost` are byte addresses of a
/// block that keeps its data and of a later one that does not.
fn narrow(
    probe: &mut Probe<'_, '_>,
    marker: &Marker,
    rescue: &mut Rescue,
    small: &[u64],
    (mut kept, mut lost): (u64, u64),
) -> Result<u64, ActError> {
    while lost - kept > BLOCK {
        let between = (lost - kept) / BLOCK - 1;
        let step = between.div_ceil(FAN).max(1);
        let some: Vec<u64> = (1..)
            .map(|number| kept + number * step * BLOCK)
            .take_while(|at| *at < lost)
            .collect();
        rescue.save(probe, &some)?;
        let may_write = |at: &u64| rescue.may_write(*at);
        let readable: Vec<u64> = some.iter().copied().filter(may_write).collect();
        // The small steps are written again last, to evict the new blocks from the device's cache.
        let cached = small.iter().copied().filter(may_write);
        let order: Vec<u64> = readable.iter().copied().chain(cached).collect();
        let held = write_and_read(probe, marker, &order, &readable)?;
        let first = some
            .iter()
            .find(|at| held.get(at) != Some(&BlockContent::Own));
        let last = some
            .iter()
            .take_while(|at| held.get(at) == Some(&BlockContent::Own))
            .last();
        lost = first.copied().unwrap_or(lost);
        kept = last.copied().unwrap_or(kept);
    }
    Ok(lost)
}

/// Original content of the blocks.
#[derive(Default)]
struct Rescue {
    /// Set before the first write: blocks may have been overwritten.
    touched: bool,
    saved: BTreeMap<u64, Box<[u8]>>,
    unreadable: BTreeSet<u64>,
}

impl Rescue {
    /// Reads blocks before they are written for the first time. Unreadable blocks are not
    /// written.
    fn save(&mut self, probe: &mut Probe<'_, '_>, blocks: &[u64]) -> Result<(), ActError> {
        let mut buffer = IoBuf::zeroed(LENGTH);
        for &at in blocks {
            if self.saved.contains_key(&at) {
                continue;
            }
            if probe.of_free_space {
                // Space that was never written has no content.
                self.saved.insert(at, Box::default());
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
    fn may_write(&self, at: u64) -> bool {
        self.saved.contains_key(&at)
    }

    /// Returns the number of saved blocks, which are those that may have been written.
    fn saved_count(&self) -> u64 {
        self.saved.len() as u64
    }

    /// Returns the blocks that could not be read.
    fn unreadable(&self) -> Vec<u64> {
        self.unreadable.iter().copied().collect()
    }

    /// Restores all blocks, and reads them back. Returns the blocks that differ from
    /// their original content.
    ///
    /// Blocks beyond the device's real memory are included only if they had another
    /// content before: data written to them is lost in any case.
    fn put_back(&self, store: &mut dyn BlockStore, meter: &mut Meter) -> Vec<u64> {
        if !self.touched {
            return Vec::new();
        }
        let mut buffer = IoBuf::zeroed(LENGTH);
        for (at, saved) in &self.saved {
            let block = buffer.block_mut();
            block.copy_from_slice(saved);
            // The comparison below finds blocks that were not written.
            let _ = store.write_counted(meter, *at, block);
        }
        // A failure is counted, and the comparison below finds its effects.
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

/// Bytes of a block, as `usize`.
const LENGTH: usize = 4096;
/// Bytes of a block.
const BLOCK: u64 = LENGTH as u64;

/// Content found in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockContent {
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
struct Marker {
    salt: u64,
    buffer: RefCell<IoBuf>,
}

impl Marker {
    fn new(seed: u64) -> Self {
        Self {
            salt: seed - seed % BLOCK,
            buffer: RefCell::new(IoBuf::zeroed(LENGTH)),
        }
    }

    /// Marks a block. A failure is found when the block is read.
    fn write(&self, store: &mut dyn BlockStore, meter: &mut Meter, at: u64) {
        let mut buffer = self.buffer.borrow_mut();
        let block = buffer.block_mut();
        fill(block, self.salt.wrapping_add(at));
        // The meter counts the error; reading shows its effect.
        let _ = store.write_counted(meter, at, block);
    }

    /// Reads a block and returns its content.
    fn read(&self, store: &mut dyn BlockStore, meter: &mut Meter, at: u64) -> BlockContent {
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

/// Kind of device, or a range in which the search must continue to determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guess {
    Sure(ProbedKind),
    /// Blocks are lost from an address on that is above `holds` and at most `lost`.
    Limbo {
        holds: u64,
        lost: u64,
    },
    /// Blocks are lost as in `Limbo`, and addresses repeat.
    Chain {
        holds: u64,
        lost: u64,
        wraps_at: u64,
    },
}

/// Classifies a device by the content of its blocks after they were written in this order.
fn judge(order: &[u64], held: &BTreeMap<u64, BlockContent>) -> Guess {
    if held.values().all(|held| *held == BlockContent::Own) {
        return Guess::Sure(ProbedKind::Good);
    }
    if held
        .values()
        .all(|held| matches!(held, BlockContent::Lost | BlockContent::Unreadable))
    {
        return Guess::Sure(ProbedKind::Dead);
    }
    wrapped(order, held)
        .or_else(|| ends_somewhere(held))
        .unwrap_or(Guess::Sure(ProbedKind::Damaged))
}

/// Checks for repeating addresses: every block then holds the last data written to any equivalent
/// address, or nothing.
fn wrapped(order: &[u64], held: &BTreeMap<u64, BlockContent>) -> Option<Guess> {
    let distances = held.iter().filter_map(|(at, held)| match held {
        BlockContent::Other(other) => Some(at.abs_diff(*other)),
        _ => None,
    });
    let wraps_at = distances.reduce(gcd)?;
    if wraps_at == 0 {
        return None;
    }
    let mut last: HashMap<u64, u64> = HashMap::new();
    for &at in order {
        last.insert(at % wraps_at, at);
    }
    // Positions that keep their data must lie below those that lose it.
    let (mut holds, mut lost) = (None, None);
    for (&at, &held) in held {
        let place = at % wraps_at;
        if place + BLOCK > wraps_at {
            // This block overlaps the next repetition.
            continue;
        }
        let expected = last.get(&place).copied();
        let as_expected = match held {
            BlockContent::Own => expected == Some(at),
            // If the repetition is not a multiple of the block size, several blocks overlap.
            BlockContent::Other(other) => other % wraps_at == place,
            BlockContent::Lost | BlockContent::Unreadable => {
                lost = Some(lost.map_or(place, |first: u64| first.min(place)));
                continue;
            }
        };
        if !as_expected {
            return None;
        }
        holds = holds.max(Some(place));
    }
    let (Some(holds), Some(lost)) = (holds, lost) else {
        let real_bytes = wraps_at;
        return Some(Guess::Sure(ProbedKind::Wraparound { real_bytes }));
    };
    (holds < lost).then_some(Guess::Chain {
        holds: holds - holds % BLOCK,
        lost: lost - lost % BLOCK,
        wraps_at,
    })
}

/// Checks that everything is lost from some address on. Lost blocks may show marks of other lost
/// blocks, if all of them go to the same place.
fn ends_somewhere(held: &BTreeMap<u64, BlockContent>) -> Option<Guess> {
    let (&lost, _) = held.iter().find(|(_, held)| **held != BlockContent::Own)?;
    let (&holds, _) = held.range(..lost).next_back()?;
    let beyond: Vec<_> = held.range(lost..).collect();
    // If all lost blocks go to the same place, the last one written is found there.
    let own = beyond
        .iter()
        .filter(|(_, held)| **held == BlockContent::Own)
        .count();
    let all_lost = own == 0 || (own == 1 && beyond.len() > 2);
    let from_beyond = beyond.iter().all(|(_, held)| match held {
        BlockContent::Other(other) => *other >= lost,
        _ => true,
    });
    (all_lost && from_beyond).then_some(Guess::Limbo { holds, lost })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;

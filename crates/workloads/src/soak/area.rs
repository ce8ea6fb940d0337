//! Blocks of a soak: reading, comparing, writing.

use super::content;
use crate::capacity::store::{BlockStore, DirectFile, Use};
use crate::meter::Meter;
use crate::{Context, WorkError};
use assay_engine::buffer::IoBuf;
use assay_engine::held::{self, shown};
use assay_model::work::soak::order::SoakOrder;
use assay_model::work::soak::{Checkpoint, Fault, HeldContent, Soak};
use std::io;
use std::path::Path;

/// Faults of a stretch listed in detail, at most; all are counted.
const FAULTS_KEPT: usize = 64;

/// Result of a stretch.
#[derive(Default)]
pub(super) struct Came {
    pub(super) faults_seen: u64,
    pub(super) faults: Vec<Fault>,
    /// Writes after the checkpoint, up to the last one that is complete.
    pub(super) newer_writes: u64,
    pub(super) interrupted_blocks: u64,
}

/// Storage that a soak writes and checks.
pub(super) struct Area {
    store: DirectFile,
    order: SoakOrder,
    seed: u64,
    blocks: u64,
    block_bytes: u64,
    found: IoBuf,
    expected: IoBuf,
    /// First write that is compared again. Blocks of earlier writes may contain them already,
    /// because they were made before a kill.
    tolerant_until: u64,
}

impl Area {
    /// Opens the device, or the file, which is created at the begin of a run.
    pub(super) fn open(work: &Soak) -> Result<Self, WorkError> {
        if work.own_file && work.from.is_none() {
            make(&work.path, work.blocks.saturating_mul(work.block_bytes))?;
        }
        let store = DirectFile::open(&work.path, Use::Write)?;
        let wanted = work.blocks.saturating_mul(work.block_bytes);
        if store.bytes() < wanted {
            return Err(WorkError::Refused(format!(
                "{} has {} bytes instead of {wanted}: it has changed since the run began",
                shown(&work.path),
                store.bytes()
            )));
        }
        Ok(Self {
            store,
            order: SoakOrder::new(work.blocks, work.seed),
            seed: work.seed,
            blocks: work.blocks,
            block_bytes: work.block_bytes,
            found: IoBuf::of(work.block_bytes)?,
            expected: IoBuf::of(work.block_bytes)?,
            tolerant_until: 0,
        })
    }

    pub(super) const fn is_direct(&self) -> bool {
        self.store.is_direct()
    }

    /// Makes the next write, after its block was compared with the previous one.
    pub(super) fn renew(
        &mut self,
        checkpoint: &mut Checkpoint,
        (meter, context): (&mut Meter, &Context<'_>),
        came: &mut Came,
    ) -> Result<(), WorkError> {
        let number = checkpoint.next;
        let block = self.order.block_of(number);
        if number >= self.tolerant_until && !checkpoint.suspects.contains(&block) {
            self.check(block, false, checkpoint, (meter, context), came)?;
        }
        content::fill(self.expected.block_mut(), self.seed, number, block);
        let offset = block * self.block_bytes;
        match (self.store).write_counted(meter, offset, self.expected.block()) {
            Ok(()) => {
                checkpoint.written_bytes += self.block_bytes;
                checkpoint.suspects.retain(|suspect| *suspect != block);
            }
            Err(_) => {
                meter.is_there(context, checkpoint.written_bytes)?;
                checkpoint.errors += 1;
                if !checkpoint.suspects.contains(&block) {
                    checkpoint.suspects.push(block);
                }
            }
        }
        checkpoint.next += 1;
        Ok(())
    }

    /// Flushes the area; on return, everything written is durable.
    pub(super) fn flush(
        &mut self,
        meter: &mut Meter,
        checkpoint: &mut Checkpoint,
        context: &Context<'_>,
    ) -> Result<(), WorkError> {
        let Err(error) = self.store.flush_counted(meter, 0) else {
            return Ok(());
        };
        meter.is_there(context, checkpoint.written_bytes)?;
        checkpoint.errors += 1;
        Err(WorkError::Failed {
            message: format!("cannot flush the written blocks: {error}"),
            errno: error.raw_os_error(),
        })
    }

    /// Compares a block with its last write; with `newer`, it may also contain a write after the
    /// checkpoint.
    pub(super) fn check(
        &mut self,
        block: u64,
        newer: bool,
        checkpoint: &mut Checkpoint,
        (meter, context): (&mut Meter, &Context<'_>),
        came: &mut Came,
    ) -> Result<(), WorkError> {
        let last = self.order.last_before(checkpoint.next, block);
        if (last.is_none() && !newer) || checkpoint.suspects.contains(&block) {
            return Ok(());
        }
        let offset = block * self.block_bytes;
        let read = (self.store).read_counted(meter, offset, self.found.block_mut());
        if let Err(error) = read {
            meter.is_there(context, checkpoint.written_bytes)?;
            checkpoint.errors += 1;
            if let Some(number) = last {
                came.fault(self.unreadable(block, number, &error));
            }
            return Ok(());
        }
        checkpoint.verified_bytes += self.block_bytes;
        if last.is_some_and(|number| self.holds(number, block)) {
            return Ok(());
        }
        if newer && self.is_newer(block, checkpoint, came) {
            return Ok(());
        }
        if let Some(number) = last {
            came.fault(self.fault(block, number));
        }
        Ok(())
    }

    /// Returns true if the block read has the content of a certain write.
    fn holds(&mut self, number: u64, block: u64) -> bool {
        content::fill(self.expected.block_mut(), self.seed, number, block);
        self.found.block() == self.expected.block()
    }

    /// Returns true if the block read belongs, at least in part, to a write after the checkpoint,
    /// which was not flushed and may or may not have completed.
    fn is_newer(&mut self, block: u64, checkpoint: &Checkpoint, came: &mut Came) -> bool {
        let newest = content::newest(self.found.block(), self.seed, block);
        // A number far beyond the checkpoint is not a write of this run.
        let latest = checkpoint
            .next
            .saturating_add(self.blocks.saturating_mul(1 << 16));
        let possible = |number: &u64| {
            (checkpoint.next..latest).contains(number) && self.order.block_of(*number) == block
        };
        let Some(number) = newest.filter(possible) else {
            return false;
        };
        self.tolerant_until = self.tolerant_until.max(number + 1);
        if self.holds(number, block) {
            // Writes are sequential, so all before this one were made too.
            came.newer_writes = came.newer_writes.max(number + 1 - checkpoint.next);
        } else if content::is_interrupted(self.found.block(), self.seed, block) {
            came.interrupted_blocks += 1;
        } else {
            came.fault(self.fault(block, number));
        }
        true
    }

    /// Describes the fault found in place of a write; `expected` receives the content of that
    /// write.
    fn fault(&mut self, block: u64, number: u64) -> Fault {
        content::fill(self.expected.block_mut(), self.seed, number, block);
        let (found, expected) = (self.found.block(), self.expected.block());
        let differ = || {
            found
                .iter()
                .zip(expected)
                .enumerate()
                .filter(|(_, (a, b))| a != b)
        };
        let offset = block * self.block_bytes;
        Fault {
            block,
            offset,
            first_byte: offset + differ().next().map_or(0, |(at, _)| at as u64),
            differing_bytes: differ().count() as u64,
            expected: number,
            found: content::held(found, expected, self.seed, number, block),
        }
    }

    fn unreadable(&self, block: u64, number: u64, error: &io::Error) -> Fault {
        let offset = block * self.block_bytes;
        Fault {
            block,
            offset,
            first_byte: offset,
            differing_bytes: self.block_bytes,
            expected: number,
            found: HeldContent::Unreadable {
                errno: error.raw_os_error(),
            },
        }
    }
}

impl Came {
    fn fault(&mut self, fault: Fault) {
        self.faults_seen += 1;
        if self.faults.len() < FAULTS_KEPT {
            self.faults.push(fault);
        }
    }
}

/// Creates a file of that length.
fn make(path: &Path, bytes: u64) -> Result<(), WorkError> {
    let made = held::create_new(path).map_err(io::Error::from);
    let made = made.and_then(|file| file.set_len(bytes));
    made.map_err(|error| WorkError::io("make", path, &error))
}

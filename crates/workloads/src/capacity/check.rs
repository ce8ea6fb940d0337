//! Reading back and comparing, sector by sector.

use super::BlockStore;
use crate::observer::{Meter, ProgressReporter};
use crate::{ActError, Context};
use assay_engine::buffer::IoBuf;
use assay_model::act::capacity::{SECTOR, SECTOR_BYTES, Tally, classify};
use assay_model::job::Direction;

/// Bytes of one read.
pub(super) const CHUNK: usize = 1 << 20;
/// Size in bytes of each read attempt within an unreadable chunk.
const PIECE: usize = 4096;
/// Unreadable chunks that are read again piece by piece, at most: each piece may take
/// seconds.
const PATIENCE: u32 = 64;

/// Reads storage back, one part after the other.
pub(super) struct Checker {
    buffer: IoBuf,
    patience: u32,
    /// Bytes processed so far.
    pub(super) done: u64,
}

impl Checker {
    pub(super) fn new() -> Self {
        Self {
            buffer: IoBuf::zeroed(CHUNK),
            patience: PATIENCE,
            done: 0,
        }
    }

    /// Checks the whole sectors of the first `length` bytes of a store, whose first
    /// sector has the offset `base` within all written data. Returns the findings, also
    /// if the check was stopped early.
    pub(super) fn check(
        &mut self,
        store: &mut dyn BlockStore,
        base: u64,
        length: u64,
        meter: &mut Meter,
        (progress, context): (&mut ProgressReporter, &mut Context<'_>),
    ) -> (Tally, Result<(), ActError>) {
        let mut tally = Tally::default();
        let end = length - length % SECTOR_BYTES;
        let mut at = 0;
        while at < end {
            if context.stopped() {
                return (tally, Err(ActError::Stopped));
            }
            let chunk = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let around = (&mut *meter, &*context);
            if let Err(gone) = self.check_chunk(store, base, at, chunk, around, &mut tally) {
                return (tally, Err(gone));
            }
            at += chunk as u64;
            self.done += chunk as u64;
            progress.report(context, self.done);
        }
        (tally, Ok(()))
    }

    fn check_chunk(
        &mut self,
        store: &mut dyn BlockStore,
        base: u64,
        at: u64,
        length: usize,
        (meter, context): (&mut Meter, &Context<'_>),
        tally: &mut Tally,
    ) -> Result<(), ActError> {
        if self.read(store, base, at, length, meter, tally) {
            return Ok(());
        }
        meter.is_there(context, self.done)?;
        if self.patience == 0 {
            tally.unreadable(base + at, length as u64 / SECTOR_BYTES);
            return Ok(());
        }
        self.patience -= 1;
        for piece in (0..length).step_by(PIECE) {
            let short = PIECE.min(length - piece);
            let at = at + piece as u64;
            if !self.read(store, base, at, short, meter, tally) {
                meter.is_there(context, self.done)?;
                tally.unreadable(base + at, short as u64 / SECTOR_BYTES);
            }
        }
        Ok(())
    }

    /// Reads and counts sectors; `false` if they cannot be read.
    fn read(
        &mut self,
        store: &mut dyn BlockStore,
        base: u64,
        at: u64,
        length: usize,
        meter: &mut Meter,
        tally: &mut Tally,
    ) -> bool {
        // Direct reads need whole blocks, even if a file ends within one.
        let whole = length.next_multiple_of(PIECE);
        let bytes = &mut self.buffer.block_mut()[..whole];
        let began_ns = meter.now_ns();
        if let Err(error) = store.read_at(at, bytes) {
            meter.failed(Some(Direction::Read), base + at, length as u64, &error);
            return false;
        }
        meter.moved(Direction::Read, length as u64, began_ns);
        let mut offset = base + at;
        for sector in bytes[..length].chunks_exact(SECTOR) {
            tally.count(classify(sector, offset), offset);
            offset += SECTOR_BYTES;
        }
        true
    }
}

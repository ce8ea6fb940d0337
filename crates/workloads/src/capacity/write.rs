//! Filling a device.

use super::check::CHUNK;
use super::store::BlockStore;
use crate::meter::Meter;
use crate::progress::ProgressReporter;
use crate::{Context, WorkError};
use assay_engine::buffer::IoBuf;
use assay_model::work::capacity::content::fill;
use std::io;

/// Flushed after so many chunks, so that the device's cache does not hide how
/// far the writing has really come.
pub(super) const CHUNKS_PER_FLUSH: u32 = 16;
/// Size in bytes of each write attempt within an unwritable chunk.
const PIECE: usize = 4096;
/// So many chunks that cannot be written are tried piece by piece: each piece
/// may take seconds.
const PATIENCE: u32 = 64;
/// After so many chunks in a row of which nothing can be written, there is
/// nothing further on.
const HOPELESS: u32 = 64;

/// Writes the first `length` bytes of a store. Blocks that cannot be written
/// are counted and passed over. Returns how far it came.
pub(super) fn write_all(
    store: &mut dyn BlockStore,
    length: u64,
    meter: &mut Meter,
    progress: &mut ProgressReporter,
    context: &mut Context<'_>,
) -> Result<u64, (u64, WorkError)> {
    let mut buffer = IoBuf::zeroed(CHUNK);
    let mut writer = SegmentWriter {
        store,
        meter,
        patience: PATIENCE,
    };
    let (mut at, mut unflushed, mut in_vain) = (0, 0, 0);
    while at < length && in_vain < HOPELESS {
        if context.stopped() {
            writer.flush(at);
            return Err((at, WorkError::Stopped));
        }
        let chunk = usize::try_from(length - at).map_or(CHUNK, |left| left.min(CHUNK));
        let bytes = &mut buffer.block_mut()[..chunk];
        fill(bytes, at);
        in_vain = if writer.write(at, bytes) {
            0
        } else {
            in_vain + 1
        };
        at += chunk as u64;
        unflushed += 1;
        if unflushed == CHUNKS_PER_FLUSH {
            writer.flush(at);
            unflushed = 0;
        }
        progress.report(context, at);
    }
    if unflushed > 0 {
        writer.flush(at);
    }
    Ok(at)
}

struct SegmentWriter<'a> {
    store: &'a mut dyn BlockStore,
    meter: &'a mut Meter,
    patience: u32,
}

impl SegmentWriter<'_> {
    /// Writes a chunk, or what can be written of it; `false`: nothing.
    fn write(&mut self, at: u64, bytes: &[u8]) -> bool {
        if self.try_write(at, bytes).is_ok() {
            return true;
        }
        if self.patience == 0 {
            return false;
        }
        self.patience -= 1;
        let mut any = false;
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            let at = at + (number * PIECE) as u64;
            any |= self.try_write(at, piece).is_ok();
        }
        any
    }

    fn try_write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.store.write_counted(self.meter, at, bytes)
    }

    /// Flushes; a failure is counted, and seen in what is read back.
    fn flush(&mut self, at: u64) {
        let _ = self.store.flush_counted(self.meter, at);
    }
}

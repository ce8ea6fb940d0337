//! Writing blocks of the output, and flushing it.

use super::{Copier, Halt};
use crate::Context;
use crate::copy::drop_cache::DropCache;
use crate::copy::words;
use crate::meter::nanos;
use assay_model::job::Direction;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fcntl_setfl, fdatasync, fsync, seek};
use rustix::io::{Errno, write};
use std::time::Instant;

/// State of writing.
#[derive(Debug)]
pub(in crate::copy) struct WriteState {
    /// Blocks of zeros become holes.
    pub(in crate::copy) sparse: bool,
    /// The last block became a hole.
    pub(in crate::copy) last_was_hole: bool,
    /// Flushes that remain to be made.
    pub(in crate::copy) fdatasync: bool,
    pub(in crate::copy) fsync: bool,
    /// True if `nocache` drops the pages up to the end of the output.
    pub(in crate::copy) drop_to_end: bool,
    pub(in crate::copy) cache: DropCache,
}

/// Result of a write.
#[derive(Clone, Copy, Debug)]
pub(in crate::copy) struct WriteResult {
    pub(in crate::copy) bytes: u64,
    /// Error that ended the write early.
    pub(in crate::copy) error: Option<Errno>,
}

impl Copier<'_> {
    /// Writes all of a block, with several calls if necessary.
    // A return across a system call costs over 100 ns where the kernel guards return predictions.
    #[inline(always)]
    pub(in crate::copy) fn write(
        &mut self,
        block: &[u8],
        context: &mut Context<'_>,
    ) -> Result<WriteResult, Halt> {
        if self.work.output_flags.direct && (block.len() as u64) < self.work.output_block {
            self.end_direct(context);
        }
        let mut done = 0;
        let mut error = None;
        while done < block.len() {
            self.attend(context)?;
            self.writing.last_was_hole = false;
            if self.writing.sparse && self.becomes_hole(block) {
                self.writing.last_was_hole = true;
                self.report.hole_bytes += block.len() as u64;
                done = block.len();
                break;
            }
            let begun = Instant::now();
            match write(&self.ends.output.fd, &block[done..]) {
                Err(Errno::INTR) => {}
                Err(why) => {
                    error = Some(why);
                    break;
                }
                // Some drivers return 0 at the end of a device.
                Ok(0) => {
                    error = Some(Errno::NOSPC);
                    break;
                }
                Ok(count) => {
                    self.writes.record(nanos(begun.elapsed()));
                    done += count;
                }
            }
        }
        if let Some(why) = error {
            self.record_error(Some(Direction::Write), block.len() - done, why);
        }
        if self.work.output_flags.nocache && done > 0 {
            self.writing.cache.copied(&self.ends.output.fd, done as u64);
        }
        Ok(WriteResult {
            bytes: done as u64,
            error,
        })
    }

    /// Skips a block of zeros, if the output supports holes; `true` if it did.
    fn becomes_hole(&mut self, block: &[u8]) -> bool {
        if !is_zero(block) {
            return false;
        }
        let length = i64::try_from(block.len()).unwrap_or(i64::MAX);
        let moved = seek(&self.ends.output.fd, SeekFrom::Current(length)).is_ok();
        self.writing.sparse = moved;
        moved
    }

    /// Ends direct I/O for a block that is too short for it, usually the last one. It and all
    /// following blocks go through the page cache, so they are flushed and dropped from there.
    fn end_direct(&mut self, context: &mut Context<'_>) {
        let output = &self.ends.output.fd;
        let cleared =
            fcntl_getfl(output).and_then(|flags| fcntl_setfl(output, flags - OFlags::DIRECT));
        match cleared {
            Ok(()) => {
                if !std::mem::replace(&mut self.report.left_direct, true) {
                    self.report.direct_bytes = self.report.bytes - self.report.hole_bytes;
                }
            }
            Err(why) => {
                let name = self.ends.output.name.quoted();
                self.warn(
                    words::failed(&format!("failed to turn off O_DIRECT: {name}"), why),
                    context,
                );
            }
        }
        self.writing.drop_to_end = true;
        self.writing.fsync = true;
    }

    /// Makes each requested flush once.
    pub(in crate::copy) fn flush(&mut self, context: &mut Context<'_>) -> Result<(), Halt> {
        if std::mem::take(&mut self.writing.fdatasync)
            && let Err(why) = self.flush_by(|output| fdatasync(output), context)
        {
            // If fdatasync is not supported, fsync may be.
            let cannot = matches!(why, Errno::NOSYS | Errno::INVAL);
            if !cannot {
                self.flush_failed("fdatasync", why, context);
            }
            self.writing.fsync = true;
        }
        if std::mem::take(&mut self.writing.fsync)
            && let Err(why) = self.flush_by(|output| fsync(output), context)
        {
            self.flush_failed("fsync", why, context);
        }
        Ok(())
    }

    fn flush_by(
        &mut self,
        call: impl Fn(&crate::copy::ends::Descriptor) -> Result<(), Errno>,
        context: &mut Context<'_>,
    ) -> Result<(), Errno> {
        loop {
            let begun = Instant::now();
            match call(&self.ends.output.fd) {
                Err(Errno::INTR) if !context.stopped() => {}
                Err(why) => return Err(why),
                Ok(()) => {
                    self.flushes.record(nanos(begun.elapsed()));
                    return Ok(());
                }
            }
        }
    }

    fn flush_failed(&mut self, call: &str, why: Errno, context: &mut Context<'_>) {
        // A pipe that cannot be flushed is not an error of storage, and neither is an interrupted
        // flush.
        if self.ends.output.kind.is_storage() && why != Errno::INTR {
            self.record_error(None, 0, why);
        }
        let text = words::failed(
            &format!("{call} failed for {}", self.ends.output.name.quoted()),
            why,
        );
        self.fail(text, context);
    }
}

/// Returns true if a block contains only zeros. Most data differs from that in its first bytes.
fn is_zero(block: &[u8]) -> bool {
    let (words, rest) = block.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0)
}

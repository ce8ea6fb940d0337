//! Making blocks of the output's size.

use super::reading::Come;
use super::{Copier, Halt};
use crate::Context;

/// A block of the output that is being filled.
pub(super) struct Reblock<'r, 'a, 'c> {
    copier: &'r mut Copier<'a>,
    context: &'r mut Context<'c>,
    block: &'r mut [u8],
    filled: usize,
}

impl<'r, 'a, 'c> Reblock<'r, 'a, 'c> {
    pub(super) fn new(
        copier: &'r mut Copier<'a>,
        block: &'r mut [u8],
        context: &'r mut Context<'c>,
    ) -> Self {
        Self {
            copier,
            context,
            block,
            filled: 0,
        }
    }

    pub(super) fn next_block(&mut self, input: &mut [u8]) -> Result<Come, Halt> {
        self.copier.next_block(input, self.context)
    }

    pub(super) fn truncated(&mut self, lines: u64) {
        self.copier.report.truncated = lines;
    }

    /// Adds bytes, and writes what became full.
    #[inline]
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> Result<(), Halt> {
        while !bytes.is_empty() {
            let fits = bytes.len().min(self.block.len() - self.filled);
            let (now, later) = bytes.split_at(fits);
            self.block[self.filled..self.filled + fits].copy_from_slice(now);
            self.filled += fits;
            bytes = later;
            if self.filled == self.block.len() {
                self.write_full()?;
            }
        }
        Ok(())
    }

    fn write_full(&mut self) -> Result<(), Halt> {
        self.filled = 0;
        let written = self.copier.write(self.block, self.context)?;
        self.copier.report.bytes += written.bytes;
        let Some(why) = written.error else {
            self.copier.report.written_full += 1;
            return Ok(());
        };
        self.copier.write_failed("writing to", why, self.context);
        if written.bytes > 0 {
            self.copier.report.written_partial += 1;
        }
        Err(Halt::Failed)
    }

    /// Writes what is left.
    pub(super) fn close(self) -> Result<(), Halt> {
        if self.filled == 0 {
            return Ok(());
        }
        let rest = &self.block[..self.filled];
        let written = self.copier.write(rest, self.context)?;
        self.copier.report.bytes += written.bytes;
        if written.bytes > 0 {
            self.copier.report.written_partial += 1;
        }
        if let Some(why) = written.error {
            self.copier.write_failed("error writing", why, self.context);
        }
        Ok(())
    }
}

//! `lseek(2)`, then `read(2)` or `write(2)`.

use super::trim;
use crate::error::EngineError;
use crate::io::{IoEngine, IoUnit, OpenFile, moved};
use assay_model::load::Ddir;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, read, retry_on_intr, write};

#[derive(Debug, Default)]
pub(crate) struct Sync {
    /// Kernel's position in each file, by file number, so that a seek is made only if needed;
    /// `None` if unknown.
    positions: Vec<Option<u64>>,
}

impl Sync {
    fn at_position(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<usize, Errno> {
        let ddir = unit.ddir;
        let (offset, bytes) = unit.remainder();
        let position = &mut self.positions[file.number as usize];
        if position.take() != Some(offset) {
            seek(&file.file, SeekFrom::Start(offset))?;
        }
        let moved = if ddir == Ddir::Read {
            retry_on_intr(|| read(&file.file, &mut *bytes))
        } else {
            retry_on_intr(|| write(&file.file, &*bytes))
        }?;
        *position = Some(offset + moved as u64);
        Ok(moved)
    }
}

impl IoEngine for Sync {
    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        let number = file.number as usize;
        if self.positions.len() <= number {
            self.positions.resize(number + 1, None);
        }
        self.positions[number] = None;
        Ok(())
    }

    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return trim::transfer(file, unit);
        }
        moved(self.at_position(file, unit))
    }
}

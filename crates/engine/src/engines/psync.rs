//! `pread(2)` and `pwrite(2)`.

use super::trim;
use crate::io::{IoEngine, IoUnit, OpenFile, moved};
use assay_model::load::Ddir;
use rustix::io::{pread, pwrite, retry_on_intr};

#[derive(Debug, Default)]
pub(crate) struct Psync;

impl IoEngine for Psync {
    // Inlined: a return after a system call costs over 100 ns if the kernel flushes return
    // predictions.
    #[inline(always)]
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        if unit.ddir == Ddir::Trim {
            return trim::transfer(file, unit);
        }
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        moved(if writes {
            retry_on_intr(|| pwrite(&file.file, &*bytes, offset))
        } else {
            retry_on_intr(|| pread(&file.file, &mut *bytes, offset))
        })
    }
}

//! `pread(2)` and `pwrite(2)`.

use super::trim;
use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus, moved};
use assay_model::load::Ddir;
use rustix::io::{pread, pwrite, retry_on_intr};

#[derive(Debug, Default)]
pub(crate) struct Psync;

impl IoEngine for Psync {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        if unit.ddir == Ddir::Trim {
            return trim::queue(file, unit);
        }
        let writes = unit.ddir == Ddir::Write;
        let (offset, bytes) = unit.remainder();
        let result = moved(if writes {
            retry_on_intr(|| pwrite(&file.file, &*bytes, offset))
        } else {
            retry_on_intr(|| pread(&file.file, &mut *bytes, offset))
        });
        QueueStatus::Completed(Completion { unit, result })
    }
}

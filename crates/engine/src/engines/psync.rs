//! `pread(2)` and `pwrite(2)`.

use crate::io::{Completion, IoEngine, IoUnit, QueueStatus, moved};
use assay_model::job::Direction;
use rustix::io::{pread, pwrite, retry_on_intr};
use std::fs::File;

#[derive(Debug)]
pub(crate) struct Psync {
    file: File,
}

impl Psync {
    pub(crate) fn new(file: File) -> Self {
        Self { file }
    }
}

impl IoEngine for Psync {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, mut unit: IoUnit) -> QueueStatus {
        let direction = unit.direction;
        let (offset, bytes) = unit.remainder();
        let result = match direction {
            Direction::Read => retry_on_intr(|| pread(&self.file, &mut *bytes, offset)),
            Direction::Write => retry_on_intr(|| pwrite(&self.file, &*bytes, offset)),
        };
        let result = moved(result);
        QueueStatus::Completed(Completion { unit, result })
    }
}

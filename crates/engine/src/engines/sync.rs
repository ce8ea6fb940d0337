//! `lseek(2)`, then `read(2)` or `write(2)`.

use crate::io::{Completion, IoEngine, IoUnit, QueueStatus, moved};
use assay_model::job::Direction;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, read, retry_on_intr, write};
use std::fs::File;

#[derive(Debug)]
pub(crate) struct Sync {
    file: File,
    /// Where the kernel's file position is, to seek only when it must move.
    position: Option<u64>,
}

impl Sync {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            position: Some(0),
        }
    }

    fn transfer(&mut self, unit: &mut IoUnit) -> Result<usize, Errno> {
        let direction = unit.direction;
        let (offset, bytes) = unit.remainder();
        if self.position.take() != Some(offset) {
            seek(&self.file, SeekFrom::Start(offset))?;
        }
        let moved = match direction {
            Direction::Read => retry_on_intr(|| read(&self.file, &mut *bytes)),
            Direction::Write => retry_on_intr(|| write(&self.file, &*bytes)),
        }?;
        self.position = Some(offset + moved as u64);
        Ok(moved)
    }
}

impl IoEngine for Sync {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, mut unit: IoUnit) -> QueueStatus {
        let result = moved(self.transfer(&mut unit));
        QueueStatus::Completed(Completion { unit, result })
    }
}

//! Dropping of copied data from the page cache (`nocache`).

use rustix::fs::{Advice, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::os::fd::AsFd;

/// Bytes dropped at a time, so that small blocks do not need a call each.
const AT_ONCE: u64 = 128 << 10;

/// State of dropping one file's pages.
#[derive(Debug)]
pub(super) struct DropCache {
    /// Offset up to which pages are dropped; `None` if the file is not seekable.
    dropped_to: Option<u64>,
    pending: u64,
}

impl DropCache {
    pub(super) fn new(end: impl AsFd) -> Self {
        Self {
            dropped_to: seek(end, SeekFrom::Current(0)).ok(),
            pending: 0,
        }
    }

    /// Continues from the file's current offset.
    pub(super) fn moved(&mut self, end: impl AsFd) {
        self.dropped_to = seek(end, SeekFrom::Current(0)).ok();
    }

    /// Records that more bytes were copied.
    pub(super) fn copied(&mut self, end: impl AsFd, bytes: u64) {
        self.pending += bytes;
        if self.pending >= AT_ONCE {
            // A failure is ignored, because the call is only advice.
            let _ = self.drop_pending(end);
        }
    }

    fn drop_pending(&mut self, end: impl AsFd) -> Result<(), Errno> {
        let start = self.dropped_to.ok_or(Errno::SPIPE)?;
        let dropped = fadvise(end, start, NonZeroU64::new(self.pending), Advice::DontNeed);
        self.dropped_to = Some(start + self.pending);
        self.pending = 0;
        dropped
    }

    /// Drops the remaining copied data; with `to_end`, everything up to the end of the
    /// file.
    pub(super) fn rest(&mut self, end: impl AsFd, to_end: bool) -> Result<(), Errno> {
        if !to_end && self.pending > 0 {
            return self.drop_pending(end);
        }
        let start = self.dropped_to.ok_or(Errno::SPIPE)?;
        if to_end {
            return fadvise(end, start, None, Advice::DontNeed);
        }
        Ok(())
    }
}

//! Dropping what was copied from the page cache (`nocache`).

use rustix::fs::{Advice, SeekFrom, fadvise, seek};
use rustix::io::Errno;
use std::num::NonZeroU64;
use std::os::fd::AsFd;

/// Dropped at a time, so that small blocks do not cost a call each.
const AT_ONCE: u64 = 128 << 10;

/// Page cache of one end that is to be dropped.
#[derive(Debug)]
pub(super) struct DropCache {
    /// Up to here all is dropped; `None`: the end has no places.
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

    /// Goes on from another place.
    pub(super) fn moved(&mut self, end: impl AsFd) {
        self.dropped_to = seek(end, SeekFrom::Current(0)).ok();
    }

    /// So much more was copied.
    pub(super) fn copied(&mut self, end: impl AsFd, bytes: u64) {
        self.pending += bytes;
        if self.pending >= AT_ONCE {
            // It is only advice.
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

    /// Drops the rest of what was copied; `to_end`: all that follows too.
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

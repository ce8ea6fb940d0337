//! End of single calls. A job as a whole may reach the device while each of its writes is only a
//! copy into the page cache.

use super::{Case, DEVICE_SHARE, DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::evidence::Snapshot;
use assay_model::job::{Direction, EngineKind, Flush, OpenSync};
use assay_model::storage::Backing;
use std::borrow::Cow;

/// Mount options with which a write call waits for the device, or goes there
/// without the page cache.
const WRITTEN_THROUGH: [&str; 3] = ["sync", "dax", "dax=always"];

/// Point that a single call has waited for when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The call waits for what the label of the direction says.
    Whole,
    /// A copy into the page cache; the job flushes apart from it.
    PageCache(Flush),
    /// It cannot be told.
    Unclear,
}

/// Quantity that a figure of a direction describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Everything moved from clock start to clock stop, flushes included; or the flushes, and calls
    /// together with their flush.
    Whole,
    /// Single calls, flushes apart.
    Call,
    /// Operations of several calls; the flush that the job asks for after each
    /// is one of them.
    Operation,
    /// A part of the time between start and stop, a flush at the end apart.
    Level,
}

impl DirectionEvidence {
    /// The label of one figure.
    pub fn of(&self, quantity: Quantity) -> Cow<'_, Measured> {
        let flush = match self.calls {
            _ if quantity == Quantity::Whole => return Cow::Borrowed(&self.measured),
            CallEnd::Whole => return Cow::Borrowed(&self.measured),
            CallEnd::Unclear => {
                return Cow::Owned(Measured::unknown(tr!(
                    "what a single write waited for cannot be told"
                )));
            }
            CallEnd::PageCache(flush) => flush,
        };
        match quantity {
            Quantity::Call => Cow::Owned(Measured::PageCache),
            Quantity::Operation if flush == Flush::default() => Cow::Owned(Measured::PageCache),
            // Fast until memory is full of dirty pages, then as fast as the device.
            Quantity::Level if flush.every.is_none() && self.measured != Measured::PageCache => {
                Cow::Owned(Measured::unknown(tr!(
                    "bytes that went to the device in a part of the time are not counted apart"
                )))
            }
            _ => Cow::Borrowed(&self.measured),
        }
    }
}

impl Case<'_> {
    /// True if direct writes left more pages of the file cached than [`DEVICE_SHARE`] of them
    /// allows: the file system took them through the page cache, as those of encrypted files and
    /// of blocks that it copies on write.
    fn left_pages(&self) -> bool {
        let cached = |snapshot: &Snapshot| {
            let pages = snapshot.region_cache.or(snapshot.file_cache)?;
            Some(pages.cached_bytes)
        };
        let (before, after) = (&self.evidence.before, &self.evidence.after);
        let grown = cached(after).zip(cached(before));
        let grown = grown.map_or(0, |(after, before)| after.saturating_sub(before));
        let only_writes = self.measured.read.bytes == 0;
        only_writes && grown as f64 > self.measured.write.bytes as f64 * (1.0 - DEVICE_SHARE)
    }

    /// Returns the point that a write of this job has waited for when it returns.
    pub(super) fn end_of_writes(&self) -> CallEnd {
        let job = self.job;
        // With data=journal, ext4 takes direct writes through the page cache.
        let direct = job.direct && !self.journals_data();
        if direct && job.sync == OpenSync::None && self.left_pages() {
            // Others may have read or written the file meanwhile.
            return match self.others(Direction::Read) + self.others(Direction::Write) {
                0 => CallEnd::PageCache(job.flush),
                _ => CallEnd::Unclear,
            };
        }
        let through = WRITTEN_THROUGH
            .iter()
            .any(|option| self.mounted_with(option));
        // So is each record of a map that iozone flushes (`-B -G`).
        let synced_map = job.ioengine == EngineKind::Mmap
            && matches!(job.flush.every, Some((1, _)))
            && self.cell.is_some();
        // A transaction is judged as a whole: its flush is a part of it.
        if job.sync != OpenSync::None || direct || through || synced_map || self.database.is_some()
        {
            return CallEnd::Whole;
        }
        let storage = &self.evidence.storage;
        // Each call may ask another process or another machine.
        let asks_others = match &storage.backing {
            Backing::Device { .. } | Backing::Memory { .. } => {
                (storage.mount.as_ref()).is_some_and(|mount| mount.fs_type.starts_with("fuse"))
            }
            Backing::Simulated { .. } | Backing::MainMemory | Backing::Unknown { .. } => true,
        };
        match asks_others {
            true => CallEnd::Unclear,
            false => CallEnd::PageCache(job.flush),
        }
    }
}

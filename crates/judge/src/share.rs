//! The device's share of a job's bytes, as a range that the evidence allows.

use super::{Case, DEVICE_SHARE, DataLocation, Measured};
use assay_lang::tr;
use assay_model::evidence::MemoryCounters;
use assay_model::job::Direction;
use std::fmt;

/// Smallest page of the page cache on any Linux.
const PAGE_BYTES: u64 = 4096;

/// The device's share, 0 to 1: at least and at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Lower bound, which the counters prove.
    pub least: f64,
    /// Upper bound, which the evidence allows.
    pub most: f64,
}

impl Share {
    const NONE: Self = Self {
        least: 0.0,
        most: 0.0,
    };

    /// A part of a whole that is known.
    pub(super) fn exactly(part: u64, whole: u64) -> Self {
        let share = ratio(part, whole);
        Self {
            least: share,
            most: share,
        }
    }

    /// Derives the share of a part from the share of the whole: the missing bytes may all belong to
    /// the part, or all to the others.
    pub(super) fn of_part(self, part: u64, all: u64) -> Self {
        let own = ratio(part, all);
        if own <= 0.0 {
            return Self {
                least: 0.0,
                most: 1.0,
            };
        }
        Self {
            least: (1.0 - (1.0 - self.least) / own).max(0.0),
            most: (self.most / own).min(1.0),
        }
    }

    /// Returns the smaller of both shares, bound by bound.
    pub(super) fn smaller(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.min(other.most),
        }
    }

    /// The share to show: what is proven, unless that is too little to name
    /// a place.
    pub(super) fn certain(self) -> Option<f64> {
        (self.place() != DataLocation::Unclear).then_some(self.least)
    }

    /// Returns the place of the bytes, if the whole range agrees.
    pub(super) fn place(self) -> DataLocation {
        let class = |share: f64| match share {
            s if s >= DEVICE_SHARE => 2,
            s if s > 1.0 - DEVICE_SHARE => 1,
            _ => 0,
        };
        match (class(self.least), class(self.most)) {
            (2, 2) => DataLocation::Device,
            (1, 1) => DataLocation::Elsewhere(Measured::Mixed {
                device_share: self.least,
            }),
            (0, 0) => DataLocation::Elsewhere(Measured::PageCache),
            _ => DataLocation::Unclear,
        }
    }
}

/// `40 %`, or `between 0 and 40 %`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (percent(self.least), percent(self.most));
        if (self.most - self.least) * 100.0 < 1.0 {
            write!(f, "{least} %")
        } else {
            f.write_str(&tr!("between {least} and {most} %", least, most))
        }
    }
}

/// A share in percent; nearly all is never shown as all.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (99.5..100.0).contains(&percent) {
        format!("{:.1}", (percent * 10.0).floor() / 10.0)
    } else {
        format!("{percent:.0}")
    }
}

/// A number of bytes, at least and at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Case<'_> {
    /// Returns the device's share of the bytes read.
    ///
    /// The block layer is asked for whole pages and reads ahead, so it may move more than the job
    /// took: bytes that were cached, beforehand or by an earlier pass, can hide behind that
    /// surplus. Two values bound the share from below: bytes read for the first time that were not
    /// cached, and bytes fetched less those that no read can have asked for.
    pub(super) fn read_share(&self) -> Result<Share, String> {
        let Some(device) = self.device_bytes(Direction::Read)? else {
            return Ok(Share::NONE);
        };
        let job = self.measured.read.bytes;
        let own = self.own_io().filter(|_| !self.in_user_space());
        let own = own.map(|io| io.read_bytes);
        let device = self.trusted(device, Direction::Read, own.is_some());
        // Each small random read needs a page of its own; those that find
        // theirs already read are not the device's.
        let ios = self.measured.read.ios;
        let asked = if self.job.rw.is_random() && !self.job.direct {
            job.max(ios.saturating_mul(self.job.bs.0.max(PAGE_BYTES)))
        } else {
            job
        };
        if let Some(own) = own {
            self.agree(ratio(device.most, asked), ratio(own, asked))?;
        }
        let came = |device: u64| device.min(own.unwrap_or(device));
        let uncached = ratio(self.touched.first.saturating_sub(self.old_pages()), job);
        let fetched = came(device.least);
        let unasked = match self.needs_all_that_is_fetched() || self.fetched_as_asked(device.least)
        {
            true => 0,
            false => self.touched.unasked,
        };
        let sure = ratio(fetched.saturating_sub(unasked), asked);
        // What was asked of the device, not yet what came: so are the pages beyond.
        let of_use = own.map_or(u64::MAX, |own| own.saturating_sub(self.read_beyond()));
        let most = ratio(came(device.most).min(of_use), asked);
        Ok(Share {
            least: ratio(fetched, asked).min(uncached).max(sure).min(most),
            most,
        })
    }

    /// A whole file that is read once from begin to end needs each page that is
    /// fetched meanwhile, whatever of it was cached before. (In less memory
    /// than the file takes, the end of it is cached, and gone before its turn
    /// comes.)
    fn needs_all_that_is_fetched(&self) -> bool {
        let whole_pages = |file_kib: u64| file_kib.is_multiple_of(PAGE_BYTES >> 10);
        self.cell
            .is_some_and(|cell| cell.read_all_in_order() && whole_pages(cell.file_kib))
    }

    /// Returns the share of a random job's buffered reads that asked the device, of those that must
    /// have when nothing was cached: each needs at least one request. `None` for jobs without such
    /// reads.
    ///
    /// All bytes may have come from the device although most reads found theirs in the page cache:
    /// pages that the kernel reads around one block serve the next reads.
    pub(super) fn request_share(&self) -> Option<Share> {
        if !self.job.rw.is_random() || self.job.direct {
            return None;
        }
        self.share_of_requests(self.measured.read.ios, 0)
    }

    /// Returns the share of `needed` requests that the device completed, where other jobs made up
    /// to `of_others` more.
    pub(super) fn share_of_requests(&self, needed: u64, of_others: u64) -> Option<Share> {
        if needed == 0 {
            return None;
        }
        let made = self.read_requests()?;
        let foreign = match self.own_io() {
            // Each at least a page.
            Some(own) => {
                let device = self.moved(Direction::Read)?;
                device.saturating_sub(own.read_bytes) / PAGE_BYTES
            }
            None if self.foreign_traffic(Direction::Read) => made,
            None => 0,
        };
        let sure = made.saturating_sub(foreign.saturating_add(of_others));
        Some(Share {
            least: ratio(sure, needed),
            most: ratio(made, needed),
        })
    }

    /// At most so many of the bytes that were read for the first time were in
    /// the page cache before.
    fn old_pages(&self) -> u64 {
        if self.job.direct {
            return 0;
        }
        let before = &self.evidence.before;
        let cache = before.region_cache.or(before.file_cache);
        cache.map_or(u64::MAX, |cache| cache.cached_bytes)
    }

    /// Returns the device's share of the bytes written.
    ///
    /// Pages the process dirtied or wrote directly, less those still dirty, have gone to the
    /// device, whoever else wrote meanwhile. A page that was dirty already is not accounted again:
    /// overwriting it reaches nothing, unless another process had made it dirty.
    pub(super) fn write_share(&self) -> Result<Share, String> {
        if let Some(why) = self.failed_write() {
            return Err(why);
        }
        let Some(device) = self.device_bytes(Direction::Write)? else {
            return Ok(Share::NONE);
        };
        if self.journals_data() {
            return Err(
                tr!("the file system is mounted with data=journal: data goes through its journal, direct I/O too")
                    .to_owned(),
            );
        }
        let job = self.measured.write.bytes;
        let own = self.own_written();
        let device = self.trusted(device, Direction::Write, own.is_some());
        let written = own.unwrap_or(job);
        // Blocks below a page dirty more than they write.
        let of = written.max(job);
        let dirty = self.left_dirty();
        // What the kernel wrote back before the counters were read counts as
        // written while the clock ran.
        let sure = if self.looked_too_late() {
            device.least.min(self.flushed_on_the_way())
        } else {
            device.least
        };
        let cleaned = |dirty: u64| ratio(written.saturating_sub(dirty), of);
        let not_accounted = self.foreign_dirt().min(job.saturating_sub(written));
        let most = written.saturating_add(not_accounted);
        if own.is_some() {
            self.agree(ratio(device.most, job), cleaned(dirty.most))?;
        }
        Ok(Share {
            least: ratio(sure, job).min(cleaned(dirty.most)),
            most: ratio(device.most, job).min(ratio(most.saturating_sub(dirty.least), of)),
        })
    }

    /// Why nothing can be said of writes some of which failed: the device's
    /// counters do not tell those that did from the others.
    fn failed_write(&self) -> Option<String> {
        let errors = &self.measured.errors;
        let mut writes = errors
            .first
            .iter()
            .filter(|error| error.direction != Some(Direction::Read));
        writes.next().map(|error| failed_because(&error.message))
    }

    /// Bytes that the kernel accounted to the agent and that were not thrown
    /// away.
    pub(super) fn own_written(&self) -> Option<u64> {
        let io = self.own_io()?;
        Some(io.write_bytes.saturating_sub(io.cancelled_write_bytes))
    }

    /// Bytes that had reached the device for sure before the clock stopped:
    /// flushes covered them.
    fn flushed_on_the_way(&self) -> u64 {
        let unflushed = self.measured.unflushed_bytes;
        unflushed.map_or(0, |left| self.measured.write.bytes.saturating_sub(left))
    }

    /// Bytes of the test file that the job left dirty at clock stop. Where the
    /// kernel does not tell, they are at most what is cached of the file and at
    /// most what is dirty in all of memory; none after a flush of all of it.
    ///
    /// Where others may have made pages dirty too, the job answers for no more
    /// than it wrote. It answers for none after a flush: others' processes may have ended, or
    /// not be visible.
    fn left_dirty(&self) -> Range {
        if let Some(dirty) = self.dirty_at_stop() {
            let foreign = self.foreign_dirt();
            let most = match foreign {
                _ if self.ended_durable() => 0,
                0 => dirty,
                _ => dirty.min(self.most_dirtied()),
            };
            return Range {
                least: dirty.saturating_sub(foreign).min(most),
                most,
            };
        }
        let after = &self.evidence.after;
        let cached = self.pages_at_stop().map(|cache| cache.cached_bytes);
        let anywhere = after
            .memory
            .map(|m: MemoryCounters| m.dirty_bytes + m.writeback_bytes);
        // A direct write that fell back on the page cache is found out by the
        // device, which did not move it.
        let most = if self.ended_durable() || self.job.direct {
            0
        } else {
            cached.unwrap_or(u64::MAX).min(anywhere.unwrap_or(u64::MAX))
        };
        Range { least: 0, most }
    }

    /// `true` if no written byte can have been left in the page cache.
    pub(super) fn nothing_left_dirty(&self) -> bool {
        self.left_dirty().most == 0
    }

    /// Why the share of writes is a range.
    pub(super) fn why_unclear(&self) -> &'static str {
        if self.looked_too_late() {
            tr!(
                "the counters were read long after the clock stopped, and the kernel went on writing"
            )
        } else if self.own_io().is_none() && self.foreign_traffic(Direction::Write) {
            tr!(
                "other processes used storage meanwhile and the kernel cannot tell whose bytes the device moved"
            )
        } else if self.foreign_dirt() > 0 && self.dirty_at_stop().is_some() {
            tr!(
                "others wrote meanwhile or before, and whose pages of the file are still dirty cannot be told"
            )
        } else if self.is_on("overlay") {
            tr!("the kernel does not tell how much of a file on an overlay is still dirty")
        } else {
            tr!("the kernel does not tell how much of the file is still dirty (Linux 6.5 does)")
        }
    }
}

/// Why writes are not judged after a failed write or flush.
pub(super) fn failed_because(error: &str) -> String {
    tr!(
        "a write or a flush failed, and the device counts what failed too: {error}",
        error
    )
}

/// `part` of `whole` as 0 to 1; of nothing, all.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if part >= whole {
        return 1.0;
    }
    part as f64 / whole as f64
}

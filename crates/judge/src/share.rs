//! The device's share of a job's bytes, as the range that the evidence allows.
//!
//! `Beneath` covers disks beneath a loop device or a device that a user-space program serves, with
//! a page cache in between. The label describes the upper device; a caveat beside it names the
//! bytes that did not reach the disk.

use super::{Case, DEVICE_SHARE, DataLocation, DirectionEvidence, Measured};
use assay_lang::tr;
use assay_model::evidence::MemoryCounters;
use assay_model::job::Direction;
use assay_model::storage::{DeviceKind, Layer, LayerRole};
use std::fmt;

/// Smallest page of the page cache on any Linux.
const PAGE_BYTES: u64 = 4096;

/// Lower and upper bound of the device's share, 0 to 1.
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

    /// Returns the share of a known part of a whole.
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

    /// Returns the share to show: the lower bound, unless the range allows more than one place.
    pub(super) fn certain(self) -> Option<f64> {
        (self.place() != DataLocation::Unclear).then_some(self.least)
    }

    /// Returns the place of the bytes, if the whole range is in one class.
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

/// Prints `40 %` or `between 0 and 40 %`.
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

/// Formats a share in percent; a share below 1 is never shown as `100`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (99.5..100.0).contains(&percent) {
        format!("{:.1}", (percent * 10.0).floor() / 10.0)
    } else {
        format!("{percent:.0}")
    }
}

/// Bounds of a number of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Case<'_> {
    /// Returns the device's share of the bytes read.
    ///
    /// The block layer reads whole pages and reads ahead, so it may move more bytes than the job
    /// read: bytes that were cached, beforehand or by an earlier pass, can hide behind that
    /// surplus. Two values bound the share from below: bytes read for the first time that were not
    /// cached, and fetched bytes minus those that no read can have asked for.
    pub(super) fn read_share(&self) -> Result<Share, String> {
        let Some(device) = self.device_bytes(Direction::Read)? else {
            return Ok(Share::NONE);
        };
        let job = self.measured.read.bytes;
        let own = self.own_io().filter(|_| !self.in_user_space());
        let own = own.map(|io| io.read_bytes);
        let device = self.trusted(device, Direction::Read, own.is_some());
        // Each small random read needs a separate page; reads that find theirs in the page cache do
        // not count for the device.
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
        let cached = self.cached_before_bytes();
        let uncached = ratio(self.touched.first.saturating_sub(cached), job);
        let fetched = came(device.least);
        let unasked = match self.needs_all_that_is_fetched() || self.fetched_as_asked(device.least)
        {
            true => 0,
            false => self.touched.unasked,
        };
        let sure = ratio(fetched.saturating_sub(unasked), asked);
        // `/proc/PID/io` counts requested bytes, including pages beyond the region: those are
        // subtracted.
        let of_use = own.map_or(u64::MAX, |own| own.saturating_sub(self.read_beyond()));
        let most = ratio(came(device.most).min(of_use), asked);
        Ok(Share {
            least: ratio(fetched, asked).min(uncached).max(sure).min(most),
            most,
        })
    }

    /// `true` if every fetched page was needed: a whole file is read once from begin to end, so
    /// each fetched page is used, even if parts of the file were cached before. (With less memory
    /// than the file, the cached end of the file is evicted before it is read.)
    fn needs_all_that_is_fetched(&self) -> bool {
        let whole_pages = |file_kib: u64| file_kib.is_multiple_of(PAGE_BYTES >> 10);
        self.cell
            .is_some_and(|cell| cell.read_all_in_order() && whole_pages(cell.file_kib))
    }

    /// Returns the share of a random job's buffered reads that reached the device, relative to the
    /// requests needed if nothing is cached: each read needs at least one request. `None` for jobs
    /// without such reads.
    ///
    /// All bytes may have come from the device although most reads found their data in the page
    /// cache: pages that the kernel reads around one block serve the next reads.
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
            // Each foreign request is at least a page.
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

    /// Returns the upper bound of first-read bytes that were cached before the job.
    fn cached_before_bytes(&self) -> u64 {
        if self.job.direct {
            return 0;
        }
        let before = &self.evidence.before;
        let cache = before.region_cache.or(before.file_cache);
        cache.map_or(u64::MAX, |cache| cache.cached_bytes)
    }

    /// Returns the device's share of the bytes written.
    ///
    /// Pages that the process dirtied or wrote directly, minus those still dirty, have reached the
    /// device, regardless of other writers. The kernel does not account a page again that is
    /// already dirty: overwriting it adds no bytes, unless another process had made it dirty.
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
        // Blocks smaller than a page dirty more bytes than they write.
        let of = written.max(job);
        let dirty = self.left_dirty();
        // Bytes that the kernel wrote back after the clock stopped would count as written in time.
        let sure = if self.counters_read_too_late() {
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

    /// Returns the reason why writes are not judged if some failed: the device's counters include
    /// failed writes.
    fn failed_write(&self) -> Option<String> {
        let errors = &self.measured.errors;
        let mut writes = errors
            .first
            .iter()
            .filter(|error| error.direction != Some(Direction::Read));
        writes.next().map(|error| failed_because(&error.message))
    }

    /// Returns the bytes that the kernel accounted to the agent, minus the cancelled ones.
    pub(super) fn own_written(&self) -> Option<u64> {
        let io = self.own_io()?;
        Some(io.write_bytes.saturating_sub(io.cancelled_write_bytes))
    }

    /// Returns the bytes that had certainly reached the device before the clock stopped, since
    /// flushes covered them.
    fn flushed_on_the_way(&self) -> u64 {
        let unflushed = self.measured.unflushed_bytes;
        unflushed.map_or(0, |left| self.measured.write.bytes.saturating_sub(left))
    }

    /// Returns the bytes of the test file that the job left dirty at clock stop. Where the kernel
    /// does not report them, they are at most the cached bytes of the file and at most the dirty
    /// bytes in all of memory; 0 after a flush of everything.
    ///
    /// Where other processes may have made pages dirty too, the bound is the bytes that the job
    /// wrote. After a flush it is 0, since the other processes may have ended or be invisible.
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
        // If a direct write fell back to the page cache, the device's counters show that it did not
        // move the bytes.
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

    /// Returns the reason why the share of writes is a range.
    pub(super) fn why_unclear(&self) -> &'static str {
        if self.counters_read_too_late() {
            tr!(
                "the counters were read long after the clock stopped, and the kernel went on writing"
            )
        } else if self.own_io().is_none() && self.foreign_traffic(Direction::Write) {
            tr!(
                "other processes used storage meanwhile and the kernel cannot tell whose bytes the device moved"
            )
        } else if self.foreign_dirt() > 0 && self.dirty_at_stop().is_some() {
            tr!("other processes wrote too: the owner of the file's dirty pages is unknown")
        } else if self.is_on("overlay") {
            tr!("the kernel does not report how much of a file on an overlay is still dirty")
        } else {
            tr!("the kernel does not report how much of the file is still dirty (Linux 6.5 does)")
        }
    }
}

/// Returns the reason why writes are not judged after a failed write or flush.
pub(super) fn failed_because(error: &str) -> String {
    tr!(
        "a write or a flush failed, and the device counts what failed too: {error}",
        error
    )
}

/// Returns `part` divided by `whole`, at most 1; 1 if both are 0.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if part >= whole {
        return 1.0;
    }
    part as f64 / whole as f64
}

/// Caveat that a bare `device` label would hide.
pub(crate) struct Beneath(Option<String>);

impl Beneath {
    /// Adds the caveat to the evidence if its label claims that a device moved the bytes.
    pub(crate) fn qualify(self, evidence: DirectionEvidence) -> DirectionEvidence {
        let claims = matches!(
            evidence.measured,
            Measured::Device | Measured::DeviceUnflushed
        );
        let Some(caveat) = self.0.filter(|_| claims) else {
            return evidence;
        };
        DirectionEvidence {
            because: tr!(
                "{because}, but {caveat}",
                because = evidence.because,
                caveat
            ),
            caveat: Some(caveat),
            ..evidence
        }
    }
}

impl Case<'_> {
    /// Returns the caveat about the disks beneath loop devices and served ones.
    pub(crate) fn beneath(&self, direction: Direction) -> Beneath {
        let all = &self.evidence.storage.layers;
        let loops = all
            .iter()
            .filter(|layer| layer.identity.kind == DeviceKind::Loop || layer.is_served());
        let shares = loops.map(|over| {
            let below = self.evidence.storage.below(over);
            let mut below = below.filter(|layer| layer.role == LayerRole::Beneath);
            (over, below.next())
        });
        let mut worst: Option<(f64, String)> = None;
        for (over, below) in shares {
            let (share, words) = self.reached_below(over, below, direction);
            if share < worst.as_ref().map_or(DEVICE_SHARE, |(least, _)| *least) {
                worst = Some((share, words));
            }
        }
        Beneath(worst.map(|(_, words)| words))
    }

    /// Returns the share of a loop device's bytes that the device below moved, and a clause about
    /// it. The share is 0 where those bytes are not counted.
    fn reached_below(
        &self,
        over: &Layer,
        below: Option<&Layer>,
        direction: Direction,
    ) -> (f64, String) {
        let Some(below) = below else {
            let words = tr!(
                "the devices beneath {name} are unknown here",
                name = over.name
            );
            return (0.0, words);
        };
        let moved = self
            .delta(&over.name, direction)
            .zip(self.delta(&below.name, direction));
        let (Some((over_bytes, bytes)), false) = (moved, self.switched_off(below)) else {
            let words = tr!(
                "what {below} moved, beneath {over}, is not counted",
                below = below.name,
                over = over.name
            );
            return (0.0, words);
        };
        let share = ratio(bytes, over_bytes);
        let (percent, below, over) = (percent(share), &below.name, &over.name);
        let words = match direction {
            Direction::Read => tr!(
                "only {percent} % of that came from {below}, beneath {over}",
                percent,
                below,
                over
            ),
            Direction::Write => tr!(
                "only {percent} % of that had reached {below}, beneath {over}",
                percent,
                below,
                over
            ),
        };
        (share, words)
    }
}

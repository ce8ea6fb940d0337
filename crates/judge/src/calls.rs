//! Point at which a single call returns. A job as a whole may reach the device while each of its
//! writes is only a copy into the page cache.

use super::share::{Share, ratio};
use super::{Case, DEVICE_SHARE, DirectionEvidence, Measured, Touched};
use assay_lang::tr;
use assay_model::evidence::Snapshot;
use assay_model::job::{Direction, Flush, OpenSync};
use assay_model::storage::Backing;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::work::StepDetail;
use std::borrow::Cow;

/// Mount options with which a write call waits for the device or bypasses the page cache. (`wsync`
/// of XFS concerns names, not data.)
const WRITTEN_THROUGH: [&str; 3] = ["sync", "dax", "dax=always"];

/// Point that a single call has waited for when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The call waits for the place that the label of the direction names.
    Whole,
    /// The call copies into the page cache; the job flushes separately.
    PageCache(Flush),
    /// The evidence does not show it.
    Unclear,
}

/// Quantity that a figure of a direction describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Everything moved from clock start to clock stop, flushes included; or the flushes alone, or
    /// calls together with their flush.
    Whole,
    /// Single calls, without flushes.
    Call,
    /// A percentile of the latencies of single calls, in parts per million.
    Percentile(u32),
    /// Operations of several calls, including the flush that the job requests after each operation.
    Operation,
    /// A part of the time between start and stop, without a flush at the end.
    Level,
}

impl DirectionEvidence {
    /// Returns the label of one figure.
    pub fn of(&self, quantity: Quantity) -> Cow<'_, Measured> {
        if let (Quantity::Percentile(ppm), Some(waited)) = (quantity, self.waited) {
            return self.of_percentile(ppm, waited);
        }
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
            Quantity::Call | Quantity::Percentile(_) => Cow::Owned(Measured::PageCache),
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

    /// Returns the label of a percentile of reads. The reads that waited for the device are the
    /// slowest: the percentile measures the device if the share of reads that waited is at least
    /// the share of reads beyond the percentile.
    fn of_percentile(&self, ppm: u32, waited: Share) -> Cow<'_, Measured> {
        let as_slow = f64::from(1_000_000 - ppm.min(1_000_000)) / 1e6;
        match self.measured {
            Measured::Device | Measured::PageCache | Measured::Mixed { .. } => {}
            _ => return Cow::Borrowed(&self.measured),
        }
        Cow::Owned(match as_slow {
            slow if slow > waited.most || waited.most == 0.0 => Measured::PageCache,
            slow if slow <= waited.least && waited.least > 0.0 => Measured::Device,
            _ => Measured::unknown(tr!(
                "how many of the reads waited for the device, and how many found what was read ahead, cannot be told"
            )),
        })
    }
}

/// Returns the share of a trial's reads that waited for the device. `None` where each read goes to
/// the device (direct I/O), and where requests are not counted.
pub(super) fn reads_that_waited(trial: &TrialRecord, read: &DirectionEvidence) -> Option<Share> {
    let case = Case {
        job: &trial.job,
        measured: trial.measured.as_ref()?,
        evidence: trial.evidence.as_ref()?,
        touched: Touched::directly(0),
        cached_by_others: 0,
        completed: trial.outcome == Outcome::Completed,
        database: None,
        cell: None,
    };
    let asks = trial.job.direct && !trial.job.ioengine.maps_memory();
    let is_told = match trial.detail.as_deref() {
        None | Some(StepDetail::Copy(_) | StepDetail::Iozone(_)) => true,
        Some(_) => false,
    };
    (is_told && !asks).then(|| case.waited(read.device_share))?
}

impl Case<'_> {
    /// Returns the point that a write of this job has waited for when it returns.
    pub(super) fn end_of_writes(&self) -> CallEnd {
        let job = self.job;
        // With data=journal, ext4 takes direct writes through the page cache.
        let direct = job.direct && !self.journals_data();
        let left = self.left_pages();
        if direct && job.sync == OpenSync::None && left > 1.0 - DEVICE_SHARE {
            // Others may have read or written the file meanwhile.
            let others = self.others(Direction::Read) + self.others(Direction::Write);
            return match left >= DEVICE_SHARE && others == 0 {
                true => CallEnd::PageCache(job.flush),
                false => CallEnd::Unclear,
            };
        }
        let through = WRITTEN_THROUGH
            .iter()
            .any(|option| self.mounted_with(option));
        // Each record of a map that iozone flushes (`-B -G`) is synchronous too.
        let synced_map = job.ioengine.maps_memory()
            && matches!(job.flush.every, Some((1, _)))
            && self.cell.is_some();
        // A transaction is judged as a whole: its flush is a part of it.
        if job.sync != OpenSync::None || direct || through || synced_map || self.database.is_some()
        {
            return CallEnd::Whole;
        }
        let storage = &self.evidence.storage;
        // Each call may depend on another process or another machine.
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

    /// Returns the pages that the job left in the page cache, as a share of the bytes it wrote.
    /// Direct writes leave pages where the file system redirects them through the page cache:
    /// writes to encrypted files, or to parts of shared blocks.
    fn left_pages(&self) -> f64 {
        let cached = |at: &Snapshot| Some(at.region_cache.or(at.file_cache)?.cached_bytes);
        let before = cached(&self.evidence.before).unwrap_or(0);
        let after = self.pages_at_stop().map_or(0, |cache| cache.cached_bytes);
        let written = self.measured.write.bytes;
        let region = match self.job.size.0 {
            0 => written,
            size => size.min(written),
        };
        let left = after.saturating_sub(before);
        ratio(left.saturating_sub(self.cached_by_others), region)
    }

    /// Returns bounds of the share of the reads that waited for the device.
    ///
    /// Upper bound: a completed request ends the wait of at most one read per slot of a queue; the
    /// other reads found read-ahead data. Lower bound, for random reads and for reads longer than
    /// the read-ahead window: the device's share of the bytes. Lower bound, for other reads: the
    /// sleeps of the threads, since each read sleeps at most once for each request it spans.
    fn waited(&self, device_share: Option<f64>) -> Option<Share> {
        let (job, reads) = (self.job, &self.measured.read);
        let tops = self.evidence.storage.tops();
        let mut counted = tops.flat_map(|top| self.counting(top));
        let is_blind = counted.any(|layer| self.switched_off(layer) && !self.has_moved(layer));
        if reads.ios == 0 || is_blind {
            return None;
        }
        let requests = self.read_requests()?;
        let places = match job.ioengine.is_asynchronous() {
            true => job.numjobs.saturating_mul(job.iodepth),
            false => job.numjobs,
        };
        let most = ratio(requests.saturating_mul(places.max(1).into()), reads.ios);
        let length = reads.bytes / reads.ios;
        let ahead = self.read_ahead_window();
        let only_reads = self.measured.write.ios == 0 && self.measured.flush.count == 0;
        let least = if job.rw.is_random() || ahead.is_some_and(|ahead| length > ahead) {
            device_share.unwrap_or(0.0)
        } else if only_reads && job.rate.is_none() && job.pause.is_none() {
            let request = self.moved(Direction::Read)? / requests.max(1);
            let spanned = length.div_ceil(request.max(1)).max(1);
            ratio(self.measured.cpu.voluntary_switches / spanned, reads.ios)
        } else {
            0.0
        };
        Some(Share {
            least: least.min(most),
            most,
        })
    }
}

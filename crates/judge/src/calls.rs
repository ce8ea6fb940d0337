//! Point at which a single call returns, and durability: whether data that reached the device
//! survives a power cut. A job as a whole may reach the device while each of its writes is only a
//! copy into the page cache.

use super::share::{Share, ratio};
use super::{Case, DEVICE_SHARE, DirectionEvidence, Measured, Touched};
use assay_lang::tr;
use assay_model::act::StepDetail;
use assay_model::act::androbench::DatabaseStep;
use assay_model::evidence::{Evidence, Snapshot, WriteCache};
use assay_model::job::{Direction, EngineKind, Flush, OpenSync};
use assay_model::storage::{Backing, DeviceKind, Layer};
use assay_model::trial::{Outcome, TrialRecord};
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
                    "the kernel does not show what a single write waited for"
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
                "the kernel does not show how many of the reads waited for the device and how many found data that were read ahead"
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

/// Mount options with which a file system never sends a flush to the device.
const NO_BARRIERS: [&str; 3] = ["nobarrier", "barrier=0", "fsync_mode=nobarrier"];
/// Mount options with which an overlay ignores each flush call, even of the page cache
/// (`ovl_should_sync`). Files that are opened with `O_DSYNC` are still written through.
const VOLATILE: [&str; 2] = ["volatile", "fsync=volatile"];

/// Returns the way writes are made durable: by the flags that the file was opened with, else by the
/// mount (`-o sync`) or the file itself (`chattr +S`), which the kernel obeys as `O_DSYNC`
/// (`IS_SYNC` in `iocb_is_dsync`). Stores through a map are not writes.
pub(crate) fn in_force(asked: OpenSync, engine: EngineKind, evidence: &Evidence) -> OpenSync {
    if asked != OpenSync::None || engine.maps_memory() {
        return asked;
    }
    let mount = evidence.storage.mount.as_ref();
    let mounted = mount.is_some_and(|mount| mount.super_options.iter().any(|o| o == "sync"));
    match mounted || evidence.after.synchronous_files == Some(true) {
        true => OpenSync::Dsync,
        false => OpenSync::None,
    }
}

impl Case<'_> {
    /// Returns the label of writes that reached the device, and the clause with the reason.
    pub(crate) fn judge_safety(&self) -> (Measured, String) {
        let unflushed = |clause: String| (Measured::DeviceUnflushed, clause);
        let device = |clause: &str| (Measured::Device, clause.to_owned());
        let unknown = |why: &str| (Measured::unknown(why), why.to_owned());
        if !self.nothing_left_dirty() {
            return unflushed(tr!("the rest was still in the page cache").to_owned());
        }
        match self.volatile_cache() {
            None => {
                return unknown(tr!(
                    "the kernel does not say whether the device has a volatile cache"
                ));
            }
            Some(false) => return device(tr!("it has no volatile cache")),
            Some(true) => {}
        }
        if !self.ended_durable() {
            return unflushed(tr!("its volatile cache was not flushed").to_owned());
        }
        if let Some(option) = self.without_barriers() {
            return unflushed(tr!(
                "its volatile cache was not flushed: the file system is mounted with {option}",
                option
            ));
        }
        let asked = self.flushes_needed();
        let hidden = || self.evidence.storage.leaves().find(|l| self.hides_cache(l));
        match self.flushes_seen() {
            None => {
                let why = self.why_no_flush_count();
                (Measured::unknown(why.clone()), why)
            }
            Some(seen) if seen >= asked => device(tr!("its volatile cache was flushed")),
            Some(_) if self.forced_to_medium() => {
                device(tr!("each write was forced to the medium (FUA)"))
            }
            Some(_) if hidden().is_some() => unflushed(tr!(
                "{name} has a volatile cache, but its queue says write through: nothing flushes it",
                name = hidden().map_or("", |leaf| &leaf.name)
            )),
            Some(_) if self.leaves_have_fua() && self.over_device_mapper() => unknown(tr!(
                "device mapper may have replaced the flush by writes that are forced to the medium (FUA), which the kernel does not count"
            )),
            Some(0) => {
                unflushed(tr!("a flush was asked for, but none reached the device").to_owned())
            }
            Some(seen) => unflushed(tr!(
                "at least {asked} flushes were asked for, but only {seen} reached the device",
                asked,
                seen
            )),
        }
    }

    /// `true` if everything that the job wrote was flushed before the clock stopped: no write
    /// followed its last flush, or the job completed and ends with a flush. An interrupted job
    /// skips its last flush.
    pub(crate) fn ended_durable(&self) -> bool {
        let flushed =
            self.measured.unflushed_bytes == Some(0) || (self.completed && self.job.ends_durable());
        let ignored = || VOLATILE.iter().any(|option| self.mounted_with(option));
        self.job.sync != OpenSync::None || (flushed && !ignored())
    }

    /// Returns the fewest flushes that the job can have caused: one for each flush call or
    /// synchronous write, where concurrent ones may share a flush; one for each transaction that
    /// must be durable before the next one begins.
    pub(crate) fn flushes_needed(&self) -> u64 {
        let job = self.job;
        let together = match job.sync {
            OpenSync::None => u64::from(job.numjobs),
            _ => u64::from(job.numjobs) * u64::from(job.iodepth),
        };
        if self.is_on("btrfs") {
            // Btrfs merges commits of its log, and skips the flush if an earlier commit has already
            // written the data (`btrfs_sync_log`).
            return 1;
        }
        let commits = self.database.map_or(0, DatabaseStep::least_flushes);
        let mut calls = self.measured.flush.count + self.synchronous_writes();
        if self.is_on("f2fs") {
            // A checkpoint of f2fs can make the flush of one call unnecessary.
            calls = calls.saturating_sub(1);
        }
        calls.div_ceil(together.max(1)).max(commits).max(1)
    }

    /// Returns the flushes of the volatile caches; 0 if one of the caches received writes but no
    /// flush, and its writes were not forced to the medium (FUA) either.
    fn flushes_seen(&self) -> Option<u64> {
        let mut sum = 0;
        for paths in self.media() {
            if !paths
                .iter()
                .any(|leaf| self.is_volatile(leaf) == Some(true))
            {
                continue;
            }
            let flushes = self.flushes_of_medium(&paths)?;
            let written: Option<u64> = (paths.iter())
                .map(|leaf| self.delta(&leaf.name, Direction::Write))
                .sum();
            let written = written?;
            let forced = || self.passes_fua() && paths.iter().all(|leaf| self.has_fua(leaf));
            if flushes == 0 && written > 0 && !forced() {
                return Some(0);
            }
            sum += flushes;
        }
        Some(sum)
    }

    fn why_no_flush_count(&self) -> String {
        let mut leaves = self.evidence.storage.leaves();
        leaves.find(|leaf| self.switched_off(leaf)).map_or_else(
            || tr!("the kernel does not count flushes (Linux 5.5 does)").to_owned(),
            |leaf| self.not_counted(&leaf.name),
        )
    }

    /// `true` if a target of device mapper (dm-integrity) may replace flushes by writes.
    fn over_device_mapper(&self) -> bool {
        let mut layers = self.evidence.storage.layers.iter();
        layers.any(|layer| layer.identity.kind == DeviceKind::Dm)
    }

    fn leaves_have_fua(&self) -> bool {
        let leaves = self.evidence.storage.leaves();
        let mut volatile = leaves.filter(|leaf| self.is_volatile(leaf) == Some(true));
        volatile.all(|leaf| self.has_fua(leaf))
    }

    fn has_fua(&self, leaf: &Layer) -> bool {
        let fua = self.queue(leaf).and_then(|queue| queue.fua);
        fua == Some(true) && !self.hides_cache(leaf)
    }

    fn without_barriers(&self) -> Option<&'static str> {
        NO_BARRIERS
            .into_iter()
            .find(|option| self.mounted_with(option))
    }

    /// `true` if the file system writes data to its journal first (ext3, ext4).
    pub(crate) fn journals_data(&self) -> bool {
        self.mounted_with("data=journal")
    }

    pub(crate) fn mounted_with(&self, option: &str) -> bool {
        let mount = self.evidence.storage.mount.as_ref();
        mount.is_some_and(|mount| {
            let mut all = mount.options.iter().chain(&mount.super_options);
            all.any(|o| o == option)
        })
    }

    /// `true` if direct `O_DSYNC` overwrites use FUA: every disk supports it, and every layer
    /// passes it.
    fn forced_to_medium(&self) -> bool {
        self.passes_fua() && self.leaves_have_fua()
    }

    /// `true` if direct writes reach the disks with the flag FUA. A file system does that for
    /// `O_DSYNC` only (`iomap_dio_rw`), a raw device for `O_SYNC` too.
    fn passes_fua(&self) -> bool {
        let by_flag = match self.job.sync {
            OpenSync::None => false,
            OpenSync::Dsync => true,
            OpenSync::Sync => self.evidence.storage.mount.is_none(),
        };
        // A layer above drops FUA if its queue reports write through.
        let passed = self.evidence.storage.reached_directly().all(|layer| {
            let queue = self.queue(layer);
            queue.is_some_and(|queue| queue.write_cache == Some(WriteCache::Back))
        });
        by_flag && self.job.direct && passed
    }
}

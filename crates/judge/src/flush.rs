//! Durability of data that reached the device: whether it survives a power cut.

use super::{Case, Measured};
use assay_lang::tr;
use assay_model::evidence::{Evidence, WriteCache};
use assay_model::job::{Direction, EngineKind, OpenSync};
use assay_model::storage::{DeviceKind, Layer};
use assay_model::work::androbench::DatabaseStep;

/// Mount options with which a file system never sends a flush to the device.
const NO_BARRIERS: [&str; 3] = ["nobarrier", "barrier=0", "fsync_mode=nobarrier"];
/// Mount options with which an overlay ignores each flush call, even of the page cache
/// (`ovl_should_sync`). Files that are opened with `O_DSYNC` are still written through.
const VOLATILE: [&str; 2] = ["volatile", "fsync=volatile"];

/// Returns the way writes are made durable: by the flags that the file was opened with, else by the
/// mount (`-o sync`) or the file itself (`chattr +S`), which the kernel obeys as `O_DSYNC`
/// (`IS_SYNC` in `iocb_is_dsync`). Stores through a map are not writes.
pub(super) fn in_force(asked: OpenSync, engine: EngineKind, evidence: &Evidence) -> OpenSync {
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
    pub(super) fn judge_safety(&self) -> (Measured, String) {
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
    pub(super) fn ended_durable(&self) -> bool {
        let flushed =
            self.measured.unflushed_bytes == Some(0) || (self.completed && self.job.ends_durable());
        let ignored = || VOLATILE.iter().any(|option| self.mounted_with(option));
        self.job.sync != OpenSync::None || (flushed && !ignored())
    }

    /// Returns the fewest flushes that the job can have caused: one for each flush call or
    /// synchronous write, where concurrent ones may share a flush; one for each transaction that
    /// must be durable before the next one begins.
    pub(super) fn flushes_needed(&self) -> u64 {
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
    pub(super) fn journals_data(&self) -> bool {
        self.mounted_with("data=journal")
    }

    pub(super) fn mounted_with(&self, option: &str) -> bool {
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

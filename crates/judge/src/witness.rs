//! Reliability of the two witnesses of a share: the device's counters and the kernel's account of
//! the agent.
//!
//! The bytes that buffered reads asked for are compared with the bytes that the kernel fetched:
//! both bound the bytes that a device must have served.

use super::share::{Range, percent, ratio};
use super::{Case, DEVICE_SHARE, uncounted};
use assay_lang::tr;
use assay_model::evidence::{FileCache, FileChange, Snapshot};
use assay_model::job::{Direction, Job};
use assay_model::storage::{Backing, DeviceKind, Layer};
use assay_model::trial::Measurement;
use assay_model::units::KIB;

/// Beginning of the `dm/uuid` of cryptsetup's dm-integrity devices.
const INTEGRITY: &str = "CRYPT-INTEGRITY";

/// Most bytes that bcache writes to its journal for a flush, besides the data.
const BCACHE_JOURNAL_ENTRY: u64 = 8 << 10;

impl Case<'_> {
    /// Returns the bytes that the device moved for all processes; `None` when there is no device
    /// below the page cache.
    pub(super) fn device_bytes(&self, direction: Direction) -> Result<Option<u64>, String> {
        if let Some(why) = uncounted(self.job.ioengine) {
            return Err(why);
        }
        if self.is_memory()? {
            return Ok(None);
        }
        if let Some(why) = self.changed_meanwhile(direction) {
            return Err(why);
        }
        let top = self.top_name();
        let moved = self
            .moved(direction)
            .ok_or_else(|| format!("the kernel has no counters for {top}"))?;
        let moved = self.count_on(moved, direction)?;
        if let Some(why) = self.bcache_missed_writes(moved, direction) {
            return Err(why);
        }
        self.confirmed(moved, direction).map(Some)
    }

    /// Returns the part of `moved` bytes that the lowest devices confirm, without those that are
    /// memory. A software layer may generate data (a new thin volume), keep it in memory, or drop
    /// it.
    fn confirmed(&self, moved: u64, direction: Direction) -> Result<u64, String> {
        let storage = &self.evidence.storage;
        let top = self.top_name();
        let little = ratio(moved, self.job_bytes(direction)) <= 1.0 - DEVICE_SHARE;
        let software = |leaf: &Layer| leaf.identity.kind == DeviceKind::Dm;
        if little
            || storage
                .tops()
                .all(|top| storage.below(top).next().is_none() && !software(top))
        {
            return Ok(moved);
        }
        let lowest = self.moved_by_lowest(direction)?;
        // Mirrors of device mapper count their reads twice (Linux 6.12).
        let asked = moved.min(self.job_bytes(direction));
        let share = ratio(lowest, asked);
        if storage.partly_memory().next().is_some() {
            // The surplus of read-ahead came from both devices and memory.
            return Ok(part_in_one_pass(asked, moved, lowest));
        }
        if share < DEVICE_SHARE {
            return Err(format!(
                "the devices below {top} moved only {} % of what {top} did: it made up the rest, \
                 kept it in memory or dropped it",
                percent(share)
            ));
        }
        if direction == Direction::Write && lowest > moved + moved / 20 && self.may_journal() {
            return Err(format!(
                "the disk below {top} moved more than {top} did: {top} may write to a journal first \
                 (dm-integrity), and what is only in memory is not counted"
            ));
        }
        Ok(moved.min(lowest))
    }

    /// Returns the reason why the counters of bcache are not trusted. Since Linux 6.4, a bio-based
    /// device's bytes are counted when an I/O ends. By then bcache has set the size of a write that
    /// bypasses its cache to 0 (`bch_data_invalidate`).
    fn bcache_missed_writes(&self, moved: u64, direction: Direction) -> Option<String> {
        let storage = &self.evidence.storage;
        let mut layers = storage.reached_directly();
        let bcache = layers.find(|layer| layer.name.starts_with("bcache"))?;
        let disks = storage.leaves();
        let most = disks
            .filter_map(|leaf| self.delta(&leaf.name, direction))
            .max()?;
        let journal = self.flushes_needed().saturating_mul(BCACHE_JOURNAL_ENTRY);
        let explained = moved.saturating_add(moved / 20).saturating_add(journal);
        (direction == Direction::Write && most > explained).then(|| {
            tr!(
                "a disk below {name} wrote more than {name} counted: Linux 6.4 and later do not count \
                 writes that go past the cache of bcache",
                name = bcache.name
            )
        })
    }

    /// `true` if a device of device mapper over one disk may keep a data journal: devices of LVM,
    /// and of cryptsetup without integrity, keep none.
    fn may_journal(&self) -> bool {
        let storage = &self.evidence.storage;
        let mut layers = storage.reached_directly();
        storage.leaves().count() == 1
            && layers.any(|layer| {
                let uuid = layer.identity.raw.get("uuid").map(String::as_str);
                layer.identity.kind == DeviceKind::Dm
                    && uuid.is_none_or(|uuid| uuid.is_empty() || uuid.starts_with(INTEGRITY))
            })
    }

    /// Returns the bytes that the lowest devices moved, without devices that are memory or only
    /// software.
    fn moved_by_lowest(&self, direction: Direction) -> Result<u64, String> {
        let mut sum = 0;
        for leaf in self.evidence.storage.leaves() {
            if leaf.is_memory() || leaf.identity.kind == DeviceKind::Dm {
                continue;
            }
            let moved = self.delta(&leaf.name, direction);
            match moved.filter(|_| self.has_moved(leaf) || !self.switched_off(leaf)) {
                Some(moved) => sum += moved,
                None => return Err(self.not_counted(&leaf.name)),
            }
        }
        Ok(sum)
    }

    /// Returns the reason why counters and settings do not match: the file or a queue was changed
    /// while the clock ran.
    fn changed_meanwhile(&self, direction: Direction) -> Option<String> {
        match self.evidence.after.file_change {
            Some(_) if self.database.is_some() => {}
            Some(FileChange::Shortened) => {
                return Some(tr!("the file became shorter while the clock ran").to_owned());
            }
            Some(FileChange::Punched) => {
                return Some(tr!("a hole was made in the file while the clock ran").to_owned());
            }
            None => {}
        }
        self.evidence.storage.reached_directly().find_map(|layer| {
            let mut before = self.evidence.before.queues.iter();
            let before = before.find(|queue| queue.name == layer.name)?;
            let after = self.queue(layer)?;
            let name = match direction {
                _ if before.iostats != after.iostats => "iostats",
                Direction::Write if before.write_cache != after.write_cache => "write_cache",
                Direction::Write if before.fua != after.fua => "fua",
                _ => return None,
            };
            Some(tr!(
                "queue/{name} of {layer} was changed while the clock ran",
                name,
                layer = layer.name
            ))
        })
    }

    /// `true` if the storage is memory. Returns an error if the storage is not known.
    pub(super) fn is_memory(&self) -> Result<bool, String> {
        match &self.evidence.storage.backing {
            Backing::Unknown { why } => Err(why.clone()),
            Backing::Memory { .. }
            | Backing::MainMemory
            | Backing::Device { .. }
            | Backing::Simulated { .. } => Ok(self.evidence.storage.memory().is_some()),
        }
    }

    /// Returns `words`, with a remark if the storage or a part of it is memory.
    pub(super) fn said(&self, words: String) -> String {
        let storage = &self.evidence.storage;
        if let Some(memory) = storage.memory() {
            return format!("{memory}: there is no device behind it");
        }
        let parts: Vec<String> = (storage.partly_memory())
            .map(|leaf| format!("{} ({})", leaf.name, leaf.identity.kind))
            .collect();
        match parts.is_empty() {
            true => words,
            false => format!("{words}; {} below it is memory", parts.join(", ")),
        }
    }

    /// Returns the part of the device's bytes that can be the job's. The lower bound is 0 if other
    /// processes used the device and the kernel does not account the agent's own bytes.
    pub(super) fn trusted(&self, device: u64, direction: Direction, own_known: bool) -> Range {
        let least = if own_known || !self.foreign_traffic(direction) {
            device
        } else {
            0
        };
        Range {
            least,
            most: device,
        }
    }

    /// `true` if other processes moved more than 5 % of the job's bytes, or the device moved more
    /// than the job can have caused.
    pub(super) fn foreign_traffic(&self, direction: Direction) -> bool {
        let job = self.job_bytes(direction);
        let device = self.moved(direction).unwrap_or(0);
        self.others(direction) > job / 20
            || device > job.saturating_add(self.overhead(direction, job))
    }

    /// Returns `moved`, or an error if it is 0 because the counters are switched off. Device mapper
    /// and md of older kernels count although switched off, so a growing counter is valid. A
    /// constant counter proves nothing, unless the lowest devices did not move anything either.
    fn count_on(&self, moved: u64, direction: Direction) -> Result<u64, String> {
        let storage = &self.evidence.storage;
        let share = |bytes| ratio(bytes, self.job_bytes(direction));
        for top in storage.tops() {
            let counted = self.counting(top);
            let doubtful = |layer: &&Layer| match storage.below(layer).next().is_none() {
                true => share(moved) < DEVICE_SHARE,
                false => {
                    let below = || self.moved_by_lowest(direction).map_or(1.0, share);
                    !self.has_moved(layer) && below() > 1.0 - DEVICE_SHARE
                }
            };
            let mut off = counted.iter().filter(|layer| self.switched_off(layer));
            if off.any(doubtful) {
                return Err(self.not_counted(&top.name));
            }
        }
        Ok(moved)
    }

    /// `true` if the counting of a layer's I/O is switched off.
    pub(super) fn switched_off(&self, layer: &Layer) -> bool {
        let queue = self.queue(layer);
        queue.is_some_and(|queue| queue.iostats == Some(false))
    }

    /// Returns the message that a layer's I/O is not counted, with the remedy.
    pub(super) fn not_counted(&self, layer: &str) -> String {
        // A partition has the settings of its disk.
        let on_top = self.evidence.storage.top().map(|top| top.name.as_str());
        let disk = match self.disk_name() {
            Some(disk) if on_top == Some(layer) => disk,
            _ => layer,
        };
        format!(
            "the kernel does not count the I/O of {layer} (queue/iostats is 0): \
             echo 1 > /sys/block/{disk}/queue/iostats"
        )
    }

    /// Fails when the witnesses contradict each other: the kernel accounts the job's bytes to a
    /// device, and this device did not move them. With direct I/O it must have moved all of them,
    /// since no page cache is in between.
    pub(super) fn agree(&self, device: f64, own: f64) -> Result<(), String> {
        let missed = if self.job.direct {
            DEVICE_SHARE
        } else {
            1.0 - DEVICE_SHARE
        };
        // The account includes bytes that went to memory.
        let partly_memory = self.evidence.storage.partly_memory().next().is_some();
        if own >= DEVICE_SHARE && device < missed && !partly_memory {
            return Err(format!(
                "the evidence contradicts itself: the kernel says that assay moved {:.0} % of \
                 the bytes to or from a device, but {} counted {:.0} %",
                own * 100.0,
                self.top_name(),
                device * 100.0
            ));
        }
        Ok(())
    }

    /// `true` if the time between the clock and the counters around it is so long that the kernel
    /// can have written back a relevant share: more than 1 minus [`DEVICE_SHARE`] of the clock's
    /// time. Direct writes, and writes that ended with a flush, are complete when the clock stops.
    pub(super) fn counters_read_too_late(&self) -> bool {
        if self.job.direct || self.ended_durable() {
            return false;
        }
        let (before, after) = (&self.evidence.before, &self.evidence.after);
        let seen_ns = after.at_ns.saturating_sub(before.at_ns);
        ratio(self.measured.elapsed_ns, seen_ns) < DEVICE_SHARE
    }

    fn job_bytes(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.measured.read.bytes,
            Direction::Write => self.measured.write.bytes,
        }
    }
}

/// Read-ahead windows that may be fetched and unused: `POSIX_FADV_SEQUENTIAL` doubles the window,
/// and one window is read while the next one is in flight.
const WINDOWS: u64 = 4;

/// Bounds that follow from the order of the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Lower bound of the bytes that no earlier read of the job had asked for: they were in the
    /// page cache only if they were there before the trial.
    pub(crate) first: u64,
    /// Upper bound of the bytes that the kernel fetched although no read asked for them.
    pub(crate) unasked: u64,
    /// Size of the reads, if no read follows the previous one: read-ahead then shows as larger
    /// requests.
    pub(crate) apart: Option<u64>,
}

impl Touched {
    /// Returns the bounds of reads that bypass the page cache: each goes to the device.
    pub(crate) const fn directly(bytes: u64) -> Self {
        Self {
            first: bytes,
            unasked: 0,
            apart: None,
        }
    }

    /// Returns the bounds of a job whose workers all read the same region.
    pub(crate) fn by_job(job: &Job, measured: &Measurement, ahead: Option<u64>) -> Self {
        let bytes = measured.read.bytes;
        if job.direct {
            return Self::directly(bytes);
        }
        let region = job.size.0.max(1);
        let random = job.rw.is_random();
        let (workers, written) = match random {
            // The workers' orders differ, and the number of reads that reached the device is known.
            true => (1, 0),
            false => (u64::from(job.numjobs.max(1)), measured.write.bytes),
        };
        let each = bytes / workers;
        let passed = each.saturating_add(written / workers);
        Self {
            first: part_in_one_pass(each, passed, region),
            unasked: match random {
                true => u64::MAX,
                false => ahead.map_or(u64::MAX, |ahead| {
                    ahead.saturating_mul(passed.div_ceil(region))
                }),
            },
            apart: random.then_some(job.bs.0),
        }
    }
}

/// Returns the part of `bytes` that was read for the first time, when `passed` bytes went over a
/// region from its start.
pub(crate) fn part_in_one_pass(bytes: u64, passed: u64, region: u64) -> u64 {
    if passed <= region {
        return bytes;
    }
    let part = u128::from(bytes) * u128::from(region) / u128::from(passed);
    u64::try_from(part).unwrap_or(bytes)
}

impl Case<'_> {
    /// Returns the most bytes that the kernel reads ahead for one reader; `None` if it does not
    /// report that.
    pub(crate) fn read_ahead_window(&self) -> Option<u64> {
        let queues = self.evidence.queues.iter();
        let widest_kib = queues.filter_map(|queue| queue.read_ahead_kib).max()?;
        Some(widest_kib.saturating_mul(WINDOWS * KIB))
    }

    /// `true` if the kernel fetched only the bytes that reads asked for: reads apart from each
    /// other made requests of their size. A request for a page cannot be smaller.
    pub(crate) fn fetched_as_asked(&self, device_bytes: u64) -> bool {
        const PAGE_BYTES: u64 = 4096;
        let Some((block, requests)) = (self.touched.apart).zip(self.read_requests()) else {
            return false;
        };
        let block = block.max(PAGE_BYTES);
        let asked = u128::from(requests) * u128::from(block);
        let fetched = u128::from(device_bytes) * 100;
        fetched <= asked * 105 && (block == PAGE_BYTES || fetched >= asked * 95)
    }

    /// Returns the pages beyond the region of the job that became cached meanwhile, minus those
    /// that other processes may have caused. No read of the job asked for the bytes that the device
    /// moved for these pages.
    pub(crate) fn read_beyond(&self) -> u64 {
        let (before, after) = (&self.evidence.before, &self.evidence.after);
        let beyond = |snapshot: &Snapshot, of: fn(&FileCache) -> u64| {
            let (all, inside) = (snapshot.file_cache?, snapshot.region_cache?);
            Some(of(&all).saturating_sub(of(&inside)))
        };
        let cached = |snapshot| beyond(snapshot, |cache| cache.cached_bytes);
        let grown = cached(after).zip(cached(before));
        let grown = grown.map_or(0, |(after, before)| after.saturating_sub(before));
        let dirty = beyond(after, |cache| {
            cache.dirty_bytes.unwrap_or(0) + cache.writeback_bytes.unwrap_or(0)
        });
        let written = dirty
            .unwrap_or(0)
            .saturating_add(self.moved(Direction::Write).unwrap_or(0));
        // Processes that are invisible or have ended show only in the device's counters.
        let reads = self.read_by_others().min(self.others(Direction::Read));
        let reads = reads.max(self.read_by_nobody_seen());
        let not_its_own = dirty.filter(|_| self.measured.write.bytes == 0);
        let writes = written.min(self.others(Direction::Write));
        let writes = writes.max(not_its_own.unwrap_or(0));
        grown.saturating_sub(reads.saturating_add(writes))
    }

    /// Returns the bytes that the device read in excess of this process's requests.
    fn read_by_nobody_seen(&self) -> u64 {
        let device = self.moved(Direction::Read);
        let both = device.zip(self.own_io());
        both.map_or(0, |(device, own)| device.saturating_sub(own.read_bytes))
    }

    /// Returns the most bytes that other processes read from the device: the bytes in excess of
    /// this process's requests, and those that may still be in flight.
    fn read_by_others(&self) -> u64 {
        let top = self.top_name();
        let device = self.moved(Direction::Read);
        let Some((device, own)) = device.zip(self.own_io()) else {
            return u64::MAX;
        };
        let counters = self.evidence.after.devices.iter().find(|c| c.name == top);
        let queue = self.evidence.queues.iter().find(|q| q.name == top);
        let under_way = match counters.map(|counters| counters.in_flight) {
            Some(0) => 0,
            Some(requests) => {
                let largest = queue.and_then(|queue| queue.max_request_kib);
                largest.map_or(u64::MAX, |kib| {
                    kib.saturating_mul(KIB).saturating_mul(requests)
                })
            }
            None => u64::MAX,
        };
        device
            .saturating_sub(own.read_bytes)
            .saturating_add(under_way)
    }
}

//! Compares the bytes that buffered reads asked for with the bytes that the kernel fetched: both
//! bound the bytes that a device must have served.

use super::Case;
use assay_model::evidence::{FileCache, Snapshot};
use assay_model::job::{Direction, Job};
use assay_model::trial::Measurement;
use assay_model::units::KIB;

/// Read-ahead windows that may be fetched and unused: `POSIX_FADV_SEQUENTIAL` doubles the window,
/// and one window is read while the next one is in flight.
const WINDOWS: u64 = 4;

/// Bounds that follow from the order of the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    /// Lower bound of the bytes that no earlier read of the job had asked for: they were in the
    /// page cache only if they were there before the trial.
    pub(super) first: u64,
    /// Upper bound of the bytes that the kernel fetched although no read asked for them.
    pub(super) unasked: u64,
    /// Size of the reads, if no read follows the previous one: read-ahead then shows as larger
    /// requests.
    pub(super) apart: Option<u64>,
}

impl Touched {
    /// Returns the bounds of reads that bypass the page cache: each goes to the device.
    pub(super) const fn directly(bytes: u64) -> Self {
        Self {
            first: bytes,
            unasked: 0,
            apart: None,
        }
    }

    /// Returns the bounds of a job whose workers all read the same region.
    pub(super) fn by_job(job: &Job, measured: &Measurement, ahead: Option<u64>) -> Self {
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
pub(super) fn part_in_one_pass(bytes: u64, passed: u64, region: u64) -> u64 {
    if passed <= region {
        return bytes;
    }
    let part = u128::from(bytes) * u128::from(region) / u128::from(passed);
    u64::try_from(part).unwrap_or(bytes)
}

impl Case<'_> {
    /// Returns the most bytes that the kernel reads ahead for one reader; `None` if it does not
    /// report that.
    pub(super) fn read_ahead_window(&self) -> Option<u64> {
        let queues = self.evidence.queues.iter();
        let widest_kib = queues.filter_map(|queue| queue.read_ahead_kib).max()?;
        Some(widest_kib.saturating_mul(WINDOWS * KIB))
    }

    /// `true` if the kernel fetched only the bytes that reads asked for: reads apart from each
    /// other made requests of their size. A request for a page cannot be smaller.
    pub(super) fn fetched_as_asked(&self, device_bytes: u64) -> bool {
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
    pub(super) fn read_beyond(&self) -> u64 {
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

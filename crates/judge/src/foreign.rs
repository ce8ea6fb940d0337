//! Traffic on the device that did not come from the job.

use super::{Case, ForeignIo};
use assay_model::job::{Direction, OpenSync};
use assay_model::storage::Layer;
use assay_model::units::{KIB, MIB};
use assay_model::work::androbench::DatabaseStep;

/// Metadata that any job may cause (superblock, bitmaps, inode).
const METADATA_BYTES: u64 = MIB;
/// Upper bound of what a journal commit writes for one small flush: descriptor, a few metadata
/// blocks, commit block.
const MOST_BYTES_PER_COMMIT: u64 = 64 * KIB;
/// Usual size of a journal commit: ext4 moves 28 KiB for an appended block of 4 KiB and its fsync
/// (measured on Linux 6.18).
const USUAL_BYTES_PER_COMMIT: u64 = 32 * KIB;

impl Case<'_> {
    pub(super) fn foreign(&self) -> Option<ForeignIo> {
        let storage = &self.evidence.storage;
        let uncounted = |layer: &Layer| {
            let mut counted = self.counting(layer).into_iter();
            counted.any(|layer| self.switched_off(layer) && !self.has_moved(layer))
        };
        // A file system on several devices may write the same data to each.
        if storage.device().is_some_and(uncounted) || storage.tops().nth(1).is_some() {
            return None;
        }
        Some(ForeignIo {
            read_bytes: self.foreign_bytes(Direction::Read)?,
            write_bytes: self.foreign_bytes(Direction::Write)?,
            processes: self.evidence.other_processes.clone().unwrap_or_default(),
        })
    }

    /// Returns the lower bound of other processes' bytes on the disk: the bytes that exceed the
    /// job's bytes and the largest overhead of a file system. Bytes that processes moved meanwhile
    /// are attributed to this disk as far as the disk moved more than the job and the usual
    /// overhead.
    fn foreign_bytes(&self, direction: Direction) -> Option<u64> {
        let disk_bytes = self.moved_by(self.evidence.storage.device()?, direction)?;
        let own = self.own_moved(direction);
        let beyond = disk_bytes.saturating_sub(own);
        let unexplained = beyond.saturating_sub(self.overhead(direction, own));
        let unusual = beyond.saturating_sub(self.usual_overhead(direction));
        Some(unexplained.max(self.others(direction).min(unusual)))
    }

    /// Returns the most bytes that the agent itself can have moved to or from the disk: more than
    /// the job's bytes where blocks are smaller than pages or the kernel reads ahead, fewer where
    /// the page cache kept them.
    fn own_moved(&self, direction: Direction) -> u64 {
        if self.evidence.storage.layers.is_empty() {
            return 0;
        }
        match direction {
            Direction::Read => self
                .own_io()
                .map_or(self.measured.read.bytes, |io| io.read_bytes),
            Direction::Write => {
                let written = self.own_written().unwrap_or(self.measured.write.bytes);
                written.saturating_sub(self.dirty_at_stop().unwrap_or(0))
            }
        }
    }

    /// Returns the most bytes that the kernel and the file system add to `job_bytes` of the job.
    pub(super) fn overhead(&self, direction: Direction, job_bytes: u64) -> u64 {
        let steady = METADATA_BYTES.saturating_add(job_bytes / 20);
        steady.saturating_add(match direction {
            Direction::Read => self.read_ahead(),
            // A data journal receives every byte, which is later written to the file too.
            Direction::Write if self.journals_data() => self
                .commits(MOST_BYTES_PER_COMMIT)
                .saturating_add(self.measured.write.bytes.saturating_mul(2)),
            Direction::Write => self.commits(MOST_BYTES_PER_COMMIT),
        })
    }

    /// Returns the bytes that the kernel and the file system usually add for such a job.
    fn usual_overhead(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.read_ahead(),
            Direction::Write => self.commits(USUAL_BYTES_PER_COMMIT),
        }
    }

    fn commits(&self, bytes_each: u64) -> u64 {
        self.own_flush_calls().saturating_mul(bytes_each)
    }

    /// Returns the read-ahead bytes that may still arrive from the preparation of a buffered
    /// trial's cache: the kernel reads ahead one window while it fills the previous one.
    fn read_ahead(&self) -> u64 {
        if self.job.direct {
            return 0;
        }
        let queues = self.evidence.queues.iter();
        let widest_kib = queues.filter_map(|queue| queue.read_ahead_kib).max();
        widest_kib.unwrap_or(0).saturating_mul(2 * KIB)
    }

    /// Returns the flush calls of the job, each of which may commit a journal. Flush calls of a
    /// database are not counted; their upper bound is known.
    fn own_flush_calls(&self) -> u64 {
        let database = self.database.map_or(0, DatabaseStep::most_syncs);
        self.measured.flush.count + self.synchronous_writes() + database
    }

    /// Returns the number of writes that were flushed before they returned.
    pub(super) fn synchronous_writes(&self) -> u64 {
        match self.job.sync {
            OpenSync::None => 0,
            _ => self.measured.write.ios,
        }
    }
}

//! How much of the device's traffic was not the job's.

use super::{Case, ForeignIo};
use crate::job::{Direction, OpenSync};
use crate::storage::Backing;

/// Metadata that any job may cause (superblock, bitmaps, inode).
const METADATA_BYTES: u64 = 1 << 20;
/// What a journal commit writes at most for one small flush: descriptor,
/// a few metadata blocks, commit block.
const BYTES_PER_COMMIT: u64 = 64 << 10;

impl Case<'_> {
    pub(super) fn foreign(&self) -> Option<ForeignIo> {
        Some(ForeignIo {
            read_bytes: self.foreign_bytes(Direction::Read)?,
            write_bytes: self.foreign_bytes(Direction::Write)?,
            processes: self.evidence.other_processes.clone().unwrap_or_default(),
        })
    }

    /// Bytes of others on the disk: what it moved beyond the job's bytes and a
    /// file system's overhead for them, and at least what other processes are
    /// known to have moved, as far as the disk moved that much beyond the
    /// job's bytes and its commits (they may have been busy elsewhere).
    fn foreign_bytes(&self, direction: Direction) -> Option<u64> {
        let disk_bytes = self.delta(self.disk_name()?, direction)?;
        let own = self.own_moved(direction);
        let beyond = disk_bytes.saturating_sub(own);
        let known = self
            .others(direction)
            .min(beyond.saturating_sub(self.commit_bytes()));
        Some(known.max(beyond.saturating_sub(self.overhead(own))))
    }

    /// The most that the agent itself can have moved to or from the disk:
    /// more than the job's bytes where blocks are smaller than pages or the
    /// kernel reads ahead, less where the page cache kept them.
    fn own_moved(&self, direction: Direction) -> u64 {
        if !matches!(self.evidence.storage.backing, Backing::Device { .. }) {
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

    /// What the file system adds at most for that many bytes of the job.
    pub(super) fn overhead(&self, job_bytes: u64) -> u64 {
        METADATA_BYTES + job_bytes / 20 + self.commit_bytes()
    }

    fn commit_bytes(&self) -> u64 {
        self.own_flush_calls() * BYTES_PER_COMMIT
    }

    /// Flush calls the job made, each of which may commit a journal.
    pub(super) fn own_flush_calls(&self) -> u64 {
        let synced = match self.job.sync {
            OpenSync::None => 0,
            _ => self.measured.write.ios,
        };
        self.measured.flush.count + synced
    }
}

//! From raw evidence to one word per direction: what did the figure measure?
//!
//! The rules, in short (`docs/evidence.md` has them with their reasons):
//!
//! - The **device's share** of a direction is the part of the job's bytes that
//!   moved between page cache and device while the clock ran. It is the
//!   smaller of two independent witnesses: the block layer's counters of the
//!   device (which also see other processes), and what the kernel accounts to
//!   the agent's own process, less what is still dirty in the test file.
//! - A witness that is missing is never replaced by a guess: without the
//!   device's counters the label is `unknown`.
//! - A write that reached the device is `device` only when the device has no
//!   volatile cache, or was seen to be flushed.

use crate::evidence::{DeviceCounters, Evidence, FileCache, OwnIo, ProcessIo, WriteCache};
use crate::job::{Direction, Job, OpenSync};
use crate::storage::Backing;
use crate::trial::{Measurement, TrialRecord};
use serde::{Deserialize, Serialize};
use std::fmt;

/// At least this share means that the device was measured, and at most
/// 1 minus it that the page cache was. 5 % leaves room for the tail that a
/// file system adds or keeps, not for a second speed.
pub const DEVICE_SHARE: f64 = 0.95;

/// What a figure measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Measured {
    /// The device; what was written is safe from a power cut.
    Device,
    /// The device, but its volatile cache was not flushed.
    DeviceUnflushed,
    /// The page cache.
    PageCache,
    /// Both; the figure stands for neither.
    Mixed {
        /// The device's share of the bytes, 0 to 1.
        device_share: f64,
    },
    /// It cannot be told.
    Unknown {
        /// The reason, one clause.
        why: String,
    },
}

impl Measured {
    /// The label that stands next to a figure.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::DeviceUnflushed => "device-unflushed",
            Self::PageCache => "page-cache",
            Self::Mixed { .. } => "mixed",
            Self::Unknown { .. } => "unknown",
        }
    }

    fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed { device_share } => {
                write!(f, "mixed (device {:.0} %)", device_share * 100.0)
            }
            other => f.write_str(other.label()),
        }
    }
}

/// The evidence of one direction, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionEvidence {
    /// What the figure measured.
    pub measured: Measured,
    /// One sentence with the figures that led to the label.
    pub because: String,
    /// Bytes the job moved.
    pub job_bytes: u64,
    /// Share of them that moved to or from the device while the clock ran.
    pub device_share: Option<f64>,
    /// Bytes per layer while the clock ran, whoever caused them, top first.
    pub layers: Vec<(String, u64)>,
    /// Flushes that the disks completed while the clock ran (writes).
    pub flushes: Option<u64>,
    /// Whether a disk has a volatile cache (writes).
    pub volatile_cache: Option<bool>,
    /// Bytes of the test file not yet on the device at clock stop (writes).
    pub dirty_bytes_at_stop: Option<u64>,
}

/// I/O of others on the device during the trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignIo {
    /// Bytes read by others, as far as they can be told apart.
    pub read_bytes: u64,
    /// Bytes written by others, as far as they can be told apart.
    pub write_bytes: u64,
    /// Processes that did I/O meanwhile (on any device).
    pub processes: Vec<ProcessIo>,
}

/// All conclusions from the evidence of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Reads; `None` when the job did none.
    pub read: Option<DirectionEvidence>,
    /// Writes; `None` when the job did none.
    pub write: Option<DirectionEvidence>,
    /// Others; `None` when the device's counters are missing.
    pub foreign: Option<ForeignIo>,
}

/// Judges a trial; `None` when it did not start.
#[must_use]
pub fn judge(trial: &TrialRecord) -> Option<Judgement> {
    let measured = trial.measured.as_ref()?;
    let evidence = trial.evidence.as_ref()?;
    let case = Case {
        job: &trial.job,
        measured,
        evidence,
    };
    let read = (measured.read.bytes > 0).then(|| case.judge_read());
    let write = (measured.write.bytes > 0).then(|| case.judge_write());
    let foreign = case.foreign(read.as_ref(), write.as_ref());
    Some(Judgement {
        read,
        write,
        foreign,
    })
}

/// One trial under judgement.
struct Case<'a> {
    job: &'a Job,
    measured: &'a Measurement,
    evidence: &'a Evidence,
}

impl Case<'_> {
    fn judge_read(&self) -> DirectionEvidence {
        let job_bytes = self.measured.read.bytes;
        let own = self.own_io().map(|io| io.read_bytes);
        let share = self.share(Direction::Read, job_bytes, own);
        let measured = match &share {
            Err(why) => why.clone(),
            Ok(share) => place(*share).unwrap_or(Measured::Device),
        };
        let because = match share {
            Ok(share) => format!(
                "{:.0} % of the bytes came from {} while the clock ran",
                share * 100.0,
                self.top_name()
            ),
            Err(_) => why_of(&measured),
        };
        DirectionEvidence {
            device_share: share.ok(),
            because,
            measured,
            job_bytes,
            layers: self.layer_bytes(Direction::Read),
            flushes: None,
            volatile_cache: None,
            dirty_bytes_at_stop: None,
        }
    }

    fn judge_write(&self) -> DirectionEvidence {
        let job_bytes = self.measured.write.bytes;
        let dirty = self.dirty_at_stop();
        // Pages the process dirtied or wrote directly, less those still
        // dirty, have gone to the device, whoever else wrote meanwhile.
        let own = match (self.own_io(), dirty) {
            (Some(io), Some(dirty)) => Some(
                io.write_bytes
                    .saturating_sub(dirty)
                    .saturating_sub(io.cancelled_write_bytes),
            ),
            _ => None,
        };
        let share = self.share(Direction::Write, job_bytes, own);
        let flushes = self.flushes();
        let volatile_cache = self.volatile_cache();
        let (measured, because) = match &share {
            Err(why) => (why.clone(), why_of(why)),
            Ok(share) => {
                let reached = format!(
                    "{:.0} % of the bytes had reached {} when the clock stopped",
                    share * 100.0,
                    self.top_name()
                );
                match place(*share) {
                    Some(cached) => (cached, reached),
                    None => {
                        let (measured, clause) = self.judge_flush(flushes, volatile_cache);
                        (measured, format!("{reached}; {clause}"))
                    }
                }
            }
        };
        DirectionEvidence {
            device_share: share.ok(),
            because,
            measured,
            job_bytes,
            layers: self.layer_bytes(Direction::Write),
            flushes,
            volatile_cache,
            dirty_bytes_at_stop: dirty,
        }
    }

    /// Whether data that reached the device is also safe there.
    fn judge_flush(
        &self,
        flushes: Option<u64>,
        volatile_cache: Option<bool>,
    ) -> (Measured, &'static str) {
        match (volatile_cache, self.job.ends_durable(), flushes) {
            (Some(false), _, _) => (Measured::Device, "it has no volatile cache"),
            (None, _, _) => (
                Measured::unknown(
                    "the kernel does not say whether the device has a volatile cache",
                ),
                "whether it has a volatile cache is not known",
            ),
            (Some(true), false, _) => (
                Measured::DeviceUnflushed,
                "its volatile cache was not flushed",
            ),
            (Some(true), true, Some(0)) if self.forced_to_medium() => (
                Measured::Device,
                "each write was forced to the medium (FUA)",
            ),
            (Some(true), true, Some(0)) => (
                Measured::DeviceUnflushed,
                "a flush was asked for, but none reached the device",
            ),
            (Some(true), true, Some(_)) => (Measured::Device, "its volatile cache was flushed"),
            (Some(true), true, None) => (
                Measured::unknown("the kernel does not count flushes (Linux 5.5 does)"),
                "whether it was flushed is not known",
            ),
        }
    }

    /// Direct O_DSYNC overwrites use FUA where every disk has it.
    fn forced_to_medium(&self) -> bool {
        self.job.direct
            && self.job.sync != OpenSync::None
            && self.leaf_queues().all(|queue| queue.fua == Some(true))
    }

    /// The device's share of `job_bytes`, 0 to 1.
    fn share(
        &self,
        direction: Direction,
        job_bytes: u64,
        own_bytes: Option<u64>,
    ) -> Result<f64, Measured> {
        match &self.evidence.storage.backing {
            Backing::Unknown { why } => return Err(Measured::unknown(why.clone())),
            // The page cache is all the storage there is.
            Backing::Memory { .. } => return Ok(0.0),
            Backing::Device { .. } => {}
        }
        let top = self.top_name();
        let device_bytes = self
            .delta(&top, direction)
            .ok_or_else(|| Measured::unknown(format!("the kernel has no counters for {top}")))?;
        let reached = match own_bytes {
            Some(own) => device_bytes.min(own),
            None if self.others(direction) > job_bytes / 20 => {
                return Err(Measured::unknown(
                    "other processes used storage meanwhile and the kernel cannot tell whose bytes the device moved",
                ));
            }
            None => device_bytes,
        };
        #[expect(clippy::cast_precision_loss, reason = "a share with a few digits")]
        let share = reached.min(job_bytes) as f64 / job_bytes as f64;
        Ok(share)
    }

    fn foreign(
        &self,
        read: Option<&DirectionEvidence>,
        write: Option<&DirectionEvidence>,
    ) -> Option<ForeignIo> {
        Some(ForeignIo {
            read_bytes: self.foreign_bytes(Direction::Read, read)?,
            write_bytes: self.foreign_bytes(Direction::Write, write)?,
            processes: self.evidence.other_processes.clone().unwrap_or_default(),
        })
    }

    /// Bytes of others on the disk: what it moved beyond the job's bytes and a
    /// file system's overhead for them, and at least what other processes are
    /// known to have moved, as far as the disk moved that much.
    fn foreign_bytes(
        &self,
        direction: Direction,
        judged: Option<&DirectionEvidence>,
    ) -> Option<u64> {
        let disk_bytes = self.delta(&self.disk_name(), direction)?;
        let job_bytes = judged.map_or(0, |d| d.job_bytes);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate in bytes"
        )]
        let own = judged
            .and_then(|d| d.device_share)
            .map_or(0, |share| (share * job_bytes as f64) as u64);
        let beyond = disk_bytes.saturating_sub(own);
        let overhead = MIB_OF_METADATA + job_bytes / 20 + self.own_flush_calls() * BYTES_PER_COMMIT;
        Some(
            beyond
                .min(self.others(direction))
                .max(beyond.saturating_sub(overhead)),
        )
    }

    /// Flush calls the job made, each of which may commit a journal.
    fn own_flush_calls(&self) -> u64 {
        let writes = &self.measured.write.ios;
        let synced = if self.job.sync == OpenSync::None {
            0
        } else {
            *writes
        };
        self.measured.flush.count + synced
    }

    fn others(&self, direction: Direction) -> u64 {
        let processes = self.evidence.other_processes.iter().flatten();
        processes
            .map(|p| match direction {
                Direction::Read => p.read_bytes,
                Direction::Write => p.write_bytes,
            })
            .sum()
    }

    fn own_io(&self) -> Option<OwnIo> {
        let (before, after) = (self.evidence.before.own_io?, self.evidence.after.own_io?);
        Some(OwnIo {
            read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
            write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
            cancelled_write_bytes: after
                .cancelled_write_bytes
                .saturating_sub(before.cancelled_write_bytes),
        })
    }

    fn dirty_at_stop(&self) -> Option<u64> {
        let FileCache {
            dirty_bytes,
            writeback_bytes,
            ..
        } = self.evidence.after.file_cache?;
        Some(dirty_bytes? + writeback_bytes?)
    }

    fn top_name(&self) -> String {
        let top = self.evidence.storage.top();
        top.map_or_else(|| "the device".to_owned(), |layer| layer.name.clone())
    }

    /// The whole disk that the top layer is on: all traffic is seen there.
    fn disk_name(&self) -> String {
        let disk = self.evidence.storage.device();
        disk.map_or_else(|| "the device".to_owned(), |layer| layer.name.clone())
    }

    fn leaf_queues(&self) -> impl Iterator<Item = &crate::evidence::QueueSettings> {
        self.evidence.storage.leaves().filter_map(|leaf| {
            self.evidence
                .queues
                .iter()
                .find(|queue| queue.name == leaf.name)
        })
    }

    fn volatile_cache(&self) -> Option<bool> {
        let mut leaves = 0;
        let mut volatile = false;
        for queue in self.leaf_queues() {
            leaves += 1;
            volatile |= queue.write_cache? == WriteCache::Back;
        }
        (leaves > 0 && leaves == self.evidence.storage.leaves().count()).then_some(volatile)
    }

    fn flushes(&self) -> Option<u64> {
        let mut sum = 0;
        for leaf in self.evidence.storage.leaves() {
            let (before, after) = self.counters(&leaf.name)?;
            sum += after.flush_ios?.saturating_sub(before.flush_ios?);
        }
        (!self.evidence.storage.layers.is_empty()).then_some(sum)
    }

    fn layer_bytes(&self, direction: Direction) -> Vec<(String, u64)> {
        let layers = self.evidence.storage.layers.iter();
        layers
            .filter_map(|l| Some((l.name.clone(), self.delta(&l.name, direction)?)))
            .collect()
    }

    fn delta(&self, layer: &str, direction: Direction) -> Option<u64> {
        let (before, after) = self.counters(layer)?;
        Some(match direction {
            Direction::Read => after.read_bytes.saturating_sub(before.read_bytes),
            Direction::Write => after.write_bytes.saturating_sub(before.write_bytes),
        })
    }

    fn counters(&self, layer: &str) -> Option<(&DeviceCounters, &DeviceCounters)> {
        let find = |all: &'_ [DeviceCounters]| all.iter().position(|c| c.name == layer);
        let before = &self.evidence.before.devices;
        let after = &self.evidence.after.devices;
        Some((&before[find(before)?], &after[find(after)?]))
    }
}

/// Metadata that any job may cause (superblock, bitmaps, inode).
const MIB_OF_METADATA: u64 = 1 << 20;
/// What a journal commit writes at most for one small flush: descriptor,
/// a few metadata blocks, commit block.
const BYTES_PER_COMMIT: u64 = 64 << 10;

/// Page cache or mixed by the device's share; `None` when it is the device.
fn place(share: f64) -> Option<Measured> {
    if share >= DEVICE_SHARE {
        None
    } else if share <= 1.0 - DEVICE_SHARE {
        Some(Measured::PageCache)
    } else {
        Some(Measured::Mixed {
            device_share: share,
        })
    }
}

fn why_of(measured: &Measured) -> String {
    match measured {
        Measured::Unknown { why } => why.clone(),
        other => other.to_string(),
    }
}

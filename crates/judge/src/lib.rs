//! Derives from raw evidence the label of each direction: the place that its figure measured.
//!
//! The rules, in short (`docs/evidence.md` has them with their reasons):
//!
//! - The **device's share** of a direction is the part of the job's bytes that moved between page
//!   cache and device while the clock ran. It is the smaller of two independent witnesses: the
//!   block layer's counters of the device (which also count other processes), and the kernel's
//!   account of the agent's own process, minus the bytes that are still dirty in the test file.
//! - A witness that is missing or vague is never replaced by a guess: it widens the share to a
//!   range. A range that allows more than one label is `unknown`. Without the device's counters the
//!   label is always `unknown`.
//! - A write that reached the device is `device` only if none of it was left in the page cache, and
//!   the device has no volatile cache or was flushed as often as the job requested.
//! - A percentile of buffered reads measures the device only if enough reads waited for it: most
//!   reads find read-ahead data.
//! - The label of a direction applies to rates. A single buffered write returns when the page cache
//!   has its bytes, even if flushes follow: [`DirectionEvidence::of`] returns the label of each
//!   figure.
//!
//! To add a rule: change `share`, `calls` or `hindrances`, add a test with evidence that needs the
//! rule, and give the reason in `docs/evidence.md`.

mod calls;
mod figures;
pub mod hindrances;
mod load;
mod share;
#[cfg(test)]
mod tests;
mod witness;

use assay_lang::{key, tr, translated};
use assay_model::act::StepDetail;
use assay_model::act::androbench::DatabaseStep;
use assay_model::act::iozone::IozoneStep;
use assay_model::evidence::{Evidence, ProcessIo};
use assay_model::job::{DataPath, Direction, EngineKind, FlushCall, Job};
use assay_model::trial::{Measurement, Outcome, TrialRecord};
pub use calls::{CallEnd, Quantity};
use hindrances::Hindrance;
pub use load::judge_load;
use serde::{Deserialize, Serialize};
pub use share::Share;
use share::ratio;
use std::borrow::Cow;
use std::fmt;
use witness::Touched;

/// Smallest share that counts as the device; 1 minus it is the largest share that counts as the
/// page cache. The 5 % allow for bytes that a file system adds or retains, not for a second speed.
pub const DEVICE_SHARE: f64 = 0.95;

/// Place that the bytes of a figure came from or went to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Measured {
    /// The device; the written data survives a power cut.
    Device,
    /// The device, but not all written data survives a power cut: the volatile cache was not
    /// flushed, or a small remainder was still in memory.
    DeviceUnflushed,
    /// No storage: a model of a device computed the figure.
    Simulated,
    /// The page cache.
    PageCache,
    /// Both device and page cache; the figure represents neither.
    Mixed {
        /// The device's share of the bytes, 0 to 1.
        device_share: f64,
    },
    /// Main memory; no storage was measured.
    Memory,
    /// A cache of the processor.
    CpuCache,
    /// The evidence does not show the place.
    Unknown {
        /// Reason, as one clause.
        why: String,
    },
}

impl Measured {
    /// Names of all labels.
    pub const LABELS: [&str; 8] = [
        "device",
        "device-unflushed",
        "simulated",
        "page-cache",
        "mixed",
        "memory",
        "cpu-cache",
        "unknown",
    ];

    /// Returns the label that is shown next to a figure.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Device => key!("device"),
            Self::DeviceUnflushed => key!("device-unflushed"),
            Self::Simulated => key!("simulated"),
            Self::PageCache => key!("page-cache"),
            Self::Mixed { .. } => key!("mixed"),
            Self::Memory => key!("memory"),
            Self::CpuCache => key!("cpu-cache"),
            Self::Unknown { .. } => key!("unknown"),
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
                let share = device_share * 100.0;
                let share = format_args!("{share:.0} %");
                f.write_str(&tr!("mixed (device {share})", share))
            }
            other => f.write_str(translated(other.label())),
        }
    }
}

/// Judged evidence of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionEvidence {
    /// Place that the figure measured.
    pub measured: Measured,
    /// One sentence with the figures that led to the label.
    pub because: String,
    /// Bytes the job moved.
    pub job_bytes: u64,
    /// Share of the job's bytes that moved to or from the device while the clock ran. For random
    /// buffered reads, the share of the reads that reached the device if that is smaller.
    pub device_share: Option<f64>,
    /// Bytes per layer while the clock ran, from all processes, top layer first.
    pub layers: Vec<(String, u64)>,
    /// Flushes that the disks completed while the clock ran (writes).
    pub flushes: Option<u64>,
    /// `true` if a disk has a volatile cache (writes).
    pub volatile_cache: Option<bool>,
    /// Bytes of the test file not yet on the device at clock stop (writes).
    pub dirty_bytes_at_stop: Option<u64>,
    /// Caveat to show beside the label, even if the label is `device`; `because` includes it.
    pub caveat: Option<String>,
    /// Point that a single call has waited for when it returns.
    pub calls: CallEnd,
    /// Share of the calls that waited for the device (buffered reads); `None` where all calls
    /// behave the same, or the share is not known.
    pub waited: Option<Share>,
}

impl DirectionEvidence {
    /// Returns evidence that does not use kernel counters.
    fn saying(measured: Measured, because: String, job_bytes: u64) -> Self {
        Self {
            measured,
            because,
            job_bytes,
            device_share: None,
            layers: Vec::new(),
            flushes: None,
            volatile_cache: None,
            dirty_bytes_at_stop: None,
            caveat: None,
            calls: CallEnd::Whole,
            waited: None,
        }
    }
}

/// I/O of other processes on the device during the trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignIo {
    /// Bytes read by others, as far as they can be separated from the job's.
    pub read_bytes: u64,
    /// Bytes written by others, as far as they can be separated from the job's.
    pub write_bytes: u64,
    /// Processes that did I/O meanwhile (on any device).
    pub processes: Vec<ProcessIo>,
}

/// Conclusions from the evidence of one trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Reads; `None` when the job did none.
    pub read: Option<DirectionEvidence>,
    /// Writes; `None` when the job did none.
    pub write: Option<DirectionEvidence>,
    /// Trims; `None` when the job did none.
    pub trim: Option<DirectionEvidence>,
    /// I/O of others; `None` when the device's counters are missing or switched off.
    pub foreign: Option<ForeignIo>,
    /// Causes besides the storage that kept the agent waiting.
    pub hindrances: Vec<Hindrance>,
}

impl Judgement {
    const fn moved_something(&self) -> bool {
        self.read.is_some() || self.write.is_some() || self.trim.is_some()
    }
}

/// Judges a trial; `None` when it did not start.
pub fn judge(trial: &TrialRecord) -> Option<Judgement> {
    let mut judgement = judge_bytes(trial)?;
    if let Some(read) = &mut judgement.read {
        read.waited = calls::reads_that_waited(trial, read);
    }
    Some(judgement)
}

/// Returns the reason why the counters of block devices do not show the data of an engine; `None`
/// if they do.
fn uncounted(engine: EngineKind) -> Option<String> {
    match engine.properties().data {
        DataPath::BlockLayer | DataPath::MemoryMap => None,
        DataPath::PassThrough => Some(tr!(
            "the {engine} engine bypasses the block layer, which does not count its data",
            engine
        )),
        DataPath::Discarded | DataPath::Simulated | DataPath::NoData => {
            Some(tr!("the {engine} engine moves no data", engine))
        }
    }
}

/// Judges where the bytes of a trial came from and went to.
fn judge_bytes(trial: &TrialRecord) -> Option<Judgement> {
    if let Some(step) = trial.detail.as_deref().and_then(StepDetail::memory) {
        return Some(Judgement {
            hindrances: own_hindrances(trial),
            ..figures::judge(step)
        });
    }
    let measured = trial.measured.as_ref()?;
    if let Some(wave) = &trial.wave {
        return load::judge_members(wave);
    }
    if trial.job.ioengine.properties().data == DataPath::Simulated {
        return Some(Judgement {
            read: figures::direction(measured.read.bytes),
            write: figures::direction(measured.write.bytes),
            ..Judgement::default()
        });
    }
    let evidence = trial.evidence.as_ref()?;
    let job = job_as_done(trial);
    let mut case = Case {
        job: &job,
        measured,
        evidence,
        touched: Touched::directly(measured.read.bytes),
        cached_by_others: 0,
        completed: trial.outcome == Outcome::Completed,
        database: trial.detail.as_deref().and_then(StepDetail::database),
        cell: trial.detail.as_deref().and_then(StepDetail::iozone),
    };
    let ahead = trial.detail.is_none().then(|| case.read_ahead_window());
    case.touched = Touched::by_job(&job, measured, ahead.flatten());
    let read =
        (measured.read.bytes > 0).then(|| case.judge_read(case.read_share(), case.request_share()));
    let read = read.map(|read| case.less_idle(Direction::Read, read));
    let write = (measured.write.bytes > 0).then(|| case.judge_write(case.write_share()));
    let write = write.map(|write| case.less_idle(Direction::Write, write));
    let foreign = case.foreign();
    Some(Judgement {
        read,
        write,
        trim: None,
        foreign,
        hindrances: own_hindrances(trial),
    })
}

/// Returns the hindrances of a trial of one job.
fn own_hindrances(trial: &TrialRecord) -> Vec<Hindrance> {
    let both = trial.evidence.as_ref().zip(trial.measured.as_ref());
    both.map_or_else(Vec::new, |(evidence, measured)| {
        let threads = trial.job.numjobs.max(1).into();
        let threads_ns = measured.elapsed_ns.saturating_mul(threads);
        hindrances::of(evidence, measured.cpu.run_delay_ns, threads_ns)
    })
}

/// Returns the job as it was carried out: a copy may have switched from direct to buffered I/O.
fn job_as_done(trial: &TrialRecord) -> Cow<'_, Job> {
    match trial.detail.as_deref() {
        Some(StepDetail::Copy(report)) if report.left_direct && trial.job.rw.writes() => {
            let mut job = trial.job.clone();
            let written = trial.measured.as_ref().map_or(0, |m| m.write.bytes);
            // Usually only the last block was too short for direct I/O.
            job.direct = ratio(report.direct_bytes, written) >= DEVICE_SHARE && written > 0;
            job.flush.at_end.get_or_insert(FlushCall::Fsync);
            Cow::Owned(job)
        }
        _ => synchronous(trial),
    }
}

/// Returns the job with the sync mode that the mount or the file imposes. Databases are left alone:
/// they flush by themselves, in known calls.
fn synchronous(trial: &TrialRecord) -> Cow<'_, Job> {
    let own = &trial.job;
    let database = trial.detail.as_deref().and_then(StepDetail::database);
    let evidence = trial.evidence.as_ref().filter(|_| database.is_none());
    let sync = evidence.map_or(own.sync, |evidence| {
        calls::in_force(own.sync, own.ioengine, evidence)
    });
    if sync == own.sync {
        return Cow::Borrowed(own);
    }
    Cow::Owned(Job {
        sync,
        ..own.clone()
    })
}

/// One trial under judgement.
struct Case<'a> {
    job: &'a Job,
    measured: &'a Measurement,
    evidence: &'a Evidence,
    /// `true` if the job completed, including its last flush.
    completed: bool,
    /// Transactions of a database, whose flushes are not the job's own calls.
    database: Option<&'a DatabaseStep>,
    /// A cell of iozone, whose clock may have been paused between records.
    cell: Option<&'a IozoneStep>,
    /// The order of the reads.
    touched: Touched,
    /// Bytes that other jobs of the wave moved through the page cache.
    cached_by_others: u64,
}

impl Case<'_> {
    /// Judges reads by the device's share of the bytes and, for random buffered reads, of the
    /// requests.
    fn judge_read(
        &self,
        bytes: Result<Share, String>,
        requests: Option<Share>,
    ) -> DirectionEvidence {
        let share = bytes.map(|bytes| (bytes, requests.map_or(bytes, |r| bytes.smaller(r))));
        let (measured, because) = match share.clone() {
            Err(why) => (Measured::unknown(why.clone()), why),
            Ok((bytes, share)) => self.judge_came(bytes, share),
        };
        self.beneath(Direction::Read).qualify(DirectionEvidence {
            device_share: share.ok().and_then(|(_, share)| share.certain()),
            layers: self.layer_bytes(Direction::Read),
            ..DirectionEvidence::saying(measured, because, self.measured.read.bytes)
        })
    }

    /// Judges reads by their share of bytes (`bytes`), and by the smaller of that and the share of
    /// requests (`share`).
    fn judge_came(&self, bytes: Share, share: Share) -> (Measured, String) {
        let top = self.top_name();
        let by_requests = share.place() != bytes.place();
        let came = if by_requests {
            tr!(
                "{bytes} of the bytes came from {top}, but only {share} of the reads asked it: the others found theirs in the page cache",
                bytes,
                top,
                share
            )
        } else {
            self.said(tr!(
                "{bytes} of the bytes came from {top} while the clock ran",
                bytes,
                top
            ))
        };
        match share.place() {
            DataLocation::Device => (Measured::Device, came),
            DataLocation::Elsewhere(measured) if self.are_holes(share) => {
                let clause = tr!("the rest are holes, or blocks that were never written");
                (measured, format!("{came}: {clause}"))
            }
            DataLocation::Elsewhere(_) if self.reads_past_the_cache() => {
                let why = tr!(
                    "direct reads of the rest needed no device: holes, blocks that were never written, or a file system that does not read directly"
                );
                (Measured::unknown(why), format!("{came}: {why}"))
            }
            DataLocation::Elsewhere(measured) => (measured, came),
            DataLocation::Unclear if by_requests => {
                let why = tr!("other reads may have made the requests that were counted");
                (Measured::unknown(why), format!("{came}; {why}"))
            }
            DataLocation::Unclear => {
                let why = tr!(
                    "part of what was read may have been cached, before or by an earlier pass, and read-ahead hides how much of that was used"
                );
                (Measured::unknown(why), format!("{came}: {why}"))
            }
        }
    }

    /// `true` if reads bypass the page cache: direct reads of storage that is not memory. Memory
    /// maps do not support `O_DIRECT`.
    fn reads_past_the_cache(&self) -> bool {
        let maps = self.job.ioengine.maps_memory();
        let storage = &self.evidence.storage;
        let memory = storage.memory().is_some() || storage.partly_memory().next().is_some();
        self.job.direct && !maps && !memory
    }

    /// `true` if holes of the region explain all bytes that direct reads did not get from the
    /// device.
    fn are_holes(&self, share: Share) -> bool {
        let holes = self.evidence.before.holes.filter(|_| self.job.direct);
        holes.is_some_and(|holes| {
            let data = 1.0 - ratio(holes.hole_bytes, holes.region_bytes);
            let near = 1.0 - DEVICE_SHARE;
            (data - share.least).abs() <= near && (data - share.most).abs() <= near
        })
    }

    fn judge_write(&self, share: Result<Share, String>) -> DirectionEvidence {
        let (measured, because) = match &share {
            Err(why) => (Measured::unknown(why.clone()), why.clone()),
            Ok(share) => self.judge_written(*share),
        };
        self.beneath(Direction::Write).qualify(DirectionEvidence {
            device_share: share.ok().and_then(Share::certain),
            layers: self.layer_bytes(Direction::Write),
            flushes: self.flushes(),
            volatile_cache: self.volatile_cache(),
            dirty_bytes_at_stop: self.dirty_at_stop(),
            calls: self.end_of_writes(),
            ..DirectionEvidence::saying(measured, because, self.measured.write.bytes)
        })
    }

    fn judge_written(&self, share: Share) -> (Measured, String) {
        let reached = self.said(tr!(
            "{share} of the bytes had reached {top} when the clock stopped",
            share,
            top = self.top_name()
        ));
        match share.place() {
            DataLocation::Device => {
                let (measured, clause) = self.judge_safety();
                (measured, format!("{reached}; {clause}"))
            }
            DataLocation::Elsewhere(measured) => (measured, reached),
            DataLocation::Unclear => {
                let why = self.why_unclear();
                (Measured::unknown(why), format!("{reached}: {why}"))
            }
        }
    }
}

/// Location of the bytes according to a share.
#[derive(Clone, Debug, PartialEq)]
enum DataLocation {
    Device,
    /// Page cache or mixed.
    Elsewhere(Measured),
    /// The evidence allows more than one location.
    Unclear,
}

//! Hindrances of a trial: what explains a figure, or a stall in it, other than the storage.

use super::{Case, DEVICE_SHARE, DirectionEvidence, ForeignIo, Measured};
use assay_lang::tr;
use assay_model::act::androbench::DatabaseStep;
use assay_model::evidence::{Evidence, IoLimit, Snapshot};
use assay_model::job::{Direction, OpenSync};
use assay_model::storage::Layer;
use assay_model::units::{Bytes, KIB, MIB, Nanos};
use serde::Serialize;
use std::ops::RangeInclusive;

/// Smallest share of the measured time, or of the processors' time, that is reported.
const MIN_SHARE: f64 = 0.05;
/// Smallest share of throttled time that is reported; a group without a limit is never throttled.
const MIN_THROTTLED_SHARE: f64 = 0.01;
/// Shorter times are not reported: the kernel counts steal in ticks of 10 ms.
const MIN_TIME_NS: u64 = 20_000_000;
/// Ratio of a device's rate to its limit at which the limit counts as reached; bursts may exceed
/// it.
const AT_LIMIT: RangeInclusive<f64> = 0.9..=1.5;

/// Something besides storage that kept the agent waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hindrance {
    /// Kind: `stopped`, `run_delay`, `steal`, `cpu_limit` or `io_limit`.
    pub kind: &'static str,
    /// Time lost to the hindrance; 0 for an I/O limit.
    pub time_ns: u64,
    /// Description for the user.
    pub words: String,
}

/// Returns the hindrances of threads with a total run time of `threads_ns`, which waited for a
/// processor for `run_delay_ns` in total.
pub(super) fn of(evidence: &Evidence, run_delay_ns: u64, threads_ns: u64) -> Vec<Hindrance> {
    let mut found = Vec::new();
    let mut add = |kind, time_ns: u64, whole_ns: u64, much, words: &dyn Fn(&str) -> String| {
        let share = time_ns as f64 / whole_ns.max(1) as f64;
        if share > much && time_ns >= MIN_TIME_NS {
            let words = words(&format!("{:.0} %", share.min(1.0) * 100.0));
            found.push(Hindrance {
                kind,
                time_ns,
                words,
            });
        }
    };
    let (earlier, now) = (&evidence.before, &evidence.after);
    let window_ns = now.at_ns.saturating_sub(earlier.at_ns);
    if let Some((before, after)) = earlier.hindrances.as_ref().zip(now.hindrances.as_ref()) {
        let suspended_ns = after.suspended_ns.saturating_sub(before.suspended_ns);
        let stops = after.stops.iter();
        let stopped_ns = stops.map(|stop| stop.within(earlier.at_ns, now.at_ns));
        let ns = stopped_ns.fold(suspended_ns, u64::saturating_add);
        add("stopped", ns, window_ns, 0.0, &|_| {
            let time = Nanos(ns);
            tr!("the agent stood still {time} (stopped or suspended)", time)
        });
        let throttled = after.throttled.iter().filter_map(|now| {
            let mut earlier = before.throttled.iter();
            let earlier = earlier.find(|earlier| earlier.group == now.group)?;
            Some((&now.group, now.time_ns.saturating_sub(earlier.time_ns)))
        });
        if let Some((group, ns)) = throttled.max_by_key(|(_, ns)| *ns) {
            add("cpu_limit", ns, window_ns, MIN_THROTTLED_SHARE, &|_| {
                let time = Nanos(ns);
                tr!(
                    "the CPU limit of cgroup {group} stopped threads of it for {time}",
                    group,
                    time
                )
            });
        }
        let steal = after.steal_ns.zip(before.steal_ns);
        let ns = steal.map_or(0, |(after, before)| after.saturating_sub(before));
        let all_ns = window_ns.saturating_mul(after.processors.into());
        add("steal", ns, all_ns, MIN_SHARE, &|share| {
            tr!("the hypervisor took {share} of the processors' time", share)
        });
    }
    add("run_delay", run_delay_ns, threads_ns, MIN_SHARE, &|share| {
        tr!(
            "the agent's threads waited for a processor for {share} of the time",
            share
        )
    });
    let limits = now.hindrances.iter().flat_map(|now| &now.io_limits);
    let reached = limits.filter(|limit| is_reached(limit, evidence, window_ns));
    found.extend(reached.map(|limit| Hindrance {
        kind: "io_limit",
        time_ns: 0,
        words: in_words(limit),
    }));
    found
}

fn in_words(limit: &IoLimit) -> String {
    let rate = match limit.key.ends_with("iops") {
        true => format!("{} IOPS", limit.per_second),
        false => format!("{}/s", Bytes(limit.per_second)),
    };
    tr!("limited by {source} to {rate}", source = limit.source, rate)
}

/// `true` if the device was about as fast as its limit allows.
fn is_reached(limit: &IoLimit, evidence: &Evidence, window_ns: u64) -> bool {
    let mut layers = evidence.storage.layers.iter();
    let limited = layers.find(|layer| limit.device == format!("{}:{}", layer.major, layer.minor));
    let count = |at: &Snapshot| {
        let layer = limited?;
        let counters = at.devices.iter().find(|one| one.name == layer.name)?;
        Some(match limit.key.as_str() {
            "rbps" => counters.read_bytes,
            "wbps" => counters.write_bytes,
            "riops" => counters.read_ios,
            _ => counters.write_ios,
        })
    };
    let counts = count(&evidence.before).zip(count(&evidence.after));
    counts.is_some_and(|(before, after)| {
        let allowed = limit.per_second as f64 * window_ns as f64 / 1e9;
        AT_LIMIT.contains(&(after.saturating_sub(before) as f64 / allowed))
    })
}

/// Metadata that any job may cause (superblock, bitmaps, inode).
const METADATA_BYTES: u64 = MIB;
/// Upper bound of what a journal commit writes for one small flush: descriptor, a few metadata
/// blocks, commit block.
const MOST_BYTES_PER_COMMIT: u64 = 64 * KIB;
/// Usual size of a journal commit: ext4 moves 28 KiB for an appended block of 4 KiB and its fsync
/// (measured on Linux 6.18).
const USUAL_BYTES_PER_COMMIT: u64 = 32 * KIB;

impl Case<'_> {
    pub(crate) fn foreign(&self) -> Option<ForeignIo> {
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
    pub(crate) fn overhead(&self, direction: Direction, job_bytes: u64) -> u64 {
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
    pub(crate) fn synchronous_writes(&self) -> u64 {
        match self.job.sync {
            OpenSync::None => 0,
            _ => self.measured.write.ios,
        }
    }
}

impl Case<'_> {
    /// Labels a figure `unknown` if its clock was paused. Read-ahead and write-back continue during
    /// a pause: the counters include those bytes, and the figure does not. Direct I/O has neither,
    /// and synchronous writes leave no dirty pages.
    pub(crate) fn less_idle(
        &self,
        direction: Direction,
        evidence: DirectionEvidence,
    ) -> DirectionEvidence {
        let job = self.job;
        let in_the_call =
            job.direct || (direction == Direction::Write && job.sync != OpenSync::None);
        let asked = matches!(
            evidence.measured,
            Measured::Device | Measured::DeviceUnflushed | Measured::Mixed { .. }
        );
        if in_the_call || !asked || !self.stood_still() {
            return evidence;
        }
        let why = tr!(
            "the clock stood still between the records, and what moved meanwhile is not in the figure"
        );
        DirectionEvidence {
            measured: Measured::unknown(why),
            because: format!("{}; {why}", evidence.because),
            device_share: None,
            ..evidence
        }
    }

    /// `true` if a child's clock was paused for more than the share of its time that a label
    /// ignores.
    fn stood_still(&self) -> bool {
        let mut children = self.cell.iter().flat_map(|cell| &cell.children);
        children.any(|child| {
            let all = child.elapsed_ns.saturating_add(child.idle_ns);
            child.idle_ns as f64 > all as f64 * (1.0 - DEVICE_SHARE)
        })
    }
}

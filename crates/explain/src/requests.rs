//! Block-layer counters of a job.

use crate::as_f64;
use assay_lang::tr;
use assay_model::evidence::{DeviceCounters, Evidence, Snapshot};
use assay_model::job::Direction;
use assay_report::summary::JudgedTrial;

/// Requests of the device under test (`/sys/class/block/NAME/stat`), whose times the kernel
/// counts from the making of a request to its end: waiting in the scheduler is in them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// Requests for each I/O of the job.
    pub per_io: f64,
    /// Microseconds of a request, on average.
    pub mean_us: f64,
    /// Number of counted requests.
    pub count: u64,
}

/// The kernel shows whole milliseconds: a sum of fewer says too little.
const FEWEST_MS: u64 = 50;

impl Requests {
    /// Sums the requests of a job's trials, which had `ios` I/Os in all.
    pub fn of(judged: &[JudgedTrial<'_>], direction: Direction, ios: u64) -> Result<Self, String> {
        let (mut count, mut ms) = (0, 0);
        for trial in judged {
            let evidence = trial.record.evidence.as_ref();
            let evidence = evidence.ok_or_else(|| tr!("no evidence was recorded").to_owned())?;
            disturbed(trial)?;
            let (before, after) = top(evidence)
                .ok_or_else(|| tr!("the kernel has no counters of this device").to_owned())?;
            let of = |counters: &DeviceCounters| match direction {
                Direction::Read => (counters.read_ios, counters.read_ms),
                Direction::Write => (counters.write_ios, counters.write_ms),
            };
            count += of(after).0.saturating_sub(of(before).0);
            ms += of(after).1.saturating_sub(of(before).1);
        }
        if ms < FEWEST_MS || count == 0 {
            return Err(tr!("the kernel counted too few milliseconds of requests").to_owned());
        }
        Ok(Self {
            per_io: as_f64(count) / as_f64(ios.max(1)),
            mean_us: as_f64(ms) * 1e3 / as_f64(count),
            count,
        })
    }

    /// Each I/O was one request, so that both are of the same thing.
    pub fn is_one_each(&self) -> bool {
        (0.98..=1.02).contains(&self.per_io)
    }
}

/// Requests of others are among those that were counted.
fn disturbed(trial: &JudgedTrial<'_>) -> Result<(), String> {
    let judgement = trial.derived.judgement.as_ref();
    let foreign = judgement.and_then(|judgement| judgement.foreign.as_ref());
    let others = foreign.map_or(0, |foreign| foreign.read_bytes + foreign.write_bytes);
    let measured = trial.measured();
    let own = measured.map_or(0, |measured| measured.read.bytes + measured.write.bytes);
    match others > own / 100 {
        true => Err(tr!("the counters have requests of others among them").to_owned()),
        false => Ok(()),
    }
}

/// The counters of the device under test, before and after.
fn top(evidence: &Evidence) -> Option<(&DeviceCounters, &DeviceCounters)> {
    let name = &evidence.storage.top()?.name;
    let queue = evidence.queues.iter().find(|queue| queue.name == *name);
    if queue.and_then(|queue| queue.iostats) == Some(false) {
        return None;
    }
    pair(evidence, name)
}

fn pair<'e>(
    evidence: &'e Evidence,
    name: &str,
) -> Option<(&'e DeviceCounters, &'e DeviceCounters)> {
    let of = |snapshot: &'e Snapshot| {
        let mut devices = snapshot.devices.iter();
        devices.find(|counters| counters.name == name)
    };
    Some((of(&evidence.before)?, of(&evidence.after)?))
}

/// Flushes that the one disk below completed, and the milliseconds that they took; `None` where it
/// does not count them, where there are several disks, which flush at the same time, and where
/// others used the disk.
pub fn flushes(judged: &[JudgedTrial<'_>]) -> Option<(u64, u64)> {
    let (mut count, mut ms) = (0, 0);
    for trial in judged {
        let evidence = trial.record.evidence.as_ref()?;
        let mut leaves = evidence.storage.leaves();
        let (Some(leaf), None) = (leaves.next(), leaves.next()) else {
            return None;
        };
        disturbed(trial).ok()?;
        let (before, after) = pair(evidence, &leaf.name)?;
        count += after.flush_ios?.saturating_sub(before.flush_ios?);
        ms += after.flush_ms?.saturating_sub(before.flush_ms?);
    }
    Some((count, ms))
}

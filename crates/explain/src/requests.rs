//! Block-layer counters of a job.

use crate::as_f64;
use assay_lang::tr;
use assay_model::evidence::{DeviceCounters, Evidence, Snapshot};
use assay_model::job::Direction;
use assay_report::summary::JudgedTrial;

/// Requests of the device under test (`/sys/class/block/NAME/stat`). The kernel counts a request's
/// time from its allocation to its end, which includes the wait in the scheduler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// Number of requests for each I/O of the job.
    pub per_io: f64,
    /// Mean time of a request, in microseconds.
    pub mean_us: f64,
    /// Number of counted requests.
    pub count: u64,
}

/// Minimum sum of request times. The kernel counts whole milliseconds, so that less is inexact.
const FEWEST_MS: u64 = 50;

impl Requests {
    /// Sums the requests of a job's trials, which had `ios` I/Os in total.
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

    /// Returns true if each I/O was one request, so that the times of both are comparable.
    pub fn is_one_each(&self) -> bool {
        (0.98..=1.02).contains(&self.per_io)
    }
}

/// Returns an error if other programs made more than 1 % of the counted I/O.
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

/// Returns the counters of the device under test, before and after the trial.
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

/// Returns the number of flushes that the disk completed, and their total milliseconds. Returns
/// `None` if the disk does not count flushes, if other programs used it, or if there are several
/// disks, because their flushes overlap.
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

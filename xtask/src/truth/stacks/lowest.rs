//! Truth of a label on a stack: requests that its lowest devices completed.

use super::super::claim::{Claim, Direction};
use super::super::judge::{Truth, by_share};
use super::super::operations::{MeasuredPhase, Operation, OperationKind};
use super::super::trace::{Micros, SyscallEvent, What};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;

/// Drivers whose devices are not the lowest ones, by their names in `/proc/devices`.
const UPPER: [&str; 3] = ["device-mapper", "loop", "nbd"];
/// Drivers of which a stack has one disk, possibly with several paths to it.
const ONE_DISK: [&str; 2] = ["sd", "blkext"];
/// Bytes that a file system or a layer may write besides the data.
const BESIDES: u64 = 64 << 10;
const SECTOR: u64 = 512;

/// Returns the labels that are right for a claim. On an emulated processor, a final flush may
/// begin late; `flushed` states that it belongs to the phase.
pub fn truth(
    claim: &Claim,
    mut phase: MeasuredPhase,
    all: &[Operation],
    events: &[SyscallEvent],
    flushed: bool,
) -> Result<Truth> {
    if flushed {
        let last = phase.operations.iter().map(|one| one.end).max();
        let mut flushes = all.iter().filter(|one| one.kind == OperationKind::Flush);
        let flush = flushes.find(|one| Some(one.begin) >= last);
        phase.stop = flush.context("the trace has no flush at the end")?.end;
    }
    let disks = by_disk(events)?;
    let (mut reached, mut later) = (0, 0);
    for event in disks
        .values()
        .flatten()
        .filter(|event| event.at >= phase.start)
    {
        let bytes = data(event, claim.direction);
        match event.at <= phase.stop {
            true => reached += bytes,
            false => later += bytes,
        }
    }
    let (whole, safe): (u64, &[_]) = match claim.direction {
        Direction::Read => (claim.bytes, &["device"]),
        Direction::Write => {
            // A layer that caches also writes its tables; a label is about 99 % of the data.
            later -= (BESIDES + claim.bytes / 100).min(later);
            let left: u64 = disks.values().map(|disk| unsafe_bytes(disk, &phase)).sum();
            let safe: &[_] = match left {
                0 if later == 0 => &["device"],
                bytes if later == 0 && bytes <= BESIDES => &["device", "device-unflushed"],
                _ => &["device-unflushed"],
            };
            // Mirrors and journals write the data several times.
            (claim.bytes.max(reached + later), safe)
        }
    };
    let share = (reached as f64 / whole.max(1) as f64).min(1.0);
    Ok(Truth {
        label: by_share(share, safe),
        latency: Vec::new(),
        share,
    })
}

/// Returns the requests of each of the lowest disks.
fn by_disk(events: &[SyscallEvent]) -> Result<BTreeMap<String, Vec<&SyscallEvent>>> {
    let known = fs::read_to_string("/proc/devices")?;
    let drivers: BTreeMap<&str, &str> = (known.lines())
        .filter_map(|line| line.trim().split_once(' '))
        .collect();
    let mut disks: BTreeMap<String, Vec<&SyscallEvent>> = BTreeMap::new();
    for event in events {
        let device = event.device.as_deref().unwrap_or_default();
        let major = device.split(',').next().unwrap_or_default();
        let driver = drivers.get(major).copied().unwrap_or_default();
        let disk = if ONE_DISK.contains(&driver) {
            driver
        } else {
            device
        };
        if !UPPER.contains(&driver) {
            disks.entry(disk.to_owned()).or_default().push(event);
        }
    }
    Ok(disks)
}

/// Returns the bytes written to a disk that neither FUA nor a later flush made durable.
fn unsafe_bytes(events: &[&SyscallEvent], phase: &MeasuredPhase) -> u64 {
    let (mut left, mut asked): (Vec<(Micros, u64)>, Option<Micros>) = (Vec::new(), None);
    for event in events.iter().filter(|event| event.at <= phase.stop) {
        match &event.what {
            What::Issued { flags, .. } if flags.starts_with("FF") => {
                asked.get_or_insert(event.at);
            }
            What::Done { flags, .. } if flags.starts_with("FF") => {
                let from = asked.take().unwrap_or(0);
                left.retain(|(at, _)| *at > from);
            }
            What::Done { flags, .. } if event.at >= phase.start => {
                let forced = flags.trim_start_matches('F').contains('F');
                let bytes = data(event, Direction::Write);
                left.push((event.at, if forced { 0 } else { bytes }));
            }
            _ => {}
        }
    }
    left.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the bytes of data that a completed request moved.
fn data(event: &SyscallEvent, direction: Direction) -> u64 {
    let letter = match direction {
        Direction::Read => 'R',
        Direction::Write => 'W',
    };
    match &event.what {
        What::Done { flags, sectors } if !flags.contains('M') => {
            let moved = flags.trim_start_matches('F').starts_with(letter);
            if moved { sectors.1 * SECTOR } else { 0 }
        }
        _ => 0,
    }
}

//! Amount of writes of a run, and the check that there is enough space for it.

use crate::exit::Failure;
use assay_lang::tr;
use assay_model::plan::Plan;
use assay_model::units::{Bytes, MIB};
use assay_model::wire::{Inspection, PathKind};
use std::fmt;

/// Smallest size of a test file: one block of the largest block size.
const SMALLEST: Bytes = Bytes::mib(1);
/// Space that is left free for the file system itself.
pub const HEADROOM: Bytes = Bytes::mib(16);

/// Returns the size of the test file: `asked` if the user gave one, else `planned` or less. `beside`
/// is the size of other files that the run writes at the same time.
///
/// # Errors
/// If there is not enough space.
pub fn file_size(
    asked: Option<Bytes>,
    planned: Bytes,
    beside: Bytes,
    inspection: &Inspection,
) -> Result<Bytes, Failure> {
    let path = inspection.path.display();
    let room = match inspection.kind {
        PathKind::File { length, .. } => length,
        PathKind::Device { size } | PathKind::Simulated { size } => size,
        PathKind::Directory { .. } => match inspection.storage.available {
            Some(available) => beside_others(available, beside),
            None => asked.unwrap_or(planned),
        },
    };
    let size = match asked {
        Some(asked) if asked < SMALLEST => {
            return Err(Failure::usage(format!(
                "--size {asked} is below {SMALLEST}"
            )));
        }
        Some(asked) if asked > room => {
            return Err(Failure::usage(format!(
                "not enough space for --size {asked}: {path} has {room} free{}",
                shares(beside, inspection)
            )));
        }
        Some(asked) => asked,
        None => match inspection.kind {
            PathKind::Directory { .. } => fitting(planned, room),
            _ => planned.min(room),
        },
    };
    let whole = Bytes(size.0 / MIB * MIB);
    if whole < SMALLEST {
        return Err(Failure::usage(format!(
            "not enough space: {path} has space for {room}{}, at least {SMALLEST} is needed: free some, \
             or ask for less than is planned with --size",
            shares(beside, inspection)
        )));
    }
    Ok(whole)
}

/// Returns the planned size, or a smaller one that fits. At least a fifth of the space stays free,
/// because a full file system harms the system that uses it. Smaller sizes are powers of two, so that
/// small changes of the free space do not change the size: figures of different sizes are not comparable.
fn fitting(planned: Bytes, room: Bytes) -> Bytes {
    let most = room.0 / 5 * 4;
    match most.checked_ilog2() {
        Some(power) if most < planned.0 => Bytes(1 << power),
        _ => Bytes(planned.0.min(most)),
    }
}

/// Returns the largest test file that leaves space for `beside` more bytes. That is at least half of
/// the space, because the other files together are never larger than the test file.
fn beside_others(available: Bytes, beside: Bytes) -> Bytes {
    let both = available.0.saturating_sub(HEADROOM.0);
    Bytes(both.saturating_sub(beside.0).max(both / 2))
}

/// Describes the part of the free space that the test file may not use.
fn shares(beside: Bytes, inspection: &Inspection) -> String {
    let folder = matches!(inspection.kind, PathKind::Directory { .. });
    let Some(available) = inspection.storage.available.filter(|_| folder) else {
        return String::new();
    };
    let others = match beside {
        Bytes(0) => "",
        _ => " and for files that jobs write beside the test file",
    };
    format!(" (of {available} that are free, {HEADROOM} stay for the file system{others})")
}

/// Bytes that a plan writes to the storage, including the test file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the jobs that are limited by bytes, and of one pass of the others.
    bytes: Bytes,
    /// `true` if some jobs write until their time ends.
    and_more: bool,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.and_more {
            f.write_str(&tr!(
                "{bytes} and, as far as time allows, more",
                bytes = self.bytes
            ))
        } else {
            f.write_str(&tr!("up to {bytes} in all", bytes = self.bytes))
        }
    }
}

impl Written {
    /// Returns the writes of a plan.
    pub fn by(plan: &Plan) -> Self {
        let files = plan.parts(0..plan.order.len()).len() as u64;
        let mut bytes = plan.file_size.0.saturating_mul(files);
        let mut and_more = false;
        for planned in &plan.jobs {
            let limit = planned.job.max_written();
            and_more |= limit.is_none();
            let per_trial = limit.unwrap_or(plan.file_size).0;
            bytes = bytes.saturating_add(per_trial.saturating_mul(planned.trials.into()));
        }
        Self {
            bytes: Bytes(bytes),
            and_more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fills_a_little_has_the_same_test_file() {
        let (mib, gib) = (Bytes::mib, Bytes::gib);
        assert_eq!(fitting(gib(1), gib(100)), gib(1));
        assert_eq!(fitting(gib(1), Bytes(gib(1).0 / 4 * 5)), gib(1));
        for room in [900, 800, 700, 641] {
            assert_eq!(fitting(gib(1), mib(room)), mib(512), "{room}");
        }
        assert_eq!(fitting(gib(1), mib(639)), mib(256));
        assert_eq!(fitting(gib(1), Bytes(0)), Bytes(0));
    }

    #[test]
    fn the_planned_size_shrinks_before_there_is_no_room() {
        let mib = Bytes::mib;
        assert_eq!(beside_others(mib(168), Bytes(0)), mib(152));
        assert_eq!(beside_others(mib(168), mib(32)), mib(120));
        assert_eq!(beside_others(mib(168), Bytes::gib(1)), mib(76));
        assert_eq!(beside_others(mib(8), Bytes::gib(1)), Bytes(0));
    }
}

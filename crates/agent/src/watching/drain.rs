//! When what a command left dirty has left.
//!
//! The kernel tells how much is dirty, not whose it is. Pages count as gone
//! when no more are left than there were before the command: those of the
//! device alone where the kernel tells them, else those of all devices.

use assay_model::work::watch::Sample;

/// A processor hands in its changes of `Dirty` and `Writeback` when they reach
/// so many pages (`mm/vmstat.c`, `calculate_normal_threshold`, at most 125), or
/// after a second: the sum is so vague.
const UNTOLD_PAGES: u64 = 125;

/// What is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    before: Option<u64>,
    untold: u64,
}

impl Pending {
    /// Of a command that began after a sample.
    pub(super) fn after(before: &Sample) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
        let processors = u64::try_from(processors).unwrap_or(1);
        Self {
            before: unwritten(before),
            untold: UNTOLD_PAGES.saturating_mul(page).saturating_mul(processors),
        }
    }

    /// Bytes that still have to be written; `None` when the kernel does not
    /// tell.
    pub(super) fn unwritten(self, now: &Sample) -> Option<u64> {
        self.before.and(unwritten(now))
    }

    /// Whether no more is left than before the command.
    pub(super) fn have_left(self, unwritten_bytes: u64) -> bool {
        let before = self.before.unwrap_or(0);
        unwritten_bytes <= before.saturating_add(self.untold)
    }
}

fn unwritten(sample: &Sample) -> Option<u64> {
    let of_all = || Some(sample.memory?.unwritten_bytes());
    match sample.disks.as_slice() {
        [only] => only.unwritten_bytes.or_else(of_all),
        _ => of_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::watch::{DiskCounters, Memory};

    const MIB: u64 = 1 << 20;

    fn sample(dirty: u64, of_disk: Option<u64>) -> Sample {
        Sample {
            memory: Some(Memory {
                dirty_bytes: dirty,
                writeback_bytes: MIB,
                ..Memory::default()
            }),
            disks: vec![DiskCounters {
                unwritten_bytes: of_disk,
                ..DiskCounters::default()
            }],
            ..Sample::default()
        }
    }

    #[test]
    fn pages_have_left_when_no_more_are_dirty_than_before() {
        let pending = Pending {
            before: unwritten(&sample(40 * MIB, None)),
            untold: MIB,
        };
        let left = |dirty| pending.have_left(pending.unwritten(&sample(dirty, None)).unwrap());
        assert!(!left(240 * MIB));
        assert!(!left(42 * MIB));
        assert!(left(41 * MIB));
        assert!(left(0));
    }

    #[test]
    fn the_devices_own_count_wins() {
        let pending = Pending::after(&sample(0, Some(0)));
        assert_eq!(pending.unwritten(&sample(900 * MIB, Some(7))), Some(7));
    }

    #[test]
    fn without_counters_nothing_is_known() {
        let pending = Pending::after(&Sample::default());
        assert_eq!(pending.unwritten(&sample(0, None)), None);
    }
}

//! Counters of a stream beside its latencies: queue depths, and the run time of each
//! direction.

use assay_model::load::report::DepthUse;
use assay_model::load::{Ddir, PerDirection};

/// Queue depths, in fio's classes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Depths(DepthUse);

impl Depths {
    /// Counts an I/O that was queued, with the resulting number of I/Os in flight.
    #[inline]
    pub(super) fn queued(&mut self, in_flight: u32) {
        self.0.level[level_class(in_flight)] += 1;
    }

    /// Counts I/Os that were submitted together.
    #[inline]
    pub(super) fn submitted(&mut self, together: usize) {
        self.0.submit[batch_class(together)] += 1;
    }

    /// Counts I/Os that completed together.
    #[inline]
    pub(super) fn completed(&mut self, together: usize) {
        self.0.complete[batch_class(together)] += 1;
    }

    /// Returns the counters of a synchronous engine, which always has one I/O in flight.
    pub(super) fn of_synchronous(ios: u64) -> DepthUse {
        let mut depths = DepthUse::default();
        depths.level[level_class(1)] = ios;
        depths.submit[batch_class(1)] = ios;
        depths.complete[batch_class(1)] = ios;
        depths
    }

    pub(super) fn totals(&self) -> DepthUse {
        self.0
    }
}

/// Returns the class of a depth: the largest of 1, 2, 4, 8, 16, 32, 64 that is not above
/// `in_flight`.
#[inline]
fn level_class(in_flight: u32) -> usize {
    in_flight.max(1).ilog2().min(6) as usize
}

/// Returns the class of a batch: 0, up to 4, 8, 16, 32, 64, and more.
#[inline]
fn batch_class(together: usize) -> usize {
    match together {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

/// Run time of each direction: the sum over the phases in which it transferred anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunTimes {
    phase_start_ns: u64,
    ios_before: PerDirection<u64>,
    done_ns: PerDirection<u64>,
}

impl RunTimes {
    pub(super) fn new(start_ns: u64) -> Self {
        Self {
            phase_start_ns: start_ns,
            ios_before: PerDirection::default(),
            done_ns: PerDirection::default(),
        }
    }

    /// Starts a phase; `ios` are the totals so far.
    pub(super) fn begin_phase(&mut self, now_ns: u64, ios: PerDirection<u64>) {
        self.phase_start_ns = now_ns;
        self.ios_before = ios;
    }

    /// Ends the phase and starts the next.
    pub(super) fn end_phase(&mut self, now_ns: u64, ios: PerDirection<u64>) {
        self.done_ns = self.until(now_ns, ios);
        self.begin_phase(now_ns, ios);
    }

    /// Returns the run times, as if the phase ended now.
    pub(super) fn until(&self, now_ns: u64, ios: PerDirection<u64>) -> PerDirection<u64> {
        let phase_ns = now_ns.saturating_sub(self.phase_start_ns);
        PerDirection::from_fn(|ddir: Ddir| {
            let moved = ios[ddir] > self.ios_before[ddir];
            self.done_ns[ddir] + if moved { phase_ns } else { 0 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_fall_into_the_classes_of_fio() {
        let classes = [1, 2, 3, 4, 7, 8, 31, 32, 63, 64, 500].map(level_class);
        assert_eq!(classes, [0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6]);
        let classes = [0, 1, 4, 5, 8, 9, 16, 17, 33, 64, 65].map(batch_class);
        assert_eq!(classes, [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6]);
    }

    #[test]
    fn a_direction_counts_only_the_phases_it_works_in() {
        let mut times = RunTimes::new(100);
        let ios = |read, write| PerDirection {
            read,
            write,
            trim: 0,
        };
        times.end_phase(400, ios(0, 10));
        times.end_phase(500, ios(10, 10));
        assert_eq!(times.until(700, ios(10, 10)), ios(100, 300));
        assert_eq!(times.until(700, ios(11, 10)), ios(300, 300));
    }
}

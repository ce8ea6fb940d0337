//! Exact measurement of the longest time in which no worker completed anything.
//!
//! A gap of all workers lies within a gap of each. So each worker reports its own
//! gaps, and the thread that waits for the workers periodically computes where all
//! of them overlap. Workers report only gaps that are longer than the longest shared
//! gap so far. After a few milliseconds there are almost none of these, and the cost
//! is one comparison per I/O.
//!
//! Memory is bounded: when too many gaps wait for a worker that reports nothing, the
//! shorter half is dropped. From then on a result is valid only if it is longer than
//! every dropped gap.

use crate::sys::lock;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum number of reported gaps of one worker that were not yet read (1 MiB).
const MAX_HANDED_IN: usize = 1 << 16;
/// Maximum number of pending gaps of all workers (16 MiB).
const MAX_PENDING: usize = 1 << 20;

/// A time without completions, on the workers' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Span {
    pub(crate) const fn length_ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// The gaps of all workers of a job.
#[derive(Debug)]
pub(crate) struct SharedGaps {
    workers: Vec<Mutex<HandedIn>>,
    /// Length above which a gap is reported: that of the longest shared gap so far,
    /// or of the longest dropped one.
    threshold_ns: AtomicU64,
    /// Length of the longest gap that was dropped for lack of space.
    dropped_ns: AtomicU64,
    overlap: Mutex<Overlap>,
}

/// Gaps that one worker reported since [`SharedGaps::look`] last ran.
#[derive(Debug, Default)]
struct HandedIn {
    gaps: Vec<Span>,
    /// Time until which the worker has reported all of its gaps, in nanoseconds.
    told_until_ns: u64,
}

/// Overlap of the gaps of all workers.
#[derive(Debug, Default)]
struct Overlap {
    /// Gaps that extend beyond the time until which every worker has reported.
    pending: Vec<Span>,
    longest: Option<Span>,
}

impl SharedGaps {
    pub(crate) fn new(workers: u32) -> Arc<Self> {
        Arc::new(Self {
            workers: (0..workers).map(|_| Mutex::default()).collect(),
            threshold_ns: AtomicU64::new(0),
            dropped_ns: AtomicU64::new(0),
            overlap: Mutex::default(),
        })
    }

    /// Returns the handle through which a worker, numbered from 0, reports its gaps.
    pub(crate) fn of_worker(self: &Arc<Self>, number: usize) -> WorkerGaps {
        WorkerGaps {
            shared: Arc::clone(self),
            number,
            threshold_ns: u64::MAX,
        }
    }

    /// Computes where the gaps reported so far overlap. Holds each worker's lock
    /// only while it moves that worker's gaps out.
    pub(crate) fn look(&self) {
        let mut overlap = lock(&self.overlap);
        let mut told_until_ns = u64::MAX;
        for worker in &self.workers {
            let mut worker = lock(worker);
            told_until_ns = told_until_ns.min(worker.told_until_ns);
            overlap.pending.append(&mut worker.gaps);
        }
        overlap.sweep(told_until_ns, self.workers.len());
        let longest_ns = overlap.longest.map_or(0, Span::length_ns);
        self.threshold_ns.fetch_max(longest_ns, Ordering::Relaxed);
        if overlap.pending.len() > MAX_PENDING {
            self.drop_shorter_half(&mut overlap.pending);
        }
    }

    /// Returns the longest gap of all workers, once every worker has ended; `None`
    /// if there was no gap, or none that is provably the longest.
    pub(crate) fn longest(&self) -> Option<Span> {
        self.look();
        let longest = lock(&self.overlap).longest?;
        (longest.length_ns() > self.dropped_ns.load(Ordering::Relaxed)).then_some(longest)
    }

    #[cold]
    fn drop_shorter_half(&self, gaps: &mut Vec<Span>) {
        let middle = gaps.len() / 2;
        let (_, median, _) =
            gaps.select_nth_unstable_by_key(middle, |gap| Reverse(gap.length_ns()));
        let limit_ns = median.length_ns();
        gaps.retain(|gap| gap.length_ns() > limit_ns);
        self.dropped_ns.fetch_max(limit_ns, Ordering::Relaxed);
        self.threshold_ns.fetch_max(limit_ns, Ordering::Relaxed);
    }
}

impl Overlap {
    /// Processes all pending gaps up to the time until which every worker has
    /// reported. At that time a worker completed something (or ended, which counts
    /// as a gap until the end of time), so no shared gap extends across it.
    fn sweep(&mut self, told_until_ns: u64, workers: usize) {
        let mut edges = Vec::new();
        for gap in &self.pending {
            if gap.from_ns < told_until_ns {
                edges.push((gap.from_ns, 1));
                edges.push((gap.to_ns.min(told_until_ns), -1));
            }
        }
        // Ends before begins: gaps that only touch do not overlap.
        edges.sort_unstable();
        let (mut open, mut since_ns) = (0_usize, 0);
        for (at_ns, step) in edges {
            // The time after the end of the last worker is not a gap.
            if open == workers && at_ns < u64::MAX {
                self.found(Span {
                    from_ns: since_ns,
                    to_ns: at_ns,
                });
            }
            open = open.saturating_add_signed(step);
            since_ns = at_ns;
        }
        let longest_ns = self.longest.map_or(0, Span::length_ns);
        self.pending.retain_mut(|gap| {
            gap.from_ns = gap.from_ns.max(told_until_ns);
            gap.length_ns() > longest_ns
        });
    }

    fn found(&mut self, gap: Span) {
        if gap.length_ns() > self.longest.map_or(0, Span::length_ns) {
            self.longest = Some(gap);
        }
    }
}

/// Handle of one worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerGaps {
    shared: Arc<SharedGaps>,
    number: usize,
    /// [`SharedGaps::threshold_ns`] as last read; `MAX` before
    /// [`WorkerGaps::begin`], so that nothing is reported.
    threshold_ns: u64,
}

impl WorkerGaps {
    /// Starts the measured time; earlier gaps are ignored.
    pub(crate) fn begin(&mut self, measured_from_ns: u64) {
        self.threshold_ns = 0;
        self.told_until(measured_from_ns);
    }

    /// Returns true if a gap of that length is worth reporting.
    #[inline]
    pub(crate) const fn is_of_interest(&self, length_ns: u64) -> bool {
        length_ns > self.threshold_ns
    }

    /// Reports a gap. Earlier gaps must have been reported or be shorter than the
    /// threshold.
    #[cold]
    pub(crate) fn add(&mut self, gap: Span) {
        let mut mine = lock(&self.shared.workers[self.number]);
        mine.gaps.push(gap);
        mine.told_until_ns = gap.to_ns;
        if mine.gaps.len() > MAX_HANDED_IN {
            self.shared.drop_shorter_half(&mut mine.gaps);
        }
        drop(mine);
        self.threshold_ns = self.shared.threshold_ns.load(Ordering::Relaxed);
        if self.shared.workers.len() == 1 {
            // A gap of the only worker is a gap of all.
            self.threshold_ns = self.threshold_ns.max(gap.length_ns());
        }
    }

    /// Confirms that all gaps that ended by `time_ns` were reported or are not of
    /// interest. An I/O ended at that time, so no gap extends across it.
    #[cold]
    pub(crate) fn told_until(&mut self, time_ns: u64) {
        lock(&self.shared.workers[self.number]).told_until_ns = time_ns;
        let shared_ns = self.shared.threshold_ns.load(Ordering::Relaxed);
        self.threshold_ns = self.threshold_ns.max(shared_ns);
    }

    /// Marks the worker as ended: from `end_ns` on it counts as always in a gap, so
    /// it does not delay the others' result.
    pub(crate) fn end(&mut self, end_ns: u64) {
        let mut mine = lock(&self.shared.workers[self.number]);
        mine.gaps.push(Span {
            from_ns: end_ns,
            to_ns: u64::MAX,
        });
        mine.told_until_ns = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Plays the completion times of each worker, in ascending order.
    fn play(shared: &Arc<SharedGaps>, completions: &[Vec<u64>], look_every: usize) {
        let mut sides: Vec<_> = (0..completions.len())
            .map(|number| shared.of_worker(number))
            .collect();
        for side in &mut sides {
            side.begin(0);
        }
        let mut last = vec![0; sides.len()];
        let mut events: Vec<(u64, usize)> = Vec::new();
        for (worker, times) in completions.iter().enumerate() {
            events.extend(times.iter().map(|&at| (at, worker)));
        }
        events.sort_unstable();
        for (number, (at, worker)) in events.into_iter().enumerate() {
            let gap = Span {
                from_ns: last[worker],
                to_ns: at,
            };
            if sides[worker].is_of_interest(gap.length_ns()) {
                sides[worker].add(gap);
            }
            last[worker] = at;
            if number % look_every == 0 {
                sides[worker].told_until(at);
                shared.look();
            }
        }
        for (side, &end) in sides.iter_mut().zip(&last) {
            side.end(end);
        }
    }

    /// The longest time between neighbours among all completions.
    fn by_brute_force(completions: &[Vec<u64>]) -> u64 {
        let mut all = completions.concat();
        all.push(0);
        all.sort_unstable();
        let steps = all.windows(2).map(|pair| pair[1] - pair[0]);
        steps.max().unwrap_or(0)
    }

    fn workers() -> impl Strategy<Value = Vec<Vec<u64>>> {
        let steps = prop::collection::vec(prop_oneof![9 => 0..20_u64, 1 => 0..2000_u64], 0..60);
        let times = steps.prop_map(|steps| {
            let sum = |at: &mut u64, step: u64| {
                *at += step;
                Some(*at)
            };
            steps.into_iter().scan(0, sum).collect::<Vec<u64>>()
        });
        prop::collection::vec(times, 1..6)
    }

    proptest! {
        #[test]
        fn it_is_the_longest_gap_of_the_merged_completions(
            completions in workers(),
            look_every in 1..50_usize,
        ) {
            let shared = SharedGaps::new(u32::try_from(completions.len()).unwrap());
            play(&shared, &completions, look_every);
            let found = shared.longest();
            prop_assert_eq!(found.map_or(0, Span::length_ns), by_brute_force(&completions));
            if let Some(gap) = found {
                let inside = |at: &u64| gap.from_ns < *at && *at < gap.to_ns;
                prop_assert!(!completions.concat().iter().any(inside));
            }
        }
    }

    /// Sixteen workers in step, 1 ms each, that all stall once for 21 ms: one
    /// gap among 5000 of ordinary length.
    #[test]
    fn a_short_stall_of_many_workers_is_found() {
        const US: u64 = 1000;
        let times = |worker: u64| {
            let at = move |n: u64| (n + if n > 3_000 { 20 } else { 0 }) * 1000 * US;
            (1..5_000).map(move |n| at(n) + worker * US).collect()
        };
        let completions: Vec<Vec<u64>> = (0..16).map(times).collect();
        let shared = SharedGaps::new(16);
        play(&shared, &completions, 500);
        // From the last one of the 16 before to the first one after.
        let gap = shared.longest().unwrap();
        assert_eq!(gap.length_ns(), (21_000 - 15) * US);
        assert_eq!(gap.length_ns(), by_brute_force(&completions));
        assert_eq!(gap.from_ns, 3_000 * 1000 * US + 15 * US);
    }

    /// One worker is silent while the other hands in more than is kept.
    #[test]
    fn what_does_not_fit_is_dropped_and_nothing_unproven_is_told() {
        let busy = |long: u64| -> Vec<u64> {
            let at = |n: u64| n * 10 + n % 7 + if n > 100_000 { long } else { 0 };
            (1..=3 * MAX_HANDED_IN as u64).map(at).collect()
        };
        for (long, proven) in [(0, false), (5000, true)] {
            let completions = [busy(long), Vec::new()];
            let end = completions[0].last().copied().unwrap_or(0);
            let shared = SharedGaps::new(2);
            let mut silent = shared.of_worker(1);
            silent.begin(0);
            let mut talker = shared.of_worker(0);
            talker.begin(0);
            let mut last = 0;
            for &at in &completions[0] {
                let (from_ns, to_ns) = (last, at);
                if talker.is_of_interest(at - last) {
                    talker.add(Span { from_ns, to_ns });
                }
                last = at;
            }
            assert!(lock(&shared.workers[0]).gaps.len() <= MAX_HANDED_IN);
            talker.end(end);
            silent.add(Span {
                from_ns: 0,
                to_ns: end,
            });
            silent.end(end);
            let found = shared.longest().map(Span::length_ns);
            let truth = by_brute_force(&completions);
            assert_eq!(found, proven.then_some(truth));
        }
    }
}

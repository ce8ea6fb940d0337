//! State that a running act shares with the others: its clock, its pace, and the stop signal.

use crate::WorkError;
use crate::meter::{Meter, nanos};
use assay_model::work::scenario::{ActPace, Deadlines, ScenarioStep};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Longest sleep before the signals are checked.
const NAP: Duration = Duration::from_millis(50);
/// Width of an interval of the series.
const INTERVAL_NS: u64 = 100_000_000;

/// Signals to and from concurrent acts.
pub(super) struct Signals<'a> {
    /// Set when the scenario must stop.
    pub(super) stop: &'a AtomicBool,
    /// True if all foreground acts have ended, or one has failed.
    pub(super) over: &'a AtomicBool,
    /// Bytes or operations that this act has done.
    pub(super) done: &'a AtomicU64,
}

/// State of an act while its clock runs.
pub(super) struct Turn<'a> {
    pub(super) meter: Meter,
    pub(super) step: ScenarioStep,
    signals: Signals<'a>,
    background: bool,
    pace: ActPace,
    /// Time at which the next operation is due.
    next_ns: u64,
}

impl<'a> Turn<'a> {
    /// Starts the clock.
    pub(super) fn start(pace: ActPace, background: bool, signals: Signals<'a>) -> Self {
        let deadlines = pace.deadline_ns.map(|deadline_ns| Deadlines {
            deadline_ns,
            ..Deadlines::default()
        });
        Self {
            step: ScenarioStep {
                deadlines,
                background,
                ..ScenarioStep::default()
            },
            signals,
            background,
            pace,
            next_ns: 0,
            meter: Meter::start(INTERVAL_NS),
        }
    }

    /// Returns true if the act repeats its work until it is stopped.
    pub(super) const fn again(&self) -> bool {
        self.background
    }

    /// Waits until the next operation is due; returns that time, or `None` if the act must end.
    ///
    /// # Errors
    /// [`WorkError::Stopped`] if the scenario must stop.
    pub(super) fn due(&mut self) -> Result<Option<u64>, WorkError> {
        loop {
            if self.signals.stop.load(Ordering::Relaxed) {
                return Err(WorkError::Stopped);
            }
            let now_ns = self.meter.now_ns();
            let too_late = self.pace.limit_ns.is_some_and(|limit| now_ns >= limit);
            if too_late || self.signals.over.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(every_ns) = self.pace.every_ns else {
                return Ok(Some(now_ns));
            };
            if now_ns >= self.next_ns {
                let due_ns = self.next_ns;
                // A delay is not made up for: the next operation is due as if there was none.
                self.next_ns += every_ns;
                return Ok(Some(due_ns));
            }
            std::thread::sleep(Duration::from_nanos(self.next_ns - now_ns).min(NAP));
        }
    }

    /// Records the end of an operation that was due at `due_ns`, including its flush.
    pub(super) fn over(&mut self, due_ns: u64) {
        self.step.operations += 1;
        let took_ns = self.meter.now_ns().saturating_sub(due_ns);
        if let Some(kept) = &mut self.step.deadlines {
            kept.operations += 1;
            let late_ns = took_ns.saturating_sub(kept.deadline_ns);
            kept.missed += u64::from(late_ns > 0);
            kept.worst_late_ns = kept.worst_late_ns.max(late_ns);
        }
    }

    /// Adds to the progress.
    pub(super) fn tell(&self, more: u64) {
        self.signals.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Sleeps, until the time is over or the act must end.
    ///
    /// # Errors
    /// [`WorkError::Stopped`] if the scenario must stop.
    pub(super) fn sleep(&mut self, time: Duration) -> Result<(), WorkError> {
        let until_ns = self.meter.now_ns().saturating_add(nanos(time));
        loop {
            if self.signals.stop.load(Ordering::Relaxed) {
                return Err(WorkError::Stopped);
            }
            let now_ns = self.meter.now_ns();
            if now_ns >= until_ns || self.signals.over.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_nanos(until_ns - now_ns).min(NAP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn<'a>(
        every_ns: Option<u64>,
        deadline_ns: u64,
        (stop, over, done): (&'a AtomicBool, &'a AtomicBool, &'a AtomicU64),
    ) -> Turn<'a> {
        let pace = ActPace {
            every_ns,
            deadline_ns: Some(deadline_ns),
            limit_ns: None,
        };
        Turn::start(pace, false, Signals { stop, over, done })
    }

    #[test]
    fn who_cannot_keep_the_pace_misses_deadlines_and_stays_late() {
        let (stop, over, done) = <(AtomicBool, AtomicBool, AtomicU64)>::default();
        let mut turn = turn(Some(1), 2, (&stop, &over, &done));
        for number in 0..3 {
            let due = turn.due().unwrap();
            assert_eq!(due, Some(number));
            std::thread::sleep(Duration::from_millis(1));
            turn.over(number);
        }
        let kept = turn.step.deadlines.unwrap();
        assert_eq!((kept.operations, kept.missed), (3, 3));
        assert!(kept.worst_late_ns > 2_000_000);
        over.store(true, Ordering::Relaxed);
        assert_eq!(turn.due().unwrap(), None);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(turn.due(), Err(WorkError::Stopped)));
    }

    #[test]
    fn a_pace_that_is_kept_misses_nothing() {
        let (stop, over, done) = <(AtomicBool, AtomicBool, AtomicU64)>::default();
        let mut turn = turn(None, u64::MAX, (&stop, &over, &done));
        let due = turn.due().unwrap().unwrap();
        turn.over(due);
        let kept = turn.step.deadlines.unwrap();
        assert_eq!(
            (kept.operations, kept.missed, kept.worst_late_ns),
            (1, 0, 0)
        );
    }
}

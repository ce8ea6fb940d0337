//! State shared by the thread of a stream and the thread that runs the load.

use crate::sys::lock;
use assay_model::load::report::{StreamProgress, StreamReport, StreamState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared state of one stream.
#[derive(Debug, Default)]
pub(super) struct StreamShared {
    /// Requests the stream's end: I/O in flight is completed, and no more is
    /// issued.
    stop: AtomicBool,
    /// Set when the caller waits for the end: slow final steps are skipped.
    abandoned: AtomicBool,
    progress: Mutex<StreamProgress>,
    /// Requests an interim report.
    report_wanted: AtomicBool,
    interim: Mutex<Option<Box<StreamReport>>>,
    /// Totals at the ends of the intervals of the steady-state detection.
    steady: Mutex<Vec<SteadyTotals>>,
}

/// Totals at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SteadyTotals {
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) latency_sum_ns: u64,
}

impl StreamShared {
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the stream without its last flush.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn progress(&self) -> StreamProgress {
        *lock(&self.progress)
    }

    pub(super) fn set_progress(&self, progress: StreamProgress) {
        *lock(&self.progress) = progress;
    }

    pub(super) fn set_state(&self, state: StreamState) {
        lock(&self.progress).state = state;
    }

    pub(super) fn want_report(&self) {
        self.report_wanted.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_report_wanted(&self) -> bool {
        self.report_wanted.load(Ordering::Relaxed)
    }

    pub(super) fn hand_in(&self, report: StreamReport) {
        *lock(&self.interim) = Some(Box::new(report));
        self.report_wanted.store(false, Ordering::Relaxed);
    }

    /// Returns the last interim report.
    pub(super) fn interim(&self) -> Option<StreamReport> {
        lock(&self.interim).as_deref().cloned()
    }

    pub(super) fn add_steady(&self, totals: SteadyTotals) {
        lock(&self.steady).push(totals);
    }

    /// Returns the totals at the end of interval `number`, if it is over.
    pub(super) fn steady(&self, number: usize) -> Option<SteadyTotals> {
        lock(&self.steady).get(number).copied()
    }
}

//! Progress reports, a few times a second.

use crate::Context;
use crate::meter::nanos;
use assay_model::work::{ProgressUnit, WorkProgress};
use std::time::{Duration, Instant};

/// Interval at which the progress of a step is reported.
pub(crate) const EVERY: Duration = Duration::from_millis(250);

/// Progress of one step.
pub(crate) struct ProgressReporter {
    step: String,
    steps_done: u32,
    unit: ProgressUnit,
    total: Option<u64>,
    began: Instant,
    told: Instant,
}

impl ProgressReporter {
    /// Creates the progress of a step that begins now and counts bytes.
    pub(crate) fn new(step: impl Into<String>, steps_done: u32, total: Option<u64>) -> Self {
        let now = Instant::now();
        Self {
            step: step.into(),
            steps_done,
            unit: ProgressUnit::Bytes,
            total,
            began: now,
            told: now,
        }
    }

    /// Counts items instead of bytes.
    pub(crate) fn of_items(self) -> Self {
        Self {
            unit: ProgressUnit::Items,
            ..self
        }
    }

    /// Reports the progress, if a report is due.
    pub(crate) fn report(&mut self, context: &mut Context<'_>, done: u64) {
        let now = Instant::now();
        if now.duration_since(self.told) < EVERY {
            return;
        }
        self.told = now;
        self.tell(context, done);
    }

    /// Reports the progress now, for callers that keep the interval themselves.
    pub(crate) fn tell(&self, context: &mut Context<'_>, done: u64) {
        context.observer.progress(&WorkProgress {
            step: self.step.clone(),
            steps_done: self.steps_done,
            unit: self.unit,
            done,
            total: self.total,
            elapsed_ns: nanos(self.began.elapsed()),
        });
    }
}

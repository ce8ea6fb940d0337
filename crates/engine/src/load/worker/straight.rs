//! The fast path for the most common case: a synchronous engine, nothing that
//! may delay an I/O, and no handling of completions except counting. One unit
//! is reused for all I/Os.

use super::Worker;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit};
use assay_model::load::Ddir;

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Returns true if I/Os may take this path.
    #[inline]
    pub(super) fn goes_straight(&self) -> bool {
        !self.engine.is_asynchronous() && !self.hindered && !self.attentive
    }

    /// Performs the I/O of the new `unit` and all that follow. Returns when
    /// there are no more, after an I/O that failed or was cut short, and when a
    /// tick is due; the normal path then continues.
    pub(super) fn go_straight(&mut self, mut unit: IoUnit) -> Result<(), EngineError> {
        loop {
            let Some(file) = self.files.get(unit.file) else {
                return Err(self.lost_file(unit.file));
            };
            unit.submitted_ns = self.clock.now();
            let result = self.engine.transfer(file, &mut unit);
            let now_ns = self.clock.now();
            if now_ns >= self.next_tick_ns || result != Ok(unit.length) {
                self.tags.moved_on(&unit);
                self.complete(Completion { unit, result }, now_ns);
                return Ok(());
            }
            let latency_ns = now_ns.saturating_sub(unit.submitted_ns);
            self.recorder
                .completed(now_ns, unit.ddir, unit.length, latency_ns);
            if !self.aim_at_next(&mut unit) {
                self.tags.give_back(unit.tag);
                self.free.push(unit.buf);
                return Ok(());
            }
        }
    }

    /// Changes the unit to the next I/O; returns false at the end of the pass.
    #[inline]
    fn aim_at_next(&mut self, unit: &mut IoUnit) -> bool {
        if self.goal.is_reached() {
            return false;
        }
        let Some(step) = self.source.next(&self.goal) else {
            return false;
        };
        self.goal.take(step.length);
        if step.ddir == Ddir::Write {
            self.fill_buffer(&mut unit.buf, &step, unit.tag);
        }
        unit.ddir = step.ddir;
        unit.file = step.file;
        unit.offset = step.offset;
        unit.length = step.length;
        true
    }
}

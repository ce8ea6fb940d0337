//! The worker loop: queues I/Os and waits for completions.

use super::Worker;
use super::issue::Next;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, QueueStatus};

/// Reason why no more I/O was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starved {
    /// The phase has no more I/O.
    Over,
    /// The pace allows no I/O before this time.
    Until(u64),
    /// Some I/O must complete first.
    Blocked,
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Runs until the phase has no more I/O and nothing is in flight.
    pub(super) fn drive(&mut self) -> Result<(), EngineError> {
        let mut done = Vec::with_capacity(self.depth as usize);
        loop {
            let next = self.fill()?;
            if self.in_flight == 0 {
                match next {
                    Starved::Over => return Ok(()),
                    Starved::Until(due_ns) => self.rest(due_ns),
                    // Only the pool of verification threads holds buffers.
                    Starved::Blocked => self.await_checks(),
                }
                continue;
            }
            self.take_back(next, &mut done)?;
        }
    }

    /// Waits for the configured number of completions and handles them.
    fn take_back(&mut self, next: Starved, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let options = &self.stream.engine;
        // A full queue is drained to its low mark before more I/Os are queued.
        let low = options.iodepth_low;
        let enough = match low > 0 && self.in_flight >= self.depth {
            true => low.min(self.depth),
            false => self.depth,
        };
        // By default one completion is taken and one I/O queued, as in fio, so that the queue
        // stays full while completions are handled.
        let least = options.batch_complete_min.max(1);
        let most = options.batch_complete_max.max(least);
        loop {
            let timeout_ns = match next {
                Starved::Until(due_ns) => Some(due_ns.saturating_sub(self.clock.now())),
                Starved::Over | Starved::Blocked => None,
            };
            self.engine
                .reap(least.min(self.in_flight), most, timeout_ns, done)?;
            let now_ns = self.clock.now();
            self.depths.completed(done.len());
            let timed_out = done.is_empty();
            for completion in done.drain(..) {
                self.in_flight -= 1;
                self.complete(completion, now_ns);
            }
            if self.in_flight <= enough || timed_out {
                return Ok(());
            }
        }
    }

    /// Queues I/Os until the depth is reached or there is nothing to queue now.
    #[inline]
    fn fill(&mut self) -> Result<Starved, EngineError> {
        let mut starved = Starved::Blocked;
        while self.in_flight < self.depth {
            let mut unit = match self.next_unit() {
                Next::Unit(unit) => unit,
                Next::Over => {
                    starved = Starved::Over;
                    break;
                }
                Next::NotBefore(due_ns) => {
                    starved = Starved::Until(due_ns);
                    break;
                }
                Next::Blocked => break,
            };
            if self.goes_straight() && unit.moved == 0 {
                self.go_straight(unit)?;
                continue;
            }
            let now_ns = self.clock.now();
            if unit.moved == 0 {
                unit.submitted_ns = now_ns;
            }
            if !self.queue(unit)? {
                break;
            }
        }
        self.commit()?;
        Ok(starved)
    }

    /// Submits an I/O to the engine; returns false if the queue is full.
    #[inline]
    fn queue(&mut self, unit: IoUnit) -> Result<bool, EngineError> {
        let (tag, number) = (unit.tag, unit.file);
        let Some(file) = self.files.get(number) else {
            return Err(self.lost_file(number));
        };
        match self.engine.queue(file, unit) {
            QueueStatus::Completed(completion) => {
                let now_ns = self.clock.now();
                self.complete(completion, now_ns);
            }
            QueueStatus::Queued => {
                self.in_flight += 1;
                self.depths.queued(self.in_flight);
                self.uncommitted.push(tag);
                if self.uncommitted.len() >= self.stream.engine.batch as usize {
                    self.commit()?;
                }
            }
            QueueStatus::Busy(unit) => {
                self.again.push(unit);
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn commit(&mut self) -> Result<(), EngineError> {
        if self.uncommitted.is_empty() {
            return Ok(());
        }
        let taken = self.engine.commit()?.min(self.uncommitted.len());
        if taken == 0 {
            return Ok(());
        }
        let now_ns = self.clock.now();
        self.depths.submitted(taken);
        // I/Os that the kernel did not accept stay queued.
        for tag in self.uncommitted.drain(..taken) {
            self.tags.issued(tag, now_ns);
        }
        Ok(())
    }

    /// Waits until `due_ns` or the next tick, while nothing is in flight.
    pub(super) fn rest(&mut self, due_ns: u64) {
        let now_ns = self.clock.now();
        let until_ns = due_ns.min(self.next_tick_ns);
        if until_ns > now_ns {
            self.clock.sleep(until_ns - now_ns);
        } else {
            std::thread::yield_now();
        }
        self.tick_if_due();
    }

    #[cold]
    pub(super) fn lost_file(&self, number: u32) -> EngineError {
        EngineError::Job {
            job: self.stream.name.clone(),
            problem: format!("file number {number} is not open"),
        }
    }
}

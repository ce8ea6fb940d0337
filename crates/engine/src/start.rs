//! The start line: where the workers wait for each other and for the evidence.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A gate that opens once for all, or never.
#[derive(Debug, Default)]
pub(crate) struct StartLine {
    state: Mutex<StartState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
enum StartState {
    #[default]
    Closed,
    /// The clock started at this time.
    Open(u64),
    Cancelled,
}

impl StartLine {
    /// Waits for the start: the time at which the clock starts, or `None` when
    /// nothing will.
    pub(crate) fn wait(&self) -> Option<u64> {
        let mut state = self.lock();
        loop {
            match *state {
                StartState::Closed => {
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                StartState::Open(start_ns) => return Some(start_ns),
                StartState::Cancelled => return None,
            }
        }
    }

    /// Starts everybody.
    pub(crate) fn open(&self, start_ns: u64) {
        self.decide(StartState::Open(start_ns));
    }

    /// Sends home whoever waits, unless they were started before.
    pub(crate) fn cancel(&self) {
        self.decide(StartState::Cancelled);
    }

    fn decide(&self, decision: StartState) {
        let mut state = self.lock();
        if matches!(*state, StartState::Closed) {
            *state = decision;
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, StartState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_wait_hear_the_first_decision() {
        for (open_first, heard) in [(true, Some(7)), (false, None)] {
            let line = StartLine::default();
            std::thread::scope(|scope| {
                let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| line.wait())).collect();
                if open_first {
                    line.open(7);
                }
                line.cancel();
                line.open(8);
                for worker in waiting {
                    assert_eq!(worker.join().unwrap(), heard);
                }
            });
            assert_eq!(line.wait(), heard, "for those who come late too");
        }
    }
}

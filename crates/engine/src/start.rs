//! Start line at which threads wait for each other and for the evidence.

use crate::sys::lock;
use std::sync::{Condvar, Mutex, PoisonError};

/// A gate that opens once for all waiting threads, or never. Unlike a barrier it does not
/// count threads, so a missing thread does not block the others.
#[derive(Debug)]
pub struct StartLine<T> {
    /// `None` while closed; `Some(None)` if cancelled.
    decided: Mutex<Option<Option<T>>>,
    changed: Condvar,
}

impl<T> Default for StartLine<T> {
    fn default() -> Self {
        Self {
            decided: Mutex::new(None),
            changed: Condvar::new(),
        }
    }
}

impl<T: Copy> StartLine<T> {
    /// Waits for the decision. Returns the value passed to [`StartLine::open`], or `None` if
    /// cancelled.
    pub fn wait(&self) -> Option<T> {
        let closed = |decided: &mut Option<Option<T>>| decided.is_none();
        let decided = self.changed.wait_while(lock(&self.decided), closed);
        decided.unwrap_or_else(PoisonError::into_inner).flatten()
    }

    /// Starts all waiting threads, and those that call [`StartLine::wait`] later.
    pub fn open(&self, with: T) {
        self.decide(Some(with));
    }

    /// Makes all waits return `None`, unless the gate was opened before.
    pub fn cancel(&self) {
        self.decide(None);
    }

    fn decide(&self, decision: Option<T>) {
        lock(&self.decided).get_or_insert(decision);
        self.changed.notify_all();
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

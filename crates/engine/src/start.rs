//! The start line: where threads wait for each other and for the evidence.

use crate::sys::lock;
use std::sync::{Condvar, Mutex, PoisonError};

/// A gate that opens once for all, or never. Unlike at a barrier nobody is counted, so whoever
/// never comes holds up nobody.
#[derive(Debug)]
pub struct StartLine<T> {
    /// `None`: still closed; `Some(None)`: it never opens.
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
    /// Waits for the start: what it was opened with, or `None` when nothing will start.
    pub fn wait(&self) -> Option<T> {
        let closed = |decided: &mut Option<Option<T>>| decided.is_none();
        let decided = self.changed.wait_while(lock(&self.decided), closed);
        decided.unwrap_or_else(PoisonError::into_inner).flatten()
    }

    /// Starts everybody, also those who come later.
    pub fn open(&self, with: T) {
        self.decide(Some(with));
    }

    /// Sends home whoever waits, unless they were started before.
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

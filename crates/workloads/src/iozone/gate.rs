//! Where children wait for whoever conducts a step.

use std::sync::{Condvar, Mutex, PoisonError};

/// Closed until it is opened, once, for all that wait or will come. Unlike at a
/// barrier nobody is counted, so a child that never came holds up nobody.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// `None`: still closed.
    goes: Mutex<Option<bool>>,
    opened: Condvar,
}

impl Gate {
    /// Lets all pass. `goes` is what they are told: whether there is something
    /// to be done behind the gate.
    pub(super) fn open(&self, goes: bool) {
        let mut word = self.goes.lock().unwrap_or_else(PoisonError::into_inner);
        word.get_or_insert(goes);
        self.opened.notify_all();
    }

    /// Waits until it is open.
    pub(super) fn pass(&self) -> bool {
        let mut word = self.goes.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *word {
                Some(goes) => return goes,
                None => {
                    let woken = self.opened.wait(word);
                    word = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_wait_and_those_that_come_later_pass_with_the_first_word() {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let waiting = [0; 3].map(|_| scope.spawn(|| gate.pass()));
            gate.open(false);
            assert_eq!(waiting.map(|thread| thread.join().unwrap()), [false; 3]);
        });
        gate.open(true);
        assert!(!gate.pass());
    }
}

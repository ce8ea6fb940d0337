//! A spinning barrier: threads wait for each other without going to sleep, so that all begin at once.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::yield_now;

/// Looks before the processor is given to others.
const SPINS: u32 = 20_000;

/// A barrier for so many threads, again and again.
pub(super) struct SpinBarrier {
    all: u32,
    here: AtomicU32,
    round: AtomicU32,
}

impl SpinBarrier {
    pub(super) const fn of(all: u32) -> Self {
        Self {
            all,
            here: AtomicU32::new(0),
            round: AtomicU32::new(0),
        }
    }

    /// Returns when all are here.
    pub(super) fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.all {
            self.here.store(0, Ordering::Release);
            self.round.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            looks += 1;
            if looks < SPINS {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_ahead_by_more_than_a_round() {
        let (barrier, passed) = (SpinBarrier::of(3), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..200 {
                        barrier.wait();
                        let before = passed.fetch_add(1, Ordering::AcqRel);
                        assert!(before / 3 == round, "{before} in round {round}");
                        barrier.wait();
                    }
                });
            }
        });
    }
}

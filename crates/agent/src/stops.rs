//! Which runs are to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The stop flag of each run: a cancel is about the runs asked for before it,
/// never about a later one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    runs: Vec<Arc<AtomicBool>>,
    ended: bool,
}

impl Stops {
    /// The flag of a run that was just asked for.
    pub(crate) fn of_new_run(&self) -> Arc<AtomicBool> {
        self.with(|state| {
            let flag = Arc::new(AtomicBool::new(state.ended));
            state.runs.push(Arc::clone(&flag));
            flag
        })
    }

    /// Stops every run asked for so far.
    pub(crate) fn cancel(&self) {
        self.with(State::stop_all);
    }

    /// Stops these and all that may come: the session is over.
    pub(crate) fn end(&self) {
        self.with(|state| {
            state.ended = true;
            state.stop_all();
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn stop_all(&mut self) {
        for flag in self.runs.drain(..) {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_is_about_earlier_runs_only() {
        let stops = Stops::default();
        let first = stops.of_new_run();
        stops.cancel();
        let second = stops.of_new_run();
        assert!(first.load(Ordering::Relaxed));
        assert!(!second.load(Ordering::Relaxed));
    }

    #[test]
    fn the_end_is_about_all() {
        let stops = Stops::default();
        let first = stops.of_new_run();
        stops.end();
        assert!(first.load(Ordering::Relaxed));
        assert!(stops.of_new_run().load(Ordering::Relaxed));
    }
}

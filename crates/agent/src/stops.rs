//! Requests to stop runs or to report their state.

use assay_engine::load::Controls;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Controls of each run. A cancel affects the runs requested before it, never a later
/// one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops(Arc<Mutex<StopsState>>);

#[derive(Debug, Default)]
struct StopsState {
    runs: Vec<Arc<Controls>>,
    ended: bool,
}

impl Stops {
    /// Creates the controls of a run that was just requested.
    pub(crate) fn of_new_run(&self) -> Arc<Controls> {
        self.with(|state| {
            let controls = Arc::new(Controls::default());
            controls.stop.store(state.ended, Ordering::Relaxed);
            state.runs.push(Arc::clone(&controls));
            controls
        })
    }

    /// Requests a report of every run; plans ignore this.
    pub(crate) fn report_now(&self) {
        self.with(|state| {
            for controls in &state.runs {
                controls.report_now.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Stops every run requested so far.
    pub(crate) fn cancel(&self) {
        self.with(StopsState::stop_all);
    }

    /// Stops these and all later runs, because the session is over.
    pub(crate) fn end(&self) {
        self.with(|state| {
            state.ended = true;
            state.stop_all();
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut StopsState) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl StopsState {
    fn stop_all(&mut self) {
        for controls in self.runs.drain(..) {
            controls.stop.store(true, Ordering::Relaxed);
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
        assert!(first.stop.load(Ordering::Relaxed));
        assert!(!second.stop.load(Ordering::Relaxed));
    }

    #[test]
    fn the_end_is_about_all() {
        let stops = Stops::default();
        let first = stops.of_new_run();
        stops.end();
        assert!(first.stop.load(Ordering::Relaxed));
        assert!(stops.of_new_run().stop.load(Ordering::Relaxed));
    }
}

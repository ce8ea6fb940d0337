//! The end of the process when a load does not end: a command that waits for
//! ever, a device that does not answer.
//!
//! A load removes nothing that was not asked for, so that ending in the middle
//! of one loses its results only. A plan is always waited for, since it has test
//! files to remove; that is bounded by what the storage takes.

use assay_model::load::Load;
use assay_model::work::WorkOrder;
use assay_probe::processes::descendants;
use assay_probe::roots::Roots;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time limit for a load to end after the host is gone.
const ALONE: Duration = Duration::from_secs(10);
/// The same when the host went although the load was to stop already: its user
/// does not want to wait.
const INSISTED: Duration = Duration::from_secs(1);
/// Signals so close together are one wish.
const SAME_WISH: Duration = Duration::from_millis(300);
/// Exit code when the host is gone and the load went on.
const ABANDONED: i32 = 1;
/// Added to the number of a signal, as shells do.
const SIGNALLED: i32 = 128;

/// Knows whether a load is under way, and ends the process if it must.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastResort(Arc<LastResortShared>);

#[derive(Debug, Default)]
struct LastResortShared {
    state: Mutex<LastResortState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LastResortState {
    load: Option<Running>,
    /// Nothing is done any more.
    session_over: bool,
    /// When the session was first asked to end.
    ending_since: Option<Instant>,
}

/// A load under way.
#[derive(Debug)]
struct Running {
    /// It has commands of its user.
    commands: bool,
    cancelled: bool,
}

/// A load counts as under way as long as this lives.
pub(crate) struct UnderWay<'a>(&'a LastResort);

impl LastResort {
    /// A load begins.
    pub(crate) fn load_begins(&self, load: &Load) -> UnderWay<'_> {
        let schedules = load.streams.iter().map(|stream| &stream.schedule);
        let mut commands = schedules.map(|s| s.exec_before.is_some() || s.exec_after.is_some());
        self.begins(commands.any(|has| has))
    }

    /// A work begins; `None` for one that has something to remove or restore,
    /// and is waited for as a plan is.
    pub(crate) fn work_begins(&self, order: &WorkOrder) -> Option<UnderWay<'_>> {
        let work = order.work.spec();
        let is_waited_for = order.under.is_some() || work.waits_on_exit();
        (!is_waited_for).then(|| self.begins(work.runs_commands()))
    }

    fn begins(&self, commands: bool) -> UnderWay<'_> {
        self.change(|state| {
            state.load = Some(Running {
                commands,
                cancelled: false,
            });
        });
        UnderWay(self)
    }

    /// The load is to stop: commands that it waits for are asked to end.
    pub(crate) fn cancelled(&self) {
        let mut commands = false;
        self.change(|state| {
            if let Some(load) = &mut state.load {
                load.cancelled = true;
                commands = load.commands;
            }
        });
        if commands {
            signal_all(Signal::TERM);
        }
    }

    /// Nothing is done any more: the process ends by itself.
    pub(crate) fn session_over(&self) {
        self.change(|state| state.session_over = true);
    }

    /// The host is gone. Returns when the session is over; ends the process when
    /// a load does not let it be.
    pub(crate) fn host_gone(&self) {
        let mut state = self.lock();
        while !state.session_over {
            let Some(load) = &state.load else {
                let waited = self.0.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let patience = if load.cancelled { INSISTED } else { ALONE };
            let goes_on = |state: &mut LastResortState| state.load.is_some() && !state.session_over;
            let waited = self.0.changed.wait_timeout_while(state, patience, goes_on);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                end(after.commands(), ABANDONED);
            }
            state = after;
        }
    }

    /// A signal asks for the end. The first one is for whoever listens to
    /// follow; one that comes when the end should have come already is obeyed
    /// at once.
    pub(crate) fn signalled(&self, signal: i32) {
        let state = self.lock();
        let insists = |since: Instant| since.elapsed() >= SAME_WISH;
        if !state.session_over && state.ending_since.is_some_and(insists) {
            end(state.commands(), SIGNALLED + signal);
        }
    }

    /// The session was asked to end.
    pub(crate) fn ending(&self) {
        self.change(|state| {
            state.ending_since.get_or_insert_with(Instant::now);
        });
    }

    fn change(&self, act: impl FnOnce(&mut LastResortState)) {
        act(&mut self.lock());
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, LastResortState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LastResortState {
    fn commands(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.commands)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.load = None);
    }
}

fn end(commands: bool, code: i32) -> ! {
    if commands {
        signal_all(Signal::KILL);
    }
    std::process::exit(code)
}

/// Sends a signal to everything that this process has started, and to what that
/// has started in turn. What has made itself a daemon is not found.
fn signal_all(signal: Signal) {
    for pid in descendants(&Roots::default(), std::process::id()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // It has ended meanwhile: all the better.
            let _ = kill_process(pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::Work;
    use assay_model::work::copy::FileCopy;

    #[test]
    fn a_copy_is_waited_for_when_it_has_something_to_remove() {
        let last_resort = LastResort::default();
        let ends_with_the_process = |copy: FileCopy| {
            let order = WorkOrder {
                run_id: String::new(),
                seed: 0,
                trial: 1,
                first_position: 0,
                destroy_data: false,
                work: Work::Copy(Box::new(copy)),
                under: None,
            };
            last_resort.work_begins(&order).is_some()
        };
        let plain = FileCopy::default();
        assert!(ends_with_the_process(plain.clone()));
        let last = FileCopy {
            remove_output: true,
            ..plain.clone()
        };
        let then = vec![plain.clone(), last];
        assert!(!ends_with_the_process(FileCopy { then, ..plain }));
    }
}

//! Ends the process if a load does not end, for example because of a command that never
//! exits or a device that does not answer.
//!
//! A load removes nothing unless asked to, so ending it early loses only its results. A
//! plan is always awaited, since it has test files to remove; its duration is limited by
//! that of its I/O.

use assay_model::act::{Act, ActOrder};
use assay_probe::processes::descendants;
use assay_probe::roots::Roots;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time limit for a load to end after the connection to the host has ended.
const ALONE: Duration = Duration::from_secs(10);
/// Time limit for a load to end if it was cancelled before the connection ended: the user
/// does not want to wait.
const INSISTED: Duration = Duration::from_secs(1);
/// Signals within this interval count as one.
const SAME_SIGNAL: Duration = Duration::from_millis(300);
/// Exit code if the connection has ended and the load has not.
const ABANDONED: i32 = 1;
/// Offset of the exit code to the signal number, as in shells.
const SIGNALLED: i32 = 128;

/// Tracks whether a load is in progress, and ends the process if necessary.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExitWatchdog(Arc<WatchdogShared>);

#[derive(Debug, Default)]
struct WatchdogShared {
    state: Mutex<WatchdogState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WatchdogState {
    load: Option<Running>,
    /// The session has ended, and nothing is left to do.
    session_over: bool,
    /// Time of the first request to end the session.
    ending_since: Option<Instant>,
}

/// A load in progress.
#[derive(Debug)]
struct Running {
    /// It runs commands of the user.
    commands: bool,
    cancelled: bool,
}

/// Guard of a load in progress; dropping it marks the load as ended.
pub(crate) struct UnderWay<'a>(&'a ExitWatchdog);

impl ExitWatchdog {
    /// Acts begin; `None` if one of them has something to remove or restore: the agent waits for
    /// its end, as for the end of a plan of jobs.
    pub(crate) fn acts_begin(&self, order: &ActOrder) -> Option<UnderWay<'_>> {
        let acts = || order.acts.iter().map(Act::spec);
        let is_waited_for =
            !order.plan.conditions.is_empty() || acts().any(|act| act.waits_on_exit());
        (!is_waited_for).then(|| self.begins(acts().any(|act| act.runs_commands())))
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

    /// Marks the load as cancelled, and terminates the commands that it waits for.
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

    /// Marks the session as over: the process ends normally.
    pub(crate) fn session_over(&self) {
        self.change(|state| state.session_over = true);
    }

    /// Called when the connection to the host has ended. Returns when the session is
    /// over; ends the process if a load exceeds the time limit.
    pub(crate) fn host_gone(&self) {
        let mut state = self.lock();
        while !state.session_over {
            let Some(load) = &state.load else {
                let waited = self.0.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let patience = if load.cancelled { INSISTED } else { ALONE };
            let runs = |state: &mut WatchdogState| state.load.is_some() && !state.session_over;
            let waited = self.0.changed.wait_timeout_while(state, patience, runs);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                end(after.commands(), ABANDONED);
            }
            state = after;
        }
    }

    /// Handles a signal that ends the process. The first one has no effect here: the caller
    /// ends the session. If the session does not end, a later one ends the process at once.
    pub(crate) fn signalled(&self, signal: i32) {
        let state = self.lock();
        let insists = |since: Instant| since.elapsed() >= SAME_SIGNAL;
        if !state.session_over && state.ending_since.is_some_and(insists) {
            end(state.commands(), SIGNALLED + signal);
        }
    }

    /// Marks the time of the request to end the session.
    pub(crate) fn ending(&self) {
        self.change(|state| {
            state.ending_since.get_or_insert_with(Instant::now);
        });
    }

    fn change(&self, act: impl FnOnce(&mut WatchdogState)) {
        act(&mut self.lock());
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, WatchdogState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchdogState {
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

/// Sends a signal to all descendants of this process. Daemons are not found, because they
/// are no longer descendants.
fn signal_all(signal: Signal) {
    for pid in descendants(&Roots::default(), std::process::id()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // An error means that it has ended.
            let _ = kill_process(pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::copy::FileCopy;
    use assay_model::plan::{Place, Plan};

    #[test]
    fn a_copy_is_waited_for_when_it_has_something_to_remove() {
        let exit_watchdog = ExitWatchdog::default();
        let ends_with_the_process = |copy: FileCopy| {
            let order = ActOrder {
                plan: Plan::once(String::new(), Place::Memory),
                acts: vec![Act::Copy(Box::new(copy))],
                seeds: vec![0],
                destroy_data: false,
            };
            exit_watchdog.acts_begin(&order).is_some()
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

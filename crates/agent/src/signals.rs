//! Signals that ask the agent to end.

use crate::inbox::Ending;
use assay_model::text::no_thread;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::Builder;

/// Handles signals that end the process. The first one ends the session and cleans up; a
/// later one ends the process at once.
pub(crate) struct EndingSignals(Option<Handle>);

impl EndingSignals {
    /// Catches SIGINT and SIGTERM.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn catch(ending: Ending) -> io::Result<Self> {
        Self::obey(ending, &[SIGINT, SIGTERM])
    }

    /// Catches both, but handles only SIGTERM: the host handles SIGINT.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn catch_but_interrupts(ending: Ending) -> io::Result<Self> {
        Self::obey(ending, &[SIGTERM])
    }

    /// Handles SIGHUP as well, unless the process ignores it, as under `nohup`.
    fn obey(ending: Ending, obeyed: &'static [i32]) -> io::Result<Self> {
        let obeys_hangup = !is_ignored(SIGHUP);
        // Cannot fail for these signals. Without handlers, the next start cleans up.
        let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
            return Ok(Self(None));
        };
        let handle = signals.handle();
        let wait = move || {
            let obeys = |signal: &i32| obeyed.contains(signal) || *signal == SIGHUP && obeys_hangup;
            for signal in signals.forever().filter(obeys) {
                ending.last_resort().signalled(signal);
                ending.end(Ok(()));
            }
        };
        Builder::new().spawn(wait).map_err(no_thread)?;
        Ok(Self(Some(handle)))
    }
}

impl Drop for EndingSignals {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}

/// Returns `true` if this process ignores a signal since its start, as `nohup` arranges
/// for SIGHUP: a bit of `SigIgn` in `/proc/self/status`.
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

//! Signals that ask the agent to end.

use crate::inbox::Ending;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Signals that ask the process to end. The first ends what runs, and cleans
/// up; one that comes later is obeyed at once.
pub(crate) struct EndingSignals(Option<Handle>);

impl EndingSignals {
    pub(crate) fn catch(ending: Ending) -> Self {
        Self::obey(ending, &[SIGHUP, SIGINT, SIGTERM])
    }

    /// SIGINT is caught, so that it ends nothing, and is left to the host.
    pub(crate) fn catch_but_interrupts(ending: Ending) -> Self {
        Self::obey(ending, &[SIGHUP, SIGTERM])
    }

    fn obey(ending: Ending, obeyed: &'static [i32]) -> Self {
        // Cannot fail for these signals; without it the next start cleans up.
        let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
            return Self(None);
        };
        let handle = signals.handle();
        std::thread::spawn(move || {
            for signal in signals.forever().filter(|signal| obeyed.contains(signal)) {
                ending.last_resort().signalled(signal);
                ending.end(Ok(()));
            }
        });
        Self(Some(handle))
    }
}

impl Drop for EndingSignals {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}

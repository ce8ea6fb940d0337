//! Commands that a load runs beside itself (`exec_prerun`, `exec_postrun`):
//! nobody but the agent can end them.

use assay_probe::processes::descendants;
use assay_probe::roots::Roots;
use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to everything that this process has started, and to what that
/// has started in turn. What has made itself a daemon is not found.
pub(crate) fn signal_all(signal: Signal) {
    for pid in descendants(&Roots::default(), std::process::id()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            // It has ended meanwhile: all the better.
            let _ = kill_process(pid, signal);
        }
    }
}

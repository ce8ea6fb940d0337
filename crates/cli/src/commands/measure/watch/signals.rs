//! Signals while the user's command runs: a Ctrl-C on the terminal is for the command, which gets
//! it too and may continue.

use crate::driver::host::Requests;
use crate::exit::Failure;
use crate::interrupt::{code, not_caught, taken_over};
use assay_agent::is_ignored;
use assay_model::wire::ToAgent;
use assay_model::work::watch::Phase;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::Builder;

/// Stop requests that end a watch.
#[derive(Clone)]
pub struct Stop {
    requests: Requests,
    command_runs: Arc<AtomicBool>,
    /// Signal that ended the watch; 0: none.
    signal: Arc<AtomicI32>,
}

impl Stop {
    /// Catches signals from now on.
    pub fn listen(requests: Requests, command_runs: bool) -> Result<Self, Failure> {
        let stop = Self {
            requests,
            command_runs: Arc::new(AtomicBool::new(command_runs)),
            signal: Arc::default(),
        };
        taken_over();
        let caught = stop.clone();
        let mut signals = signals().map_err(not_caught)?;
        let obey = move || signals.forever().for_each(|signal| caught.obey(signal));
        Builder::new().spawn(obey).map_err(Failure::no_thread)?;
        Ok(stop)
    }

    fn obey(&self, signal: i32) {
        if signal == SIGINT && self.command_runs.load(Ordering::Relaxed) {
            return;
        }
        self.signal.store(signal, Ordering::Relaxed);
        self.cancel();
    }

    /// Notes the phase of the last sample.
    pub fn phase(&self, phase: Phase) {
        let runs = phase == Phase::Command;
        self.command_runs.store(runs, Ordering::Relaxed);
    }

    /// Ends the watch when the reader of the table is gone, unless a command is running.
    pub fn nobody_reads(&self) {
        if !self.command_runs.load(Ordering::Relaxed) {
            self.cancel();
        }
    }

    /// Returns the exit code for the signal; `None` for a Ctrl-C, which is the normal end.
    pub fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 | SIGINT => None,
            signal => Some(code(signal)),
        }
    }

    fn cancel(&self) {
        // A failed send means that the agent has ended, which is noticed elsewhere.
        let _ = self.requests.send(&ToAgent::Cancel);
    }
}

fn signals() -> io::Result<Signals> {
    let signals = Signals::new([SIGINT, SIGTERM])?;
    if !is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    Ok(signals)
}

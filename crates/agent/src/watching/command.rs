//! The user's command, with the user's streams.

use assay_model::work::watch::CommandEnd;
use assay_workloads::WorkError;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A command under way.
pub(super) struct Command {
    pid: u32,
    ended: Receiver<Ended>,
    asked_to_end: bool,
}

/// What came of waiting for a command.
pub(super) enum Waited {
    /// It has ended.
    Ended(Ended),
    /// It still runs.
    Runs,
}

/// The end of a command.
pub(super) struct Ended {
    at: Instant,
    status: io::Result<ExitStatus>,
}

impl Command {
    /// Starts it in this process's own group, so that it may read from the
    /// terminal and gets its Ctrl-C.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(words: &[OsString]) -> Result<Self, WorkError> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| WorkError::Refused("no command".to_owned()))?;
        let started = std::process::Command::new(program).args(arguments).spawn();
        let mut child = started.map_err(|error| {
            let program = program.to_string_lossy();
            WorkError::Refused(format!("cannot start {program}: {error}"))
        })?;
        let pid = child.id();
        let (tell, ended) = channel();
        std::thread::spawn(move || {
            let status = child.wait();
            let at = Instant::now();
            // Nobody there: the session is over.
            let _ = tell.send(Ended { at, status });
        });
        Ok(Self {
            pid,
            ended,
            asked_to_end: false,
        })
    }

    /// Waits for its end, at most so long.
    pub(super) fn wait(&self, at_most: Duration) -> Waited {
        match self.ended.recv_timeout(at_most) {
            Ok(ended) => Waited::Ended(ended),
            Err(RecvTimeoutError::Timeout) => Waited::Runs,
            Err(RecvTimeoutError::Disconnected) => Waited::Ended(Ended {
                at: Instant::now(),
                status: Err(io::ErrorKind::BrokenPipe.into()),
            }),
        }
    }

    /// Asks it to end, once.
    pub(super) fn ask_to_end(&mut self) {
        if std::mem::replace(&mut self.asked_to_end, true) {
            return;
        }
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // It has ended meanwhile: all the better.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Ended {
    pub(super) fn since(self, began: Instant) -> CommandEnd {
        let elapsed = self.at.saturating_duration_since(began).as_nanos();
        let status = self.status.ok();
        CommandEnd {
            at_ns: u64::try_from(elapsed).unwrap_or(u64::MAX),
            exit_code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
        }
    }
}

//! The user's command, with the user's streams.

use assay_model::work::watch::CommandEnd;
use assay_workloads::WorkError;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// A running command.
pub(super) struct Command {
    child: SharedChild,
    ended: Receiver<EndedCommand>,
    asked_to_end: bool,
}

/// Child process behind a lock. The holder of the lock reaps the child, which frees its process id
/// for another process, or signals it.
#[derive(Clone)]
struct SharedChild(Arc<Mutex<Child>>);

/// Result of waiting for a command.
pub(super) enum Waited {
    /// It has ended.
    Ended(EndedCommand),
    /// It still runs.
    Runs,
}

/// End of a command.
pub(super) struct EndedCommand {
    at: Instant,
    status: io::Result<ExitStatus>,
}

impl Command {
    /// Starts the command in this process's own process group, so that it may read from the
    /// terminal and receives its Ctrl-C.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(words: &[OsString]) -> Result<Self, WorkError> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| WorkError::Refused("no command".to_owned()))?;
        let started = std::process::Command::new(program).args(arguments).spawn();
        let child = started.map_err(|error| {
            let program = program.to_string_lossy();
            WorkError::Refused(format!("cannot start {program}: {error}"))
        })?;
        let child = SharedChild(Arc::new(Mutex::new(child)));
        let (tell, ended) = channel();
        let waited_for = child.clone();
        let wait = move || {
            waited_for.await_end();
            let at = Instant::now();
            let status = waited_for.lock().wait();
            // Without a receiver, the session is over.
            let _ = tell.send(EndedCommand { at, status });
        };
        Builder::new().spawn(wait).map_err(|error| {
            child.signal(Signal::KILL);
            WorkError::no_thread(error)
        })?;
        Ok(Self {
            child,
            ended,
            asked_to_end: false,
        })
    }

    /// Waits for the end of the command, at most `at_most`.
    pub(super) fn wait(&self, at_most: Duration) -> Waited {
        match self.ended.recv_timeout(at_most) {
            Ok(ended) => Waited::Ended(ended),
            Err(RecvTimeoutError::Timeout) => Waited::Runs,
            Err(RecvTimeoutError::Disconnected) => Waited::Ended(EndedCommand {
                at: Instant::now(),
                status: Err(io::ErrorKind::BrokenPipe.into()),
            }),
        }
    }

    /// Sends SIGTERM to the command, once.
    pub(super) fn ask_to_end(&mut self) {
        if std::mem::replace(&mut self.asked_to_end, true) {
            return;
        }
        self.child.signal(Signal::TERM);
    }
}

impl SharedChild {
    fn lock(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the command has ended, without reaping it.
    fn await_end(&self) {
        // The lock is not held while waiting.
        let pid = pid(&self.lock());
        if let Some(pid) = pid {
            let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            // Fails only if the child was reaped already.
            let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), end));
        }
    }

    /// Sends a signal, unless the command has ended; `true` if it was sent.
    fn signal(&self, signal: Signal) -> bool {
        let mut child = self.lock();
        let runs = matches!(child.try_wait(), Ok(None));
        let pid = pid(&child).filter(|_| runs);
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

impl EndedCommand {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn start(words: &[&str]) -> Command {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Command::start(&words).unwrap()
    }

    fn end(command: &Command) -> CommandEnd {
        loop {
            if let Waited::Ended(end) = command.wait(Duration::from_secs(1)) {
                return end.since(Instant::now());
            }
        }
    }

    #[test]
    fn a_command_that_runs_is_asked_to_end() {
        let mut command = start(&["sleep", "60"]);
        assert!(matches!(
            command.wait(Duration::from_millis(200)),
            Waited::Runs
        ));
        command.ask_to_end();
        assert_eq!(end(&command).signal, Some(15));
    }

    /// Checks that a command that has ended but keeps its process id is not signalled.
    #[test]
    fn a_command_that_has_ended_is_not_signalled() {
        let child = std::process::Command::new("true").spawn().unwrap();
        let child = SharedChild(Arc::new(Mutex::new(child)));
        child.await_end();
        assert!(!child.signal(Signal::TERM));
        assert!(child.lock().wait().unwrap().success(), "still known");
    }
}

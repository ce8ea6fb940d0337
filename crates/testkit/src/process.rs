//! Child processes.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A child process, killed when dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a child process.
    ///
    /// # Errors
    /// When the program is missing.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Starts a shell script and waits until it prints `ready`; `None` if it
    /// ends without.
    ///
    /// # Panics
    /// When the shell cannot be started.
    #[must_use]
    pub fn ready(words: &[&str]) -> Option<Self> {
        let (program, rest) = words.split_first()?;
        let mut command = crate::command(program);
        // An open input lets a script wait with `read`.
        command
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Self::start(&mut command).expect("the program can be started");
        let mut line = String::new();
        let output = process.0.stdout.take()?;
        BufReader::new(output).read_line(&mut line).ok()?;
        (line.trim() == "ready").then_some(process)
    }

    /// Returns the child, to take its streams or to wait for it.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Process ID.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal. The process may have ended already.
    pub fn signal(&self, signal: Signal) {
        signal_to(self.id(), signal);
    }

    /// Waits until the process has ended.
    ///
    /// # Errors
    /// When the wait fails.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process, which may have ended already.
pub fn signal_to(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_dropped_process_is_gone() {
        let process = Process::ready(&["sh", "-c", "echo ready; read x"]).unwrap();
        let entry = format!("/proc/{}", process.id());
        assert!(Path::new(&entry).exists());
        drop(process);
        assert!(!Path::new(&entry).exists());
        assert!(Process::ready(&["sh", "-c", "exit 1"]).is_none());
    }
}

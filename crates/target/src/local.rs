//! The machine that this program runs on.

use crate::{AgentSession, Target, TargetError};
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The machine that this program runs on.
#[derive(Clone, Debug)]
pub struct Local {
    program: OsString,
    args: Vec<OsString>,
}

impl Local {
    /// Creates a target whose agent is a program with arguments.
    pub fn new(program: impl Into<OsString>, args: &[&str]) -> Self {
        Self {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        command
    }

    fn in_front(&self) -> io::Result<AgentSession> {
        let (requests, to_agent) = io::pipe()?;
        let (from_agent, answers) = io::pipe()?;
        let mut command = self.command();
        for end in [requests.as_fd(), answers.as_fd()] {
            // The agent inherits the descriptor. No other child is started meanwhile.
            fcntl_setfd(end, FdFlags::empty())?;
            command.arg(end.as_raw_fd().to_string());
        }
        let child = command.spawn()?;
        Ok(AgentSession::with_stream(child, from_agent, to_agent))
    }

    fn not_started(&self, source: io::Error) -> TargetError {
        TargetError::Spawn {
            program: self.program.to_string_lossy().into_owned(),
            source,
        }
    }
}

impl Target for Local {
    fn name(&self) -> Option<String> {
        None
    }

    /// Starts the agent in a separate process group: a Ctrl-C on the terminal reaches
    /// only the host, which then stops the agent in an orderly way.
    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map(AgentSession::new)
            .map_err(|source| self.not_started(source))
    }

    /// Starts the agent in this program's process group, so that it may read from the
    /// terminal.
    fn start_in_front(&mut self) -> Result<AgentSession, TargetError> {
        self.in_front().map_err(|source| self.not_started(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn an_agent_talks_over_its_standard_streams() {
        let mut session = Local::new("cat", &[]).start().unwrap();
        session.writer.take().unwrap().write_all(b"hello").unwrap();
        let mut heard = String::new();
        session.reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
    }

    #[test]
    fn an_agent_in_front_talks_over_descriptors_that_it_is_told() {
        let script = "read line <&$1; echo got $line >&$2";
        let mut local = Local::new("bash", &["-c", script, "name"]);
        let mut session = local.start_in_front().unwrap();
        session.writer.take().unwrap().write_all(b"word\n").unwrap();
        let mut heard = String::new();
        session.reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "got word\n", "and the stream ends with the agent");
    }

    #[test]
    fn a_missing_agent_is_named() {
        let error = Local::new("/no/such/agent", &[]).start().unwrap_err();
        assert!(error.to_string().contains("/no/such/agent"), "{error}");
    }
}

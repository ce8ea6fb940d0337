//! This machine.

use crate::{Session, Target, TargetError};
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Target for Local {
    /// The program gets a process group of its own: a Ctrl-C on the terminal
    /// reaches only the host, which then stops the agent in good order.
    fn spawn(&mut self, argv: &[OsString]) -> Result<Session, TargetError> {
        let program = argv.first().cloned().unwrap_or_default();
        Command::new(&program)
            .args(argv.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .and_then(|child| {
                Session::new(child).ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))
            })
            .map_err(|source| not_started(&program, source))
    }

    /// The program stays in this one's process group, so that it may read from
    /// the terminal.
    fn spawn_in_front(&mut self, argv: &[OsString]) -> Result<Session, TargetError> {
        let program = argv.first().cloned().unwrap_or_default();
        front(&program, argv).map_err(|source| not_started(&program, source))
    }
}

fn front(program: &OsString, argv: &[OsString]) -> io::Result<Session> {
    let (requests, to_program) = io::pipe()?;
    let (from_program, answers) = io::pipe()?;
    let mut command = Command::new(program);
    command.args(argv.iter().skip(1));
    for end in [requests.as_fd(), answers.as_fd()] {
        // The program inherits it; nobody else is started meanwhile.
        fcntl_setfd(end, FdFlags::empty())?;
        command.arg(end.as_raw_fd().to_string());
    }
    let child = command.spawn()?;
    Ok(Session::with_stream(child, from_program, to_program))
}

fn not_started(program: &OsString, source: io::Error) -> TargetError {
    TargetError::Spawn {
        program: program.to_string_lossy().into_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_program_talks_over_its_standard_streams() {
        let mut session = Local.spawn(&["cat".into()]).unwrap();
        session.writer.take().unwrap().write_all(b"hello").unwrap();
        let mut heard = String::new();
        session.reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
    }

    #[test]
    fn a_program_in_front_talks_over_descriptors_that_it_is_told() {
        let script = "read line <&$1; echo got $line >&$2";
        let argv = ["bash", "-c", script, "name"].map(OsString::from);
        let mut session = Local.spawn_in_front(&argv).unwrap();
        session.writer.take().unwrap().write_all(b"word\n").unwrap();
        let mut heard = String::new();
        session.reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "got word\n", "and the stream ends with the program");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Local.spawn(&["/no/such/agent".into()]).unwrap_err();
        assert!(error.to_string().contains("/no/such/agent"), "{error}");
    }
}

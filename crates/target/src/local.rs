//! This machine.

use crate::{Session, Target, TargetError};
use std::ffi::OsString;
use std::io;
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
            .map_err(|source| TargetError::Spawn {
                program: program.to_string_lossy().into_owned(),
                source,
            })
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
    fn a_missing_program_is_named() {
        let error = Local.spawn(&["/no/such/agent".into()]).unwrap_err();
        assert!(error.to_string().contains("/no/such/agent"), "{error}");
    }
}

//! A machine that is reached through a program of the system, with the settings
//! that its user has made for that.
//!
//! One such program, and one connection, does it all: it starts a shell over there
//! that takes the agent, checks it, runs it and removes it again (see `boot`).
//! Nothing that a user says goes through that shell; paths reach the agent as
//! messages.

use crate::boot::{self, Boot, Fault};
use crate::complaint::Complaints;
use crate::session::Link;
use crate::{Session, TargetError};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Connecting, and pushing the agent over a slow link, takes at most so long.
const STARTING: Duration = Duration::from_secs(300);
/// What an agent may take to clean up before the link is cut; it goes on cleaning
/// up without.
const PARTING: Duration = Duration::from_secs(60);

/// A program that carries out a command on another machine, with its own standard
/// streams as those of the command, byte by byte.
pub(crate) trait Program {
    /// What the machine is called.
    fn target(&self) -> String;

    /// The program with the words that make it carry out that command.
    fn carrying_out(&self, command: &str) -> Command;

    /// Why the machine is not reached, and what to do.
    fn in_words(&self, complaints: &Complaints) -> String;
}

/// Starts the agent over there.
pub(crate) fn start(program: &impl Program, agents: &[PathBuf]) -> Result<Session, TargetError> {
    let (session, ()) = dialogue(program, agents, &boot::command(), |boot| boot.run())?;
    Ok(session)
}

/// Has a command carried out over there, and talks with it.
pub(crate) fn dialogue<T>(
    program: &impl Program,
    agents: &[PathBuf],
    command: &str,
    talk: impl FnOnce(Boot<'_>) -> Result<T, Fault>,
) -> Result<(Session, T), TargetError> {
    let mut child = spawn(program, command)?;
    let complaints = child.stderr.take().map(Complaints::listen);
    let complaints = complaints.unwrap_or_default();
    let heard = complaints.clone();
    let session = Session::new(child).ok_or_else(|| TargetError::Unreachable {
        target: program.target(),
        why: io::Error::from(io::ErrorKind::BrokenPipe).to_string(),
    })?;
    let mut session = session.over(Link {
        complaint: Box::new(move || heard.last()),
        parting: PARTING,
    });
    let watchdog = session.must_answer_within(STARTING);
    match talk(Boot::new(&program.target(), agents, &mut session)) {
        Ok(said) => Ok((session, said)),
        Err(fault) => {
            let too_late = watchdog.has_barked();
            drop(watchdog);
            session.give_up();
            drop(session);
            complaints.await_end();
            Err(explain(program, fault, &complaints, too_late))
        }
    }
}

fn spawn(program: &impl Program, command: &str) -> Result<Child, TargetError> {
    let mut command = program.carrying_out(command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A Ctrl-C on the terminal reaches only the host.
        .process_group(0);
    command.spawn().map_err(|source| TargetError::Spawn {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

/// What went wrong, with what the program says of it.
fn explain(
    program: &impl Program,
    fault: Fault,
    complaints: &Complaints,
    too_late: bool,
) -> TargetError {
    let target = program.target();
    match fault {
        Fault::NoAgent(error) => error,
        _ if too_late => TargetError::Unreachable {
            target,
            why: format!("no agent came up within {} s", STARTING.as_secs()),
        },
        Fault::NotReached => TargetError::Unreachable {
            target,
            why: program.in_words(complaints),
        },
        Fault::Failed(why) => TargetError::NotStarted {
            target,
            why: match complaints.last() {
                Some(line) => format!("{why} ({line})"),
                None => why,
            },
        },
    }
}

//! A machine that is reached by the system's ssh, with the settings, keys and jump
//! hosts that its user has.
//!
//! One ssh, and one connection, does it all: it starts a shell over there that
//! takes the agent, checks it, runs it and removes it again (see `boot`). Nothing
//! that a user says goes through that shell; paths reach the agent as messages.

mod address;
mod boot;
mod complaint;

pub use address::{AddressError, SshAddress};

use crate::agents::Agents;
use crate::session::Link;
use crate::{Session, Target, TargetError};
use boot::{Boot, Fault};
use complaint::Complaints;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Connecting, and pushing the agent over a slow link, takes at most so long.
const STARTING: Duration = Duration::from_secs(300);
/// What an agent may take to clean up before the link is cut; it goes on cleaning
/// up without.
const PARTING: Duration = Duration::from_secs(60);

/// What is asked of ssh whatever its settings: no questions, no terminal, no
/// tunnels, no connection that outlives this one, and an end when the other side is
/// gone (after 2 minutes; a board under load may be slow to answer).
const OPTIONS: [&str; 7] = [
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=8",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "RequestTTY=no",
];

/// A machine that is reached by ssh.
#[derive(Clone, Debug)]
pub struct Ssh {
    address: SshAddress,
    program: OsString,
    agents: Agents,
}

impl Ssh {
    /// The machine of that address.
    #[must_use]
    pub fn new(address: SshAddress) -> Self {
        Self {
            address,
            program: "ssh".into(),
            agents: Agents::installed(),
        }
    }

    fn connect(&self) -> Result<Child, TargetError> {
        let mut command = Command::new(&self.program);
        command.arg("-T");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command
            .args(self.address.words())
            .arg(boot::command())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C on the terminal reaches only the host.
            .process_group(0);
        command.spawn().map_err(|source| TargetError::Spawn {
            program: self.program.to_string_lossy().into_owned(),
            source,
        })
    }

    /// What went wrong, with what ssh says of it.
    fn explain(&self, fault: Fault, complaints: &Complaints, too_late: bool) -> TargetError {
        let target = self.address.to_string();
        match fault {
            Fault::NoAgent(error) => error,
            _ if too_late => TargetError::Unreachable {
                target,
                why: format!("no agent came up within {} s", STARTING.as_secs()),
            },
            Fault::NotReached => TargetError::Unreachable {
                target,
                why: complaints.in_words(&self.address),
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
}

impl Target for Ssh {
    fn name(&self) -> Option<String> {
        Some(self.address.to_string())
    }

    fn needs_databases(&mut self) {
        self.agents.databases = true;
    }

    fn start(&mut self) -> Result<Session, TargetError> {
        let mut child = self.connect()?;
        let complaints = child.stderr.take().map(Complaints::listen);
        let complaints = complaints.unwrap_or_default();
        let heard = complaints.clone();
        let session = Session::new(child).ok_or_else(|| TargetError::Spawn {
            program: self.program.to_string_lossy().into_owned(),
            source: io::Error::from(io::ErrorKind::BrokenPipe),
        })?;
        let mut session = session.over(Link {
            complaint: Box::new(move || heard.last()),
            parting: PARTING,
        });
        let watchdog = session.must_answer_within(STARTING);
        let target = self.address.to_string();
        match Boot::new(&target, &self.agents, &mut session).run() {
            Ok(()) => Ok(session),
            Err(fault) => {
                let too_late = watchdog.has_barked();
                drop(watchdog);
                session.give_up();
                drop(session);
                complaints.await_end();
                Err(self.explain(fault, &complaints, too_late))
            }
        }
    }

    fn start_in_front(&mut self) -> Result<Session, TargetError> {
        Err(TargetError::NotInFront(self.address.to_string()))
    }
}

#[cfg(test)]
mod tests;

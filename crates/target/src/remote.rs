//! A machine that is reached through a program of the system, such as ssh, with the user's settings
//! for that program.
//!
//! A single program and connection are enough: the program starts a shell on the machine that
//! receives the agent, verifies it, runs it and removes it again (see `boot`). No text from the
//! user passes through that shell; paths reach the agent as messages.

mod links;
mod staying;

use crate::agents::Agents;
use crate::boot::{self, Boot, Fault, Role, StartedAgent};
use crate::complaint::Complaints;
use crate::{AgentOrder, AgentSession, AgentThere, GivenUpAgent, Target, TargetError, WhenLost};
use assay_model::wire::Feature;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest silence in the dialogue with the shell. Connecting has a separate limit in ssh
/// (`ConnectTimeout`).
const SILENCE: Duration = Duration::from_secs(30);
/// Time limit for an agent to clean up before the link is cut; the agent continues to clean up
/// without the link.
pub(crate) const PARTING: Duration = Duration::from_secs(60);

/// A program that runs a command on another machine and connects its own standard streams to those
/// of the command, byte by byte.
pub trait Program: Clone + Send + 'static {
    /// Returns the name of the machine.
    fn target(&self) -> String;

    /// Returns the program with the arguments that make it run `command` on the machine.
    fn carrying_out(&self, command: &str) -> Command;

    /// Returns the command by which a user reaches the machine without assay.
    fn by_hand(&self) -> String;

    /// Returns why the machine cannot be reached, and a remedy.
    fn why_unreachable(&self, complaints: &Complaints) -> String;

    /// Finds the machine if the user named none.
    ///
    /// # Errors
    /// If no machine, or more than one, is found.
    fn find(&mut self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A machine, and the program that reaches it.
#[derive(Clone, Debug)]
pub struct Remote<P> {
    pub(crate) program: P,
    pub(crate) agents: Agents,
    pub(crate) when_lost: WhenLost,
    /// Longest permitted silence of the shell on the machine.
    pub(crate) silence: Duration,
    /// Prints a message about the link, one line each.
    pub(crate) tell: fn(&str),
    /// Agent that was started last.
    started: Option<StartedAgent>,
}

/// Failure to reach a machine, with the error messages of the program.
pub(crate) struct Failed {
    pub(crate) fault: Fault,
    complaints: Complaints,
    /// The time limit for silence has expired.
    silent: bool,
}

impl<P: Program> Remote<P> {
    /// Creates a target whose agents stop when the link is lost.
    pub(crate) fn over(program: P) -> Self {
        Self {
            program,
            agents: Agents::installed(),
            when_lost: WhenLost::Stop,
            silence: SILENCE,
            tell: |_| (),
            started: None,
        }
    }

    /// Sets the behaviour for a lost link, and the function that prints messages about it, one line
    /// each.
    #[must_use]
    pub fn when_lost(mut self, when_lost: WhenLost, tell: fn(&str)) -> Self {
        (self.when_lost, self.tell) = (when_lost, tell);
        self
    }

    /// Reconnects to a kept agent.
    pub(crate) fn reach_again(
        &self,
        folder: &str,
        patience: Duration,
    ) -> Result<AgentSession, Failed> {
        let command = boot::command_again();
        let reached = self.reach(&command, patience, |boot| boot.run_again(folder));
        reached.map(|(session, ())| session)
    }

    /// Runs a command on the machine, and completes a dialogue with it.
    pub(crate) fn talk<T>(
        &self,
        command: &str,
        talk: impl FnOnce(Boot<'_>) -> Result<T, Fault>,
    ) -> Result<T, TargetError> {
        let reached = self.reach(command, self.silence, talk);
        let (_, said) = reached.map_err(|failed| failed.into_error(&self.program))?;
        Ok(said)
    }

    /// Runs a command that is not an agent on the machine: its standard streams are those of the
    /// session, whose complaint contains the reason if the machine cannot be reached. The command
    /// must not contain text from the user, because a shell interprets it.
    ///
    /// # Errors
    /// If the program that reaches the machine cannot be started.
    pub fn carry_out(&self, command: &'static str) -> Result<AgentSession, TargetError> {
        let mut child = self.spawn(command)?;
        let complaints = child.stderr.take().map(Complaints::listen);
        let complaints = complaints.unwrap_or_default();
        let program = self.program.clone();
        let in_words = move || {
            complaints.await_end();
            Some(program.why_unreachable(&complaints))
        };
        Ok(AgentSession::over(child, Box::new(in_words), PARTING))
    }

    /// Runs a command on the machine, and starts a dialogue with it.
    fn reach<T>(
        &self,
        command: &str,
        patience: Duration,
        talk: impl FnOnce(Boot<'_>) -> Result<T, Fault>,
    ) -> Result<(AgentSession, T), Failed> {
        let mut child = self.spawn(command).map_err(|error| Failed {
            fault: Fault::NoAgent(error),
            complaints: Complaints::default(),
            silent: false,
        })?;
        let complaints = child.stderr.take().map(Complaints::listen);
        let complaints = complaints.unwrap_or_default();
        let heard = complaints.clone();
        let mut session = AgentSession::over(child, Box::new(move || heard.last()), PARTING);
        let failed = |error: io::Error| Failed {
            fault: Fault::Failed(error.to_string()),
            complaints: Complaints::default(),
            silent: false,
        };
        let watchdog = session.must_answer_within(patience).map_err(failed)?;
        let target = self.program.target();
        match talk(Boot::new(
            &target,
            &self.agents,
            &mut session,
            (&watchdog, patience),
        )) {
            Ok(done) => {
                drop(watchdog);
                Ok((session, done))
            }
            Err(fault) => {
                let silent = watchdog.has_barked();
                drop(watchdog);
                session.give_up();
                drop(session);
                complaints.await_end();
                Err(Failed {
                    fault,
                    complaints,
                    silent,
                })
            }
        }
    }

    fn spawn(&self, command: &str) -> Result<Child, TargetError> {
        let mut command = self.program.carrying_out(command);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C on the terminal reaches only the host.
            .process_group(0);
        command
            .spawn()
            .map_err(|error| not_there(&self.program, &command, &error))
    }
}

impl<P: Program> Target for Remote<P> {
    fn name(&self) -> Option<String> {
        Some(self.program.target())
    }

    fn needs(&mut self, feature: Feature) {
        self.agents.needs = Some(feature);
    }

    fn needed(&self) -> Option<Feature> {
        self.agents.needs
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.program.find()?;
        let role = match self.when_lost {
            WhenLost::Stop => Role::Serve,
            WhenLost::Wait(grace) => Role::Keep(grace),
        };
        let reached = self.reach(&boot::command(), self.silence, |boot| boot.run(role));
        let (session, started) = reached.map_err(|failed| failed.into_error(&self.program))?;
        let folder = started.folder.clone();
        self.started = Some(started);
        Ok(match self.when_lost {
            WhenLost::Stop => session,
            WhenLost::Wait(grace) => {
                links::over(self, folder, grace, session).map_err(|error| {
                    TargetError::NotStarted {
                        target: self.program.target(),
                        why: error.to_string(),
                    }
                })?
            }
        })
    }

    fn give_up_installed(&mut self) -> Option<GivenUpAgent> {
        let StartedAgent { folder, installed } = self.started.take()?;
        let installed = installed?;
        if installed.replaceable {
            self.agents.given_up = Some(folder);
        }
        Some(installed)
    }

    fn start_in_front(&mut self) -> Result<AgentSession, TargetError> {
        Err(TargetError::NotInFront(self.program.target()))
    }

    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        self.program.find()?;
        staying::carry_out(self, order)
    }
}

/// Returns the error for a program that is not installed or cannot be started.
pub(crate) fn not_there(
    program: &impl Program,
    command: &Command,
    error: &io::Error,
) -> TargetError {
    let name = command.get_program().to_string_lossy();
    TargetError::NotStarted {
        target: program.target(),
        why: format!(
            "{name} cannot be started here ({error}): install it, or put its folder into PATH"
        ),
    }
}

impl Failed {
    /// Converts the failure into an error for the user.
    pub(crate) fn into_error(self, program: &impl Program) -> TargetError {
        let target = program.target();
        let complaints = self.complaints;
        match (self.fault, self.silent) {
            (Fault::NoAgent(error), _) => error,
            (_, true) => TargetError::Unreachable {
                target,
                why: format!(
                    "no answer: it may be off, busy or hanging; try {} by hand",
                    program.by_hand()
                ),
            },
            (Fault::NotReached, false) => TargetError::Unreachable {
                target,
                why: program.why_unreachable(&complaints),
            },
            (Fault::Gone, false) => TargetError::Unreachable {
                target,
                why: "the agent there has ended".to_owned(),
            },
            (Fault::Failed(why), false) => TargetError::NotStarted {
                target,
                why: match complaints.last() {
                    Some(line) => format!("{why} ({line})"),
                    None => why,
                },
            },
        }
    }
}

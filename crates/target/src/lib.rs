//! Targets: the machines that the agent runs on. A target starts the agent and provides the byte
//! stream to it; it does not interpret the stream.
//!
//! To add a target: implement `Target`, which gives an `AgentSession`: a reader, a writer, and what
//! ends with it. Its name is a variant of `cli::targets::OnArgs`.

pub mod adb;
mod agents;
mod boot;
pub mod labgrid;
mod remote;
mod session;
pub mod ssh;

pub use adb::Adb;
pub use agents::{InstalledAgent, check_agents, installed_agents};
pub use remote::{WhenLost, WhenLostError};
pub use session::{AgentSession, Local, Watchdog, await_end, end_links};
pub use ssh::Ssh;

use assay_model::wire::{Feature, Greeting};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A machine that can run the agent.
pub trait Target {
    /// Returns the name of the machine for the user; `None` for this machine.
    fn name(&self) -> Option<String>;

    /// Name that the user gave to the device that is measured there.
    fn unit(&self) -> Option<String> {
        None
    }

    /// Project of the runs on this target, if the user named one.
    fn project(&self) -> Option<String> {
        None
    }

    /// Requires a feature of the agent that is started next.
    fn needs(&mut self, feature: Feature) {
        let _ = feature;
    }

    /// Feature that an agent there must have; `None` also if every agent has all features.
    fn needed(&self) -> Option<Feature> {
        None
    }

    /// Starts the agent on the target; its standard input and output become the session's stream.
    ///
    /// # Errors
    /// If the agent cannot be started.
    fn start(&mut self) -> Result<AgentSession, TargetError>;

    /// Stops using the installed agent that was started last, because it does not work: from now on
    /// this program's own agent is sent, if there is one. Returns `None` if no agent was started,
    /// or if it was this program's own agent.
    fn give_up_installed(&mut self) -> Option<GivenUpAgent> {
        None
    }

    /// Starts the agent in the foreground: with this program's standard streams and terminal. The
    /// session's stream is on two other descriptors, whose numbers (to read from, to write to) are
    /// the agent's last two arguments.
    ///
    /// # Errors
    /// If it cannot be started, or the target does not support this.
    fn start_in_foreground(&mut self) -> Result<AgentSession, TargetError>;

    /// Installs the agent on the machine, lists the agents there, or removes them.
    ///
    /// # Errors
    /// If the machine cannot be reached, or is this one, which needs no installed agent.
    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        let _ = order;
        Err(TargetError::NothingThere)
    }
}

/// Installed agent that does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUpAgent {
    /// File of the agent.
    pub path: String,
    /// This program has an agent for the machine, which is sent instead.
    pub replaceable: bool,
}

/// An agent on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentThere {
    /// File of the agent, or the folder that it was pushed into.
    pub path: String,
    /// State of the agent.
    pub state: AgentState,
    /// Greeting of an installed agent. Agents older than protocol 1 have none, and an agent that
    /// others can replace is not started to get it.
    pub greeting: Option<Greeting>,
}

/// State of an agent on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It was installed now.
    Pushed,
    /// It is installed, and is the agent of this program.
    Kept,
    /// It is installed, and is the agent of another build.
    Other,
    /// It is installed, differs from this program's agent, and users other than root and this one
    /// can replace it.
    Foreign,
    /// A command uses it now.
    Running,
    /// It was left by a lost link or a power failure.
    Left,
    /// It was removed now.
    Removed,
}

/// Operation on the agents of another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentOrder {
    /// Install an agent.
    Push,
    /// List the agents.
    List,
    /// Remove all agents that are not in use.
    Remove,
}

/// Reason why a target cannot be used.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The program could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// Program that was to be started.
        program: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The machine cannot be reached, or rejects this user.
    #[error("{target}: {why}")]
    Unreachable {
        /// The machine.
        target: String,
        /// Observed problem, and a remedy.
        why: String,
    },
    /// No agent program is available for the machine.
    #[error("{target} is {machine}, and there is no agent for it: {why}")]
    NoAgent {
        /// The machine.
        target: String,
        /// Machine type, as `uname -m` prints it.
        machine: String,
        /// Searched folders, and a remedy.
        why: String,
    },
    /// The folder of agents that the environment names cannot be read.
    #[error(
        "{variable}={}: {source}; name a folder with agents, or unset {variable} (docs/boards.md)",
        folder.display()
    )]
    NoFolder {
        /// Environment variable.
        variable: &'static str,
        /// The folder.
        folder: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The file of an agent cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The agent's file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The agent could not be put onto the machine.
    #[error("the agent cannot be started on {target}: {why}")]
    NotStarted {
        /// The machine.
        target: String,
        /// Observed problem.
        why: String,
    },
    /// A command that needs this terminal or its files cannot run on another machine.
    #[error("{0} has no access to this terminal: this command runs only without --on")]
    NotInForeground(String),
    /// The target needs no installed agent.
    #[error("this machine needs no agent: name another one with --on")]
    NothingThere,
    /// A board of a lab is not available.
    #[error(transparent)]
    Lab(#[from] labgrid::LabError),
}

impl TargetError {
    /// The user has to change the command: no connection or data was lost.
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::NoAgent { .. }
            | Self::NoFolder { .. }
            | Self::NotInForeground(_)
            | Self::NothingThere => true,
            Self::Lab(error) => error.is_usage(),
            _ => false,
        }
    }

    /// The machine cannot be reached, now or from the start.
    pub const fn is_lost(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Lab(error) => error.is_lost(),
            _ => false,
        }
    }
}

//! Targets: the machines that the agent runs on. A target starts the agent and provides the byte
//! stream to talk to it; the content of the stream is not its business.

pub mod adb;
mod agents;
mod boot;
mod complaint;
mod installed;
mod kept;
pub mod labgrid;
mod local;
mod remote;
mod session;
pub mod ssh;
mod watchdog;
mod when_lost;

pub use adb::Adb;
pub use agents::{InstalledAgent, installed_agents};
pub use local::Local;
pub use session::{AgentSession, await_end};
pub use ssh::Ssh;
pub use watchdog::{Watchdog, end_links};
pub use when_lost::{WhenLost, WhenLostError};

use assay_model::wire::{Feature, Greeting};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A machine that can run the agent.
pub trait Target {
    /// Returns the name of the machine, for a user who has several; `None`: this one.
    fn name(&self) -> Option<String>;

    /// The name that the user gives to the unit that is measured there.
    fn unit(&self) -> Option<String> {
        None
    }

    /// Project of the runs that are made there, where the user named one.
    fn project(&self) -> Option<String> {
        None
    }

    /// The agent that is started next must have that feature.
    fn needs(&mut self, feature: Feature) {
        let _ = feature;
    }

    /// Feature that an agent there must have; `None`: also where each has all.
    fn needed(&self) -> Option<Feature> {
        None
    }

    /// Starts the agent there; its standard input and output become the session's
    /// stream.
    ///
    /// # Errors
    /// When it cannot be started.
    fn start(&mut self) -> Result<AgentSession, TargetError>;

    /// Starts the agent as a part of this program: with its standard streams and
    /// terminal. The session's stream is on two other descriptors, whose numbers
    /// (to read from, to write to) are the agent's last two arguments.
    ///
    /// # Errors
    /// When it cannot be started, or the target has no such place.
    fn start_in_front(&mut self) -> Result<AgentSession, TargetError>;

    /// Puts the agent there to stay, tells of those that are there, or removes them.
    ///
    /// # Errors
    /// When the machine cannot be reached, or is this one, which needs no agent.
    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        let _ = order;
        Err(TargetError::NothingThere)
    }
}

/// An agent over there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentThere {
    /// File of the agent, or the folder that it was pushed into.
    pub path: String,
    /// State of the agent.
    pub state: AgentState,
    /// What an installed agent says of itself. One from before protocol 1 says nothing, and one
    /// that others can replace is not asked.
    pub greeting: Option<Greeting>,
}

/// State of an agent on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It was put there now, to stay.
    Pushed,
    /// It is installed, and is that of this program.
    Kept,
    /// It is installed, and is another one.
    Other,
    /// It is installed, is another one, and users other than root and this one can replace it.
    Foreign,
    /// A command uses it now.
    Running,
    /// A link that was cut, or a machine that lost its power, left it.
    Left,
    /// It was removed now.
    Removed,
}

/// Order about agents on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentOrder {
    /// Put one there to stay.
    Push,
    /// Tell which there are.
    List,
    /// Remove all that nobody uses.
    Remove,
}

/// Why a target cannot be used.
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
    /// The machine cannot be reached, or does not let this user in.
    #[error("{target}: {why}")]
    Unreachable {
        /// The machine.
        target: String,
        /// Observed problem, and the remedy.
        why: String,
    },
    /// There is no agent that could be put onto the machine.
    #[error("{target} is {machine}, and there is no agent for it: {why}")]
    NoAgent {
        /// The machine.
        target: String,
        /// Machine type, as `uname -m` prints it.
        machine: String,
        /// Searched places, and the remedy.
        why: String,
    },
    /// An agent that is there cannot be read.
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
    /// A command that needs this terminal or its files cannot run elsewhere.
    #[error("{0} has no access to this terminal: this command runs only without --on")]
    NotInFront(String),
    /// No agent is put onto the machine.
    #[error("this machine needs no agent: name another one with --on")]
    NothingThere,
    /// A board of a lab cannot be had.
    #[error(transparent)]
    Lab(#[from] labgrid::LabError),
}

impl TargetError {
    /// The command cannot be carried out as given: nothing was lost.
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::NoAgent { .. } | Self::NotInFront(_) | Self::NothingThere => true,
            Self::Lab(error) => error.is_usage(),
            _ => false,
        }
    }

    /// The machine went away, or never was there.
    pub const fn is_lost(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Lab(error) => error.is_lost(),
            _ => false,
        }
    }
}

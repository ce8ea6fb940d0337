//! Acts beyond jobs and streams: `assay dd`, `iozone`, `androbench`, `disks`,
//! `capacity`, `scenario` and `watch` on the target.
//!
//! [`run`] carries out an act of `assay_model::act`, step by step. It does not access
//! device properties, counters or the host: an [`Observer`] receives the events of each
//! step, collects evidence when its clock starts and stops, and forwards the outcome.

mod androbench;
mod capacity;
mod copy;
mod extent;
mod iozone;
#[cfg(feature = "sqlite")]
pub mod memory;
mod observer;
#[cfg(feature = "sqlite")]
mod powercut;
#[cfg(feature = "sqlite")]
mod scenario;
#[cfg(feature = "sqlite")]
pub mod soak;

pub use observer::{Context, ObservedStep, Observer, StepOutcome, Together};

use assay_engine::held::shown;
use assay_engine::{EngineError, held};
use assay_model::act::{Act, ActReport};
use assay_model::text::no_thread;
use assay_model::trial::{Outcome, WENT_AWAY};
use assay_model::units::Bytes;
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use thiserror::Error;

/// Carries out an act.
///
/// # Errors
/// If it cannot begin, cannot continue, or was stopped. The observer has received the
/// steps that ended before.
pub fn run(work: &Act, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    match work {
        Act::Copy(work) => copy::run(work, context),
        Act::Iozone(work) => iozone::run(work, context),
        Act::AndroBench(work) => androbench::run(work, context),
        Act::Extent(work) => extent::run(work, context),
        Act::Capacity(work) => capacity::run(work, context),
        #[cfg(feature = "sqlite")]
        Act::Scenario(work) => scenario::run(work, context),
        #[cfg(feature = "sqlite")]
        Act::Powercut(work) => powercut::run(work, context),
        #[cfg(not(feature = "sqlite"))]
        Act::Scenario(_) | Act::Powercut(_) => Err(ActError::Refused(
            "this agent was built without scenarios and power cuts: use the larger one (assay-agent-...-sqlite)"
                .to_owned(),
        )),
        // What they need of the machine is the agent's to look up.
        Act::Jobs(_) | Act::Streams(_) | Act::Memory(_) | Act::Soak(_) | Act::Watch(_) => {
            Err(ActError::Refused("this work is not carried out on files: it is a bug in assay, please report it".to_owned()))
        }
    }
}

/// Reason why an act cannot begin or continue.
#[derive(Debug, Error)]
pub enum ActError {
    /// The work cannot be carried out as requested; the message contains the reason and a
    /// remedy.
    #[error("{0}")]
    Refused(String),
    /// An operation failed.
    #[error("{message}")]
    Failed {
        /// Operation, location and remedy.
        message: String,
        /// Error number of the kernel, if there is one.
        errno: Option<i32>,
    },
    /// The device no longer exists.
    #[error("{WENT_AWAY}{after}")]
    Gone {
        /// Bytes read or written before.
        after: Bytes,
    },
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}

impl ActError {
    /// Creates an error without an error number.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            errno: None,
        }
    }

    /// Creates the error for a thread that could not be started.
    pub fn no_thread(source: io::Error) -> Self {
        Self::Failed {
            errno: source.raw_os_error(),
            message: no_thread(source).to_string(),
        }
    }

    /// Creates the error for a failed system call; `doing` is the operation and the
    /// location (`cannot write /mnt/a`).
    pub(crate) fn call(doing: impl std::fmt::Display, errno: Errno) -> Self {
        Self::Failed {
            message: format!("{doing}: {errno}"),
            errno: Some(errno.raw_os_error()),
        }
    }

    /// Creates the error for a failed operation (such as `open`) on a file or folder.
    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::Failed {
            message: format!("cannot {doing} {}: {error}", shown(path)),
            errno: error.raw_os_error(),
        }
    }

    /// Returns the outcome of a step that ended with this error.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Stopped => Outcome::Interrupted,
            Self::Refused(_) | Self::Failed { .. } | Self::Gone { .. } => Outcome::Failed {
                error: self.to_string(),
            },
        }
    }

    /// Returns the outcome of a step with this result.
    pub(crate) fn outcome_of(done: &Result<(), Self>) -> Outcome {
        done.as_ref()
            .map_or_else(Self::outcome, |()| Outcome::Completed)
    }

    /// Returns the error number of the kernel, if there is one.
    pub const fn errno(&self) -> Option<i32> {
        match self {
            Self::Failed { errno, .. } => *errno,
            Self::Refused(_) | Self::Gone { .. } | Self::Stopped => None,
        }
    }
}

impl From<EngineError> for ActError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Stopped => Self::Stopped,
            error => Self::Failed {
                errno: error.errno(),
                message: error.to_string(),
            },
        }
    }
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), ActError> {
    match held::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(ActError::io("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Writes back all dirty data in the file system of a folder.
pub(crate) fn write_back(folder: &Path) -> Result<(), ActError> {
    held::open_to_read(folder)
        .and_then(|opened| Ok(rustix::fs::syncfs(opened)?))
        .map_err(|error| ActError::io("write back", folder, &error))
}

/// Runs a system program such as `mount`; an error is its standard error.
pub(crate) fn run_program(command: &mut Command) -> Result<(), String> {
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}

//! Errors of works.

use assay_engine::EngineError;
use assay_engine::held::shown;
use assay_model::text::no_thread;
use assay_model::trial::{Outcome, WENT_AWAY};
use assay_model::units::Bytes;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Reason why a work cannot begin or continue.
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

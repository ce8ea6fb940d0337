//! Why a work cannot go on.

use assay_engine::EngineError;
use assay_engine::held::shown;
use assay_model::text::no_thread;
use assay_model::trial::{Outcome, WENT_AWAY};
use assay_model::units::Bytes;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why a work cannot begin or go on.
#[derive(Debug, Error)]
pub enum WorkError {
    /// It cannot be carried out as asked for; the message says why, and what
    /// to do.
    #[error("{0}")]
    Refused(String),
    /// Something failed on the way.
    #[error("{message}")]
    Failed {
        /// Operation, location and remedy.
        message: String,
        /// Error number of the kernel, where it was one.
        errno: Option<i32>,
    },
    /// The device is not there any more.
    #[error("{WENT_AWAY}{after}")]
    Gone {
        /// Bytes that were read or written before.
        after: Bytes,
    },
    /// It was stopped from outside.
    #[error("stopped")]
    Stopped,
}

impl WorkError {
    /// Something failed that has no error number.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            errno: None,
        }
    }

    /// No thread could be started.
    pub fn no_thread(source: io::Error) -> Self {
        Self::Failed {
            errno: source.raw_os_error(),
            message: no_thread(source).to_string(),
        }
    }

    /// A system call failed; `doing` says what it was to do, and where
    /// (`cannot write /mnt/a`).
    pub(crate) fn call(doing: impl std::fmt::Display, errno: Errno) -> Self {
        Self::Failed {
            message: format!("{doing}: {errno}"),
            errno: Some(errno.raw_os_error()),
        }
    }

    /// Something cannot be done with a file or folder; `doing` says what (`open`).
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

    /// Returns the outcome of a step that ended like this.
    pub(crate) fn outcome_of(done: &Result<(), Self>) -> Outcome {
        done.as_ref()
            .map_or_else(Self::outcome, |()| Outcome::Completed)
    }

    /// Error number of the kernel, where it was one.
    pub const fn errno(&self) -> Option<i32> {
        match self {
            Self::Failed { errno, .. } => *errno,
            Self::Refused(_) | Self::Gone { .. } | Self::Stopped => None,
        }
    }
}

impl From<EngineError> for WorkError {
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

//! Where the agent runs. A target starts it and gives the byte stream to talk
//! to it; what is said on the stream is not its business.

mod local;
mod session;

pub use local::Local;
pub use session::Session;

use std::ffi::OsString;
use std::io;
use thiserror::Error;

/// A machine that can run the agent.
pub trait Target {
    /// Starts a program there; its standard input and output become the
    /// session's stream.
    ///
    /// # Errors
    /// When it cannot be started.
    fn spawn(&mut self, argv: &[OsString]) -> Result<Session, TargetError>;

    /// Starts a program as a part of this one: with its standard streams and
    /// terminal. The session's stream is on two other descriptors, whose numbers
    /// (to read from, to write to) are its last two arguments.
    ///
    /// # Errors
    /// When it cannot be started, or the target has no such place.
    fn spawn_in_front(&mut self, argv: &[OsString]) -> Result<Session, TargetError>;
}

/// Why a target cannot be used.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The program could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

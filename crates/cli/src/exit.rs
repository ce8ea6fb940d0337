//! Exit codes, and the one line that explains a failure.

use assay_model::text::no_thread;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Exit codes of most commands, for the end of their help.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.
Finished trials are kept in every case.";

/// Exit code of success.
pub const DONE: ExitCode = ExitCode::SUCCESS;
/// Exit code of a failure; finished trials are kept.
pub const FAILED: u8 = 1;
/// Exit code for a command that cannot be carried out as given.
pub const USAGE: u8 = 2;
/// Exit code for a missed requirement: slower than permitted, or a class missed.
pub const MISSED: u8 = 3;
/// Exit code for data that was read back and differs from the data written.
pub const DATA_MISMATCH: u8 = 4;
/// Exit code for a device or target that disappeared.
pub const LOST: u8 = 5;
/// Offset that is added to the number of the signal that ended the command, as shells do.
pub const SIGNALLED: u8 = 128;

/// Reason why a command ends without its result: one line, and the exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    fn new(code: u8, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { code, message }
    }

    /// Failure of a command that cannot be carried out as given.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(USAGE, message)
    }

    /// Failure for a file named by the user that cannot be used.
    pub fn in_file(path: &Path, why: impl fmt::Display) -> Self {
        Self::usage(format_args!("{}: {why}", path.display()))
    }

    /// Failure of the execution.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(FAILED, message)
    }

    /// Failure to start a thread.
    pub fn no_thread(source: io::Error) -> Self {
        Self::failed(no_thread(source))
    }

    /// Failure for data that was read back and differs from the data written.
    pub fn mismatch(message: impl fmt::Display) -> Self {
        Self::new(DATA_MISMATCH, message)
    }

    /// Failure for a device or target that disappeared.
    pub fn lost(message: impl fmt::Display) -> Self {
        Self::new(LOST, message)
    }

    /// Combines this failure with a later one; the exit code is that of this failure.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let message = match other.message.starts_with(&self.message) {
            true => other.message.clone(),
            false => format!("{}; {}", self.message, other.message),
        };
        Self { message, ..self }
    }

    /// `true` if the command cannot be carried out as given.
    pub fn is_usage(&self) -> bool {
        self.code == USAGE
    }

    /// `true` if the device or the target went away.
    pub fn is_lost(&self) -> bool {
        self.code == LOST
    }

    /// Returns the exit code as a number.
    pub fn number(&self) -> u8 {
        self.code
    }

    /// Returns the exit code of the command.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<assay_target::TargetError> for Failure {
    fn from(error: assay_target::TargetError) -> Self {
        let code = match (error.is_usage(), error.is_lost()) {
            (true, _) => USAGE,
            (_, true) => LOST,
            _ => FAILED,
        };
        Self::new(code, error)
    }
}

impl From<assay_target::labgrid::LabError> for Failure {
    fn from(error: assay_target::labgrid::LabError) -> Self {
        assay_target::TargetError::from(error).into()
    }
}

impl From<assay_store::StoreError> for Failure {
    fn from(error: assay_store::StoreError) -> Self {
        use assay_store::StoreError as E;
        let code = match error {
            E::Locked { .. }
            | E::Full { .. }
            | E::Replaced { .. }
            | E::Incomplete { .. }
            | E::TooManyFiles { .. }
            | E::Failed { .. }
            | E::Unreachable { .. }
            | E::Lost { .. }
            | E::DamagedRun { .. }
            | E::DamagedImport { .. }
            | E::Taken { .. } => FAILED,
            _ => USAGE,
        };
        Self::new(code, error)
    }
}

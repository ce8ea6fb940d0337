//! Errors of a dd command line.

use std::fmt;

/// An error in a command line, in dd's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdError {
    message: String,
    /// dd points to its help.
    points_to_help: bool,
    /// Warnings that dd prints before the error.
    warnings: Vec<String>,
}

impl DdError {
    pub(super) const fn new(message: String) -> Self {
        Self {
            message,
            points_to_help: false,
            warnings: Vec::new(),
        }
    }

    /// The same, where dd points to its help.
    pub(super) const fn with_help(message: String) -> Self {
        Self {
            message,
            points_to_help: true,
            warnings: Vec::new(),
        }
    }

    /// The same, after these warnings.
    pub(super) fn after(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// The lines that dd writes, its name in front.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let texts = self.warnings.iter().chain([&self.message]);
        let mut lines: Vec<String> = texts.map(|text| format!("dd: {text}")).collect();
        if self.points_to_help {
            lines.push("Try 'dd --help' for more information.".to_owned());
        }
        lines
    }
}

impl fmt::Display for DdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DdError {}

//! Errors of a job file or a command line, with their position.

use assay_model::text::{clean, shorten};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Position of an option in a file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionLocation {
    /// Job file; `None`: the command line.
    pub file: Option<Arc<str>>,
    /// Line number, from 1; 0 on the command line.
    pub line: u32,
}

impl OptionLocation {
    /// Returns the position of all command-line options.
    pub const fn command_line() -> Self {
        Self {
            file: None,
            line: 0,
        }
    }
}

/// Formats `job.fio:12` or `command line`.
impl fmt::Display for OptionLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => f.write_str("command line"),
            Some(file) => write!(f, "{}:{}", line(file), self.line),
        }
    }
}

/// Error in a job file or a command line: one line with its position, the problem and the
/// remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct FioError {
    /// Position of the error.
    pub place: OptionLocation,
    /// Section of the error; `None`: outside of any.
    pub section: Option<String>,
    /// Option and its value as written; `None`: the error is not about an option.
    pub option: Option<String>,
    /// Description of the error, and the remedy.
    pub problem: String,
}

impl FioError {
    /// Makes an error that is not about an option.
    pub fn at(place: OptionLocation, problem: impl Into<String>) -> Self {
        Self {
            place,
            section: None,
            option: None,
            problem: problem.into(),
        }
    }

    /// Makes an error about the command line as a whole.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self::at(OptionLocation::command_line(), problem)
    }

    /// Sets the section of the error.
    #[must_use]
    pub fn within(mut self, section: &str) -> Self {
        self.section = Some(section.to_owned());
        self
    }
}

/// Formats `job.fio:12: [job] bs=4q: …`.
impl fmt::Display for FioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(section) = &self.section {
            write!(f, "[{}] ", quoted(section))?;
        }
        if let Some(option) = &self.option {
            write!(f, "{}: ", quoted(option))?;
        }
        f.write_str(&line(&self.problem))
    }
}

/// Longest quotation of input text, in characters.
const QUOTED: usize = 100;
/// Longest line to print, in characters.
const LINE: usize = 400;

/// Quotes input text without control characters, shortened to the limit.
pub(super) fn quoted(text: &str) -> String {
    shorten(&clean(text), QUOTED)
}

/// Returns a line to print, without control characters and shortened to the limit.
pub(super) fn line(text: &str) -> String {
    shorten(&clean(text), LINE)
}

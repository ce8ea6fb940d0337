//! Errors of a job file or a command line, with their place.

use assay_model::text::{clean, shorten};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Position of an option in a file or on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionLocation {
    /// The job file; `None`: the command line.
    pub file: Option<Arc<str>>,
    /// Line number, from 1; 0 on the command line.
    pub line: u32,
}

impl OptionLocation {
    /// The command line.
    pub const fn command_line() -> Self {
        Self {
            file: None,
            line: 0,
        }
    }
}

/// `job.fio:12` or `command line`.
impl fmt::Display for OptionLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => f.write_str("command line"),
            Some(file) => write!(f, "{}:{}", line(file), self.line),
        }
    }
}

/// An error in a job file or a command line: one line that tells where it is, what is wrong and
/// what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct FioError {
    /// Place where it runs.
    pub place: OptionLocation,
    /// In which section; `None`: outside of any.
    pub section: Option<String>,
    /// The option and its value as written; `None`: not about one.
    pub option: Option<String>,
    /// Description of the error, and the remedy.
    pub problem: String,
}

impl FioError {
    /// A problem that is not about one option.
    pub fn at(place: OptionLocation, problem: impl Into<String>) -> Self {
        Self {
            place,
            section: None,
            option: None,
            problem: problem.into(),
        }
    }

    /// A problem with the command line as a whole.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self::at(OptionLocation::command_line(), problem)
    }

    /// Says in which section it is.
    #[must_use]
    pub fn within(mut self, section: &str) -> Self {
        self.section = Some(section.to_owned());
        self
    }
}

/// `job.fio:12: [job] bs=4q: …`.
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

/// Longest quotation of what was written.
const QUOTED: usize = 100;
/// Longest line that is said.
const LINE: usize = 400;

/// Quotes input text: without control characters, and shortened.
pub(super) fn quoted(text: &str) -> String {
    shorten(&clean(text), QUOTED)
}

/// A line to say: no control characters, and not longer than one that is read.
pub(super) fn line(text: &str) -> String {
    shorten(&clean(text), LINE)
}

//! What is wrong with the words.

use assay_model::text::clean;
use std::fmt;
use thiserror::Error;

/// What is wrong with a command line: one line that says what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct IozoneError(pub String);

impl fmt::Display for IozoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&self.0))
    }
}

impl From<String> for IozoneError {
    fn from(problem: String) -> Self {
        Self(problem)
    }
}

impl From<&str> for IozoneError {
    fn from(problem: &str) -> Self {
        Self(problem.to_owned())
    }
}

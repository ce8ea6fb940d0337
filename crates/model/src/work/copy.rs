//! Copying as dd does.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A copy, in dd's terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCopy {
    /// Output (dd's `of`); `None`: the agent's standard output.
    pub output: Option<PathBuf>,
}

impl FileCopy {
    /// What it may write.
    #[must_use]
    pub fn written(&self) -> Vec<PathBuf> {
        self.output.clone().into_iter().collect()
    }
}

/// What became of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyReport {
    /// Bytes written.
    pub bytes: u64,
}

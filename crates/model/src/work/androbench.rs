//! AndroBench's and Mobibench's files and databases.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A run of `AndroBench`'s or Mobibench's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AndroBench {
    /// Folder to make a test folder in.
    pub folder: PathBuf,
}

impl AndroBench {
    /// What it may write besides its own folder: nothing.
    #[must_use]
    pub fn written(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Transactions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseStep {
    /// How many.
    pub transactions: u64,
}

//! iozone's tests on files.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A run of iozone's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iozone {
    /// Files that are worked on.
    pub files: Vec<PathBuf>,
}

impl Iozone {
    /// What it may write.
    #[must_use]
    pub fn written(&self) -> Vec<PathBuf> {
        self.files.clone()
    }
}

/// One cell: a test on one file size with one record size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneStep {
    /// Size of the file.
    pub file_kib: u64,
    /// Size of a record.
    pub record_kib: u64,
}

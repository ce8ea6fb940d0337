//! Samples over the extent of a device or file, as GNOME Disks takes them.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Which samples to take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// The device or file.
    pub path: PathBuf,
    /// Samples are also written.
    pub write: bool,
}

impl Extent {
    /// What it may write.
    #[must_use]
    pub fn written(&self) -> Vec<PathBuf> {
        self.write.then(|| self.path.clone()).into_iter().collect()
    }

    /// Where it makes its own file, when `path` is a folder.
    #[must_use]
    pub fn private_folder_in(&self) -> Option<&Path> {
        None
    }
}

/// Samples of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentStep {
    /// Where each began, and how long it took.
    pub samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Where it began.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// How long it took.
    pub elapsed_ns: u64,
}

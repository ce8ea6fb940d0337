//! Samples over the extent of a device or file, as in GNOME Disks.

use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

crate::defaults! {
    /// Samples to take.
    ///
    /// Defaults are those of GNOME Disks.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Extent {
        /// Device, file, or folder in which a file is created.
        pub path: PathBuf,
        /// `true` if `path` is a folder.
        pub in_folder: bool,
        /// Number of samples of the rate, at equal distances over the extent.
        pub samples: u32 = 100,
        /// Bytes per sample.
        pub sample_bytes: u64 = 10 << 20,
        /// `true` to take write samples too: the data that was read is written back.
        pub write: bool,
        /// Number of single pages that are read at random offsets; the first is not counted.
        pub access_samples: u32 = 1000,
        /// Length of the file that is created in a folder.
        pub file_bytes: u64 = 1 << 30,
    }
}

impl WorkSpec for Extent {
    fn writes(&self) -> Vec<PathBuf> {
        let writes = self.write && !self.in_folder;
        writes.then(|| self.path.clone()).into_iter().collect()
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn private_folder_in(&self) -> Option<&Path> {
        self.in_folder.then_some(&self.path)
    }
}

/// Quantity that samples measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleKind {
    /// Rate of reading.
    #[default]
    Read,
    /// Rate of writing, with the flush that follows.
    Write,
    /// Time to read one page at a random offset.
    Access,
}

/// Samples of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentStep {
    /// Quantity that the samples measure.
    pub of: SampleKind,
    /// Length of the device or file.
    pub extent_bytes: u64,
    /// Samples with their offset and duration, in the order in which they were taken.
    pub samples: Vec<ExtentSample>,
}

/// A sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentSample {
    /// Start of the sample, in bytes.
    pub offset: u64,
    /// Length of the sample, in bytes.
    pub bytes: u64,
    /// Duration of the sample, in nanoseconds.
    pub elapsed_ns: u64,
}

impl ExtentSample {
    /// Returns the bytes per second; `None` when no time passed.
    pub fn rate(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.bytes as f64 * 1e9 / self.elapsed_ns as f64)
    }
}

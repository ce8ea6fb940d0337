//! Capacity test: checks that storage has its announced capacity.
//!
//! [`content`] defines the data to write: the sectors of H2testw and f3. A *sector* here has
//! [`SECTOR_BYTES`], independent of the device's sector size.

pub mod content;
mod probed;
mod tally;

pub use probed::{Probed, ProbedKind};
pub use tally::{Alias, Counts, Tally};

use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Bytes of a sector of H2testw and f3, as a length in memory.
pub const SECTOR: usize = 512;
/// Bytes of a sector of H2testw and f3.
pub const SECTOR_BYTES: u64 = SECTOR as u64;
/// Bytes of a full file of H2testw and f3.
pub const FILE_BYTES: u64 = 1 << 30;

/// A capacity test: storage to fill, check or probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Folder or device.
    pub path: PathBuf,
    /// Task to carry out.
    pub task: Task,
}

/// Task of a capacity test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Fill the storage, and check all data.
    Fill(Fill),
    /// Find out with few writes if a device is smaller than announced, and restore its data.
    Probe,
}

impl Default for Task {
    fn default() -> Self {
        Self::Fill(Fill::default())
    }
}

crate::defaults! {
    /// Extent of a folder or device to fill and check.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Fill {
        /// `true` to write; else the data of an earlier run is checked.
        pub write: bool = true,
        /// `true` to read and check.
        pub verify: bool = true,
        /// Number of the first file, from 1. For folders only.
        pub first_file: u32 = 1,
        /// Number of the last file; `None`: until the folder is full, or the last existing file.
        pub last_file: Option<u32>,
        /// Most bytes to write, or to check on a device.
        pub limit_bytes: Option<u64>,
        /// `true` to remove the files that this run wrote after all of them were verified.
        pub remove: bool,
    }
}

impl WorkSpec for Capacity {
    fn writes(&self) -> Vec<PathBuf> {
        let writes = match &self.task {
            Task::Fill(fill) => fill.write,
            Task::Probe => true,
        };
        writes.then(|| self.path.clone()).into_iter().collect()
    }

    fn touches(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn claims(&self) -> Vec<PathBuf> {
        self.touches()
    }

    fn named_folder(&mut self) -> Option<&mut PathBuf> {
        Some(&mut self.path)
    }
}

/// Results of a step that filled, checked or probed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// Announced capacity: the size of a device, or the free space of a folder before it was
    /// filled.
    pub announced_bytes: Option<u64>,
    /// Written or checked parts, file by file; a device is one part.
    pub parts: Vec<CapacityPart>,
    /// Names of the first files that are missing between others.
    pub missing: Vec<String>,
    /// Number of missing files; 0 in older runs, which have only their names.
    #[serde(default)]
    pub missing_files: u64,
    /// Files that are shorter than the data written to them.
    #[serde(default)]
    pub short: Vec<Short>,
    /// Result of probing.
    pub probed: Option<Probed>,
}

impl CapacityStep {
    /// Returns the results of all parts together; `None` where none was checked.
    pub fn total(&self) -> Option<Tally> {
        let mut found = self.parts.iter().filter_map(|part| part.found.as_ref());
        let first = found.next()?;
        Some(Tally::total([first].into_iter().chain(found)))
    }

    /// `true` if some storage does not hold the data written to it.
    pub fn differs(&self) -> bool {
        let found = self.total().is_some_and(|found| !found.all_ok());
        let probed = self.probed.as_ref();
        let incomplete = !self.missing.is_empty() || !self.short.is_empty();
        found || incomplete || probed.is_some_and(|probed| !probed.is_good())
    }
}

/// A file that is shorter than the data written to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Short {
    /// Name, such as `3.h2w`.
    pub name: String,
    /// Bytes that the file holds.
    pub bytes: u64,
    /// Lower bound of the bytes that the file held before.
    pub least_bytes: u64,
}

/// A file of a folder, or a whole device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityPart {
    /// Name, such as `3.h2w`, or that of the device.
    pub name: String,
    /// Offset of the part in the sequence of all written data, in bytes.
    pub offset: u64,
    /// Bytes written or checked.
    pub bytes: u64,
    /// Duration of the write or check, in nanoseconds.
    pub elapsed_ns: u64,
    /// Result of the check; `None` if the part was written.
    pub found: Option<Tally>,
}

/// Results that are only known after all steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityReport {
    /// Names of files that were written and kept.
    pub kept: Vec<String>,
    /// `true` if some storage does not hold the data written to it.
    pub differs: bool,
}

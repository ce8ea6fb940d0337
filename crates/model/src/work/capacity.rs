//! Capacity test: checks that storage holds as much as it announces.
//!
//! [`content`] defines the data to write: the sectors of H2testw and f3. A *sector* here has
//! [`SECTOR_BYTES`], whatever the device calls one.

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
    /// The folder or device.
    pub path: PathBuf,
    /// Task to carry out.
    pub task: Task,
}

/// Task of a capacity test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Fill it, and check that all is still there.
    Fill(Fill),
    /// Find out with few writes whether a device is smaller than it says; what
    /// it held is put back.
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
        /// It is written; else what an earlier run wrote is checked.
        pub write: bool = true,
        /// It is read and checked.
        pub verify: bool = true,
        /// Number of the first file, from 1. Of folders only.
        pub first_file: u32 = 1,
        /// Number of the last file; `None`: as many as there is room for, or as
        /// there are.
        pub last_file: Option<u32>,
        /// At most so many bytes are written, or checked of a device.
        pub limit_bytes: Option<u64>,
        /// Files that this run wrote are removed once all of them were found as
        /// they were written.
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

/// Filling, checking or probing: what a step did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// Announced capacity: the size of a device, or the free space of a folder before it was
    /// filled.
    pub announced_bytes: Option<u64>,
    /// Written or checked parts, file by file; a device is one part.
    pub parts: Vec<CapacityPart>,
    /// Names of files that were expected between others and are not there, the
    /// first of them.
    pub missing: Vec<String>,
    /// Number of missing files; 0 in older runs, which have only their names.
    #[serde(default)]
    pub missing_files: u64,
    /// Files that hold less than was written to them.
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

    /// `true` if some storage does not hold what was written to it.
    pub fn differs(&self) -> bool {
        let found = self.total().is_some_and(|found| !found.all_ok());
        let probed = self.probed.as_ref();
        let incomplete = !self.missing.is_empty() || !self.short.is_empty();
        found || incomplete || probed.is_some_and(|probed| !probed.is_good())
    }
}

/// A file that holds less than was written to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Short {
    /// `3.h2w`.
    pub name: String,
    /// Bytes that the file holds.
    pub bytes: u64,
    /// It has held so much, or more.
    pub least_bytes: u64,
}

/// A file of a folder, or a whole device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityPart {
    /// `3.h2w`, or the device.
    pub name: String,
    /// Offset of the part in the sequence of all that is written, in bytes.
    pub offset: u64,
    /// Bytes written or checked.
    pub bytes: u64,
    /// Duration of the write or check, in nanoseconds.
    pub elapsed_ns: u64,
    /// Result of the check; `None`: the part was written.
    pub found: Option<Tally>,
}

/// Results that only exist when all steps are done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityReport {
    /// Names of files that were written and left.
    pub kept: Vec<String>,
    /// Something does not hold what was written to it.
    pub differs: bool,
}

//! Whether storage holds as much as it says.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What to fill, check or probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// The folder or device.
    pub path: PathBuf,
}

impl Capacity {
    /// What it may write.
    #[must_use]
    pub fn written(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }
}

/// Filling or checking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityStep {
    /// Sectors that hold what was written.
    pub ok: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityReport {
    /// Bytes that the storage really holds, where it was found out.
    pub real_bytes: Option<u64>,
}

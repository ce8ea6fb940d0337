//! Result of inspecting a path that may be measured.

use crate::job::EngineKind;
use crate::storage::Storage;
use crate::system::System;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Storage behind a path, and permitted operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Absolute path without links.
    pub path: PathBuf,
    /// Kind of the path.
    pub kind: PathKind,
    /// The machine.
    pub system: System,
    /// The storage.
    pub storage: Storage,
    /// Reasons why the device may not be written, one clause each ("sda1 is mounted on /home");
    /// empty if it may be written. Only for block devices.
    pub in_use: Vec<String>,
    /// Contents of a block device and its partitions, used or unused: file systems, members of
    /// arrays, partition tables, each with its article.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<String>,
    /// Asynchronous engines that work here.
    pub async_engines: Vec<EngineKind>,
}

/// Kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PathKind {
    /// A directory.
    Directory {
        /// `true` if this user may create files in the directory.
        writable: bool,
    },
    /// A regular file.
    File {
        /// Length of the file.
        length: Bytes,
        /// `true` if every block was written: no holes, no fallocated extents. `None` when unknown.
        written: Option<bool>,
    },
    /// A simulated device.
    Simulated {
        /// Size of the simulated device.
        size: Bytes,
    },
    /// A block device.
    Device {
        /// Size of the block device.
        size: Bytes,
    },
}

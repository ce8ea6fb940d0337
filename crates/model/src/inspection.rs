//! A path that may be measured, as the agent found it.

use crate::job::EngineKind;
use crate::storage::Storage;
use crate::system::System;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is behind a path, and what may be done there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// The path, absolute and without links.
    pub path: PathBuf,
    /// What it is.
    pub kind: PathKind,
    /// The machine.
    pub system: System,
    /// The storage.
    pub storage: Storage,
    /// Why the device may not be written, one clause each ("sda1 is mounted
    /// on /home"); empty: it may. Only for block devices.
    pub in_use: Vec<String>,
    /// Asynchronous engines that work here.
    pub async_engines: Vec<EngineKind>,
}

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PathKind {
    /// A directory.
    Directory {
        /// Whether this user may create files in it.
        writable: bool,
    },
    /// A regular file.
    File {
        /// Its length.
        length: Bytes,
        /// Whether every block was really written: no holes, no fallocated
        /// extents. `None` when it cannot be told.
        written: Option<bool>,
    },
    /// A simulated device.
    Simulated {
        /// Its size.
        size: Bytes,
    },
    /// A block device.
    Device {
        /// Its size.
        size: Bytes,
    },
}

//! List of the block devices of a machine.

pub mod bus;
pub mod register;

use crate::storage::{Layer, Mount};
use crate::system::System;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Block devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceList {
    /// The machine.
    pub system: System,
    /// Disks of the machine, by name; each holds its partitions.
    pub devices: Vec<ListedDevice>,
}

/// One disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedDevice {
    /// The device itself.
    pub layer: Layer,
    /// File systems on it and on its partitions that are mounted here.
    pub mounted: Vec<MountedPart>,
    /// Partitions of the device, by name.
    pub partitions: Vec<String>,
    /// Reasons why it may not be written as a whole, one clause each ("sda1 is mounted on /home");
    /// empty if it may be written.
    pub in_use: Vec<String>,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountedPart {
    /// Kernel name of the disk or its partition.
    pub device: String,
    /// Mount point and mount options.
    pub mount: Mount,
    /// Space available for a new file of this user.
    pub available: Option<Bytes>,
    /// `true` if this user may create files in the root folder of the file system.
    pub writable: bool,
}

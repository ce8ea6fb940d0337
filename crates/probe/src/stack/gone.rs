//! Whether the storage was pulled out.

use crate::device::Device;
use crate::roots::Roots;
use assay_model::storage::{Layer, Storage};

/// Whether the device under test, or every disk below it, has vanished since
/// `storage` was resolved. A device of the same name but another number is
/// another device. False where there is no device to begin with.
#[must_use]
pub fn device_gone(roots: &Roots, storage: &Storage) -> bool {
    let gone = |layer: &Layer| {
        Device::named(roots, &layer.name).is_none_or(|device| {
            (device.number.major, device.number.minor) != (layer.major, layer.minor)
        })
    };
    storage
        .top()
        .is_some_and(|top| gone(top) || storage.leaves().all(gone))
}

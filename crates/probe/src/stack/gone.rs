//! Whether the storage was pulled out.

use crate::device::Device;
use crate::roots::Roots;
use assay_model::storage::{Layer, Storage};
use assay_model::units::Bytes;

/// Whether the device under test, or every disk below it, has vanished since
/// `storage` was resolved. A device of the same name but another number is
/// another device. One that shrank to nothing has lost its medium: a card
/// reader stays when its card is pulled. False where there is no device to
/// begin with.
#[must_use]
pub fn device_gone(roots: &Roots, storage: &Storage) -> bool {
    let gone = |layer: &Layer| {
        Device::named(roots, &layer.name).is_none_or(|device| {
            let renumbered =
                (device.number.major, device.number.minor) != (layer.major, layer.minor);
            let had_medium = layer.size.is_some_and(|size| size > Bytes(0));
            renumbered || (had_medium && device.size() == Some(Bytes(0)))
        })
    };
    storage
        .top()
        .is_some_and(|top| gone(top) || storage.leaves().all(gone))
}

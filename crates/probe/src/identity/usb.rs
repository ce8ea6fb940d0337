//! USB mass storage.

use super::Raw;
use crate::attr;
use crate::device::Device;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::path::Path;

/// Returns the identity of a disk on USB. `usb` is the folder of the USB device (`1-1`); the
/// interface below it (`1-1:1.0`) has the driver.
pub(super) fn identity(usb: &Path, device: &Device, scsi: DeviceIdentity) -> DeviceIdentity {
    let mut raw = Raw(scsi.raw);
    raw.take(
        usb,
        &[
            "bcdDevice",
            "idProduct",
            "idVendor",
            "manufacturer",
            "product",
            "serial",
            "speed",
            "version",
        ],
    );
    let driver = device
        .ancestors()
        .filter(|dir| dir.starts_with(usb) && *dir != usb)
        .filter_map(|dir| attr::link_name(&dir.join("driver")))
        .find(|driver| driver == "uas" || driver == "usb-storage");
    if let Some(driver) = &driver {
        raw.put("driver", driver.as_str());
    }
    DeviceIdentity {
        kind: DeviceKind::Usb,
        model: raw.text("product").or(scsi.model),
        vendor: raw.text("manufacturer").or(scsi.vendor),
        serial: raw.text("serial").or(scsi.serial),
        bus: bus(raw.get("speed"), driver.as_deref()),
        raw: raw.0,
        ..scsi
    }
}

/// Formats the bus, such as `USB 480 Mb/s, usb-storage`. The speed is the signalling rate of the
/// link, as the kernel reports it.
fn bus(speed: Option<&str>, driver: Option<&str>) -> Option<String> {
    let link = format!("USB {} Mb/s", speed?);
    Some(match driver {
        Some(driver) => format!("{link}, {driver}"),
        None => link,
    })
}

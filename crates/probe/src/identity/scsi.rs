//! Devices behind the SCSI layer: SATA disks, USB storage, UFS and SCSI disks.

use super::{Raw, ufs, usb};
use crate::attr;
use crate::device::Device;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::fs;
use std::path::Path;

/// Returns the identity of a disk. `unit` is the folder of the logical unit, for example `6:0:0:0`.
pub(super) fn identity(device: &Device, unit: &Path) -> DeviceIdentity {
    let mut raw = Raw::default();
    raw.take(unit, &["vendor", "model", "rev", "queue_depth", "wwid"]);
    for name in attr::entries(&unit.join("scsi_disk")) {
        raw.take(&unit.join("scsi_disk").join(name), &["cache_type"]);
    }
    let generic = DeviceIdentity {
        kind: DeviceKind::Scsi,
        model: raw.text("model"),
        vendor: raw.text("vendor"),
        serial: unit_serial(unit),
        firmware: raw.text("rev"),
        raw: raw.0,
        ..DeviceIdentity::default()
    };
    if let Some(usb_device) = device.ancestor_with("idVendor") {
        usb::identity(usb_device, device, generic)
    } else if let Some(controller) = ufs::controller(device) {
        ufs::identity(controller, generic)
    } else if let Some(port) = ata_port(device) {
        sata(port, generic)
    } else {
        generic
    }
}

fn ata_port(device: &Device) -> Option<&Path> {
    device.ancestors().find(|dir| {
        let name = dir.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| attr::numbered(name, "ata").is_some())
    })
}

/// Returns the identity of a SATA disk. libata reports the vendor "ATA" for every disk, which is
/// dropped.
fn sata(port: &Path, generic: DeviceIdentity) -> DeviceIdentity {
    let speed = attr::entries(port)
        .into_iter()
        .filter(|name| name.starts_with("link"))
        .find_map(|link| {
            let folder = port.join(&link).join("ata_link").join(&link);
            attr::text(&folder.join("sata_spd"))
        })
        .filter(|speed| speed.ends_with("Gbps"));
    DeviceIdentity {
        kind: DeviceKind::Sata,
        vendor: generic.vendor.filter(|vendor| vendor != "ATA"),
        bus: speed.map(|speed| format!("SATA {}", speed.replace("Gbps", "Gb/s"))),
        ..generic
    }
}

/// Reads the serial number from vital product data page 0x80: four bytes of header, then the number
/// (SPC-4, 7.8.15).
pub(super) fn unit_serial(unit: &Path) -> Option<String> {
    let page = fs::read(unit.join("vpd_pg80")).ok()?;
    let number = String::from_utf8_lossy(page.get(4..)?);
    let number = number.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!number.is_empty()).then(|| number.to_owned())
}

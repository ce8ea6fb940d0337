//! Universal Flash Storage (Documentation/ABI/testing/sysfs-driver-ufs).

use super::{Raw, life_time, pre_eol};
use crate::attr;
use crate::device::Device;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::path::Path;

/// Returns the host controller's folder if the disk is behind a UFS controller. Kernels before 4.17
/// have no descriptors, but show the driver.
pub(super) fn controller(device: &Device) -> Option<&Path> {
    device.ancestor_with("health_descriptor").or_else(|| {
        let host = device.ancestors().find(|dir| is_ufs_host(dir))?;
        host.parent()
    })
}

fn is_ufs_host(dir: &Path) -> bool {
    let Some(name) = dir.file_name() else {
        return false;
    };
    let driver = attr::text(&dir.join("scsi_host").join(name).join("proc_name"));
    driver.is_some_and(|driver| driver.starts_with("ufshcd"))
}

/// Adds attributes of the controller's descriptors to the SCSI identity.
pub(super) fn identity(controller: &Path, scsi: DeviceIdentity) -> DeviceIdentity {
    let mut raw = Raw(scsi.raw);
    for folder in [
        "device_descriptor",
        "health_descriptor",
        "power_info",
        "string_descriptors",
    ] {
        let path = controller.join(folder);
        for name in attr::entries(&path) {
            if let Some(value) = attr::text(&path.join(&name)) {
                raw.put(&format!("{folder}/{name}"), value);
            }
        }
    }
    let hex = |name: &str| raw.get(name).and_then(attr::parse_hex);
    DeviceIdentity {
        kind: DeviceKind::Ufs,
        model: raw.text("string_descriptors/product_name").or(scsi.model),
        vendor: raw
            .text("string_descriptors/manufacturer_name")
            .or(scsi.vendor),
        serial: raw.text("string_descriptors/serial_number").or(scsi.serial),
        date: hex("device_descriptor/manufacturing_date").map(date),
        life_time: life_time(
            hex("health_descriptor/life_time_estimation_a"),
            hex("health_descriptor/life_time_estimation_b"),
        ),
        pre_eol: hex("health_descriptor/eol_info").map(pre_eol),
        bus: gear(&raw),
        raw: raw.0,
        ..scsi
    }
}

/// Formats wManufactureDate, which is BCD, month then year: 0x0321 is March 2021 (JESD220, device
/// descriptor).
fn date(bcd: u64) -> String {
    format!("{:02x}/20{:02x}", (bcd >> 8) & 0xff, bcd & 0xff)
}

/// Formats the link's power_info (recent kernels), such as `HS gear 4, rate B, 2 lanes`.
fn gear(raw: &Raw) -> Option<String> {
    let gear = raw.get("power_info/gear")?.strip_prefix("HS_GEAR")?;
    let lanes = raw.get("power_info/lane")?;
    let rate = raw.get("power_info/rate")?.strip_prefix("HS_RATE_")?;
    Some(format!("HS gear {gear}, rate {rate}, {lanes} lanes"))
}

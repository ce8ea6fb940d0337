//! Devices implemented in software.

use super::{Raw, file_id};
use crate::attr;
use crate::device::Device;
use assay_model::run::BACKING_ID;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Returns the identity of a virtio disk; its host may give it a serial number.
pub(super) fn virtio(device: &Device) -> DeviceIdentity {
    let mut raw = Raw::default();
    raw.take(&device.dir, &["serial", "cache_type"]);
    DeviceIdentity {
        kind: DeviceKind::Virtio,
        serial: raw.text("serial"),
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

/// Returns the identity of a device without a bus; its name shows the driver.
pub(super) fn identity(device: &Device) -> DeviceIdentity {
    let kind = kind(&device.name);
    let mut raw = Raw::default();
    let model = match kind {
        DeviceKind::Loop => {
            let names = ["autoclear", "backing_file", "dio", "offset", "sizelimit"];
            raw.take(&device.dir.join("loop"), &names);
            let file = raw.get("backing_file").map(fs::metadata);
            if let Some(Ok(file)) = file {
                raw.put("backing_inode", file.ino().to_string());
                if let Some(id) = file_id(&file) {
                    raw.put(BACKING_ID, id);
                }
            }
            None
        }
        DeviceKind::Dm => {
            raw.take(&device.dir.join("dm"), &["name", "uuid"]);
            raw.text("name")
        }
        DeviceKind::Md => {
            let names = [
                "array_state",
                "degraded",
                "level",
                "metadata_version",
                "raid_disks",
                "uuid",
            ];
            raw.take(&device.dir.join("md"), &names);
            raw.text("level")
        }
        DeviceKind::Zram => {
            raw.take(&device.dir, &["backing_dev", "comp_algorithm", "disksize"]);
            None
        }
        DeviceKind::Nbd => {
            raw.take(&device.dir, &["backend", "pid"]);
            None
        }
        _ if attr::numbered(&device.name, "bcache").is_some() => {
            let names = ["backing_dev_uuid", "cache_mode", "label", "state"];
            raw.take(&device.dir.join("bcache"), &names);
            Some("bcache".to_owned())
        }
        _ if device.name.starts_with("pmem") => {
            raw.take(&device.dir.join("device"), &["mode", "sector_size", "uuid"]);
            Some("persistent memory".to_owned())
        }
        _ => None,
    };
    DeviceIdentity {
        kind,
        model,
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

fn kind(name: &str) -> DeviceKind {
    let numbered = |prefix| attr::numbered(name, prefix).is_some();
    match name {
        _ if numbered("loop") => DeviceKind::Loop,
        _ if numbered("zram") => DeviceKind::Zram,
        _ if numbered("ram") => DeviceKind::Ram,
        _ if numbered("dm-") => DeviceKind::Dm,
        // Arrays may have names, such as md_home.
        _ if numbered("md") || name.starts_with("md_") => DeviceKind::Md,
        _ if numbered("nbd") => DeviceKind::Nbd,
        _ if name.starts_with("nullb") => DeviceKind::Nullblk,
        _ if name.starts_with("mtdblock") || name.starts_with("ubiblock") => DeviceKind::Mtd,
        _ => DeviceKind::Other,
    }
}

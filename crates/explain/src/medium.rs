//! Detects whether storage is flash. Emulated and virtual devices have no erase blocks, no garbage
//! collection and no address mapping.

use assay_lang::tr;
use assay_model::storage::{DeviceIdentity, DeviceKind, LayerRole, Storage};
use assay_report::text::clean;

/// Prefixes of vendor or model names of emulated and virtual devices.
const MADE_UP: [&str; 8] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual",
    "Msft",
    "Xen",
    "BHYVE",
    "Parallels",
];
/// Model names of cloud volumes, which are reached over a network.
const VOLUMES: [&str; 4] = [
    "Amazon Elastic Block Store",
    "PersistentDisk",
    "nvme_card",
    "MSFT NVMe",
];
/// Manufacturer and application ids of the SD card that QEMU emulates (`hw/sd/sd.c`).
const QEMU_CARD: (&str, &str) = ("aa", "5859");

/// Explains why storage is not known to be flash. Returns `None` if one of its disks is.
pub fn no_flash(storage: &Storage) -> Option<String> {
    let mut reasons = Vec::new();
    for leaf in storage.leaves() {
        reasons.push(not_of_flash(&leaf.identity)?);
    }
    let Some(first) = reasons.into_iter().next() else {
        return Some(tr!("the device is not known").to_owned());
    };
    let beneath: Vec<String> = (storage.layers.iter())
        .filter(|layer| layer.role == LayerRole::Beneath)
        .map(|layer| format!("{} ({})", clean(&layer.name), layer.identity.kind))
        .collect();
    Some(match beneath.is_empty() {
        true => first,
        false => tr!(
            "{first}; its file is on {beneath}",
            first,
            beneath = beneath.join(", ")
        ),
    })
}

/// Explains why a device is not known to contain flash. Returns `None` for types that do.
pub fn not_of_flash(identity: &DeviceIdentity) -> Option<String> {
    if let Some(name) = made_up(identity) {
        return Some(tr!(
            "{name} is emulated: it has no flash of its own",
            name = clean(&name)
        ));
    }
    match identity.kind {
        DeviceKind::Emmc
        | DeviceKind::Sd
        | DeviceKind::Ufs
        | DeviceKind::Usb
        | DeviceKind::Nvme
        | DeviceKind::Simulated => None,
        DeviceKind::Sata | DeviceKind::Scsi if identity.rotational == Some(false) => None,
        _ => Some(tr!("{kind} is not known to be flash", kind = identity.kind)),
    }
}

/// Returns the vendor or model of an emulated or virtual device.
fn made_up(identity: &DeviceIdentity) -> Option<String> {
    if identity.kind == DeviceKind::Simulated {
        return None;
    }
    let names = [&identity.model, &identity.vendor].into_iter().flatten();
    for name in names {
        let begins = MADE_UP.iter().any(|word| name.starts_with(word));
        if begins || VOLUMES.iter().any(|word| name.contains(word)) {
            return Some(name.clone());
        }
    }
    let number = |key: &str| {
        let text = identity.raw.get(key)?.trim().to_ascii_lowercase();
        Some(
            text.trim_start_matches("0x")
                .trim_start_matches('0')
                .to_owned(),
        )
    };
    let card = (number("manfid")?, number("oemid")?);
    let is_qemu = identity.kind == DeviceKind::Sd && card.0 == QEMU_CARD.0 && card.1 == QEMU_CARD.1;
    is_qemu.then(|| "QEMU".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(kind: DeviceKind, model: &str) -> DeviceIdentity {
        DeviceIdentity {
            kind,
            model: Some(model.to_owned()),
            ..DeviceIdentity::default()
        }
    }

    #[test]
    fn what_is_made_up_is_not_flash() {
        for (kind, model) in [
            (DeviceKind::Sd, "QEMU!"),
            (DeviceKind::Nvme, "QEMU NVMe Ctrl"),
            (DeviceKind::Nvme, "Amazon Elastic Block Store"),
            (DeviceKind::Sata, "VBOX HARDDISK"),
            (DeviceKind::Scsi, "Virtual Disk"),
        ] {
            let why = not_of_flash(&identity(kind, model)).expect(model);
            assert!(why.contains("emulated"), "{why}");
        }
        for (kind, model) in [
            (DeviceKind::Virtio, "virtio"),
            (DeviceKind::Loop, "loop"),
            (DeviceKind::Zram, "zram"),
        ] {
            assert!(not_of_flash(&identity(kind, "")).is_some(), "{model}");
        }
    }

    #[test]
    fn the_numbers_of_a_card_tell_too() {
        let mut card = identity(DeviceKind::Sd, "renamed");
        assert_eq!(not_of_flash(&card), None);
        for (key, value) in [("manfid", "0x0000aa"), ("oemid", "0x5859")] {
            card.raw.insert(key.to_owned(), value.to_owned());
        }
        assert!(not_of_flash(&card).is_some());
    }

    #[test]
    fn real_devices_are_flash() {
        assert_eq!(not_of_flash(&identity(DeviceKind::Emmc, "DG4008")), None);
        assert_eq!(not_of_flash(&identity(DeviceKind::Simulated, "QEMU")), None);
        let mut disk = identity(DeviceKind::Sata, "ST1000");
        disk.rotational = Some(true);
        assert!(not_of_flash(&disk).is_some());
    }
}

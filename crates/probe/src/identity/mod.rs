//! Vendor, model and other identifiers of a device in sysfs.

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use assay_model::device::CardMode;
use assay_model::run::{BACKING_ID, tells_apart};
use assay_model::storage::{DeviceIdentity, DeviceKind};
use assay_model::units::Bytes;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Returns the identity of a block device.
///
/// Some attributes require root, notably the bus mode of eMMC and SD, which only debugfs shows.
pub(crate) fn of(device: &Device) -> DeviceIdentity {
    let mut identity = if device.is_partition() {
        partition(device)
    } else {
        disk(device)
    };
    let disk = device.disk_dir();
    let queue = disk.join("queue");
    identity.rotational = attr::flag(&queue.join("rotational"));
    identity.removable = removable(disk, &identity.kind);
    identity.logical_block = attr::number(&queue.join("logical_block_size")).map(Bytes);
    identity.physical_block = attr::number(&queue.join("physical_block_size")).map(Bytes);
    identity
}

/// Returns the disks that are other paths to the same medium: two ports of a drive or of an array,
/// without a multipath driver.
pub(crate) fn other_paths(roots: &Roots, disk: &Device) -> Vec<Device> {
    let Some(id) = medium_id(disk) else {
        return Vec::new();
    };
    let names = attr::entries(&roots.sys.join("class/block")).into_iter();
    let others = names.filter_map(|name| Device::named(roots, &name));
    others
        .filter(|other| {
            other.number != disk.number && !other.is_partition() && !other.number.is_anonymous()
        })
        .filter(|other| other.size() == disk.size() && medium_id(other).as_ref() == Some(&id))
        .collect()
}

/// Returns an identifier of a disk's medium that every path to it reports. Serial numbers of USB
/// devices and cards are not used: all units of a reader and all partitions of an eMMC share them.
fn medium_id(disk: &Device) -> Option<String> {
    let unit = disk.dir.join("device");
    let wwid = ["wwid", "device/wwid", "serial"].iter();
    let mut wwid = wwid.filter_map(|name| attr::text(&disk.dir.join(name)));
    // A name of the form t10 is derived from the serial number.
    let tells = |id: &String| tells_apart(id) && !id.starts_with("t10.");
    wwid.next().filter(tells).or_else(|| {
        let serial = unit_serial(&unit).filter(|serial| tells_apart(serial))?;
        let name = |part| attr::text(&unit.join(part)).unwrap_or_default();
        Some(format!("{} {} {serial}", name("vendor"), name("model")))
    })
}

/// Returns an identifier that distinguishes a file from every later file of the same name, which
/// may reuse the inode number: inode number and creation time. `None` if the file system does not
/// record it.
pub fn file_id(file: &Metadata) -> Option<String> {
    let born = file.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!(
        "{}, {}.{:09}",
        file.ino(),
        born.as_secs(),
        born.subsec_nanos()
    ))
}

/// Returns the `removable` flag, except for SD cards. The kernel sets it for drives that report a
/// changed medium, and card slots do not: 0 has no meaning there.
fn removable(disk: &Path, kind: &DeviceKind) -> Option<bool> {
    let removable = attr::flag(&disk.join("removable"))?;
    (removable || *kind != DeviceKind::Sd).then_some(removable)
}

fn partition(device: &Device) -> DeviceIdentity {
    let mut raw = Raw::default();
    raw.take(&device.dir, &["partition", "start", "uevent"]);
    DeviceIdentity {
        kind: DeviceKind::Partition,
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

fn disk(device: &Device) -> DeviceIdentity {
    // Boot partitions of an eMMC are separate disks below the main one: the nearest parent
    // subsystem that is not "block" is the bus.
    let bus = device.ancestors().skip(1).find_map(|dir| {
        let subsystem = attr::link_name(&dir.join("subsystem"))?;
        (subsystem != "block").then_some((subsystem, dir))
    });
    match bus {
        Some((subsystem, dir)) => match subsystem.as_str() {
            "mmc" => card_identity(device, dir),
            "scsi" => scsi_identity(device, dir),
            "nvme" | "nvme-subsystem" => nvme_identity(device, dir),
            "virtio" => virtio_identity(device),
            _ => virtual_identity(device),
        },
        None => virtual_identity(device),
    }
}

/// Attributes as shown by the kernel.
#[derive(Default)]
struct Raw(BTreeMap<String, String>);

impl Raw {
    /// Stores those of `names` that exist in `folder`.
    fn take(&mut self, folder: &Path, names: &[&str]) {
        for name in names {
            if let Some(text) = attr::text(&folder.join(name)) {
                self.0.insert((*name).to_owned(), text);
            }
        }
    }

    fn put(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns an owned copy of [`Raw::get`].
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

/// Describes the used life per memory type, from two estimates in steps of 10 % (JEDEC eMMC 5.1
/// EXT_CSD 268/269 and the UFS health descriptor share the coding): 1 is 0-10 % used, 11 is beyond
/// the maximum.
pub fn life_time(type_a: Option<u64>, type_b: Option<u64>) -> Option<String> {
    let estimate_in_words = |estimate: u64, kind: char| match estimate {
        0 => format!("not defined (type {kind})"),
        1..=10 => format!(
            "{}-{} % used (type {kind})",
            (estimate - 1) * 10,
            estimate * 10
        ),
        11 => format!("maximum exceeded (type {kind})"),
        other => format!("reserved value {other:#04x} (type {kind})"),
    };
    let words = [(type_a, 'A'), (type_b, 'B')]
        .into_iter()
        .filter_map(|(estimate, kind)| estimate.map(|e| estimate_in_words(e, kind)));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Describes the used reserved blocks (JEDEC eMMC 5.1 EXT_CSD 267; UFS bPreEOLInfo).
pub fn pre_eol(info: u64) -> String {
    match info {
        0 => "not defined".to_owned(),
        1 => "normal".to_owned(),
        2 => "warning".to_owned(),
        3 => "urgent".to_owned(),
        other => format!("reserved value {other:#04x}"),
    }
}

/// Attributes of a card (drivers/mmc/core/{mmc,sd}.c) that can distinguish two cards or two states.
const ATTRIBUTES: [&str; 27] = [
    "cid",
    "cmdq_en",
    "csd",
    "date",
    "enhanced_area_offset",
    "enhanced_area_size",
    "enhanced_rpmb_supported",
    "erase_size",
    "ffu_capable",
    "fwrev",
    "hwrev",
    "life_time",
    "manfid",
    "name",
    "ocr",
    "oemid",
    "pre_eol_info",
    "preferred_erase_size",
    "prv",
    "raw_rpmb_size_mult",
    "rca",
    "rel_sectors",
    "rev",
    "scr",
    "serial",
    "ssr",
    "type",
];

/// Returns the identity of a card. `card` is its folder, for example `mmc0:0001`.
fn card_identity(device: &Device, card: &Path) -> DeviceIdentity {
    let mut raw = Raw::default();
    raw.take(card, &ATTRIBUTES);
    let kind = match raw.get("type") {
        Some("MMC") => DeviceKind::Emmc,
        Some("SD" | "SDcombo") => DeviceKind::Sd,
        _ => DeviceKind::Other,
    };
    let ios = ios(device, card);
    if let Some(ios) = &ios {
        raw.put("ios", ios.as_str());
    }
    let life: Vec<Option<u64>> = raw
        .get("life_time")
        .map(|both| both.split_whitespace().map(attr::parse_hex).collect())
        .unwrap_or_default();
    let estimate = |at: usize| life.get(at).copied().flatten();
    DeviceIdentity {
        model: raw.text("name"),
        vendor: vendor(&kind, &raw),
        serial: raw.text("serial"),
        firmware: firmware(&kind, &raw),
        date: raw.text("date"),
        cid: raw.text("cid"),
        life_time: life_time(estimate(0), estimate(1)),
        pre_eol: raw
            .get("pre_eol_info")
            .and_then(attr::parse_hex)
            .map(pre_eol),
        bus: ios.as_deref().and_then(bus_mode),
        kind,
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

/// Returns the firmware revision of an eMMC, or the product revision n.m of an SD card, which the
/// kernel shows as hwrev and fwrev.
fn firmware(kind: &DeviceKind, raw: &Raw) -> Option<String> {
    let firmware = raw.text("fwrev")?;
    if *kind != DeviceKind::Sd {
        return Some(firmware);
    }
    let minor = attr::parse_hex(&firmware)?;
    let major = raw.get("hwrev").and_then(attr::parse_hex)?;
    Some(format!("{major}.{minor}"))
}

/// Returns the manufacturer by its id; eMMC and SD have separate registries of ids. Sources:
/// mmc-utils' lsmmc and the quirk tables of the kernel (drivers/mmc/core/card.h).
fn vendor(kind: &DeviceKind, raw: &Raw) -> Option<String> {
    let id = raw.get("manfid").and_then(attr::parse_hex)?;
    let known = match (kind, id) {
        (DeviceKind::Emmc, 0x02 | 0x45) => "SanDisk",
        (DeviceKind::Emmc, 0x11) => "Toshiba/Kioxia",
        (DeviceKind::Emmc, 0x13 | 0xfe) => "Micron",
        (DeviceKind::Emmc, 0x15) => "Samsung",
        (DeviceKind::Emmc, 0x2c | 0x70) => "Kingston",
        (DeviceKind::Emmc, 0x44) => "ATP",
        (DeviceKind::Emmc, 0x88 | 0xd6) => "Longsys/Foresee",
        (DeviceKind::Emmc, 0x90) => "SK hynix",
        (DeviceKind::Emmc, 0xf4) => "Biwin",
        (DeviceKind::Sd, 0x01) => "Panasonic",
        (DeviceKind::Sd, 0x02) => "Toshiba/Kioxia",
        (DeviceKind::Sd, 0x03) => "SanDisk",
        (DeviceKind::Sd, 0x09) => "ATP",
        (DeviceKind::Sd, 0x1b) => "Samsung",
        (DeviceKind::Sd, 0x1d) => "ADATA",
        (DeviceKind::Sd, 0x27) => "Phison",
        (DeviceKind::Sd, 0x28 | 0xad) => "Lexar",
        (DeviceKind::Sd, 0x31) => "Silicon Power",
        (DeviceKind::Sd, 0x41 | 0x9f) => "Kingston",
        (DeviceKind::Sd, 0x5d) => "Swissbit",
        (DeviceKind::Sd, 0x74) => "Transcend",
        (DeviceKind::Sd, 0x76) => "Patriot",
        (DeviceKind::Sd, 0x82) => "Sony",
        _ => return Some(unknown_vendor(id, raw.get("oemid"))),
    };
    Some(known.to_owned())
}

/// Formats the id, with the two letters that an OEM id often encodes.
fn unknown_vendor(id: u64, oem: Option<&str>) -> String {
    let letters = oem.and_then(attr::parse_hex).and_then(|oem| {
        let [.., high, low] = oem.to_be_bytes();
        let printable = high.is_ascii_alphanumeric() && low.is_ascii_alphanumeric();
        printable.then(|| format!("{}{}", char::from(high), char::from(low)))
    });
    match letters {
        Some(letters) => format!("id {id:#04x} ({letters})"),
        None => format!("id {id:#04x}"),
    }
}

/// Reads `/sys/kernel/debug/mmcN/ios` of the card's host; root only.
fn ios(device: &Device, card: &Path) -> Option<String> {
    let card_name = card.file_name()?.to_str()?;
    let (host, _address) = card_name.split_once(':')?;
    attr::text(&device.sys().join("kernel/debug").join(host).join("ios"))
}

/// Formats the ios text, such as `HS400 enhanced strobe, 8 bit, 200 MHz`.
fn bus_mode(ios: &str) -> Option<String> {
    let mode = CardMode::parse(ios)?;
    let megahertz = megahertz(mode.hertz);
    Some(format!(
        "{}, {} bit, {megahertz} MHz",
        mode.timing, mode.bits
    ))
}

/// Formats a frequency in megahertz, with one decimal if needed.
fn megahertz(hz: u64) -> String {
    let tenths = (hz + 50_000) / 100_000;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

/// Returns the identity of a drive. `dir` is the controller's folder (`nvme0`), or with native
/// multipath the subsystem's (`nvme-subsys0`), which links to its controllers.
fn nvme_identity(device: &Device, dir: &Path) -> DeviceIdentity {
    let mut raw = Raw::default();
    // Attributes of the namespace.
    raw.take(&device.dir, &["eui", "nguid", "wwid"]);
    raw.take(
        dir,
        &["model", "serial", "firmware_rev", "subsysnqn", "transport"],
    );
    if let Some(pci) = pci_folder(dir) {
        raw.take(
            &pci,
            &[
                "current_link_speed",
                "current_link_width",
                "max_link_speed",
                "max_link_width",
                "vendor",
            ],
        );
    }
    DeviceIdentity {
        kind: DeviceKind::Nvme,
        model: raw.text("model"),
        serial: raw.text("serial"),
        firmware: raw.text("firmware_rev"),
        bus: nvme_link(&raw),
        raw: raw.0,
        ..DeviceIdentity::default()
    }
}

/// Returns the PCIe function of the first controller that has one; network transports have none.
fn pci_folder(dir: &Path) -> Option<PathBuf> {
    let names = attr::entries(dir).into_iter();
    let controllers = names
        .filter(|name| attr::numbered(name, "nvme").is_some())
        .filter_map(|name| fs::canonicalize(dir.join(name)).ok());
    std::iter::once(dir.to_owned())
        .chain(controllers)
        .find_map(|controller| {
            let mut above = controller.ancestors().take(4);
            above
                .find(|dir| dir.join("current_link_speed").exists())
                .map(Path::to_owned)
        })
}

/// Formats the link, such as `PCIe 8.0 GT/s x4`; `None` without a physical link, as in virtual
/// machines.
fn nvme_link(raw: &Raw) -> Option<String> {
    let speed = raw.get("current_link_speed")?;
    if speed.starts_with("Unknown") {
        return None;
    }
    // The kernel writes "8.0 GT/s PCIe"; older kernels write "8 GT/s".
    let speed = speed.strip_suffix(" PCIe").unwrap_or(speed);
    let width = raw.get("current_link_width")?;
    Some(format!("PCIe {speed} x{width}"))
}

/// Returns the identity of a disk. `unit` is the folder of the logical unit, for example `6:0:0:0`.
fn scsi_identity(device: &Device, unit: &Path) -> DeviceIdentity {
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
        usb_identity(usb_device, device, generic)
    } else if let Some(controller) = ufs_controller(device) {
        ufs_identity(controller, generic)
    } else if let Some(port) = ata_port(device) {
        sata_identity(port, generic)
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
fn sata_identity(port: &Path, generic: DeviceIdentity) -> DeviceIdentity {
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
fn unit_serial(unit: &Path) -> Option<String> {
    let page = fs::read(unit.join("vpd_pg80")).ok()?;
    let number = String::from_utf8_lossy(page.get(4..)?);
    let number = number.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!number.is_empty()).then(|| number.to_owned())
}

/// Returns the host controller's folder if the disk is behind a UFS controller. Kernels before 4.17
/// have no descriptors, but show the driver.
fn ufs_controller(device: &Device) -> Option<&Path> {
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

/// Adds attributes of the controller's descriptors to the SCSI identity
/// (Documentation/ABI/testing/sysfs-driver-ufs).
fn ufs_identity(controller: &Path, scsi: DeviceIdentity) -> DeviceIdentity {
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
        date: hex("device_descriptor/manufacturing_date").map(ufs_date),
        life_time: life_time(
            hex("health_descriptor/life_time_estimation_a"),
            hex("health_descriptor/life_time_estimation_b"),
        ),
        pre_eol: hex("health_descriptor/eol_info").map(pre_eol),
        bus: ufs_gear(&raw),
        raw: raw.0,
        ..scsi
    }
}

/// Formats wManufactureDate, which is BCD, month then year: 0x0321 is March 2021 (JESD220, device
/// descriptor).
fn ufs_date(bcd: u64) -> String {
    format!("{:02x}/20{:02x}", (bcd >> 8) & 0xff, bcd & 0xff)
}

/// Formats the link's power_info (recent kernels), such as `HS gear 4, rate B, 2 lanes`.
fn ufs_gear(raw: &Raw) -> Option<String> {
    let gear = raw.get("power_info/gear")?.strip_prefix("HS_GEAR")?;
    let lanes = raw.get("power_info/lane")?;
    let rate = raw.get("power_info/rate")?.strip_prefix("HS_RATE_")?;
    Some(format!("HS gear {gear}, rate {rate}, {lanes} lanes"))
}

/// Returns the identity of a disk on USB. `usb` is the folder of the USB device (`1-1`); the
/// interface below it (`1-1:1.0`) has the driver.
fn usb_identity(usb: &Path, device: &Device, scsi: DeviceIdentity) -> DeviceIdentity {
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
        bus: usb_bus(raw.get("speed"), driver.as_deref()),
        raw: raw.0,
        ..scsi
    }
}

/// Formats the bus, such as `USB 480 Mb/s, usb-storage`. The speed is the signalling rate of the
/// link, as the kernel reports it.
fn usb_bus(speed: Option<&str>, driver: Option<&str>) -> Option<String> {
    let link = format!("USB {} Mb/s", speed?);
    Some(match driver {
        Some(driver) => format!("{link}, {driver}"),
        None => link,
    })
}

/// Returns the identity of a virtio disk; its host may give it a serial number.
fn virtio_identity(device: &Device) -> DeviceIdentity {
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
fn virtual_identity(device: &Device) -> DeviceIdentity {
    let kind = virtual_kind(&device.name);
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

fn virtual_kind(name: &str) -> DeviceKind {
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

#[cfg(test)]
mod tests;

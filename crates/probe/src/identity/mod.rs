//! Vendor, model and other identifiers of a device in sysfs.

mod nvme;
mod scsi;
mod ufs;
mod usb;
mod virt;

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use assay_model::device::CardMode;
use assay_model::run::tells_apart;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use assay_model::units::Bytes;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
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
        let serial = scsi::unit_serial(&unit).filter(|serial| tells_apart(serial))?;
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
            "mmc" => identity(device, dir),
            "scsi" => scsi::identity(device, dir),
            "nvme" | "nvme-subsystem" => nvme::identity(device, dir),
            "virtio" => virt::virtio(device),
            _ => virt::identity(device),
        },
        None => virt::identity(device),
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
fn identity(device: &Device, card: &Path) -> DeviceIdentity {
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

#[cfg(test)]
mod tests;

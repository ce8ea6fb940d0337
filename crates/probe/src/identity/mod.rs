//! Vendor, model and other identifiers of a device in sysfs.

mod mmc;
mod nvme;
mod scsi;
#[cfg(test)]
mod tests;
mod ufs;
mod usb;
mod virt;

use crate::attr;
use crate::device::Device;
use crate::roots::Roots;
use assay_model::storage::{DeviceIdentity, DeviceKind};
use assay_model::unit::tells_apart;
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
            "mmc" => mmc::identity(device, dir),
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

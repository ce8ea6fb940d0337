//! List of all disks of the machine.

use crate::counters::disks;
use crate::device::Device;
pub use crate::device::node;
use crate::files::{FileKind, Files, KernelFiles, MountEntry};
use crate::roots::Roots;
use crate::safety::in_use_each;
use crate::stack::layer;
use crate::{attr, files};
use assay_model::device::{ListedDevice, MountedPart};
use assay_model::storage::LayerRole;
use rustix::fs::{Access, access};
use std::path::Path;

/// Lists the disks of the machine by name, with their mounted parts and the reasons why they may
/// not be written. Opens no device; a caller that may open them should call
/// [`held_exclusively`](crate::safety::held_exclusively) too.
pub fn list(roots: &Roots) -> Vec<ListedDevice> {
    let names = disks(roots);
    let in_use = in_use_each(roots, &names);
    let mounts = files::read_mounts(roots).unwrap_or_default();
    let parts = Parts {
        roots,
        files: &KernelFiles,
        mounts: &mounts,
    };
    let all = names.iter().zip(in_use);
    all.filter_map(|(name, in_use)| {
        let device = Device::named(roots, name)?;
        Some(ListedDevice {
            layer: layer(&device, LayerRole::Top, None),
            mounted: parts.mounted(&device),
            partitions: device.partitions(),
            in_use,
        })
    })
    .collect()
}

/// Reads the EXT_CSD of an eMMC from debugfs, in hexadecimal; root only. The kernel requests it
/// from the card, so it must not be read during a measurement.
pub fn ext_csd(roots: &Roots, name: &str) -> Option<String> {
    let device = Device::named(roots, name)?;
    let card = attr::link_name(&device.disk_dir().join("device"))?;
    let (host, _address) = card.split_once(':')?;
    let debugfs = roots.sys.join("kernel/debug").join(host).join(&card);
    attr::text(&debugfs.join("ext_csd"))
}

struct Parts<'a> {
    roots: &'a Roots,
    files: &'a dyn Files,
    mounts: &'a [MountEntry],
}

impl Parts<'_> {
    /// Returns the mounted parts of a disk and its partitions; each file system once, with its
    /// uppermost folder before parts of it.
    fn mounted(&self, disk: &Device) -> Vec<MountedPart> {
        let partitions = disk.partitions().into_iter();
        let partitions = partitions.filter_map(|name| Device::named(self.roots, &name));
        let devices: Vec<Device> = std::iter::once(disk.clone()).chain(partitions).collect();
        let mut found: Vec<(&MountEntry, &Device)> = Vec::new();
        for entry in self.mounts {
            let of = devices.iter().find(|device| self.is_on(entry, device));
            found.extend(of.map(|device| (entry, device)));
        }
        found.sort_by_key(|(entry, _)| entry.root != Path::new("/"));
        let found = found.into_iter();
        found
            .map(|(entry, device)| self.part(entry, device))
            .collect()
    }

    /// `true` if an entry is a mount of this device. A file system with an anonymous device number
    /// is matched by its source.
    fn is_on(&self, entry: &MountEntry, device: &Device) -> bool {
        if !entry.device.is_anonymous() {
            return entry.device == device.number;
        }
        let source = Path::new(&entry.mount.source);
        let node = FileKind::BlockDevice(device.number);
        source.starts_with("/dev") && self.files.stat(source).is_ok_and(|f| f.kind == node)
    }

    fn part(&self, entry: &MountEntry, device: &Device) -> MountedPart {
        let point = &entry.mount.point;
        MountedPart {
            device: device.name.clone(),
            available: self.files.room(point).map(|room| room.available),
            writable: access(point, Access::WRITE_OK | Access::EXEC_OK).is_ok(),
            mount: entry.mount.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Machine, MadeUp};

    #[test]
    fn file_systems_are_those_of_the_disk_and_its_partitions() {
        let machine = Machine::new();
        machine.disk("platform/block/mmcblk0", "179:0", 1000);
        machine.partition("platform/block/mmcblk0", "mmcblk0p1", "179:1", 500);
        machine.disk("platform/block/sda", "8:0", 1000);
        machine.mountinfo(
            "27 1 179:1 /sub /bound rw - ext4 /dev/root rw\n\
             28 1 179:1 / /boot ro - ext4 /dev/mmcblk0p1 ro\n\
             29 1 0:40 / /data rw - btrfs /dev/sda rw\n\
             30 1 0:41 / /tmp rw - tmpfs tmpfs rw\n",
        );
        let files = MadeUp::default().node("/dev/sda", "8:0");
        let mounts = files::read_mounts(&machine.roots).unwrap();
        let parts = Parts {
            roots: &machine.roots,
            files: &files,
            mounts: &mounts,
        };
        let points = |name: &str| -> Vec<String> {
            let device = Device::named(&machine.roots, name).unwrap();
            let mounted = parts.mounted(&device).into_iter();
            mounted
                .map(|part| format!("{} {}", part.device, part.mount.point.display()))
                .collect()
        };
        assert_eq!(
            points("mmcblk0"),
            ["mmcblk0p1 /boot", "mmcblk0p1 /bound"],
            "the whole of it first"
        );
        assert_eq!(points("sda"), ["sda /data"]);
    }

    #[test]
    fn disks_are_listed_without_their_partitions_and_empty_drives() {
        let machine = Machine::new();
        machine.disk("platform/block/sda", "8:0", 1000);
        machine.partition("platform/block/sda", "sda1", "8:1", 500);
        machine.disk("virtual/block/loop0", "7:0", 0);
        machine.mountinfo("27 1 8:1 / /boot ro - ext4 /dev/sda1 ro\n");
        let found = list(&machine.roots);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].layer.name, "sda");
        assert_eq!(found[0].partitions, ["sda1"]);
        assert_eq!(found[0].in_use, ["sda1 is mounted on /boot"]);
    }

    #[test]
    fn nodes_are_where_the_system_has_them() {
        let machine = Machine::new();
        let root = &machine.roots.root;
        assert_eq!(node(&machine.roots, "sda"), root.join("dev/sda"));
        assert_eq!(
            node(&machine.roots, "cciss!c0d0"),
            root.join("dev/cciss/c0d0")
        );
        machine.file("dev/block/mmcblk0", "");
        assert_eq!(
            node(&machine.roots, "mmcblk0"),
            root.join("dev/block/mmcblk0")
        );
    }

    #[test]
    fn debugfs_shows_ext_csd_of_the_card() {
        let machine = Machine::new();
        let card = "platform/mmc_host/mmc0/mmc0:0001";
        machine.disk(&format!("{card}/block/mmcblk0"), "179:0", 100);
        let link = format!("sys/devices/{card}/block/mmcblk0/device");
        machine.link(&link, &format!("sys/devices/{card}"));
        assert_eq!(ext_csd(&machine.roots, "mmcblk0"), None);
        machine.file("sys/kernel/debug/mmc0/mmc0:0001/ext_csd", "0001\n");
        assert_eq!(ext_csd(&machine.roots, "mmcblk0").as_deref(), Some("0001"));
    }
}

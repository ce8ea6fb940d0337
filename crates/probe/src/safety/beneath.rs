//! Layers below a device and their other users: writing the device writes all of its layers.

use super::{HELD, Search};
use crate::attr;
use crate::device::{Device, DeviceNumber, SECTOR_BYTES};
use crate::files::{ExistingFile, FileKind, Files};
use crate::identity;
use crate::roots::Roots;
use std::ops::Range;
use std::path::Path;

impl Search<'_> {
    /// Collects other uses of the devices that this device is made of.
    pub(super) fn beneath(&mut self, device: &Device) {
        let disk = device.parent_disk(self.roots);
        let disk = disk.as_ref().unwrap_or(device);
        if self.path.contains(&disk.name) {
            return;
        }
        self.path.push(device.name.clone());
        self.path.push(disk.name.clone());
        self.by_other_paths(device, disk);
        for name in disk.slaves() {
            if let Some(slave) = Device::named(self.roots, &name) {
                // Other holders use other parts of it, such as volumes of a group.
                self.unless_seen(&slave);
                self.beneath(&slave);
            }
        }
        if let Some(file) = disk.backing_file() {
            match self.files.look(&file).map(|found| found.kind) {
                Ok(FileKind::BlockDevice(number)) => {
                    if let Some(below) = Device::numbered(self.roots, number) {
                        self.below_loop(disk, &below);
                    }
                }
                _ => self.beside(disk, &file),
            }
        }
    }

    /// Collects the uses of the device behind a loop device.
    fn below_loop(&mut self, upper: &Device, below: &Device) {
        let known = self.reasons.len();
        self.whole(below);
        self.or_held(known, below);
        self.headed(known, || format!("{} is on {}", upper.name, below.name));
    }

    /// Collects the uses of the file behind a loop device.
    fn beside(&mut self, device: &Device, file: &Path) {
        let known = self.reasons.len();
        if self.is_swap_file(file) {
            let reason = "that file is in use as swap space".to_owned();
            self.reasons.push(reason);
        }
        self.headed(known, || {
            format!("{} is on {}", device.name, file.display())
        });
        for other in loops(self.roots) {
            let shares = other.backing_file().is_some_and(|theirs| {
                is_same_file(self.files, &theirs, file) && overlap(&span(&other), &span(device))
            });
            if !shares || self.path.contains(&other.name) {
                continue;
            }
            let known = self.reasons.len();
            self.with_partitions(&other);
            self.or_held(known, &other);
            self.headed(known, || {
                format!(
                    "the file behind {} is behind {} too",
                    device.name, other.name
                )
            });
        }
    }

    /// Collects the uses of the disk by other paths to it, which the kernel treats as separate
    /// disks. Other partitions hold other data on those paths too.
    fn by_other_paths(&mut self, device: &Device, disk: &Device) {
        for other in identity::other_paths(self.roots, disk) {
            if self.path.contains(&other.name) {
                continue;
            }
            let known = self.reasons.len();
            if device.is_partition() {
                let start = |part: &Device| attr::text(&part.dir.join("start"));
                self.alone(&other);
                let names = other.partitions().into_iter();
                names
                    .filter_map(|name| Device::named(self.roots, &name))
                    .filter(|part| start(part) == start(device))
                    .for_each(|part| self.alone(&part));
            } else {
                self.with_partitions(&other);
            }
            // A volume that uses both paths holds each of them.
            if other.holders().is_empty() {
                self.or_held(known, &other);
            }
            self.headed(known, || {
                format!("{} leads to the same disk as {}", other.name, disk.name)
            });
        }
    }

    /// Adds the use that shows only when the device is opened, if no other was found since.
    pub(super) fn or_held(&mut self, since: usize, device: &Device) {
        if self.reasons.len() == since && self.files.is_held(device) {
            self.reasons.push(format!("{} {HELD}", device.name));
        }
    }

    /// Inserts a heading before the reasons that were found since.
    fn headed(&mut self, since: usize, heading: impl FnOnce() -> String) {
        if self.reasons.len() > since {
            self.reasons.insert(since, heading());
        }
    }

    fn is_swap_file(&self, file: &Path) -> bool {
        let mut swaps = self.swaps.iter().flatten();
        swaps.any(|swap| is_same_file(self.files, Path::new(swap), file))
    }
}

/// Returns all existing loop devices.
pub(super) fn loops(roots: &Roots) -> Vec<Device> {
    let names = attr::entries(&roots.sys.join("class/block")).into_iter();
    let names = names.filter(|name| attr::numbered(name, "loop").is_some());
    names
        .filter_map(|name| Device::named(roots, &name))
        .collect()
}

/// `true` if both paths name the same file, by file system and inode number; a file that is not
/// visible or was removed is matched by its name.
fn is_same_file(files: &dyn Files, one: &Path, other: &Path) -> bool {
    let found = |path: &Path| files.look(path).ok().map(|found| inode_of(&found));
    one == other || found(one).is_some_and(|inode| found(other) == Some(inode))
}

/// Returns the device and inode numbers, which identify a file under any name.
pub(super) fn inode_of(file: &ExistingFile) -> (DeviceNumber, u64) {
    (file.device, file.inode)
}

/// Returns the range of bytes of its file that a loop device maps.
fn span(device: &Device) -> Range<u64> {
    let start = attr::number(&device.dir.join("loop/offset")).unwrap_or(0);
    let size = device.size().map_or(u64::MAX, |size| size.0);
    // The device size is in sectors; the file may end within one.
    start..start.saturating_add(size).saturating_add(SECTOR_BYTES - 1)
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

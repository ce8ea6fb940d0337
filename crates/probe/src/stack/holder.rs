//! Holder of a file's bytes: block devices or memory.

use super::{View, overlay, several};
use crate::attr;
use crate::device::Device;
use crate::files::ExistingFile;
use assay_model::storage::Mount;

/// Holder of a file's bytes.
pub(super) enum Holder {
    /// Block devices; the first is the one that the file system is mounted from.
    Devices(Vec<Device>),
    Memory {
        fs_type: String,
    },
}

/// Mount options that decide when data is durable.
const DURABILITY: [&str; 7] = [
    "nobarrier",
    "barrier=0",
    "fsync_mode=nobarrier",
    "data=journal",
    "sync",
    "dax",
    "dax=always",
];

/// Most overlays on overlays that are followed; the kernel allows two
/// (`FILESYSTEM_MAX_STACK_DEPTH`).
const MAX_UNIONS: u32 = 4;

impl View<'_> {
    /// Returns the holder of a file, or of a new file in a directory; else the reason why it is not
    /// known.
    pub(super) fn holder(&self, found: &ExistingFile) -> Result<Holder, String> {
        self.holder_without_union(&self.real_file(found)?)
    }

    /// Returns the file in the file system that holds its data.
    fn real_file(&self, found: &ExistingFile) -> Result<ExistingFile, String> {
        let mut real = found.clone();
        for _ in 0..MAX_UNIONS {
            match self.mount_of(&real) {
                Some(entry) if entry.mount.fs_type == "overlay" => {
                    real = overlay::real_file(self.files, entry, &real)?;
                }
                _ => return Ok(real),
            }
        }
        Err("overlays are stacked too deep".to_owned())
    }

    /// Returns the mount of a file. Adds options that affect durability and that mountinfo does not
    /// show there: those of the file system below an overlay, and those in the superblock of ext4.
    pub(super) fn mount_in_force(&self, found: &ExistingFile) -> Option<Mount> {
        let entry = self.mount_of(found)?;
        let mut mount = entry.mount.clone();
        let real = self.real_file(found).ok();
        let below = real.as_ref().and_then(|real| self.mount_of(real));
        let mut implied = below.map_or_else(Vec::new, |entry| entry.mount.super_options.clone());
        let device = below.and_then(|entry| Device::numbered(self.roots, entry.device));
        if let Some(device) = device {
            let options = self
                .roots
                .proc
                .join("fs/ext4")
                .join(device.name)
                .join("options");
            let options = attr::whole(&options).unwrap_or_default();
            implied.extend(options.lines().map(str::to_owned));
        }
        implied.retain(|option| {
            DURABILITY.contains(&option.as_str()) && !mount.super_options.contains(option)
        });
        mount.super_options.extend(implied);
        Some(mount)
    }

    fn holder_without_union(&self, found: &ExistingFile) -> Result<Holder, String> {
        let mount = self.mount_of(found).map(|entry| &entry.mount);
        if let Some(memory) = mount.and_then(|mount| in_memory(&mount.fs_type)) {
            return Ok(memory);
        }
        match mount.map(|mount| (mount, mount.fs_type.as_str())) {
            Some((mount, "btrfs")) => {
                several::of_btrfs(self.roots, self.files, mount).map(Holder::Devices)
            }
            Some((mount, "xfs")) if has_realtime_device(mount) => Err(
                "this XFS has a realtime device, and which of the two holds a file cannot be told"
                    .to_owned(),
            ),
            known if !found.device.is_anonymous() => {
                let device = Device::numbered(self.roots, found.device)
                    .ok_or_else(|| format!("/sys shows no block device {}", found.device))?;
                Ok(Holder::Devices(match known {
                    Some((_, "f2fs")) => several::of_f2fs(self.roots, self.files, device),
                    _ => vec![device],
                }))
            }
            Some((_, fs_type)) => Err(no_device(fs_type)),
            None => Err("/proc/self/mountinfo does not show its mount".to_owned()),
        }
    }
}

/// Returns the holder of files of this type of file system, if that is memory.
pub(super) fn in_memory(fs_type: &str) -> Option<Holder> {
    matches!(fs_type, "tmpfs" | "ramfs" | "devtmpfs").then(|| Holder::Memory {
        fs_type: fs_type.to_owned(),
    })
}

fn has_realtime_device(mount: &Mount) -> bool {
    let mut options = mount.super_options.iter();
    options.any(|option| option.starts_with("rtdev="))
}

/// Returns the reason why a file system with an anonymous device number has no block device.
fn no_device(fs_type: &str) -> String {
    match fs_type {
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "afs" => {
            format!("{fs_type} is a network file system: the device is on the server")
        }
        "9p" | "virtiofs" | "vboxsf" => {
            format!("{fs_type} is served by another machine: the device is there")
        }
        "zfs" => "a ZFS pool does not say which of its devices hold a file".to_owned(),
        "ubifs" | "jffs2" | "yaffs2" => {
            format!("{fs_type} is on raw flash, for which the kernel has no I/O counters")
        }
        fuse if fuse == "fuse" || fuse.starts_with("fuse.") => {
            format!("{fuse} is served by a process: only that process knows the device")
        }
        other => format!("the kernel does not say which device holds a {other} file system"),
    }
}

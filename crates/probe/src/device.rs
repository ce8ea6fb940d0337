//! A block device in sysfs.

use crate::attr;
use crate::roots::Roots;
use assay_model::units::Bytes;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Size of the sectors in which the block layer counts, independent of the device's block size
/// (Documentation/ABI/stable/sysfs-block).
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Returns the node of a block device, as created by udev or Android. The kernel writes `!` for a
/// slash in a name.
pub fn node(roots: &Roots, name: &str) -> PathBuf {
    let name = name.replace('!', "/");
    let folders = ["dev", "dev/block"].map(|folder| roots.root.join(folder).join(&name));
    let [usual, android] = folders;
    if !usual.exists() && android.exists() {
        return android;
    }
    usual
}

/// Number of a device in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeviceNumber {
    /// Number of the driver.
    pub(crate) major: u32,
    /// Number of the device within its driver.
    pub(crate) minor: u32,
}

impl DeviceNumber {
    /// Converts the kernel's `dev_t`.
    pub(crate) fn from_raw(dev: u64) -> Self {
        Self {
            major: rustix::fs::major(dev),
            minor: rustix::fs::minor(dev),
        }
    }

    /// `true` for major 0: the kernel assigns such numbers to file systems that have no device, or
    /// several.
    pub(crate) const fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Error for a text that is not of the form `8:1`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a device number of the form 8:1")]
pub(crate) struct ParseDeviceNumberError;

impl FromStr for DeviceNumber {
    type Err = ParseDeviceNumberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (major, minor) = text.split_once(':').ok_or(ParseDeviceNumberError)?;
        Ok(Self {
            major: major.parse().map_err(|_| ParseDeviceNumberError)?,
            minor: minor.parse().map_err(|_| ParseDeviceNumberError)?,
        })
    }
}

/// `true` for the folder of a hidden disk, which the kernel uses only as a path to another disk.
pub(crate) fn is_hidden(dir: &Path) -> bool {
    attr::flag(&dir.join("hidden")) == Some(true)
}

/// An existing block device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    /// Kernel name, as in `/sys/class/block`.
    pub(crate) name: String,
    pub(crate) number: DeviceNumber,
    /// Sysfs folder of the device, with links resolved: its parents are the device's bus.
    pub(crate) dir: PathBuf,
    /// The sysfs root, without links.
    sys: PathBuf,
}

impl Device {
    pub(crate) fn named(roots: &Roots, name: &str) -> Option<Self> {
        Self::at(roots, &roots.block(name))
    }

    pub(crate) fn numbered(roots: &Roots, number: DeviceNumber) -> Option<Self> {
        Self::at(roots, &roots.sys.join(format!("dev/block/{number}")))
    }

    fn at(roots: &Roots, entry: &Path) -> Option<Self> {
        let dir = fs::canonicalize(entry).ok()?;
        // A path to an NVMe drive with several controllers has no device number.
        let hidden = DeviceNumber { major: 0, minor: 0 };
        let number = attr::number(&dir.join("dev"));
        Some(Self {
            name: dir.file_name()?.to_str()?.to_owned(),
            number: number.or_else(|| is_hidden(&dir).then_some(hidden))?,
            sys: fs::canonicalize(&roots.sys).ok()?,
            dir,
        })
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.dir.join("partition").exists()
    }

    /// Returns the folder of the whole disk: the parent of a partition, else the device itself.
    pub(crate) fn disk_dir(&self) -> &Path {
        match self.dir.parent() {
            Some(disk) if self.is_partition() => disk,
            _ => &self.dir,
        }
    }

    /// Returns the disk of a partition; `None` for a disk.
    pub(crate) fn parent_disk(&self, roots: &Roots) -> Option<Self> {
        let disk = self.is_partition().then(|| self.disk_dir().file_name())??;
        Self::named(roots, disk.to_str()?)
    }

    pub(crate) fn partitions(&self) -> Vec<String> {
        let mut names = attr::entries(&self.dir);
        names.retain(|name| self.dir.join(name).join("partition").exists());
        names
    }

    /// Returns the devices that this one is made of (device mapper, md, bcache).
    pub(crate) fn slaves(&self) -> Vec<String> {
        let mut names = attr::entries(&self.dir.join("slaves"));
        // bcache lists its cache device there; `bcache` is a link into the folder of the backing
        // device.
        let backing = fs::canonicalize(self.dir.join("bcache")).ok();
        let backing = backing.and_then(|it| it.parent()?.file_name()?.to_str().map(str::to_owned));
        names.extend(backing.filter(|name| *name != self.name && !names.contains(name)));
        names
    }

    /// `true` if the devices below are paths to the same disk. Only multipath makes device-mapper
    /// devices with request queues.
    pub(crate) fn is_multipath(&self) -> bool {
        let uuid = attr::text(&self.dir.join("dm/uuid")).unwrap_or_default();
        let has_queues = || self.dir.join("dm").exists() && self.dir.join("mq").exists();
        uuid.starts_with("mpath-") || has_queues() || !self.hidden_paths().is_empty()
    }

    /// Returns the paths to an NVMe drive with several controllers: nvme0c0n1 and nvme0c1n1 for
    /// nvme0n1.
    pub(crate) fn hidden_paths(&self) -> Vec<String> {
        let drive = self
            .name
            .strip_prefix("nvme")
            .and_then(|it| it.split_once('n'));
        let Some((drive, namespace)) = drive else {
            return Vec::new();
        };
        let (drive, namespace) = (format!("nvme{drive}c"), format!("n{namespace}"));
        let folder = self.sys.join("class/block");
        let mut names = attr::entries(&folder);
        names.retain(|name| {
            let controller = name.strip_prefix(&drive);
            let controller = controller.and_then(|rest| rest.strip_suffix(&namespace));
            controller.is_some_and(|number| number.parse::<u32>().is_ok())
                && is_hidden(&folder.join(name))
        });
        names
    }

    /// Returns the devices that are made of this one.
    pub(crate) fn holders(&self) -> Vec<String> {
        attr::entries(&self.dir.join("holders"))
    }

    pub(crate) fn size(&self) -> Option<Bytes> {
        let sectors: u64 = attr::number(&self.dir.join("size"))?;
        Some(Bytes(sectors.checked_mul(SECTOR_BYTES)?))
    }

    /// `true` for a SCSI disk or an NVMe controller that is being removed or has failed: its folder
    /// still exists.
    pub(crate) fn is_leaving(&self) -> bool {
        let state = attr::text(&self.disk_dir().join("device/state")).unwrap_or_default();
        let words = ["cancel", "deleted", "offline", "transport-offline", "dead"];
        words.contains(&&*state) || state.starts_with("deleting")
    }

    /// Returns the file behind a loop device, as the kernel reports it.
    pub(crate) fn backing_file(&self) -> Option<PathBuf> {
        attr::text(&self.dir.join("loop/backing_file")).map(PathBuf::from)
    }

    /// Returns the sysfs root.
    pub(crate) fn sys(&self) -> &Path {
        &self.sys
    }

    /// Returns the device's folder and its parents, nearest first, up to the sysfs root: the path
    /// from the disk through its bus to the processor.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &Path> {
        self.dir
            .ancestors()
            .take_while(|dir| dir.starts_with(&self.sys) && *dir != self.sys)
    }

    /// Returns the nearest parent folder that has this entry.
    pub(crate) fn ancestor_with(&self, entry: &str) -> Option<&Path> {
        self.ancestors().find(|dir| dir.join(entry).exists())
    }
}

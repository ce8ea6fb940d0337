//! One block device as sysfs shows it.

use crate::attr;
use crate::roots::Roots;
use assay_model::units::Bytes;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The block layer counts in sectors of this size, whatever the device's own
/// block size (Documentation/ABI/stable/sysfs-block).
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The node of a block device: where udev or Android puts it. The kernel writes `!`
/// for a slash in a name.
pub fn node(roots: &Roots, name: &str) -> PathBuf {
    let name = name.replace('!', "/");
    let folders = ["dev", "dev/block"].map(|folder| roots.root.join(folder).join(&name));
    let [usual, android] = folders;
    if !usual.exists() && android.exists() {
        return android;
    }
    usual
}

/// A device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeviceNumber {
    /// Driver.
    pub(crate) major: u32,
    /// Device of the driver.
    pub(crate) minor: u32,
}

impl DeviceNumber {
    /// From the kernel's `dev_t`.
    pub(crate) fn from_raw(dev: u64) -> Self {
        Self {
            major: rustix::fs::major(dev),
            minor: rustix::fs::minor(dev),
        }
    }

    /// Major 0 is no device: the kernel makes such numbers up for file
    /// systems that have none, or several.
    pub(crate) const fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Not of the form `8:1`.
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

/// `true` for the folder of a disk that the kernel uses only itself, as a path to another one.
pub(crate) fn is_hidden(dir: &Path) -> bool {
    attr::flag(&dir.join("hidden")) == Some(true)
}

/// A block device that exists.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    /// Kernel name, as in `/sys/class/block`.
    pub(crate) name: String,
    pub(crate) number: DeviceNumber,
    /// Sysfs folder of the device, with links resolved: the folders above it are its bus.
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
        // A path to an NVMe drive with several controllers has no number.
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

    /// The whole disk: of a partition the one above it, else itself.
    pub(crate) fn disk_dir(&self) -> &Path {
        match self.dir.parent() {
            Some(disk) if self.is_partition() => disk,
            _ => &self.dir,
        }
    }

    /// The disk of a partition; `None` for a disk.
    pub(crate) fn parent_disk(&self, roots: &Roots) -> Option<Self> {
        let disk = self.is_partition().then(|| self.disk_dir().file_name())??;
        Self::named(roots, disk.to_str()?)
    }

    pub(crate) fn partitions(&self) -> Vec<String> {
        let mut names = attr::entries(&self.dir);
        names.retain(|name| self.dir.join(name).join("partition").exists());
        names
    }

    /// Devices it is made of (device mapper, md, bcache).
    pub(crate) fn slaves(&self) -> Vec<String> {
        let mut names = attr::entries(&self.dir.join("slaves"));
        // bcache lists its cache there, and leads to a folder of its backing device.
        let backing = fs::canonicalize(self.dir.join("bcache")).ok();
        let backing = backing.and_then(|it| it.parent()?.file_name()?.to_str().map(str::to_owned));
        names.extend(backing.filter(|name| *name != self.name && !names.contains(name)));
        names
    }

    /// `true` if each device it is made of leads to the same disk. Only multipath makes
    /// device-mapper devices with queues of requests.
    pub(crate) fn is_multipath(&self) -> bool {
        let uuid = attr::text(&self.dir.join("dm/uuid")).unwrap_or_default();
        let has_queues = || self.dir.join("dm").exists() && self.dir.join("mq").exists();
        uuid.starts_with("mpath-") || has_queues() || !self.hidden_paths().is_empty()
    }

    /// Paths to an NVMe drive with several controllers: of nvme0n1, nvme0c0n1 and nvme0c1n1.
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

    /// Devices that are made of it.
    pub(crate) fn holders(&self) -> Vec<String> {
        attr::entries(&self.dir.join("holders"))
    }

    pub(crate) fn size(&self) -> Option<Bytes> {
        let sectors: u64 = attr::number(&self.dir.join("size"))?;
        Some(Bytes(sectors.checked_mul(SECTOR_BYTES)?))
    }

    /// True for a SCSI disk or an NVMe controller that is being removed, or that the kernel has
    /// given up: it still has its folder.
    pub(crate) fn is_leaving(&self) -> bool {
        let state = attr::text(&self.disk_dir().join("device/state")).unwrap_or_default();
        let words = ["cancel", "deleted", "offline", "transport-offline", "dead"];
        words.contains(&&*state) || state.starts_with("deleting")
    }

    /// The file behind a loop device, as the kernel writes it.
    pub(crate) fn backing_file(&self) -> Option<PathBuf> {
        attr::text(&self.dir.join("loop/backing_file")).map(PathBuf::from)
    }

    /// The sysfs root.
    pub(crate) fn sys(&self) -> &Path {
        &self.sys
    }

    /// Returns the device's folder and its parents, nearest first, up to the sysfs root: the path
    /// from the disk over its bus to the processor.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &Path> {
        self.dir
            .ancestors()
            .take_while(|dir| dir.starts_with(&self.sys) && *dir != self.sys)
    }

    /// The nearest folder on the way up that has this entry.
    pub(crate) fn ancestor_with(&self, entry: &str) -> Option<&Path> {
        self.ancestors().find(|dir| dir.join(entry).exists())
    }
}

//! Storage under test: the mount, the stack of block devices under a path, and the identity of each
//! device.

use crate::units::Bytes;
use assay_lang::{in_english, tr};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Path that stands for main memory when memory is measured.
pub const MAIN_MEMORY: &str = "memory";

/// Raw attribute of a loop device whose file is in memory: the type of its file system.
pub const FILE_IN_MEMORY: &str = "backing_memory";

/// Returns the folder that holds a file: `.` for a bare name.
///
/// ```
/// # use std::path::Path;
/// use assay_model::storage::folder_of;
/// assert_eq!(folder_of(Path::new("a/b")), Path::new("a"));
/// assert_eq!(folder_of(Path::new("b")), Path::new("."));
/// ```
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Returns the text after `sim:` in the path of a simulated device: a part known to `crates/flash`
/// or a file that describes one, and simulation settings. `None` for a real path.
///
/// ```
/// # use std::path::Path;
/// use assay_model::storage::simulated;
/// assert_eq!(simulated(Path::new("sim:emmc-8gb-hs400")), Some("emmc-8gb-hs400"));
/// assert_eq!(simulated(Path::new("./sim:file")), None);
/// ```
pub fn simulated(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix("sim:")
}

/// Everything known about the storage behind a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Requested path, absolute. Only for display: a name that is not UTF-8 has replacement
    /// characters after loading, here and in the paths below.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// Mount that holds the path; `None` for a block device itself.
    pub mount: Option<Mount>,
    /// Destination of the bytes.
    pub backing: Backing,
    /// Stack of block devices, top first. Empty unless `backing` is a device, or a loop device
    /// whose file is in memory.
    pub layers: Vec<Layer>,
    /// Size of the file system or device.
    pub total: Option<Bytes>,
    /// Space available for a new file of this user; `None` for a device.
    pub available: Option<Bytes>,
}

fn as_text<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

fn as_text_if_any<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(to)
}

impl Storage {
    /// Returns a storage that is unknown for this reason.
    pub fn unknown(path: PathBuf, why: String) -> Self {
        Self {
            path,
            mount: None,
            backing: Backing::Unknown { why },
            layers: Vec::new(),
            total: None,
            available: None,
        }
    }

    /// Returns the storage of measurements of main memory.
    pub fn main_memory(total: Option<Bytes>) -> Self {
        Self {
            backing: Backing::MainMemory,
            total,
            ..Self::unknown(PathBuf::from(MAIN_MEMORY), String::new())
        }
    }

    /// Returns the layer that holds the file directly: the device under test. For a file system on
    /// several devices, the one that it is mounted from.
    pub fn top(&self) -> Option<&Layer> {
        self.layers.first()
    }

    /// Returns the layers that hold the file directly: several if the file system is on several
    /// devices.
    pub fn tops(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|l| l.role == LayerRole::Top)
    }

    /// Returns the layers directly below a layer.
    pub fn below<'a>(&'a self, layer: &'a Layer) -> impl Iterator<Item = &'a Layer> {
        self.layers.iter().filter(|l| l.is_below(&layer.name))
    }

    /// Returns the layer that identifies the device under test: the disk of a partition, else the
    /// top itself.
    pub fn device(&self) -> Option<&Layer> {
        let top = self.top()?;
        let mut layers = self.layers.iter();
        let disk = layers.find(|l| l.role == LayerRole::Disk && l.is_below(&top.name));
        Some(disk.unwrap_or(top))
    }

    /// Returns a short description of the device for lists: `eMMC SanDisk DG4032, 29.1 GiB`, `tmpfs
    /// in memory`.
    pub fn words(&self) -> String {
        match &self.backing {
            Backing::Memory { fs_type } => format!("{fs_type} in memory"),
            Backing::MainMemory => "main memory".to_owned(),
            Backing::Unknown { .. } => "unknown device".to_owned(),
            Backing::Simulated { part: name } | Backing::Device { name } => {
                self.device().map_or_else(|| name.clone(), Layer::words)
            }
        }
    }

    /// Returns the reason why all of the storage is memory: `tmpfs is memory`, `loop0 is in memory
    /// (file on tmpfs)`, `dm-0 is on zram0 (zram)`; `None` when it is not memory, or not known.
    pub fn memory(&self) -> Option<String> {
        let top = self.top();
        if let Backing::Memory { fs_type } = &self.backing {
            return Some(top.map_or_else(
                || format!("{fs_type} is memory"),
                |top| format!("{} is in memory ({fs_type})", top.name),
            ));
        }
        let mut lowest = (self.layers.iter()).filter(|layer| self.below(layer).next().is_none());
        let (top, first) = (top?, lowest.next()?);
        let all = first.is_memory() && lowest.all(Layer::is_memory);
        let kind = &first.identity.kind;
        all.then(|| match first.name == top.name {
            true => format!("{} is memory ({kind})", top.name),
            false => format!("{} is on {} ({kind})", top.name, first.name),
        })
    }

    /// Returns the caveats to show beside every label of this storage, one sentence each: loop
    /// devices whose file the machine caches (`loop/dio`), and devices that a program serves.
    pub fn caveats(&self) -> Vec<String> {
        let layers = self.layers.iter();
        layers.filter_map(Layer::caveat).collect()
    }

    /// Returns the layers without a page cache between the file and the device: all but those
    /// beneath a loop device.
    pub fn reached_directly(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|l| l.role != LayerRole::Beneath)
    }

    /// Returns the lowest devices that are memory, if only some are.
    pub fn partly_memory(&self) -> impl Iterator<Item = &Layer> {
        let part = self.memory().is_none();
        self.leaves().filter(move |leaf| part && leaf.is_memory())
    }

    /// Returns the disks that data reaches directly and that have no layer below them there; their
    /// flushes and caches count for durability.
    pub fn leaves(&self) -> impl Iterator<Item = &Layer> {
        self.reached_directly().filter(|layer| {
            // A disk beneath a loop device may also be reached directly by another path.
            let mut below = self.below(layer).filter(|l| l.role != LayerRole::Beneath);
            layer.backing_file.is_some() || below.next().is_none()
        })
    }
}

/// A mount, as in `/proc/self/mountinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Mount point.
    #[serde(serialize_with = "as_text")]
    pub point: PathBuf,
    /// Type of the file system.
    pub fs_type: String,
    /// Mounted device, folder or name.
    pub source: String,
    /// Options of the mount.
    pub options: Vec<String>,
    /// Options of the file system.
    pub super_options: Vec<String>,
}

/// Destination of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Backing {
    /// The block device of that kernel name.
    Device {
        /// Kernel name, for example `mmcblk0p2`.
        name: String,
    },
    /// Memory: tmpfs, ramfs, or a loop device on a file of these.
    Memory {
        /// Type of the file system; for a loop device, `file on` its type.
        fs_type: String,
    },
    /// No storage: the device is a model in virtual time.
    Simulated {
        /// Name of the modelled part.
        part: String,
    },
    /// No storage: main memory itself is measured.
    #[serde(rename = "main_memory")]
    MainMemory,
    /// The storage is not known.
    Unknown {
        /// Reason, as one clause.
        why: String,
    },
}

/// Relation of a layer to the device under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerRole {
    /// Holds the file: its byte counters show the data that reached the device.
    Top,
    /// The whole disk of a partition above it.
    Disk,
    /// Device below a device-mapper or md device.
    Member,
    /// A path to the disk above it: of a multipath device, or of an NVMe drive with several
    /// controllers.
    Path,
    /// Device below a loop device, with another page cache in between.
    Beneath,
}

/// A block device of the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Kernel name, as in `/sys/class/block`.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// Relation to the device under test.
    pub role: LayerRole,
    /// Layer directly above through which it was found first; `None` for the top.
    pub parent: Option<String>,
    /// Further layers directly above; empty in records before this field existed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_parents: Vec<String>,
    /// Size.
    pub size: Option<Bytes>,
    /// File behind a loop device.
    #[serde(serialize_with = "as_text_if_any")]
    pub backing_file: Option<PathBuf>,
    /// Vendor, model and other identifiers.
    pub identity: DeviceIdentity,
}

impl Layer {
    /// `true` if the layer of that name is directly above this one.
    pub fn is_below(&self, name: &str) -> bool {
        self.parent.as_deref() == Some(name) || self.other_parents.iter().any(|it| it == name)
    }

    /// `true` if the device stores its data in memory, or discards it.
    pub fn is_memory(&self) -> bool {
        self.identity.kind.is_memory() || self.identity.raw.contains_key(FILE_IN_MEMORY)
    }

    /// Returns the file of a loop device that accesses it through the page cache.
    pub fn cached_file(&self) -> Option<&Path> {
        let is_loop = self.identity.kind == DeviceKind::Loop;
        let is_direct = self.identity.raw.get("dio").map(String::as_str) == Some("1");
        let file = self.backing_file.as_deref();
        file.filter(|_| is_loop && !is_direct)
    }

    /// `true` for a device whose data is moved by a program or a file system, perhaps on another
    /// machine: its storage and caching are not known here.
    pub fn is_served(&self) -> bool {
        let is_numbered = |kind: &&str| {
            let number = self.name.strip_prefix(*kind).unwrap_or_default();
            number.starts_with(|first: char| first.is_ascii_digit())
        };
        let names = ["ublkb", "zd", "rbd", "drbd"];
        self.identity.kind == DeviceKind::Nbd || names.iter().any(is_numbered)
    }

    fn caveat(&self) -> Option<String> {
        if self.is_served() {
            return Some(format!(
                "{name} is served by a program of this machine or of another one: \"device\" means \
                 {name}, not the disk of its server.",
                name = self.name
            ));
        }
        let file = self.cached_file()?;
        Some(format!(
            "{name} is a loop device over {}, which this machine caches: \"device\" means {name}, \
             not what is beneath it.",
            file.display(),
            name = self.name
        ))
    }

    fn words(&self) -> String {
        let identity = &self.identity;
        // The text is stored with a run and compared with that of others, so it is always English.
        let mut words = in_english(|| identity.kind.to_string());
        for part in [&identity.vendor, &identity.model].into_iter().flatten() {
            words.push(' ');
            words.push_str(part);
        }
        if let Some(size) = self.size {
            words.push_str(&format!(", {size}"));
        }
        words
    }
}

/// Kind of storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Embedded MultiMediaCard (also the flash half of an eMCP).
    Emmc,
    /// SD card.
    Sd,
    /// Universal Flash Storage.
    Ufs,
    /// USB mass storage.
    Usb,
    /// NVM Express.
    Nvme,
    /// SATA or ATA disk.
    Sata,
    /// Another SCSI disk.
    Scsi,
    /// Disk of a virtual machine.
    Virtio,
    /// Loop device.
    Loop,
    /// Compressed RAM.
    Zram,
    /// RAM disk (brd).
    Ram,
    /// Device mapper (LVM, dm-crypt, …).
    Dm,
    /// Software RAID.
    Md,
    /// Network block device.
    Nbd,
    /// null_blk.
    Nullblk,
    /// Raw flash through UBI or MTD block.
    Mtd,
    /// A partition; its disk is a separate layer.
    Partition,
    /// A model in virtual time.
    Simulated,
    /// None of these.
    #[default]
    Other,
}

impl DeviceKind {
    /// `true` if the device stores its data in memory, or discards it.
    pub const fn is_memory(&self) -> bool {
        matches!(self, Self::Zram | Self::Ram | Self::Nullblk)
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Emmc => "eMMC",
            Self::Sd => tr!("SD card"),
            Self::Ufs => "UFS",
            Self::Usb => tr!("USB storage"),
            Self::Nvme => "NVMe",
            Self::Sata => "SATA",
            Self::Scsi => "SCSI",
            Self::Virtio => tr!("virtio disk"),
            Self::Loop => tr!("loop device"),
            Self::Zram => "zram",
            Self::Ram => tr!("RAM disk"),
            Self::Dm => tr!("device mapper"),
            Self::Md => tr!("software RAID"),
            Self::Nbd => tr!("network block device"),
            Self::Nullblk => tr!("null block device"),
            Self::Mtd => tr!("raw flash"),
            Self::Partition => tr!("partition"),
            Self::Simulated => tr!("simulated device"),
            Self::Other => tr!("block device"),
        })
    }
}

/// Identity of one device; a value that the kernel does not show is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Kind of storage.
    pub kind: DeviceKind,
    /// Model or product name.
    pub model: Option<String>,
    /// Manufacturer, as a name if its id is known.
    pub vendor: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Manufacturing date in the kernel's format (`MM/YYYY`).
    pub date: Option<String>,
    /// Card identification register of eMMC and SD, in hexadecimal.
    pub cid: Option<String>,
    /// Estimated life used, in words, per memory type (eMMC, UFS).
    pub life_time: Option<String>,
    /// Reserved blocks used (`normal`, `warning`, `urgent`).
    pub pre_eol: Option<String>,
    /// Bus mode in words, for example `HS400, 8 bit, 200 MHz`.
    pub bus: Option<String>,
    /// `true` if the device is a spinning disk.
    pub rotational: Option<bool>,
    /// `true` if the medium can be removed.
    pub removable: Option<bool>,
    /// Logical block size.
    pub logical_block: Option<Bytes>,
    /// Physical block size.
    pub physical_block: Option<Bytes>,
    /// Raw attributes of the kernel, kept for later decoding.
    pub raw: BTreeMap<String, String>,
}

/// System around the storage. A value that the kernel does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Host name.
    pub hostname: Option<String>,
    /// Id of this boot from the kernel: equal ids mean the same machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Machine, as `uname -m`.
    pub machine: String,
    /// Distribution (`PRETTY_NAME` of os-release).
    pub os: Option<String>,
    /// Board or product name (device tree model, or DMI product).
    pub board: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus: u32,
    /// RAM.
    pub memory: Bytes,
    /// Size of a page.
    pub page_size: Bytes,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// `true` if the agent ran as root; without root some evidence is missing.
    pub root: bool,
}

//! Reasons why a block device or a regular file must not be written.
//!
//! Writing a device writes all layers below it, so their other users count too.

pub use crate::files::held_exclusively;

use crate::device::node;
use crate::device::{Device, DeviceNumber, SECTOR_BYTES};
use crate::files::{
    ExistingFile, FileKind, Files, KernelFiles, MountEntry, Opener, lasting_writers, read_mounts,
    unescaped,
};
use crate::roots::Roots;
use crate::{attr, identity, stack};
use std::cell::Cell;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::{io, process};

/// Returns the reasons why the block device with this kernel name must not be written, one clause
/// each ("sda1 is mounted on /home"); empty if it may be written.
///
/// Checks the device, its partitions, and all devices made of them (device mapper, md, loop
/// devices, ...); for a partition also uses of its whole disk; and all devices below it with their
/// other users: a mounted device below a loop device, other loop devices on the same file, other
/// paths to the same disk. A process that keeps one of them open for writing is a use, except this
/// process and its parent (the host); other users' processes are visible to root only. Other data
/// that cannot be read counts as a reason. Mounts in other mount namespaces are not visible: use
/// [`held_exclusively`] too.
pub fn in_use(roots: &Roots, name: &str) -> Vec<String> {
    in_use_with(roots, &KernelFiles, name)
}

/// Returns the result of [`in_use`] for several devices, in their order; scans processes only once.
pub fn in_use_each(roots: &Roots, names: &[String]) -> Vec<Vec<String>> {
    let mut search = Search::new(roots, &KernelFiles);
    let names = names.iter();
    names.map(|name| search.uses_of(name)).collect()
}

fn in_use_with(roots: &Roots, files: &dyn Files, name: &str) -> Vec<String> {
    Search::new(roots, files).uses_of(name)
}

/// Reason for a use that shows only when the device is opened.
const HELD: &str = "is held by another program or mounted in another namespace";

/// Search for uses; results are collected in `reasons`.
struct Search<'a> {
    roots: &'a Roots,
    files: &'a dyn Files,
    mounts: Vec<MountEntry>,
    /// Swap files and devices, or the error of reading them, which counts against every device.
    swaps: Result<Vec<String>, String>,
    openers: Vec<Opener>,
    /// Devices already checked: several paths may lead to one holder.
    seen: Vec<String>,
    /// The requested device and the devices below it that were checked: each uses the next, which
    /// is not a use by others.
    path: Vec<String>,
    reasons: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(roots: &'a Roots, files: &'a dyn Files) -> Self {
        Self {
            roots,
            files,
            mounts: read_mounts(roots).unwrap_or_default(),
            swaps: swaps(roots).map_err(|error| error.to_string()),
            openers: lasting_writers(roots, files, &[process::id(), parent_id()]),
            seen: Vec::new(),
            path: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// Returns all reasons against writing the device of that name.
    fn uses_of(&mut self, name: &str) -> Vec<String> {
        let Some(device) = Device::named(self.roots, name) else {
            return vec![format!("/sys shows no block device {name}")];
        };
        self.begin(name);
        self.whole(&device);
        std::mem::take(&mut self.reasons)
    }

    /// Collects the uses of a device that may be written anywhere.
    fn whole(&mut self, device: &Device) {
        self.read_only(device);
        self.with_partitions(device);
        if let Some(disk) = device.parent_disk(self.roots) {
            self.read_only(&disk);
            self.alone(&disk);
        }
        self.beneath(device);
    }

    /// Resets the state for a device, and adds the reasons that apply to every device.
    fn begin(&mut self, name: &str) {
        self.seen.clear();
        self.path.clear();
        self.reasons.clear();
        if self.mounts.is_empty() {
            self.reasons.push(format!(
                "whether {name} is mounted is not known: /proc/self/mountinfo cannot be read"
            ));
        }
        if let Err(error) = &self.swaps {
            self.reasons.push(format!(
                "whether {name} is swap space is not known: /proc/swaps cannot be read ({error})"
            ));
        }
    }

    fn with_partitions(&mut self, device: &Device) {
        self.alone(device);
        for partition in device.partitions() {
            if let Some(partition) = Device::named(self.roots, &partition) {
                self.alone(&partition);
            }
        }
    }

    /// Collects the uses of one device, and of the devices made of it.
    fn alone(&mut self, device: &Device) {
        if self.unless_seen(device) {
            self.held(device);
        }
    }

    /// Collects the uses of one device except by its holders. Returns `false` if it was already
    /// checked.
    fn unless_seen(&mut self, device: &Device) -> bool {
        if self.seen.contains(&device.name) {
            return false;
        }
        self.seen.push(device.name.clone());
        self.mounted(device);
        self.swap(device);
        self.spread(device);
        self.under_loop(device);
        self.open(device);
        true
    }

    fn read_only(&mut self, device: &Device) {
        if attr::flag(&device.dir.join("ro")) == Some(true) {
            self.reasons.push(format!("{} is read-only", device.name));
        }
    }

    fn mounted(&mut self, device: &Device) {
        let points: Vec<String> = self
            .mounts
            .iter()
            .filter(|entry| {
                entry.device == device.number
                    || (entry.device.is_anonymous()
                        && self.leads_to(Path::new(&entry.mount.source), device))
            })
            .map(|entry| entry.mount.point.display().to_string())
            .collect();
        if !points.is_empty() {
            let points = points.join(", ");
            self.reasons
                .push(format!("{} is mounted on {points}", device.name));
        }
    }

    fn swap(&mut self, device: &Device) {
        let mut swaps = self.swaps.iter().flatten();
        if swaps.any(|file| self.leads_to(Path::new(file), device)) {
            self.reasons
                .push(format!("{} is in use as swap space", device.name));
        }
    }

    /// Finds file systems on several devices: mountinfo names only one of them as the source.
    fn spread(&mut self, device: &Device) {
        for entry in &self.mounts {
            let mount = &entry.mount;
            let options = mount.super_options.iter();
            let mut xfs = options.filter_map(|option| {
                let (name, path) = option.split_once('=')?;
                let part = match name {
                    "logdev" => "the log",
                    "rtdev" => "the realtime device",
                    _ => return None,
                };
                self.leads_to(Path::new(path), device).then_some(part)
            });
            let part = match mount.fs_type.as_str() {
                "xfs" => xfs.next(),
                "f2fs" => Device::numbered(self.roots, entry.device).and_then(|first| {
                    let all = stack::of_f2fs(self.roots, self.files, first);
                    let mut others = all.iter().skip(1);
                    others.any(|it| it.name == device.name).then_some("a part")
                }),
                _ => None,
            };
            self.reasons.extend(part.map(|part| {
                format!(
                    "{} is {part} of the {} file system mounted on {}",
                    device.name,
                    mount.fs_type,
                    mount.point.display()
                )
            }));
        }
        for (uuid, members) in stack::file_systems(self.roots) {
            if members.contains(&device.name) {
                let name = &device.name;
                self.reasons.push(format!(
                    "{name} belongs to the mounted btrfs file system {uuid}"
                ));
            }
        }
    }

    fn held(&mut self, device: &Device) {
        for name in device.holders() {
            // This holder is another path to a disk below the requested device.
            if self.path.contains(&name) {
                continue;
            }
            let holder = Device::named(self.roots, &name);
            let use_ = match &holder {
                Some(holder) => holder_in_words(holder),
                None => format!("is used by {name}"),
            };
            self.reasons.push(format!("{} {use_}", device.name));
            if let Some(holder) = holder {
                self.with_partitions(&holder);
            }
        }
    }

    /// Finds loop devices on the device node; the kernel does not list them as holders.
    fn under_loop(&mut self, device: &Device) {
        for on_top in loops(self.roots) {
            let file = on_top.backing_file();
            let is_on = file.is_some_and(|file| self.leads_to(&file, device));
            if is_on && !self.path.contains(&on_top.name) {
                self.reasons
                    .push(format!("{} backs {}", device.name, on_top.name));
                self.with_partitions(&on_top);
            }
        }
    }

    fn open(&mut self, device: &Device) {
        let openers = self.openers.iter();
        let programs: Vec<String> = openers
            .filter(|opener| opener.device == device.number)
            .map(|opener| {
                let name = opener.name.as_deref().unwrap_or("a program");
                format!("{name} (pid {})", opener.pid)
            })
            .collect();
        if !programs.is_empty() {
            let programs = programs.join(", ");
            self.reasons
                .push(format!("{} is open in {programs}", device.name));
        }
    }

    /// `true` if a path is a node of the device. A node that is missing or not visible is matched
    /// by its name.
    fn leads_to(&self, path: &Path, device: &Device) -> bool {
        if !path.is_absolute() {
            return false;
        }
        match self.files.stat(path) {
            Ok(found) => found.kind == FileKind::BlockDevice(device.number),
            Err(_) => path.strip_prefix("/dev").is_ok_and(|rest| {
                let name = rest.to_string_lossy();
                name.strip_suffix(" (deleted)").unwrap_or(&name) == device.name
            }),
        }
    }
}

/// Describes how a holder uses the device below it.
fn holder_in_words(holder: &Device) -> String {
    let name = &holder.name;
    let dm = |attribute: &str| attr::text(&holder.dir.join("dm").join(attribute));
    if let Some(volume) = dm("name") {
        let kind = match dm("uuid").as_deref().and_then(|uuid| uuid.split_once('-')) {
            Some(("LVM", _)) => "the LVM volume",
            Some(("CRYPT", _)) => "the encrypted volume",
            Some(("mpath", _)) => "the multipath device",
            _ => "the device-mapper volume",
        };
        format!("is part of {kind} {volume} ({name})")
    } else if let Some(level) = attr::text(&holder.dir.join("md/level")) {
        format!("is a member of the {level} array {name}")
    } else {
        format!("is used by {name}")
    }
}

/// Returns files and devices of `/proc/swaps`; a kernel without swap has no such file.
fn swaps(roots: &Roots) -> io::Result<Vec<String>> {
    let text = match attr::whole(&roots.proc.join("swaps")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    let lines = text.lines().skip(1);
    Ok(lines
        .filter_map(|line| line.split_whitespace().next())
        .map(unescaped)
        .collect())
}

impl Search<'_> {
    /// Collects other uses of the devices that this device is made of.
    fn beneath(&mut self, device: &Device) {
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
            match self.files.stat(&file).map(|found| found.kind) {
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
    fn or_held(&mut self, since: usize, device: &Device) {
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
fn loops(roots: &Roots) -> Vec<Device> {
    let names = attr::entries(&roots.sys.join("class/block")).into_iter();
    let names = names.filter(|name| attr::numbered(name, "loop").is_some());
    names
        .filter_map(|name| Device::named(roots, &name))
        .collect()
}

/// `true` if both paths name the same file, by file system and inode number; a file that is not
/// visible or was removed is matched by its name.
fn is_same_file(files: &dyn Files, one: &Path, other: &Path) -> bool {
    let found = |path: &Path| files.stat(path).ok().map(|found| inode_of(&found));
    one == other || found(one).is_some_and(|inode| found(other) == Some(inode))
}

/// Returns the device and inode numbers, which identify a file under any name.
fn inode_of(file: &ExistingFile) -> (DeviceNumber, u64) {
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

/// Regular files that the kernel uses, at one moment: the files behind loop devices, and swap
/// files.
///
/// A file is identified by its file system and inode number under any name. Loop devices on files
/// that are not visible (another mount namespace, a removed name) are missed, and so are files that
/// a process serves as a device (a virtual machine, NBD).
pub struct KernelOwned<'a> {
    roots: &'a Roots,
    files: &'a dyn Files,
    entries: Vec<FileInUse>,
}

struct FileInUse {
    file: ExistingFile,
    user: User,
}

enum User {
    Swap,
    Loop(Device),
}

/// Ways in which the kernel uses a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// The file.
    pub file: PathBuf,
    /// Loop device on the file, `None` for swap space.
    pub device: Option<String>,
    /// Uses of the file, one clause each; empty for a loop device without users.
    pub reasons: Vec<String>,
}

impl<'a> KernelOwned<'a> {
    /// Scans all loop devices and swap files. Unreadable ones are missed.
    pub fn scan(roots: &'a Roots) -> Self {
        Self::scan_with(roots, &KernelFiles)
    }

    fn scan_with(roots: &'a Roots, files: &'a dyn Files) -> Self {
        let swaps = swaps(roots).unwrap_or_default().into_iter();
        let swaps = swaps.filter_map(|path| files.stat(Path::new(&path)).ok());
        let swaps = swaps.map(|file| FileInUse {
            file,
            user: User::Swap,
        });
        let loops = loops(roots).into_iter().filter_map(|device| {
            let file = files.stat(&device.backing_file()?).ok()?;
            let user = User::Loop(device);
            Some(FileInUse { file, user })
        });
        Self {
            roots,
            files,
            entries: swaps.chain(loops).collect(),
        }
    }

    /// Returns the uses of the file at this path.
    pub fn uses_of(&self, path: &Path) -> Vec<FileUse> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let Ok(found) = self.files.stat(path) else {
            return Vec::new();
        };
        self.uses(|file| inode_of(file) == inode_of(&found))
    }

    /// Returns the uses of files below this folder.
    pub fn uses_below(&self, folder: &Path) -> Vec<FileUse> {
        match self.files.stat(folder) {
            Ok(folder) => self.uses(|file| file.path.starts_with(&folder.path)),
            Err(_) => Vec::new(),
        }
    }

    fn uses(&self, fits: impl Fn(&ExistingFile) -> bool) -> Vec<FileUse> {
        let entries = self.entries.iter().filter(|entry| fits(&entry.file));
        entries.map(|entry| self.use_of(entry)).collect()
    }

    fn use_of(&self, entry: &FileInUse) -> FileUse {
        let file = entry.file.path.clone();
        match &entry.user {
            User::Swap => FileUse {
                reasons: vec!["it is in use as swap space".to_owned()],
                device: None,
                file,
            },
            User::Loop(device) => FileUse {
                file,
                reasons: self.uses_of_loop(device),
                device: Some(device.name.clone()),
            },
        }
    }

    fn uses_of_loop(&self, device: &Device) -> Vec<String> {
        let name = &device.name;
        let mut search = Search::new(self.roots, self.files);
        search.begin(name);
        search.with_partitions(device);
        search.or_held(0, device);
        search.reasons
    }
}

/// Data that a device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name with its article: `an XFS file system`.
    pub words: &'static str,
    /// UUID or volume number, in hexadecimal.
    pub uuid: Option<String>,
}

/// Offset of a signature in bytes.
#[derive(Clone, Copy, Debug)]
enum At {
    Start(u64),
    /// Bytes before the end, which is rounded down to a multiple of the second number.
    End(u64, u64),
}

/// Offset, magic number, distance of the UUID from it with the UUID's length (0: none), and name, as
/// in util-linux's libblkid.
type Entry = (At, &'static [u8], (i64, usize), &'static str);

const NONE: (i64, usize) = (0, 0);
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LVM: &str = "a physical volume of LVM";
const RAID: &str = "a member of a software RAID";
#[rustfmt::skip]
static SIGNATURES: [Entry; 38] = [
    (At::Start(0), b"LUKS\xba\xbe", (168, 36), "a LUKS volume"),
    (At::Start(3), b"-FVE-FS-", NONE, "a BitLocker volume"),
    (At::Start(0), b"integrt\0", NONE, "a dm-integrity volume"),
    (At::Start(0), b"verity\0\0", (16, 16), "hashes of dm-verity"),
    (At::Start(0), b"LABELONE", (32, 32), LVM),
    (At::Start(512), b"LABELONE", (32, 32), LVM),
    (At::Start(1024), b"LABELONE", (32, 32), LVM),
    (At::Start(1536), b"LABELONE", (32, 32), LVM),
    (At::End(4036, 4096), &[0x83, 0x74, 0x02], NONE, "a device of DRBD"),
    (At::Start(0), MD, (16, 16), RAID),
    (At::Start(4096), MD, (16, 16), RAID),
    (At::End(8192, 4096), MD, (16, 16), RAID),
    (At::End(65_536, 65_536), MD, NONE, RAID),
    (At::End(1024, 512), b"Intel Raid ISM Cfg Sig. ", NONE, RAID),
    (At::Start(1080), &[0x53, 0xef], (48, 16), "an ext2, ext3 or ext4 file system"),
    (At::Start(0), b"XFSB", (32, 16), "an XFS file system"),
    (At::Start(65_600), b"_BHRfS_M", (-32, 16), "a btrfs file system"),
    (At::Start(1024), &[0x10, 0x20, 0xf5, 0xf2], (108, 16), "an F2FS file system"),
    (At::Start(1030), &[0x34, 0x34], (146, 16), "a NILFS2 file system"),
    (At::Start(1024), b"H+", NONE, "an HFS+ file system"),
    (At::Start(1024), b"HX", NONE, "an HFS+ file system"),
    (At::Start(32), b"NXSB", (40, 16), "an APFS container"),
    (At::Start(34_817), b"NSR0", NONE, "a UDF file system"),
    (At::Start(82), b"FAT32", (-15, 4), "a FAT file system"),
    (At::Start(54), b"FAT1", (-15, 4), "a FAT file system"),
    (At::Start(3), b"EXFAT   ", (97, 4), "an exFAT file system"),
    (At::Start(3), b"NTFS    ", (69, 8), "an NTFS file system"),
    (At::Start(32_768), b"JFS1", (136, 16), "a JFS file system"),
    (At::Start(65_588), b"ReIsEr", (32, 16), "a ReiserFS file system"),
    (At::Start(4120), b"\xc6\x68\x73\xf6\x4e\x1a\x45\xca", (32, 16), "a bcachefs file system"),
    (At::Start(4120), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", (16, 16), "a bcache device"),
    (At::Start(16_408), b"version", NONE, "a member of a ZFS pool"),
    (At::Start(4086), b"SWAPSPACE2", (-3050, 16), "swap space"),
    (At::Start(0), b"hsqs", NONE, "a SquashFS image"),
    (At::Start(1024), &[0xe2, 0xe1, 0xf5, 0xe0], (48, 16), "an EROFS image"),
    (At::Start(32_769), b"CD001", NONE, "an ISO 9660 image"),
    (At::Start(512), b"EFI PART", (56, 16), "a GPT partition table"),
    (At::Start(4096), b"EFI PART", (56, 16), "a GPT partition table"),
];

/// Lists the contents of a device and its partitions in words, including parts whose contents are
/// not known.
pub fn on_disk(roots: &Roots, name: &str) -> Vec<String> {
    let parts = Device::named(roots, name).map(|device| device.partitions());
    let words = |name: &str, on: &str| match of(roots, name) {
        Ok(found) => found
            .iter()
            .map(|one| format!("{}{on}", one.words))
            .collect(),
        Err(error) => vec![format!("data that is not known{on} ({name}: {error})")],
    };
    let there = parts.iter().flatten();
    let there = there.flat_map(|part| words(part, &format!(" on {part}")));
    words(name, "").into_iter().chain(there).collect()
}

/// Returns the signatures on a device of that kernel name.
///
/// # Errors
/// When none is found, and the device cannot be opened or read.
pub fn of(roots: &Roots, name: &str) -> io::Result<Vec<Signature>> {
    find(&File::open(node(roots, name))?)
}

/// Searches a device for signatures, without writing.
fn find(mut device: &File) -> io::Result<Vec<Signature>> {
    let bytes = device.seek(SeekFrom::End(0))?;
    let failed = Cell::new(None);
    let read = |offset: u64, length: usize| {
        let mut found = vec![0; length];
        match device.read_exact_at(&mut found, offset) {
            Ok(()) => return Some(found),
            // The device is smaller than that offset.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => failed.set(Some(error)),
        }
        None
    };
    let mut all: Vec<Signature> = Vec::new();
    for &(at, magic, (distance, length), words) in &SIGNATURES {
        let offset = match at {
            At::Start(offset) => Some(offset),
            At::End(before, unit) => (bytes - bytes % unit).checked_sub(before),
        };
        let Some(offset) = offset.filter(|at| read(*at, magic.len()).as_deref() == Some(magic))
        else {
            continue;
        };
        let id = offset.checked_add_signed(distance).filter(|_| length > 0);
        let id = id.and_then(|at| read(at, length));
        if all.iter().all(|known| known.words != words) {
            all.push(Signature {
                words,
                uuid: id.map(|id| written(&id)),
            });
        }
    }
    // Boot sectors of FAT and NTFS end in the same two bytes as a partition table.
    let is_table = |sector: Vec<u8>| {
        let mut parts = sector[446..510].chunks(16);
        sector.ends_with(&[0x55, 0xaa]) && parts.any(|part| part[0] & 0x7f == 0 && part[4] != 0)
    };
    if all.is_empty() && read(0, 512).is_some_and(is_table) {
        let words = "an MBR partition table";
        all.push(Signature { words, uuid: None });
    }
    match failed.take() {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// Formats an identifier: unchanged if it is text, else in hexadecimal.
fn written(id: &[u8]) -> String {
    match str::from_utf8(id) {
        Ok(text) if id.len() > 16 => text.trim_matches('\0').to_owned(),
        _ => id.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod files_tests {
    use super::*;
    use crate::files::FileKind;
    use crate::fixture::{Machine, MadeUp};

    const ROOT_ONLY: &str = "27 1 259:1 / / rw - ext4 /dev/root rw\n";

    /// loop7000 on /disk.img, which is also /other; /swap; /free.
    fn machine() -> (Machine, MadeUp) {
        let machine = Machine::new();
        machine.disk("virtual/block/loop7000", "7:7000", 1000);
        machine.file(
            "sys/devices/virtual/block/loop7000/loop/backing_file",
            "/disk.img\n",
        );
        machine.file(
            "proc/swaps",
            "Filename Type Size Used Priority\n/swap file 1 0 -2\n",
        );
        machine.mountinfo(ROOT_ONLY);
        let mut files = MadeUp::default();
        for path in ["/disk.img", "/swap", "/free"] {
            files = files.with(path, FileKind::Regular, "8:1");
        }
        (machine, files.hard_link("/disk.img", "/other"))
    }

    fn uses(machine: &Machine, files: &MadeUp, path: &str) -> Vec<FileUse> {
        KernelOwned::scan_with(&machine.roots, files).uses_of(Path::new(path))
    }

    #[test]
    fn a_swap_file_is_in_use() {
        let (machine, files) = machine();
        let found = uses(&machine, &files, "/swap");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].reasons, ["it is in use as swap space"]);
        assert!(uses(&machine, &files, "/free").is_empty());
        assert!(uses(&machine, &files, "/missing").is_empty());
    }

    #[test]
    fn a_file_behind_a_mounted_loop_device_is_in_use_by_any_name() {
        let (machine, files) = machine();
        let idle = uses(&machine, &files, "/disk.img");
        assert_eq!(idle[0].device.as_deref(), Some("loop7000"));
        assert!(idle[0].reasons.is_empty(), "{:?}", idle[0].reasons);
        machine.mountinfo(&format!(
            "{ROOT_ONLY}28 27 7:7000 / /mnt rw - ext4 /dev/loop7000 rw\n"
        ));
        for name in ["/disk.img", "/other"] {
            let found = uses(&machine, &files, name);
            assert_eq!(found[0].reasons, ["loop7000 is mounted on /mnt"], "{name}");
        }
    }

    #[test]
    fn the_same_inode_number_on_another_file_system_is_another_file() {
        let (machine, files) = machine();
        let files = files.hard_link("/disk.img", "/elsewhere/x");
        let files = files.moved("/elsewhere/x", "8:2");
        assert!(uses(&machine, &files, "/elsewhere/x").is_empty());
    }

    #[test]
    fn files_below_a_folder_are_found() {
        let (machine, files) = machine();
        let files =
            files
                .with("/", FileKind::Directory, "8:1")
                .with("/home", FileKind::Directory, "8:1");
        let owned = KernelOwned::scan_with(&machine.roots, &files);
        assert_eq!(owned.uses_below(Path::new("/")).len(), 2);
        assert!(owned.uses_below(Path::new("/home")).is_empty());
    }
}

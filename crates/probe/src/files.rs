//! Information from the kernel about a path. A trait hides it, because device numbers and mount ids
//! cannot be simulated by a folder of files.

use crate::attr;
use crate::device::{Device, DeviceNumber};
use crate::roots::Roots;
use assay_model::storage::Mount;
use assay_model::units::Bytes;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

/// Number of scans after which a process counts as keeping a device open. Some programs open a
/// device for a moment without using it (`losetup --find` tries one loop device after the other).
pub(crate) const SCANS: usize = 5;
/// Time between two scans.
pub(crate) const BETWEEN_SCANS: Duration = Duration::from_millis(100);

/// Kind of a file, as far as storage is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A block device node.
    BlockDevice(DeviceNumber),
    /// Anything else: pipe, socket, character device.
    Other,
}

/// Attributes that identify a file in practice: times of last change in nanoseconds, length, and
/// allocated size. A union file system reports those of the layer that holds the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Length in bytes.
    pub(crate) length: u64,
    /// Allocated size, in units of 512 bytes.
    pub(crate) sectors: u64,
    /// Last change of the content: seconds, nanoseconds.
    pub(crate) modified: (i64, i64),
    /// Last change of the attributes: seconds, nanoseconds.
    pub(crate) changed: (i64, i64),
}

/// A file that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExistingFile {
    /// Absolute path without links.
    pub(crate) path: PathBuf,
    /// Kind of file.
    pub(crate) kind: FileKind,
    /// Device of the file system that holds it (`st_dev`).
    pub(crate) device: DeviceNumber,
    /// Inode number on that device.
    pub(crate) inode: u64,
    /// Id of the mount it is reached through, as in mountinfo (Linux 5.8).
    pub(crate) mount_id: Option<u64>,
    /// Identifies the file in a layer of a union file system.
    pub(crate) stamp: Stamp,
}

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Size without the blocks reserved for root; blocks that are not available count as used, as
    /// in `df`.
    pub(crate) total: Bytes,
    /// Space available to a user without privileges.
    pub(crate) available: Bytes,
}

/// Kernel information about paths.
pub(crate) trait Files {
    /// Returns the file at `path`, with links followed.
    ///
    /// # Errors
    /// Errors of `realpath(3)` and `stat(2)`.
    fn stat(&self, path: &Path) -> io::Result<ExistingFile>;

    /// Returns the device whose node is open behind a link of `/proc/PID/fd`; `None` for anything
    /// else.
    fn block_device(&self, descriptor: &Path) -> Option<DeviceNumber>;

    /// Returns size and free space of the file system that holds `path`; `None` if it does not
    /// report them.
    fn room(&self, path: &Path) -> Option<Room>;

    /// `true` if another program has the device open for exclusive use. Without permission to open
    /// the device, the result is `false`.
    fn is_held(&self, device: &Device) -> bool;
}

/// Information from the running kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KernelFiles;

impl Files for KernelFiles {
    /// Queries everything through one open file, because another file may take the path a moment
    /// later.
    fn stat(&self, path: &Path) -> io::Result<ExistingFile> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        let itself = Path::new("/proc/self/fd").join(file.as_raw_fd().to_string());
        let real = match fs::read_link(itself) {
            Ok(real) if is_at(&metadata, &real) => real,
            // A pipe, or a file without a name; or this thread has a separate table of files, or
            // /proc is missing.
            _ => fs::canonicalize(path)?,
        };
        Ok(ExistingFile {
            kind: kind_of(&metadata),
            device: DeviceNumber::from_raw(metadata.dev()),
            inode: metadata.ino(),
            mount_id: mount_id(&file),
            stamp: Stamp {
                length: metadata.len(),
                sectors: metadata.blocks(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
            path: real,
        })
    }

    fn block_device(&self, descriptor: &Path) -> Option<DeviceNumber> {
        let target = fs::read_link(descriptor).ok()?;
        if !target.is_absolute() {
            return None; // A socket or a pipe.
        }
        // `statx` follows the link to the open node, even if its name is not visible here. It does
        // not query a server, since an unreachable server would block the call.
        let flags = AtFlags::STATX_DONT_SYNC;
        let (mode, device) = match rustix::fs::statx(CWD, descriptor, flags, StatxFlags::TYPE) {
            Ok(stat) => {
                let (major, minor) = (stat.stx_rdev_major, stat.stx_rdev_minor);
                (u32::from(stat.stx_mode), DeviceNumber { major, minor })
            }
            // Kernels before 4.11 have no `statx`.
            Err(Errno::NOSYS) => {
                let stat = fs::metadata(descriptor).ok()?;
                (stat.mode(), DeviceNumber::from_raw(stat.rdev()))
            }
            Err(_) => return None,
        };
        FileType::from_raw_mode(mode)
            .is_block_device()
            .then_some(device)
    }

    fn room(&self, path: &Path) -> Option<Room> {
        let vfs = rustix::fs::statvfs(path).ok()?;
        let kept = vfs.f_bfree.saturating_sub(vfs.f_bavail);
        let usable = vfs.f_blocks.saturating_sub(kept);
        // Network and pseudo file systems report 0 blocks for "unknown".
        (vfs.f_blocks > 0).then(|| Room {
            total: Bytes(usable.saturating_mul(vfs.f_frsize)),
            available: Bytes(vfs.f_bavail.saturating_mul(vfs.f_frsize)),
        })
    }

    fn is_held(&self, device: &Device) -> bool {
        let node = Path::new("/dev").join(&device.name);
        held_exclusively(&node).unwrap_or(false)
    }
}

/// `true` if another program has the device of this node, or a part of it, open for exclusive use:
/// a mounted file system (in any mount namespace), swap, an array, a volume manager.
///
/// The device is opened for reading and closed again; a caller that then writes to it should hold
/// it with `O_EXCL` meanwhile. A busy device is tried again for about half a second: some programs
/// claim a device only for a moment.
///
/// # Errors
/// Errors of `open(2)`, except that the device is busy.
pub fn held_exclusively(node: &Path) -> io::Result<bool> {
    for _ in 1..SCANS {
        if !is_claimed(node)? {
            return Ok(false);
        }
        thread::sleep(BETWEEN_SCANS);
    }
    is_claimed(node)
}

fn is_claimed(node: &Path) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::open(node, flags, Mode::empty()) {
        Ok(_closed_on_drop) => Ok(false),
        Err(Errno::BUSY) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn kind_of(metadata: &Metadata) -> FileKind {
    let kind = metadata.file_type();
    if kind.is_file() {
        FileKind::Regular
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_block_device() {
        FileKind::BlockDevice(DeviceNumber::from_raw(metadata.rdev()))
    } else {
        FileKind::Other
    }
}

fn is_at(metadata: &Metadata, path: &Path) -> bool {
    let there = fs::symlink_metadata(path);
    let same = |there: Metadata| (there.dev(), there.ino()) == (metadata.dev(), metadata.ino());
    path.is_absolute() && there.is_ok_and(same)
}

fn mount_id(file: &File) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH;
    let answer = rustix::fs::statx(file, "", flags, StatxFlags::MNT_ID).ok()?;
    let answered = answer.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    answered.then_some(answer.stx_mnt_id)
}

/// A line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// Id of the mount.
    pub(crate) id: u64,
    /// Device of the file system; many have an anonymous number (0:N).
    pub(crate) device: DeviceNumber,
    /// Folder of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// Mount without its ids.
    pub(crate) mount: Mount,
}

/// Reads the mounts of this process, in the order of mounting.
///
/// # Errors
/// When `/proc/self/mountinfo` cannot be read.
pub(crate) fn read_mounts(roots: &Roots) -> io::Result<Vec<MountEntry>> {
    Ok(parse(&fs::read(roots.proc.join("self/mountinfo"))?))
}

/// Parses mountinfo; malformed lines are skipped.
pub(crate) fn parse(text: &[u8]) -> Vec<MountEntry> {
    text.split(|&b| b == b'\n').filter_map(parse_line).collect()
}

/// Parses a line such as `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root
/// rw,errors=x`. The number of fields before ` - ` varies.
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    let separator = fields.iter().skip(6).position(|f| *f == b"-")? + 6;
    let word = |at: usize| fields.get(at).and_then(|f| str::from_utf8(f).ok());
    Some(MountEntry {
        id: word(0)?.parse().ok()?,
        device: word(2)?.parse().ok()?,
        root: PathBuf::from(unescape(fields.get(3)?)),
        mount: Mount {
            point: PathBuf::from(unescape(fields.get(4)?)),
            fs_type: lossy(fields.get(separator + 1)?),
            source: lossy(fields.get(separator + 2)?),
            options: options(fields.get(5)?),
            super_options: fields.get(separator + 3).map_or(Vec::new(), |f| options(f)),
        },
    })
}

/// Splits options at commas before unescaping, since a comma within an option is escaped.
fn options(field: &[u8]) -> Vec<String> {
    field.split(|&b| b == b',').map(lossy).collect()
}

fn lossy(field: &[u8]) -> String {
    unescape(field).to_string_lossy().into_owned()
}

/// Decodes a name from a `/proc` file.
pub(crate) fn unescaped(field: &str) -> String {
    lossy(field.as_bytes())
}

/// Decodes escapes: the kernel writes space, tab, newline, backslash and separators as a backslash
/// and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match octal(rest) {
            Some(byte) => {
                out.push(byte);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(out)
}

/// Decodes the byte `\ooo` at the start of `text`.
fn octal(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\")?.get(..3)?;
    let mut value = 0_u32;
    for digit in digits {
        value = value * 8 + char::from(*digit).to_digit(8)?;
    }
    u8::try_from(value).ok()
}

/// Returns the mount through which `path` (absolute, without links) is reached: by its mount id,
/// else the mount with the longest mount point above the path; the last of several at one point
/// hides the others.
pub(crate) fn mount_of<'a>(
    mounts: &'a [MountEntry],
    path: &Path,
    mount_id: Option<u64>,
) -> Option<&'a MountEntry> {
    let by_id = mounts.iter().find(|entry| Some(entry.id) == mount_id);
    by_id.or_else(|| {
        mounts
            .iter()
            .filter(|entry| path.starts_with(&entry.mount.point))
            .max_by_key(|entry| entry.mount.point.components().count())
    })
}

/// `O_ACCMODE` and `O_PATH` of `fcntl.h`, the same on all architectures.
const ACCESS_MODE: u32 = 0o3;
const PATH_ONLY: u32 = 0o10_000_000;

/// A process that can write a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opener {
    pub(crate) device: DeviceNumber,
    pub(crate) pid: u32,
    /// Name of the process, if it can be read.
    pub(crate) name: Option<String>,
}

/// Returns the [`writers`] that persist for about half a second.
pub(crate) fn lasting_writers(roots: &Roots, files: &dyn Files, own_pids: &[u32]) -> Vec<Opener> {
    lasting(|| writers(roots, files, own_pids), BETWEEN_SCANS)
}

/// Returns the entries found by each of [`SCANS`] scans; stops early if none remain.
fn lasting(mut look: impl FnMut() -> Vec<Opener>, pause: Duration) -> Vec<Opener> {
    let mut found = look();
    for _ in 1..SCANS {
        if found.is_empty() {
            break;
        }
        thread::sleep(pause);
        let now = look();
        found.retain(|opener| {
            let mut all = now.iter();
            all.any(|other| (other.pid, other.device) == (opener.pid, opener.device))
        });
    }
    found
}

/// Returns all processes except `own_pids` that have a block device open for writing, by device
/// number. Processes that only read it, such as udev, are left out.
///
/// Descriptors of other users' processes are visible to root only.
fn writers(roots: &Roots, files: &dyn Files, own_pids: &[u32]) -> Vec<Opener> {
    let names = attr::entries(&roots.proc).into_iter();
    let mut pids: Vec<u32> = names
        .filter_map(|name| attr::numbered(&name, ""))
        .filter(|pid| !own_pids.contains(pid))
        .collect();
    pids.sort_unstable();
    let mut found = Vec::new();
    for pid in pids {
        let folder = roots.proc.join(pid.to_string());
        for device in written_by(&folder, files) {
            found.push(Opener {
                device,
                pid,
                name: attr::text(&folder.join("comm")),
            });
        }
    }
    found
}

/// Returns the devices that a process may write, without duplicates.
fn written_by(folder: &Path, files: &dyn Files) -> Vec<DeviceNumber> {
    let mut devices = Vec::new();
    for descriptor in attr::entries(&folder.join("fd")) {
        let open = folder.join("fd").join(&descriptor);
        let Some(device) = files.block_device(&open) else {
            continue;
        };
        let for_writing = may_write(&folder.join("fdinfo").join(&descriptor));
        if for_writing && !devices.contains(&device) {
            devices.push(device);
        }
    }
    devices
}

/// Reads `flags:` of proc_pid_fdinfo(5), which is octal. A missing value counts as writing.
fn may_write(info: &Path) -> bool {
    let flags = attr::whole(info).ok().and_then(|text| {
        let octal = attr::value_after(&text, "flags:")?;
        u32::from_str_radix(octal, 8).ok()
    });
    flags.is_none_or(|flags| flags & ACCESS_MODE != 0 && flags & PATH_ONLY == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Machine, MadeUp};
    use proptest::prelude::*;

    const SAMPLE: &[u8] = b"\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 27 8:17 / /mnt/a\\040b rw,noatime shared:12 master:3 - vfat /dev/sdb1 rw,fmask=0022
37 27 0:41 /sub /srv rw - btrfs /dev/sdc1 rw,space_cache=v2
38 27 8:33 / /srv rw - ext4 /dev/sdc1
a broken line
39 27 0:50 / /over rw - overlay overlay rw,lowerdir=/l,upperdir=/up\\054per\n";

    #[test]
    fn lines_are_read_with_any_number_of_optional_fields() {
        let mounts = parse(SAMPLE);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].mount.point, Path::new("/mnt/a b"));
        assert_eq!(mounts[1].mount.fs_type, "vfat");
        assert_eq!(mounts[1].mount.super_options, ["rw", "fmask=0022"]);
        assert_eq!(mounts[2].root, Path::new("/sub"));
        assert_eq!(mounts[3].mount.super_options, [""; 0]);
        assert_eq!(
            mounts[4].mount.super_options[2], "upperdir=/up,per",
            "an escaped comma belongs to the option"
        );
    }

    #[test]
    fn the_mount_id_beats_the_mount_point() {
        let mounts = parse(SAMPLE);
        let found = |path: &str, id| mount_of(&mounts, Path::new(path), id).map(|m| m.id);
        assert_eq!(found("/srv/x", Some(37)), Some(37));
        assert_eq!(
            found("/srv/x", None),
            Some(38),
            "the last of two hides the first"
        );
        assert_eq!(found("/srvx", None), Some(27), "/srv is not above /srvx");
        assert_eq!(found("/mnt/a b/c", Some(999)), Some(36), "unknown id");
    }

    fn escape(bytes: &[u8]) -> Vec<u8> {
        let special = |b: u8| b" \t\n\\,=".contains(&b);
        bytes
            .iter()
            .flat_map(|&b| match special(b) {
                true => format!("\\{b:03o}").into_bytes(),
                false => vec![b],
            })
            .collect()
    }

    proptest! {
        #[test]
        fn escaped_names_come_back(name in proptest::collection::vec(1_u8.., 0..40)) {
            prop_assert_eq!(unescape(&escape(&name)).into_vec(), name);
        }

        #[test]
        fn no_text_breaks_the_parser(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(parse(&text).len() <= text.len());
        }
    }

    fn found(machine: &Machine, own: &[u32]) -> Vec<(String, u32)> {
        let files = MadeUp::default()
            .node("/dev/sdb", "8:16")
            .node("/srv/node", "8:16");
        let openers = writers(&machine.roots, &files, own);
        let seen = openers.into_iter();
        seen.map(|opener| (opener.device.to_string(), opener.pid))
            .collect()
    }

    #[test]
    fn writers_are_found_under_whatever_name_and_readers_are_not() {
        let machine = Machine::new();
        machine.descriptor(100, 3, "/dev/sdb", "0100002");
        machine.descriptor(200, 3, "/dev/sdb", "0100000"); // O_RDONLY
        machine.descriptor(300, 3, "/srv/node", "0100001");
        machine.descriptor(300, 4, "/srv/node", "0100001"); // A second time.
        machine.descriptor(400, 3, "/dev/sdb", "012000002"); // O_PATH
        machine.descriptor(500, 3, "/home/file", "0100002");
        machine.descriptor(600, 3, "socket:[17]", "02");
        let expected = [("8:16".to_owned(), 100), ("8:16".to_owned(), 300)];
        assert_eq!(found(&machine, &[]), expected);
        assert_eq!(found(&machine, &[100]), expected[1..]);
    }

    #[test]
    fn what_does_not_tell_its_flags_counts_as_writing() {
        let machine = Machine::new();
        machine.descriptor(100, 3, "/dev/sdb", "octal");
        assert_eq!(found(&machine, &[]).len(), 1);
        machine.remove("proc/100/fdinfo/3");
        assert_eq!(found(&machine, &[]).len(), 1);
    }

    #[test]
    fn a_passer_by_does_not_count() {
        let opener = |pid| Opener {
            device: "8:16".parse().unwrap(),
            pid,
            name: None,
        };
        let mut looks = vec![vec![opener(1), opener(2)]; SCANS];
        looks[SCANS - 1].remove(0);
        let mut next = looks.clone().into_iter();
        let found = lasting(|| next.next().unwrap(), Duration::ZERO);
        assert_eq!(found, [opener(2)]);
        // A third look would panic.
        let mut gone = vec![vec![opener(1)], Vec::new()].into_iter();
        assert_eq!(lasting(|| gone.next().unwrap(), Duration::ZERO), []);
    }
}

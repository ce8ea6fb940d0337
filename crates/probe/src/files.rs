//! Information from the kernel about a path. A trait hides it, because device numbers and mount ids
//! cannot be simulated by a folder of files.

use crate::device::{Device, DeviceNumber};
use assay_model::units::Bytes;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Number of scans after which a process counts as keeping a device open. Some programs open a
/// device for a moment without using it (`losetup --find` tries one loop device after the other).
pub(crate) const LOOKS: usize = 5;
/// Time between two scans.
pub(crate) const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

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
    fn look(&self, path: &Path) -> io::Result<ExistingFile>;

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
    fn look(&self, path: &Path) -> io::Result<ExistingFile> {
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
    for _ in 1..LOOKS {
        if !is_claimed(node)? {
            return Ok(false);
        }
        thread::sleep(BETWEEN_LOOKS);
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

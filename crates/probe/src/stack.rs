//! Resolves a path to the storage that holds it.
//!
//! Mountinfo shows the layers as they were passed to `mount`, perhaps in another mount namespace
//! (containers do so), where the same name may be another folder. A layer counts only if it
//! contains the same file, recognised by its stamp: the overlay reports the stamp of the real file.

use crate::device::{Device, DeviceNumber, node};
use crate::files::{ExistingFile, FileKind, Files, KernelFiles, MountEntry, Stamp};
use crate::roots::Roots;
use crate::{attr, files, identity};
use assay_model::storage::{Backing, FILE_IN_MEMORY, Layer, LayerRole, Mount, Storage};
use assay_model::units::Bytes;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Reasons why a path cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The path does not exist.
    #[error("{} does not exist", .0.display())]
    NotFound(PathBuf),
    /// The user has no permission to access the path.
    #[error("no permission to look at {}", .0.display())]
    Denied(PathBuf),
    /// The path is a pipe, socket or character device.
    #[error("{} is neither a directory, a file nor a block device", .0.display())]
    NotStorage(PathBuf),
    /// The kernel returned another error.
    #[error("cannot look at {}: {source}", path.display())]
    Io {
        /// Path of the failed access.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
}

impl ResolveError {
    /// Converts the error of an access to a path.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound(path),
            io::ErrorKind::PermissionDenied => Self::Denied(path),
            _ => Self::Io { path, source },
        }
    }
}

/// Returns the storage behind a directory, a regular file or a block device: its mount, its stack
/// of devices and their identities.
///
/// The result is [`Backing::Unknown`] with the reason, not an error, if the device is not certain.
///
/// # Errors
/// When the path cannot be accessed or cannot hold data.
pub fn resolve(roots: &Roots, path: &Path) -> Result<Storage, ResolveError> {
    View::new(roots, &KernelFiles).resolve(path)
}

/// State of the machine during one resolution.
pub(crate) struct View<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) files: &'a dyn Files,
    mounts: Vec<MountEntry>,
}

impl<'a> View<'a> {
    pub(crate) fn new(roots: &'a Roots, files: &'a dyn Files) -> Self {
        Self {
            roots,
            files,
            // Without mounts, a device number still identifies its device.
            mounts: files::read_mounts(roots).unwrap_or_default(),
        }
    }

    pub(crate) fn resolve(&self, path: &Path) -> Result<Storage, ResolveError> {
        let found = self
            .files
            .stat(path)
            .map_err(|source| ResolveError::new(path, source))?;
        match found.kind {
            FileKind::BlockDevice(number) => {
                let device = Device::numbered(self.roots, number)
                    .ok_or_else(|| format!("/sys shows no block device {number}"));
                let size = device.as_ref().ok().and_then(Device::size);
                Ok(self.storage(found.path, device.map(|it| Holder::Devices(vec![it])), size))
            }
            FileKind::Directory | FileKind::Regular => Ok(self.on_file_system(path, found)),
            FileKind::Other => Err(ResolveError::NotStorage(found.path)),
        }
    }

    fn on_file_system(&self, path: &Path, found: ExistingFile) -> Storage {
        let room = self.files.room(path);
        let mount = self.mount_in_force(&found);
        let holder = self.holder(&found);
        Storage {
            mount,
            available: room.map(|room| room.available),
            ..self.storage(found.path, holder, room.map(|room| room.total))
        }
    }

    fn storage(
        &self,
        path: PathBuf,
        holder: Result<Holder, String>,
        total: Option<Bytes>,
    ) -> Storage {
        let (backing, layers) = match holder {
            Ok(Holder::Devices(devices)) => {
                let name = devices
                    .first()
                    .map_or_else(String::new, |it| it.name.clone());
                let stack = self.stack(devices);
                let backing = match stack.memory {
                    Some(fs_type) => Backing::Memory {
                        fs_type: format!("file on {fs_type}"),
                    },
                    None => Backing::Device { name },
                };
                (backing, stack.layers)
            }
            Ok(Holder::Memory { fs_type }) => (Backing::Memory { fs_type }, Vec::new()),
            Err(why) => (Backing::Unknown { why }, Vec::new()),
        };
        Storage {
            path,
            mount: None,
            backing,
            layers,
            total,
            available: None,
        }
    }

    fn mount_of(&self, found: &ExistingFile) -> Option<&MountEntry> {
        files::mount_of(&self.mounts, &found.path, found.mount_id)
    }
}

/// `true` if the device under test, or every disk below it, has vanished since `storage` was
/// resolved. A device of the same name with another number is a different device. A device whose
/// size became zero has lost its medium: a card reader stays when its card is removed. A device
/// that is being removed or has failed rejects all I/O. `false` if there is no device, or a
/// simulated one.
pub fn device_gone(roots: &Roots, storage: &Storage) -> bool {
    let gone = |layer: &Layer| {
        Device::named(roots, &layer.name).is_none_or(|device| {
            let renumbered =
                (device.number.major, device.number.minor) != (layer.major, layer.minor);
            let had_medium = layer.size.is_some_and(|size| size > Bytes(0));
            renumbered || (had_medium && device.size() == Some(Bytes(0))) || device.is_leaving()
        })
    };
    let is_simulated = matches!(storage.backing, Backing::Simulated { .. });
    let top = storage.top().filter(|_| !is_simulated);
    top.is_some_and(|top| gone(top) || storage.leaves().all(gone))
}

/// Holder of a file's bytes.
enum Holder {
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
    fn holder(&self, found: &ExistingFile) -> Result<Holder, String> {
        self.holder_without_union(&self.real_file(found)?)
    }

    /// Returns the file in the file system that holds its data.
    fn real_file(&self, found: &ExistingFile) -> Result<ExistingFile, String> {
        let mut real = found.clone();
        for _ in 0..MAX_UNIONS {
            match self.mount_of(&real) {
                Some(entry) if entry.mount.fs_type == "overlay" => {
                    real = real_file(self.files, entry, &real)?;
                }
                _ => return Ok(real),
            }
        }
        Err("overlays are stacked too deep".to_owned())
    }

    /// Returns the mount of a file. Adds options that affect durability and that mountinfo does not
    /// show there: those of the file system below an overlay, and those in the superblock of ext4.
    fn mount_in_force(&self, found: &ExistingFile) -> Option<Mount> {
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
            Some((mount, "btrfs")) => of_btrfs(self.roots, self.files, mount).map(Holder::Devices),
            Some((mount, "xfs")) if has_realtime_device(mount) => Err(
                "this XFS has a realtime device: which of the two devices holds a file is unknown"
                    .to_owned(),
            ),
            known if !found.device.is_anonymous() => {
                let device = Device::numbered(self.roots, found.device)
                    .ok_or_else(|| format!("/sys shows no block device {}", found.device))?;
                Ok(Holder::Devices(match known {
                    Some((_, "f2fs")) => of_f2fs(self.roots, self.files, device),
                    _ => vec![device],
                }))
            }
            Some((_, fs_type)) => Err(no_device(fs_type)),
            None => Err("/proc/self/mountinfo does not show its mount".to_owned()),
        }
    }
}

/// Returns the holder of files of this type of file system, if that is memory.
fn in_memory(fs_type: &str) -> Option<Holder> {
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

/// Layers of a device.
struct Stack {
    /// Layers from the top; each device once, with all its parents.
    layers: Vec<Layer>,
    /// Type of the in-memory file system that holds the files of loop devices, if the stack ends in
    /// loop devices only.
    memory: Option<String>,
}

impl View<'_> {
    /// Returns the stack below `tops`.
    fn stack(&self, tops: Vec<Device>) -> Stack {
        let mut walk = Walk {
            view: self,
            layers: Vec::new(),
            loops: VecDeque::new(),
        };
        for top in tops {
            walk.add(top, LayerRole::Top, None);
        }
        let mut in_memory = Vec::new();
        // Loop devices are last, so that a disk reached both directly and below a loop device
        // counts as reached directly. Each device is followed once, so the loop ends.
        while let Some(device) = walk.loops.pop_front() {
            match self.below_loop(&device) {
                Some(Holder::Devices(below)) => {
                    for below in below {
                        walk.add(below, LayerRole::Beneath, Some(device.name.clone()));
                    }
                }
                Some(Holder::Memory { fs_type }) => {
                    let mut layers = walk.layers.iter_mut();
                    if let Some(layer) = layers.find(|layer| layer.name == device.name) {
                        let raw = &mut layer.identity.raw;
                        raw.insert(FILE_IN_MEMORY.to_owned(), fs_type.clone());
                    }
                    in_memory.push((device.name, fs_type));
                }
                None => {}
            }
        }
        Stack {
            memory: only_memory(&walk.layers, in_memory),
            layers: walk.layers,
        }
    }

    /// Returns the holder of a loop device's backing file; `None` if the file is not the one
    /// visible here under that name, and the kernel does not report its location.
    fn below_loop(&self, device: &Device) -> Option<Holder> {
        let name = device.backing_file()?;
        let told = (self.roots.loop_file)(&node(self.roots, &device.name));
        let told = told.map(|(number, inode)| (DeviceNumber::from_raw(number), inode));
        // Another file may have the name by now, or in this mount namespace.
        let is_it = |found: &ExistingFile| told.is_none_or(|it| it == (found.device, found.inode));
        let found = self.files.stat(&name).ok();
        match found.as_ref().map(|found| (found, found.kind)) {
            Some((_, FileKind::BlockDevice(number))) => {
                Device::numbered(self.roots, number).map(|below| Holder::Devices(vec![below]))
            }
            Some((found, FileKind::Regular)) if covers(&found.stamp, device) && is_it(found) => {
                self.holder(found).ok()
            }
            _ => self.below_nameless(told?.0, &name),
        }
    }

    /// Returns the holder of a backing file without a name here (deleted, or in another mount
    /// namespace), by the device number of its file system.
    fn below_nameless(&self, number: DeviceNumber, name: &Path) -> Option<Holder> {
        if !number.is_anonymous() {
            return Device::numbered(self.roots, number).map(|below| Holder::Devices(vec![below]));
        }
        let mut mounts = self.mounts.iter();
        let fs_type = match mounts.find(|entry| entry.device == number) {
            Some(entry) => entry.mount.fs_type.as_str(),
            // The kernel's own mount of tmpfs, which is in no namespace (memfd_create(2)).
            None if name.to_str()?.starts_with("/memfd:") => "tmpfs",
            None => return None,
        };
        in_memory(fs_type)
    }
}

/// Returns the in-memory file system if each lowest layer is a loop device on a file there.
fn only_memory(layers: &[Layer], in_memory: Vec<(String, String)>) -> Option<String> {
    let has_layer_below = |layer: &Layer| layers.iter().any(|below| below.is_below(&layer.name));
    let mut lowest = layers.iter().filter(|layer| !has_layer_below(layer));
    let all = lowest.all(|layer| in_memory.iter().any(|(name, _)| *name == layer.name));
    let (_, fs_type) = in_memory.into_iter().next()?;
    all.then_some(fs_type)
}

/// `true` if a file is long enough to back the loop device. A shorter file of the same name is
/// another file, in another mount namespace.
fn covers(stamp: &Stamp, device: &Device) -> bool {
    device.size().is_some_and(|size| stamp.length >= size.0)
}

struct Walk<'a> {
    view: &'a View<'a>,
    layers: Vec<Layer>,
    loops: VecDeque<Device>,
}

impl Walk<'_> {
    fn add(&mut self, device: Device, role: LayerRole, parent: Option<String>) {
        let mut known = self.layers.iter_mut();
        if let Some(known) = known.find(|layer| layer.name == device.name) {
            // A loop device whose file is on its own file system is not below itself.
            let parent = parent.filter(|name| *name != device.name && !known.is_below(name));
            known.other_parents.extend(parent);
            return;
        }
        self.layers.push(layer(&device, role, parent));
        let beneath = role == LayerRole::Beneath;
        let or_beneath = |role| if beneath { LayerRole::Beneath } else { role };
        let roots = self.view.roots;
        if let Some(disk) = device.parent_disk(roots) {
            self.add(disk, or_beneath(LayerRole::Disk), Some(device.name.clone()));
        }
        let role = match device.is_multipath() {
            true => LayerRole::Path,
            false => LayerRole::Member,
        };
        for name in device.slaves().into_iter().chain(device.hidden_paths()) {
            if let Some(member) = Device::named(roots, &name) {
                self.add(member, or_beneath(role), Some(device.name.clone()));
            }
        }
        if device.backing_file().is_some() {
            self.loops.push_back(device);
        }
    }
}

pub(crate) fn layer(device: &Device, role: LayerRole, parent: Option<String>) -> Layer {
    Layer {
        name: device.name.clone(),
        major: device.number.major,
        minor: device.number.minor,
        role,
        parent,
        other_parents: Vec::new(),
        size: device.size(),
        backing_file: device.backing_file(),
        identity: identity::of(device),
    }
}

/// Returns the file in the layer that holds it; for a directory, the upper layer's folder in which
/// a new file would be created. Else the reason why it is not known.
fn real_file(
    files: &dyn Files,
    entry: &MountEntry,
    found: &ExistingFile,
) -> Result<ExistingFile, String> {
    let below_mount = found
        .path
        .strip_prefix(&entry.mount.point)
        .map_err(|_| "the overlay's mount point does not lead to the file".to_owned())?;
    let root = entry.root.strip_prefix("/").unwrap_or(&entry.root);
    let inside = root.join(below_mount);
    match found.kind {
        FileKind::Directory => upper_folder(files, entry, &inside),
        _ => layer_of(files, entry, &inside, found),
    }
}

/// Returns the nearest parent folder that exists in the upper layer: a new file is created on the
/// same file system.
fn upper_folder(
    files: &dyn Files,
    entry: &MountEntry,
    inside: &Path,
) -> Result<ExistingFile, String> {
    let uppers: Vec<PathBuf> = option(entry, "upperdir=").collect();
    let named = uppers
        .first()
        .ok_or("the overlay is read-only: it has no upper layer")?;
    let below_root = entry.root.strip_prefix("/").unwrap_or(&entry.root);
    for folder in inside.ancestors() {
        let Ok(below_mount) = folder.strip_prefix(below_root) else {
            break;
        };
        let Ok(shown) = files.stat(&entry.mount.point.join(below_mount)) else {
            continue;
        };
        let there = uppers
            .iter()
            .filter_map(|upper| files.stat(&upper.join(folder)).ok());
        let there: Vec<ExistingFile> = there.collect();
        if !there.is_empty() {
            let mut there = there.into_iter();
            let real = there.find(|real| same(&shown, real));
            return real.ok_or_else(|| not_visible(named));
        }
    }
    Err(not_visible(named))
}

fn layer_of(
    files: &dyn Files,
    entry: &MountEntry,
    inside: &Path,
    found: &ExistingFile,
) -> Result<ExistingFile, String> {
    let options = entry.mount.super_options.iter();
    let lower = options
        .filter_map(|option| option.strip_prefix("lowerdir="))
        .flat_map(split_layers)
        .flat_map(|layer| places(entry, &layer))
        .chain(option(entry, "lowerdir+="))
        .chain(option(entry, "datadir+="));
    let layers: Vec<PathBuf> = option(entry, "upperdir=").chain(lower).collect();
    let there = layers.iter();
    let there = there.filter_map(|layer| files.stat(&layer.join(inside)).ok());
    let there: Vec<ExistingFile> = there.collect();
    let real = there.iter().find(|real| same(found, real));
    let real = real.or_else(|| data_of(&there, found));
    real.cloned().ok_or_else(|| {
        "none of the overlay's layers that are visible here holds the file".to_owned()
    })
}

/// Returns the data of a file of which one layer has only the attributes (`metacopy=on`), if both
/// are on the same file system: opening it for writing copies the data up first.
fn data_of<'a>(there: &'a [ExistingFile], found: &ExistingFile) -> Option<&'a ExistingFile> {
    let Stamp {
        length, sectors, ..
    } = found.stamp;
    let attributes = |real: &ExistingFile| {
        Stamp {
            sectors,
            ..real.stamp
        } == found.stamp
    };
    let upper = there.iter().position(attributes)?;
    let mut lower = there.iter().skip(upper + 1);
    lower.find(|real| {
        real.device == there[upper].device
            && (real.stamp.length, real.stamp.sectors) == (length, sectors)
    })
}

fn same(shown: &ExistingFile, real: &ExistingFile) -> bool {
    shown.kind == real.kind && shown.stamp == real.stamp
}

fn not_visible(upper: &Path) -> String {
    format!(
        "the overlay's upper layer {} is not visible from here",
        upper.display()
    )
}

/// Returns the folders that an option may mean.
fn option<'a>(entry: &'a MountEntry, key: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    let options = entry.mount.super_options.iter();
    options
        .filter_map(move |option| option.strip_prefix(key))
        .flat_map(|folder| places(entry, Path::new(folder)))
}

/// Returns the possible locations of a folder that was passed to `mount`: a relative path is
/// resolved against each folder above the mount point. A wrong location is harmless, since only the
/// same file counts.
fn places(entry: &MountEntry, folder: &Path) -> Vec<PathBuf> {
    let above = entry.mount.point.ancestors();
    let mut places: Vec<PathBuf> = above.map(|base| base.join(folder)).collect();
    places.dedup();
    places
}

/// Splits layers: `/a:/b\:c` are the two layers `/a` and `/b:c`; `::` separates data layers.
fn split_layers(text: &str) -> Vec<PathBuf> {
    let mut all = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let next = match c {
            ':' => {
                all.push(String::new());
                continue;
            }
            '\\' => chars.next().unwrap_or(c),
            other => other,
        };
        if let Some(last) = all.last_mut() {
            last.push(next);
        }
    }
    all.retain(|layer| !layer.is_empty());
    all.into_iter().map(PathBuf::from).collect()
}

/// Returns the devices of a btrfs; the first is the one that it is mounted from. Data is striped,
/// mirrored or placed on any of them.
fn of_btrfs(roots: &Roots, files: &dyn Files, mount: &Mount) -> Result<Vec<Device>, String> {
    let source = device_at(roots, files, Path::new(&mount.source)).ok_or_else(|| {
        format!(
            "btrfs is mounted from {}, which /sys does not show",
            mount.source
        )
    })?;
    let mut all = file_systems(roots).map(|(_, members)| members);
    let members = all.find(|members| members.contains(&source.name));
    let members = members.ok_or_else(|| {
        format!(
            "/sys/fs/btrfs does not say whether {} is the only device of this btrfs",
            source.name
        )
    })?;
    let others = members.into_iter().filter(|name| *name != source.name);
    let others: Result<Vec<Device>, String> = others
        .map(|name| {
            let device = Device::named(roots, &name);
            device.ok_or_else(|| format!("btrfs is on {name} too, which /sys does not show"))
        })
        .collect();
    Ok([vec![source], others?].concat())
}

/// Returns the devices of an f2fs; the first is the one that it is mounted from. Only the
/// superblock names the others, which requires root: without access, the result is the first alone.
pub(crate) fn of_f2fs(roots: &Roots, files: &dyn Files, first: Device) -> Vec<Device> {
    let names = f2fs_paths(&node(roots, &first.name)).unwrap_or_default();
    let mut all = vec![first];
    for path in names {
        let device = device_at(roots, files, &path);
        all.extend(device.filter(|device| all.iter().all(|known| known.name != device.name)));
    }
    all
}

/// Returns the paths of the devices of an f2fs, as passed to `mkfs.f2fs` (`struct f2fs_super_block`
/// in linux/f2fs_fs.h).
fn f2fs_paths(device: &Path) -> Option<Vec<PathBuf>> {
    const SUPERBLOCK_AT: u64 = 1024;
    const MAGIC: [u8; 4] = 0xF2F5_2010_u32.to_le_bytes();
    const DEVICES_AT: usize = 2201;
    const PATH_BYTES: usize = 64;
    /// Path and a number of segments.
    const ENTRY_BYTES: usize = PATH_BYTES + 4;
    let mut block = [0; DEVICES_AT + 8 * ENTRY_BYTES];
    let file = File::open(device).ok()?;
    file.read_exact_at(&mut block, SUPERBLOCK_AT).ok()?;
    block.starts_with(&MAGIC).then(|| {
        let entries = block[DEVICES_AT..].chunks_exact(ENTRY_BYTES);
        let paths = entries.map(|entry| entry[..PATH_BYTES].split(|byte| *byte == 0).next());
        let paths = paths.map(|path| String::from_utf8_lossy(path.unwrap_or_default()));
        let named = paths.take_while(|path| !path.is_empty());
        named.map(|path| PathBuf::from(path.as_ref())).collect()
    })
}

/// Returns the block device whose node is at a path.
fn device_at(roots: &Roots, files: &dyn Files, path: &Path) -> Option<Device> {
    match files.stat(path).ok()?.kind {
        FileKind::BlockDevice(number) => Device::numbered(roots, number),
        _ => None,
    }
}

/// Returns the devices of each mounted btrfs, with its UUID.
pub(crate) fn file_systems(roots: &Roots) -> impl Iterator<Item = (String, Vec<String>)> {
    let folder = roots.sys.join("fs/btrfs");
    let uuids = attr::entries(&folder).into_iter();
    uuids.filter_map(move |uuid| {
        let members = attr::entries(&folder.join(&uuid).join("devices"));
        (!members.is_empty()).then_some((uuid, members))
    })
}

#[cfg(test)]
mod tests;

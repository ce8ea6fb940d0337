//! File systems on several devices: btrfs and f2fs.

use crate::attr;
use crate::device::Device;
use crate::device::node;
use crate::files::{FileKind, Files};
use crate::roots::Roots;
use assay_model::storage::Mount;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Returns the devices of a btrfs; the first is the one that it is mounted from. Data is striped,
/// mirrored or placed on any of them.
pub(super) fn of_btrfs(
    roots: &Roots,
    files: &dyn Files,
    mount: &Mount,
) -> Result<Vec<Device>, String> {
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
    match files.look(path).ok()?.kind {
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

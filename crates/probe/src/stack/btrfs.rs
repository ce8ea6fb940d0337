//! The devices of a btrfs file system.

use crate::attr;
use crate::device::Device;
use crate::files::{FileKind, Files};
use crate::roots::Roots;
use assay_model::storage::Mount;
use std::path::Path;

/// The device of a btrfs that has only one. Of several, no device's counters
/// are those of a file: data is striped, mirrored or put wherever there is
/// room.
pub(super) fn only_device(
    roots: &Roots,
    files: &dyn Files,
    mount: &Mount,
) -> Result<Device, String> {
    let source = source_device(roots, files, &mount.source).ok_or_else(|| {
        format!(
            "btrfs is mounted from {}, which /sys does not show",
            mount.source
        )
    })?;
    match members_with(roots, &source.name) {
        Some(members) if members.len() > 1 => Err(format!(
            "btrfs spreads its files over {} devices ({})",
            members.len(),
            members.join(", ")
        )),
        Some(_) => Ok(source),
        None => Err(format!(
            "/sys/fs/btrfs does not say whether {} is the only device of this btrfs",
            source.name
        )),
    }
}

/// The block device that a mount's source names.
fn source_device(roots: &Roots, files: &dyn Files, source: &str) -> Option<Device> {
    match files.look(Path::new(source)).ok()?.kind {
        FileKind::BlockDevice(number) => Device::numbered(roots, number),
        _ => None,
    }
}

/// The devices of each mounted btrfs, with its UUID.
pub(crate) fn file_systems(roots: &Roots) -> impl Iterator<Item = (String, Vec<String>)> {
    let folder = roots.sys.join("fs/btrfs");
    let uuids = attr::entries(&folder).into_iter();
    uuids.filter_map(move |uuid| {
        let members = attr::entries(&folder.join(&uuid).join("devices"));
        (!members.is_empty()).then_some((uuid, members))
    })
}

fn members_with(roots: &Roots, name: &str) -> Option<Vec<String>> {
    let mut all = file_systems(roots).map(|(_, members)| members);
    all.find(|members| members.iter().any(|member| member == name))
}

//! Device, path, machine and run as text; unknown facts are left out.

use crate::words::registers;
use crate::words::text::{Fact, clean};
use assay_lang::tr;
use assay_model::run::Run;
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, Storage};
use assay_model::units::{Bytes, Nanos};
use std::path::Path;

/// Describes the storage in one line: `SanDisk DG4032, eMMC, 29.1 GiB (mmcblk0)`.
pub fn name(storage: &Storage) -> String {
    let path = clean(&storage.path.to_string_lossy());
    match (&storage.backing, storage.device()) {
        (Backing::Simulated { part }, _) => tr!("simulated device {part}", part = clean(part)),
        (Backing::Device { .. }, Some(layer)) => {
            let identity = &layer.identity;
            let mut parts: Vec<String> = maker_and_model(identity).into_iter().collect();
            parts.push(identity.kind.to_string());
            parts.extend(layer.size.map(|size| size.to_string()));
            format!("{} ({})", parts.join(", "), clean(&layer.name))
        }
        (Backing::Device { name }, None) => tr!("block device {name}", name = clean(name)),
        (Backing::Memory { fs_type }, _) => tr!(
            "{path}: {file_system} in memory",
            path,
            file_system = clean(fs_type)
        ),
        (Backing::MainMemory, _) => tr!("main memory").to_owned(),
        (Backing::Unknown { .. }, _) => tr!("{path}: device unknown", path),
    }
}

pub(crate) fn maker_and_model(identity: &DeviceIdentity) -> Option<String> {
    let model = identity.model.as_deref().map(clean);
    let vendor = identity.vendor.as_deref().map(clean);
    match (vendor, model) {
        (Some(vendor), Some(model)) if !model.starts_with(&vendor) => {
            Some(format!("{} {}", vendor.trim(), model.trim()))
        }
        (vendor, model) => model.or(vendor).map(|text| text.trim().to_owned()),
    }
}

/// Returns everything that the kernel shows of a device.
pub fn device_facts(layer: &Layer) -> Vec<Fact> {
    let identity = &layer.identity;
    let text = |value: &Option<String>| value.as_deref().map(clean);
    let size = |value: Option<Bytes>| value.map(|bytes| bytes.to_string());
    let yes_no =
        |value: Option<bool>| value.map(|yes| if yes { tr!("yes") } else { tr!("no") }.to_owned());
    let backing_file = layer.backing_file.as_deref();
    known([
        (tr!("kernel name"), Some(clean(&layer.name))),
        (tr!("kind"), Some(identity.kind.to_string())),
        (tr!("maker"), text(&identity.vendor)),
        (tr!("model"), text(&identity.model)),
        (tr!("capacity"), size(layer.size)),
        (tr!("bus"), text(&identity.bus)),
        (tr!("firmware"), text(&identity.firmware)),
        (tr!("made"), text(&identity.date)),
        (tr!("serial"), text(&identity.serial)),
        (tr!("CID"), text(&identity.cid)),
        (tr!("life time used"), text(&identity.life_time)),
        (tr!("pre-EOL"), text(&identity.pre_eol)),
        (tr!("file behind it"), backing_file.map(path)),
        (tr!("logical block"), size(identity.logical_block)),
        (tr!("physical block"), size(identity.physical_block)),
        (tr!("rotational"), yes_no(identity.rotational)),
        (tr!("removable"), yes_no(identity.removable)),
    ])
    .into_iter()
    .chain(registers::facts(identity))
    .collect()
}

/// Returns facts about the location of the bytes: path, mount, free space.
pub fn path_facts(storage: &Storage) -> Vec<Fact> {
    let mount = storage.mount.as_ref();
    let held_by = match &storage.backing {
        Backing::Device { name } => clean(name),
        Backing::Memory { fs_type } => tr!("memory ({file_system})", file_system = clean(fs_type)),
        Backing::Simulated { .. } => tr!("nothing: it is simulated").to_owned(),
        Backing::MainMemory => tr!("main memory").to_owned(),
        Backing::Unknown { why } => tr!("unknown: {why}", why = clean(why)),
    };
    let stack: Vec<String> = storage.layers.iter().map(|l| clean(&l.name)).collect();
    known([
        (tr!("path"), Some(path(&storage.path))),
        (tr!("held by"), Some(held_by)),
        (
            tr!("stack"),
            (stack.len() > 1).then(|| stack.join(tr!(" on "))),
        ),
        (tr!("mount point"), mount.map(|m| path(&m.point))),
        (tr!("file system"), mount.map(|m| clean(&m.fs_type))),
        (
            tr!("mount options"),
            mount.map(|m| clean(&m.options.join(","))),
        ),
        (
            tr!("file system options"),
            mount.map(|m| clean(&m.super_options.join(","))),
        ),
        (tr!("size"), storage.total.map(|bytes| bytes.to_string())),
        (
            tr!("room at the start"),
            storage.available.map(|bytes| bytes.to_string()),
        ),
    ])
}

/// Returns facts about the machine.
pub fn system_facts(run: &Run) -> Vec<Fact> {
    let system = &run.header.system;
    let text = |value: &Option<String>| value.as_deref().map(clean);
    let root = if system.root { tr!("yes") } else { tr!("no") };
    known([
        (tr!("host"), text(&system.hostname)),
        (tr!("board"), text(&system.board)),
        (tr!("system"), text(&system.os)),
        (
            tr!("kernel"),
            Some(format!(
                "{} {}",
                clean(&system.kernel),
                clean(&system.machine)
            )),
        ),
        (tr!("CPU"), text(&system.cpu_model)),
        (tr!("CPUs online"), Some(system.cpus.to_string())),
        (tr!("RAM"), Some(system.memory.to_string())),
        (tr!("page size"), Some(system.page_size.to_string())),
        (tr!("clock source"), text(&system.clocksource)),
        (tr!("run as root"), Some(root.to_owned())),
    ])
}

/// Returns the duration of a run; `None` if it has no end.
pub fn took(run: &Run) -> Option<Nanos> {
    let ms = run
        .finished_unix_ms?
        .checked_sub(run.header.started_unix_ms)?;
    Some(Nanos(ms.saturating_mul(1_000_000)))
}

/// Returns true if the layer is a whole device, not a partition.
pub fn is_device(layer: &Layer) -> bool {
    layer.identity.kind != DeviceKind::Partition
}

fn path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

pub(crate) fn known<const N: usize>(facts: [(&'static str, Option<String>); N]) -> Vec<Fact> {
    let facts = facts.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

//! Device, path, machine and run in words; what is not known is left out.

use crate::format::utc;
use crate::registers;
use crate::summary::Summary;
use crate::text::clean;
use assay_model::run::Run;
use assay_model::storage::{Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Storage};
use assay_model::units::{Bytes, Nanos};
use std::path::Path;

/// A named fact, safe to show.
pub type Fact = (&'static str, String);

/// The device that a person would name: the whole disk of a partition, else
/// the top of the stack.
#[must_use]
pub fn device(storage: &Storage) -> Option<&Layer> {
    let top = storage.top()?;
    let disk = storage
        .layers
        .iter()
        .find(|l| l.role == LayerRole::Disk && l.parent.as_deref() == Some(&top.name));
    Some(disk.unwrap_or(top))
}

/// One line that names the storage: `SanDisk DG4032, eMMC, 29.1 GiB
/// (mmcblk0)`.
#[must_use]
pub fn name(storage: &Storage) -> String {
    let path = clean(&storage.path.to_string_lossy());
    match (&storage.backing, device(storage)) {
        (Backing::Device { .. }, Some(layer)) => {
            let identity = &layer.identity;
            let mut parts: Vec<String> = maker_and_model(identity).into_iter().collect();
            parts.push(identity.kind.to_string());
            parts.extend(layer.size.map(|size| size.to_string()));
            format!("{} ({})", parts.join(", "), clean(&layer.name))
        }
        (Backing::Device { name }, None) => format!("block device {}", clean(name)),
        (Backing::Memory { fs_type }, _) => format!("{path}: {} in memory", clean(fs_type)),
        (Backing::Unknown { .. }, _) => format!("{path}: device unknown"),
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

/// Everything the kernel shows of a device.
#[must_use]
pub fn device_facts(layer: &Layer) -> Vec<Fact> {
    let identity = &layer.identity;
    let text = |value: &Option<String>| value.as_deref().map(clean);
    let size = |value: Option<Bytes>| value.map(|bytes| bytes.to_string());
    let yes_no = |value: Option<bool>| value.map(|yes| if yes { "yes" } else { "no" }.to_owned());
    let backing_file = layer.backing_file.as_deref();
    known([
        ("kernel name", Some(clean(&layer.name))),
        ("kind", Some(identity.kind.to_string())),
        ("maker", text(&identity.vendor)),
        ("model", text(&identity.model)),
        ("capacity", size(layer.size)),
        ("bus", text(&identity.bus)),
        ("firmware", text(&identity.firmware)),
        ("made", text(&identity.date)),
        ("serial", text(&identity.serial)),
        ("CID", text(&identity.cid)),
        ("life time used", text(&identity.life_time)),
        ("pre-EOL", text(&identity.pre_eol)),
        ("file behind it", backing_file.map(path)),
        ("logical block", size(identity.logical_block)),
        ("physical block", size(identity.physical_block)),
        ("rotational", yes_no(identity.rotational)),
        ("removable", yes_no(identity.removable)),
    ])
    .into_iter()
    .chain(registers::facts(identity))
    .collect()
}

/// Where the bytes were: path, mount, room.
#[must_use]
pub fn path_facts(storage: &Storage) -> Vec<Fact> {
    let mount = storage.mount.as_ref();
    let held_by = match &storage.backing {
        Backing::Device { name } => clean(name),
        Backing::Memory { fs_type } => format!("memory ({})", clean(fs_type)),
        Backing::Unknown { why } => format!("unknown: {}", clean(why)),
    };
    let stack: Vec<String> = storage.layers.iter().map(|l| clean(&l.name)).collect();
    known([
        ("path", Some(path(&storage.path))),
        ("held by", Some(held_by)),
        ("stack", (stack.len() > 1).then(|| stack.join(" on "))),
        ("mount point", mount.map(|m| path(&m.point))),
        ("file system", mount.map(|m| clean(&m.fs_type))),
        ("mount options", mount.map(|m| clean(&m.options.join(",")))),
        (
            "file system options",
            mount.map(|m| clean(&m.super_options.join(","))),
        ),
        ("size", storage.total.map(|bytes| bytes.to_string())),
        (
            "room at the start",
            storage.available.map(|bytes| bytes.to_string()),
        ),
    ])
}

/// The machine.
#[must_use]
pub fn system_facts(run: &Run) -> Vec<Fact> {
    let system = &run.header.system;
    let text = |value: &Option<String>| value.as_deref().map(clean);
    let root = if system.root { "yes" } else { "no" };
    known([
        ("host", text(&system.hostname)),
        ("board", text(&system.board)),
        ("system", text(&system.os)),
        (
            "kernel",
            Some(format!(
                "{} {}",
                clean(&system.kernel),
                clean(&system.machine)
            )),
        ),
        ("CPU", text(&system.cpu_model)),
        ("CPUs online", Some(system.cpus.to_string())),
        ("RAM", Some(system.memory.to_string())),
        ("page size", Some(system.page_size.to_string())),
        ("clock source", text(&system.clocksource)),
        ("run as root", Some(root.to_owned())),
    ])
}

/// The run itself.
#[must_use]
pub fn run_facts(summary: &Summary<'_>) -> Vec<Fact> {
    let run = summary.run;
    let header = &run.header;
    known([
        ("run", Some(clean(&header.id))),
        ("started", Some(utc(header.started_unix_ms))),
        ("took", took(run).map(|nanos| nanos.to_string())),
        ("status", Some(run.status.word().to_owned())),
        ("trials", Some(trials(summary))),
        ("command", Some(clean(&header.command.join(" ")))),
        ("target", header.target.as_deref().map(clean)),
        ("test file", Some(header.plan.file_size.to_string())),
        ("seed", Some(header.plan.seed.to_string())),
        ("assay", Some(clean(&header.assay_version))),
    ])
}

/// From start to end; `None` when it has no end.
#[must_use]
pub fn took(run: &Run) -> Option<Nanos> {
    let ms = run
        .finished_unix_ms?
        .checked_sub(run.header.started_unix_ms)?;
    Some(Nanos(ms.saturating_mul(1_000_000)))
}

/// `21 completed, 3 skipped`, or how many of the planned ones there are.
#[must_use]
pub fn trials(summary: &Summary<'_>) -> String {
    let outcomes = summary.outcomes();
    let words: Vec<String> = outcomes
        .iter()
        .map(|(word, n)| format!("{n} {word}"))
        .collect();
    let planned: usize = summary.jobs.iter().map(|job| job.planned).sum();
    let missing = planned.saturating_sub(summary.run.trials.len());
    match (words.is_empty(), missing) {
        (true, 0) => "none".to_owned(),
        (true, missing) => format!("none of {missing}"),
        (false, 0) => words.join(", "),
        (false, missing) => format!("{}, {missing} not run", words.join(", ")),
    }
}

/// Whether the layer is a device of its own, rather than a part of one.
#[must_use]
pub fn is_device(layer: &Layer) -> bool {
    layer.identity.kind != DeviceKind::Partition
}

fn path(path: &Path) -> String {
    clean(&path.to_string_lossy())
}

fn known<const N: usize>(facts: [(&'static str, Option<String>); N]) -> Vec<Fact> {
    let facts = facts.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

//! Describes findings about a machine that would spoil a measurement.

mod machine;
mod place;
mod words;

pub use words::{Words, words};

use crate::words::registers::at_most;
use crate::words::{clean, enumerate, registers};
use assay_model::checkup::{Checkup, Finding};
use assay_model::device::{ListedDevice, MountedPart, ceiling};
use assay_model::storage::{DeviceKind, Mount};
use std::cmp::Reverse;

/// Returns all findings, the most important first.
pub fn findings(checkup: &Checkup) -> Vec<Finding> {
    let mut all = place::all(checkup);
    all.extend(machine::all(checkup));
    all.sort_by_key(|finding| Reverse(finding.severity()));
    all
}

/// Number of mounts of a device above which they are counted instead of named.
const MOUNTS_NAMED: usize = 4;

/// Returns true for an unused RAM disk, which lists hide.
pub fn is_idle_memory(device: &ListedDevice) -> bool {
    let kind = &device.layer.identity.kind;
    *kind == DeviceKind::Ram && device.mounted.is_empty() && device.in_use.is_empty()
}

/// Returns the facts to know about a device before a test, one named line each.
pub fn lines(device: &ListedDevice) -> Vec<(&'static str, String)> {
    let identity = &device.layer.identity;
    let bus = identity.bus.as_deref().map(|bus| {
        let most = ceiling(identity).map(|ceiling| format!("; at most {}", at_most(&ceiling)));
        format!("{}{}", clean(bus), most.unwrap_or_default())
    });
    let problems = registers::problems(identity);
    let worn = (!problems.is_empty()).then(|| problems.join("; "));
    [
        ("bus", bus),
        (
            "health",
            worn.or_else(|| registers::wear_in_words(identity)),
        ),
        ("files", files(&device.mounted)),
        ("whole", Some(whole(device))),
    ]
    .into_iter()
    .filter_map(|(name, words)| Some((name, words?)))
    .collect()
}

/// Describes the mount points and whether files can be created there; `None` if nothing is mounted.
fn files(mounted: &[MountedPart]) -> Option<String> {
    let named = mounted.iter().take(MOUNTS_NAMED).map(mounted_part_in_words);
    let named: Vec<String> = named.collect();
    let more = mounted.len().saturating_sub(MOUNTS_NAMED);
    let more = (more > 0).then(|| format!("; {more} more mounts"));
    (!named.is_empty()).then(|| format!("{}{}", named.join("; "), more.unwrap_or_default()))
}

/// Describes a mount: `/mnt/sd (ext4, 466 MiB free)`, or why nothing can be written there.
fn mounted_part_in_words(part: &MountedPart) -> String {
    let point = clean(&part.mount.point.to_string_lossy());
    let fs_type = clean(&part.mount.fs_type);
    let free = part.available.map(|bytes| format!("{bytes} free"));
    let not = match part.writable {
        true => None,
        false if is_read_only(&part.mount) => Some("read-only".to_owned()),
        false => Some("no permission to write".to_owned()),
    };
    let details: Vec<String> = [Some(fs_type), free, not].into_iter().flatten().collect();
    format!("{point} ({})", details.join(", "))
}

fn is_read_only(mount: &Mount) -> bool {
    let mut options = mount.options.iter().chain(&mount.super_options);
    options.any(|option| option == "ro")
}

/// Describes whether the device may be written as a whole, and why not.
fn whole(device: &ListedDevice) -> String {
    let reasons: Vec<String> = device.in_use.iter().map(|reason| clean(reason)).collect();
    match reasons.is_empty() {
        true => "may be overwritten (--destroy-data)".to_owned(),
        false => format!("no: {}", enumerate(&reasons)),
    }
}

#[cfg(test)]
mod tests;

//! Exclusive access to the devices that a work writes.

use crate::permission::{device, refuse};
use assay_model::wire::Refusal;
use assay_model::work::WorkSpec;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens each device that a work writes exclusively, until the returned descriptors are
/// closed: it cannot be mounted meanwhile, and was not mounted since it was checked. Some
/// works open their devices exclusively themselves; they are skipped, because a second
/// exclusive open would fail.
///
/// # Errors
/// If a device is in use. Other errors of opening are left to the work to report.
pub(super) fn devices_of(work: &dyn WorkSpec) -> Result<Vec<OwnedFd>, Refusal> {
    if work.opens_own_devices() {
        return Ok(Vec::new());
    }
    let mut held = BTreeMap::new();
    for node in work.writes().iter().filter_map(|path| device(path)) {
        let Ok(meta) = fs::metadata(&node) else {
            continue;
        };
        // One device may have several names.
        if held.contains_key(&meta.rdev()) {
            continue;
        }
        match hold(&node) {
            Ok(fd) => drop(held.insert(meta.rdev(), fd)),
            Err(Errno::BUSY) => {
                return Err(refuse(format!(
                    "{} is in use and is left alone: it was mounted or is held by a program",
                    node.display()
                )));
            }
            Err(_) => {}
        }
    }
    Ok(held.into_values().collect())
}

fn hold(node: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match open(node, flags | OFlags::RDONLY, Mode::empty()) {
        // The user may have permission for writing only.
        Err(Errno::ACCESS) => open(node, flags | OFlags::WRONLY, Mode::empty()),
        other => other,
    }
}

//! Whether a path may be qualified, and how.

use crate::exit::Failure;
use assay_model::plan::Place;
use assay_model::run::Run;
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use std::path::Path;

/// Paths are kept as text; one that is not would come back as another.
pub fn can_be_stored(path: &Path) -> Result<(), Failure> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format!(
            "{} is not UTF-8: such a name cannot be stored; rename it, or use a path that leads there by another name",
            path.display()
        ))),
    }
}

/// The place to work on, or why not.
pub fn admit(inspection: &Inspection, destroy_data: bool) -> Result<Place, Failure> {
    let path = inspection.path.clone();
    let shown = path.display();
    is_storage(inspection)?;
    match inspection.kind {
        PathKind::Directory { writable: false } => Err(Failure::usage(format!(
            "no permission to create files in {shown}{}",
            read_only(inspection)
        ))),
        PathKind::Directory { writable: true } => Ok(Place::Directory { path }),
        PathKind::File {
            length: Bytes(0), ..
        } => Err(Failure::usage(format!(
            "{shown} is empty: give the directory it is in, assay makes its own test file there"
        ))),
        PathKind::File {
            written: Some(false),
            ..
        } => Err(Failure::usage(format!(
            "{shown} has holes or blocks that were never written, reading them would not reach the device: give the directory it is in"
        ))),
        PathKind::File { .. } => Ok(Place::File { path }),
        PathKind::Simulated { .. } => Ok(Place::Simulated { path }),
        PathKind::Device { .. } if !inspection.in_use.is_empty() => Err(Failure::usage(format!(
            "{shown} is in use and is left alone: {}",
            inspection.in_use.join("; ")
        ))),
        PathKind::Device { .. } if !destroy_data => Err(Failure::usage(format!(
            "{shown} is a block device: writing to it destroys all data on it; if that is what you want, add --destroy-data"
        ))),
        PathKind::Device { .. } => Ok(Place::Device { path }),
    }
}

/// Refuses to go on with a run on other storage than it was made on.
///
/// # Errors
/// When the storage of that inspection is not the run's.
pub fn is_that_of(run: &Run, inspection: &Inspection) -> Result<(), Failure> {
    let (then, now) = (run.header.storage.words(), inspection.storage.words());
    if then != now {
        return Err(Failure::usage(format!(
            "run {} was made on {then}, and {} is on {now} now: figures of two devices do not \
             belong into one run",
            run.header.id,
            inspection.path.display()
        )));
    }
    Ok(())
}

/// Refuses a simulated device, on which only jobs of block I/O can be run.
pub fn not_simulated(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is a simulated device, which has no files and keeps no data: it is for assay qualify, \
         mark, compare, sweep, run and fio",
        path.display()
    ))
}

/// Refuses a place whose files the kernel makes up.
pub fn is_storage(inspection: &Inspection) -> Result<(), Failure> {
    no_storage(inspection).map_or(Ok(()), |kind| {
        Err(Failure::usage(format!(
            "{} is on {kind}, which the kernel makes up: there is no storage to measure",
            inspection.path.display()
        )))
    })
}

/// The type of a file system whose files the kernel makes up.
fn no_storage(inspection: &Inspection) -> Option<&str> {
    const MADE_UP: [&str; 14] = [
        "autofs",
        "bpf",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "efivarfs",
        "fusectl",
        "mqueue",
        "proc",
        "securityfs",
        "sysfs",
        "tracefs",
    ];
    let kind = inspection.storage.mount.as_ref()?.fs_type.as_str();
    MADE_UP.contains(&kind).then_some(kind)
}

fn read_only(inspection: &Inspection) -> &'static str {
    let mount = inspection.storage.mount.as_ref();
    match mount {
        Some(mount) if mount.options.iter().any(|option| option == "ro") => {
            ": it is mounted read-only"
        }
        _ => "",
    }
}

//! Admission of a path: its kind, and whether a command may work on it.

use crate::exit::Failure;
use assay_model::plan::Place;
use assay_model::run::{RunHeader, Same, is_same_medium};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use clap::Args;
use std::ffi::OsString;
use std::path::Path;

/// Refuses a path that is not UTF-8: paths are stored as text.
pub fn can_be_stored(path: &Path) -> Result<(), Failure> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format!(
            "{} is not UTF-8: such a name cannot be stored; rename it, or use a link whose name is UTF-8",
            path.display()
        ))),
    }
}

/// The user's word that the data on a block device may be destroyed.
#[derive(Args, Clone, Debug, Default)]
pub struct DestroyArgs {
    /// Overwrite the block device. All data on it is lost. To resume on a device that has no
    /// serial number or other identifier, give its name here.
    #[arg(
        long = "destroy-data",
        value_name = "DEVICE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub destroy_data: Option<OsString>,
}

impl DestroyArgs {
    /// Returns `true` if the data on a device may be destroyed. `path` has no symbolic links; if the
    /// user named another path, such as `/dev/disk/by-id/...`, `look` inspects where it leads.
    ///
    /// # Errors
    /// If the user named a device other than `path`.
    pub fn allow(
        &self,
        path: &Path,
        look: impl FnOnce(&Path) -> Result<Inspection, Failure>,
    ) -> Result<bool, Failure> {
        let Some(name) = self.destroy_data.as_deref().map(Path::new) else {
            return Ok(false);
        };
        if name == Path::new("") || name == path {
            return Ok(true);
        }
        match look(name) {
            Ok(named) if named.path == path => Ok(true),
            Err(failure) if failure.is_lost() => Err(failure),
            _ => Err(Failure::usage(format!(
                "--destroy-data names {}, and the path is {}",
                name.display(),
                path.display()
            ))),
        }
    }
}

/// Requirements of a command on the path that it works on.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// `true` if the user agreed that the data on a block device is destroyed.
    pub destroy_data: bool,
    /// `true` if the command writes in folders.
    pub writes_folder: bool,
    /// `true` if the command writes block devices.
    pub writes_device: bool,
    /// `true` if a simulated device is accepted.
    pub simulated: bool,
    /// Reason why files are refused; empty if they are read.
    pub no_files: &'static str,
    /// Consequence of writing to a block device, for a user who has not agreed to it.
    pub risk: &'static str,
}

impl Need {
    /// Accepts every kind of path: test files in a folder, a file to read, a block device to overwrite
    /// or a simulated device.
    pub const fn anything(destroy_data: bool) -> Self {
        Self {
            destroy_data,
            writes_folder: true,
            writes_device: true,
            simulated: true,
            no_files: "",
            risk: "writing to it destroys all data on it; if that is what you want, add \
                   --destroy-data",
        }
    }

    /// Accepts real storage that is written: a folder or a block device.
    pub const fn written(destroy_data: bool) -> Self {
        Self {
            simulated: false,
            no_files: ": give the folder it is in, or a block device",
            ..Self::anything(destroy_data)
        }
    }
}

/// Returns the place to work on.
///
/// # Errors
/// If the requirements exclude the path; the message gives the reason.
pub fn admit(inspection: &Inspection, need: Need) -> Result<Place, Failure> {
    let shown = inspection.path.display();
    is_storage(inspection)?;
    Err(Failure::usage(match inspection.kind {
        PathKind::Simulated { .. } if !need.simulated => {
            return Err(not_simulated(&inspection.path));
        }
        PathKind::Directory { writable: false } if need.writes_folder => format!(
            "no permission to create files in {shown}{}",
            read_only(inspection)
        ),
        PathKind::File { .. } if !need.no_files.is_empty() => {
            format!("{shown} is a file{}", need.no_files)
        }
        PathKind::File {
            length: Bytes(0), ..
        } => format!(
            "{shown} is empty: give the directory it is in, assay makes its own test file there"
        ),
        PathKind::File {
            written: Some(false),
            ..
        } => format!(
            "{shown} has holes or blocks that were never written, reading them would not reach \
             the device: give the directory it is in"
        ),
        PathKind::Device { size: Bytes(0) } => {
            format!("{shown} has a size of 0: no medium is in it, or no file behind it")
        }
        PathKind::Device { .. } if need.writes_device && !inspection.in_use.is_empty() => {
            return Err(in_use(inspection));
        }
        PathKind::Device { .. } if need.writes_device && !need.destroy_data => {
            format!("{shown} is a block device: {}", need.risk)
        }
        _ => return Ok(of(inspection)),
    }))
}

/// Returns the place of an inspected path, without any check.
pub fn of(inspection: &Inspection) -> Place {
    let path = inspection.path.clone();
    match inspection.kind {
        PathKind::Directory { .. } => Place::Directory { path },
        PathKind::File { .. } => Place::File { path },
        PathKind::Simulated { .. } => Place::Simulated { path },
        PathKind::Device { .. } => Place::Device { path },
    }
}

/// Failure for a device that is in use.
pub fn in_use(inspection: &Inspection) -> Failure {
    Failure::usage(format!(
        "{} is in use and is left alone: {}",
        inspection.path.display(),
        inspection.in_use.join("; ")
    ))
}

/// Checks that a run is resumed on the storage on which it began. If the device has no identifier,
/// the user must name it.
///
/// # Errors
/// If the inspected storage is not the run's, or cannot be identified and is not named.
pub fn is_that_of(
    run: &RunHeader,
    inspection: &Inspection,
    destroy: &DestroyArgs,
) -> Result<(), Failure> {
    let (id, path) = (&run.id, inspection.path.display());
    let is_device = matches!(run.plan.place, Place::Device { .. });
    let is_named = destroy
        .destroy_data
        .as_ref()
        .is_some_and(|name| !name.is_empty());
    match is_same_medium(&run.storage, &inspection.storage) {
        Same::No(why) => Err(Failure::usage(format!(
            "{path} is on other storage than run {id} was made on: {why}; figures of two devices \
             do not belong into one run"
        ))),
        Same::Unknown if is_device && !is_named => Err(Failure::usage(format!(
            "nothing tells whether {path} is still the device that run {id} was made on ({}): it \
             has no serial number of its own, or the run does not have it; if it is, add \
             --destroy-data={path}",
            run.storage.words()
        ))),
        Same::Yes | Same::Unknown => Ok(()),
    }
}

/// Failure for a simulated device, on which only jobs of block I/O can run.
pub fn not_simulated(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is a simulated device, which has no files and keeps no data: it is for assay qualify, \
         mark, compare, ping, traits, run and fio",
        path.display()
    ))
}

/// Refuses a path on a virtual file system such as proc.
pub fn is_storage(inspection: &Inspection) -> Result<(), Failure> {
    no_storage(inspection).map_or(Ok(()), |kind| {
        Err(Failure::usage(format!(
            "{} is on {kind}, which exists only in the kernel: there is no storage to measure",
            inspection.path.display()
        )))
    })
}

/// Returns the type of a virtual file system; `None` for others.
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

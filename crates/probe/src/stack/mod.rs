//! Resolves a path to the storage that holds it.

mod holder;
pub(crate) mod layers;
mod overlay;
pub(crate) mod several;

#[cfg(test)]
mod tests;

use crate::device::Device;
use crate::files::{ExistingFile, FileKind, Files, KernelFiles};
use crate::mounts::{self, MountEntry};
use crate::roots::Roots;
use assay_model::storage::{Backing, Layer, Storage};
use assay_model::units::Bytes;
use holder::Holder;
use std::io;
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
/// Where the device is not known for certain, the result is [`Backing::Unknown`] with the reason,
/// not an error.
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
            mounts: mounts::read(roots).unwrap_or_default(),
        }
    }

    pub(crate) fn resolve(&self, path: &Path) -> Result<Storage, ResolveError> {
        let found = self
            .files
            .look(path)
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
        mounts::mount_of(&self.mounts, &found.path, found.mount_id)
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

//! Inspection of a path: its storage, and the permitted operations.

use crate::devices::{self, is_held, not_opened};
use crate::simulated;
use assay_engine::held::check_way;
use assay_model::job::EngineKind;
use assay_model::run::{FILE_ID, FS_UUID};
use assay_model::storage::{Storage, folder_of};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind, Refusal};
use assay_probe::identity::file_id;
use assay_probe::roots::Roots;
use assay_probe::{safety, stack, system};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Inspects a path, without writing.
pub(crate) fn inspect(roots: &Roots, path: &Path) -> Result<Inspection, Refusal> {
    if simulated::means(path) {
        return simulated::inspect(roots, path).map_err(refuse);
    }
    check_way(path).map_err(|error| cannot_look(path, error))?;
    let path = fs::canonicalize(path).map_err(|error| cannot_look(path, error))?;
    let mut storage = stack::resolve(roots, &path).map_err(|error| refuse(error.to_string()))?;
    for layer in &mut storage.layers {
        devices::ask(roots, layer);
    }
    let kind = kind_of(&path, storage.total)?;
    identify(roots, &path, &mut storage);
    let (in_use, holds) = match (&kind, storage.top()) {
        (PathKind::Device { .. }, Some(top)) => (
            uses(roots, &path, &top.name)?,
            safety::on_disk(roots, &top.name),
        ),
        _ => Default::default(),
    };
    Ok(Inspection {
        path,
        kind,
        system: system::system(roots),
        storage,
        in_use,
        holds,
        async_engines: [EngineKind::IoUring, EngineKind::Libaio]
            .into_iter()
            .filter(|&engine| assay_engine::usable(engine).is_ok())
            .collect(),
    })
}

/// Adds identifiers of the file system and the file at a path, which distinguish it from others of
/// the same name.
fn identify(roots: &Roots, path: &Path, storage: &mut Storage) {
    let (Ok(meta), Some(top)) = (fs::metadata(path), storage.layers.first_mut()) else {
        return;
    };
    if meta.file_type().is_block_device() {
        return;
    }
    let id = meta.is_file().then(|| file_id(&meta)).flatten();
    let mut found = safety::of(roots, &top.name).into_iter().flatten();
    let uuid = found.find_map(|one| one.uuid);
    for (name, value) in [(FILE_ID, id), (FS_UUID, uuid)] {
        devices::put(&mut top.identity, name, value);
    }
}

/// Returns every reason against writing a device.
///
/// # Errors
/// If no use was found, but this user may not open the device.
pub(crate) fn uses(roots: &Roots, node: &Path, name: &str) -> Result<Vec<String>, Refusal> {
    let mut reasons = safety::in_use(roots, name);
    if reasons.is_empty() {
        match is_held(node, name) {
            Ok(reason) => reasons.extend(reason),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(cannot_look(node, error));
            }
            Err(error) => reasons.push(not_opened(name, &error)),
        }
    }
    Ok(reasons)
}

fn kind_of(path: &Path, total: Option<Bytes>) -> Result<PathKind, Refusal> {
    let meta = fs::metadata(path).map_err(|error| cannot_look(path, error))?;
    if meta.is_dir() {
        let writable = access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok();
        return Ok(PathKind::Directory { writable });
    }
    if meta.file_type().is_block_device() {
        let size = total.unwrap_or(Bytes(0));
        return Ok(PathKind::Device { size });
    }
    let file = File::open(path).map_err(|error| cannot_look(path, error))?;
    Ok(PathKind::File {
        length: Bytes(meta.len()),
        written: assay_engine::layout::is_written(&file),
    })
}

/// Returns the storage of a file; if it does not exist, of its folder.
pub(crate) fn storage_of(roots: &Roots, path: &Path) -> Storage {
    if let Some(Ok(storage)) = simulated::means(path).then(|| simulated::storage(path)) {
        return storage;
    }
    let found = match stack::resolve(roots, path) {
        Err(stack::ResolveError::NotFound(_)) => stack::resolve(roots, folder_of(path)),
        found => found,
    };
    found.unwrap_or_else(|error| Storage::unknown(path.to_owned(), error.to_string()))
}

fn cannot_look(path: &Path, error: io::Error) -> Refusal {
    refuse(stack::ResolveError::new(path, error).to_string())
}

/// Returns a refusal because of the path.
fn refuse(message: String) -> Refusal {
    Refusal {
        usage: true,
        message,
    }
}

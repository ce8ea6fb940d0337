//! Destination of a copy, and the permission to write it.

use crate::driver::host::Host;
use crate::exit::Failure;
use assay_dialects::dd::Invocation;
use assay_model::plan::Place;
use assay_model::storage::{Storage, folder_of};
use assay_model::wire::Inspection;
use assay_model::work::copy::FileCopy;
use rustix::fs::{FileType, fstat};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Refuses requests that cannot be carried out on any storage.
pub fn check(invocation: &Invocation) -> Result<(), Failure> {
    let Invocation { copy, own, .. } = invocation;
    if own.json && copy.output.is_none() {
        return Err(Failure::usage(
            "--json and the copy cannot both be written to standard output: give of=FILE",
        ));
    }
    if own.trials > 1 && copy.input.is_none() && !own.ladder {
        return Err(Failure::usage(
            "standard input can be read once only: give if=FILE to repeat the copy",
        ));
    }
    if own.trials > 1 && copy.output.is_none() {
        return Err(Failure::usage(
            "standard output would get the copy several times: give of=FILE to repeat it",
        ));
    }
    let stdout = fstat(rustix::stdio::stdout()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if copy.output.is_none() && stdout == Ok(FileType::BlockDevice) {
        return Err(Failure::usage(
            "standard output is a block device: give of=DEVICE, so that it is known to be free",
        ));
    }
    Ok(())
}

/// Finds the storage that the run is about.
pub fn find(host: &mut Host, copy: &FileCopy) -> Result<(Inspection, Place), Failure> {
    for (path, place) in candidates(copy) {
        // If a path cannot be inspected, opening it reports the error in dd's words.
        if let Ok(inspection) = host.inspect(&path) {
            return Ok((inspection, place));
        }
    }
    nowhere_on(host)
}

/// Returns the machine as the place, for a copy with neither end on storage.
pub fn nowhere_on(host: &mut Host) -> Result<(Inspection, Place), Failure> {
    let path = PathBuf::from("/");
    let inspection = host.inspect(&path)?;
    Ok((nowhere(inspection), Place::Directory { path }))
}

/// Returns an inspection of the machine without storage.
fn nowhere(inspection: Inspection) -> Inspection {
    let why = "neither end of the copy is on storage".to_owned();
    let storage = Storage::unknown(inspection.storage.path, why);
    Inspection {
        storage,
        ..inspection
    }
}

fn candidates(copy: &FileCopy) -> Vec<(PathBuf, Place)> {
    let output = copy.output.clone().or_else(|| link(1));
    let input = copy.input.clone().or_else(|| link(0));
    let mut found = Vec::new();
    if let Some(path) = output {
        match fs::metadata(&path) {
            Ok(meta) if meta.file_type().is_block_device() => {
                found.push((path.clone(), Place::Device { path }));
            }
            Ok(meta) if !meta.is_file() => {}
            // Inspect its folder: the file may not exist yet, or may not be readable.
            _ => found.extend(in_folder(&path)),
        }
    }
    if let Some(path) = input
        && fs::metadata(&path)
            .is_ok_and(|meta| meta.is_file() || meta.file_type().is_block_device())
    {
        match fs::canonicalize(&path) {
            Ok(real) if real.to_str().is_none() => found.extend(in_folder(&path)),
            _ => found.push((path.clone(), Place::File { path })),
        }
    }
    found
}

/// Returns the folder of a file, or the nearest folder above it on the same file system whose path
/// is UTF-8: paths are stored as text.
fn in_folder(path: &Path) -> Option<(PathBuf, Place)> {
    let folder = fs::canonicalize(folder(path)).ok()?;
    let device = fs::metadata(&folder).ok()?.dev();
    let on_device = |path: &&Path| fs::metadata(path).is_ok_and(|meta| meta.dev() == device);
    let mut above = folder.ancestors().take_while(on_device);
    let path = above.find(|path| path.to_str().is_some())?.to_owned();
    Some((path.clone(), Place::Directory { path }))
}

/// Returns the file that a standard stream is open on.
fn link(number: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{number}")).ok()
}

fn folder(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path);
    let path = real.as_deref().unwrap_or(path);
    folder_of(path).to_owned()
}

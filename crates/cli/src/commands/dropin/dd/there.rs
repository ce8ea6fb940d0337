//! Input and output of a copy on another machine, as its agent reports them.

use crate::checks::admission::{self, not_simulated};
use crate::driver::Host;
use crate::exit::Failure;
use assay_model::act::copy::FileCopy;
use assay_model::plan::Place;
use assay_model::storage::folder_of;
use assay_model::wire::{Inspection, PathKind};
use std::path::Path;

/// Checks that both ends are on the other machine: the agent has no access to this process's
/// standard streams.
pub fn check(copy: &FileCopy, target: &str) -> Result<(), Failure> {
    match (&copy.input, &copy.output) {
        (Some(_), Some(_)) => Ok(()),
        _ => Err(Failure::usage(format!(
            "on {target} dd copies between files and devices that are there: give if=FILE (also \
             /dev/zero) and of=FILE (also /dev/null)"
        ))),
    }
}

/// Returns the kind of a path on the other machine; `None` when nothing is there.
pub fn at(host: &mut Host, path: &Path) -> Result<Option<PathKind>, Failure> {
    match host.inspect(path) {
        Ok(inspection) => Ok(Some(inspection.kind)),
        Err(failure) if failure.is_usage() => {
            // A file that does not exist yet needs an existing folder.
            host.inspect(folder_of(path)).map(|_| None)
        }
        Err(failure) => Err(failure),
    }
}

/// Finds the storage that the run is about: the output's, else the input's.
pub fn find(host: &mut Host, copy: &FileCopy) -> Result<Option<(Inspection, Place)>, Failure> {
    for (path, is_output) in [(&copy.output, true), (&copy.input, false)] {
        let Some(path) = path else { continue };
        if let Some(found) = storage_of(host, path, is_output)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the storage of a path; for an output, that of its folder, since the file may not exist
/// yet.
fn storage_of(
    host: &mut Host,
    path: &Path,
    is_output: bool,
) -> Result<Option<(Inspection, Place)>, Failure> {
    let inspection = match host.inspect(path) {
        Ok(inspection) => inspection,
        Err(failure) if !failure.is_usage() => return Err(failure),
        // The path does not exist, or is a character device, whose folder is not on storage.
        Err(_) if is_output && !path.starts_with("/dev") => host.inspect(folder_of(path))?,
        Err(_) => return Ok(None),
    };
    let path = inspection.path.clone();
    match inspection.kind {
        PathKind::Simulated { .. } => Err(not_simulated(&path)),
        PathKind::File { .. } if is_output => {
            let path = folder_of(&path).to_owned();
            Ok(Some((host.inspect(&path)?, Place::Directory { path })))
        }
        _ => {
            let place = admission::of(&inspection);
            Ok(Some((inspection, place)))
        }
    }
}

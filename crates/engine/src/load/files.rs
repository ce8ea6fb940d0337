//! The files of a stream: from the names and sizes of a job file to open files.
//!
//! [`FilePlan::resolve`] inspects the paths and determines sizes by fio's rules,
//! [`FilePlan::lay_out`] creates missing files and data, and a [`FileTable`] holds the open files
//! of a running stream. Prepare the streams of a load one after the other, each with both steps: a
//! stream without a size uses the size of a file that an earlier stream created.

mod lay_out;
mod look;
mod open;
mod shared;
mod size;
mod table;
#[cfg(test)]
mod tests;

pub use open::sync_flags;
pub(crate) use shared::{HeldLock, SharedFiles};
pub(crate) use table::{FileTable, LockBusy, Room};

use crate::error::EngineError;
use crate::held::shown;
use assay_model::job::PathUse;
use assay_model::load::report::FilePart;
use assay_model::load::{Load, Stream};
use assay_model::units::Bytes;
use std::path::PathBuf;

/// The files of a stream with their final sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePlan {
    /// Files, ordered by number.
    pub(crate) files: Vec<PlannedFile>,
    /// Bytes that one pass moves, which fio calls the total I/O size of a loop. Nearly
    /// [`u64::MAX`] if the stream ends when the device is full.
    pub(crate) total_bytes: u64,
    /// Possibly unintended effects, reported when the files are laid out.
    warnings: Vec<String>,
}

/// A file of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    /// Kind of file found when the plan was made.
    pub(crate) kind: FileKind,
    /// Size that the file must have, or that the device has.
    pub(crate) file_size: u64,
    /// Region that the stream uses.
    pub(crate) span: FilePart,
}

impl PlannedFile {
    /// Returns true if it is, or will be, a regular file.
    fn is_regular(&self) -> bool {
        matches!(self.kind, FileKind::Regular | FileKind::Missing)
    }
}

/// Kind of file that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A regular file.
    Regular,
    /// No file exists yet; a regular file will be created.
    Missing,
    /// A block device.
    BlockDevice,
    /// One of the memory devices, such as `/dev/null`.
    CharDevice,
    /// The path was not inspected: the engine needs only the name, or the caller has prepared the
    /// file.
    NameOnly,
}

impl FilePlan {
    /// Inspects the files of `stream` and determines their sizes. Creates and changes nothing.
    ///
    /// # Errors
    /// [`EngineError::Job`] with the problem and a remedy: writing is forbidden, the size is
    /// unknown, an offset is beyond the end, a path is not a file or block device.
    /// [`EngineError::File`] if a path cannot be inspected.
    pub(crate) fn resolve(stream: &Stream, load: &Load) -> Result<Self, EngineError> {
        if load.readonly && stream.blocks.rw.changes() {
            return Err(problem(
                stream,
                "it writes or trims, which --readonly forbids".to_owned(),
            ));
        }
        let found = look::at_files(stream)?;
        if let Some(device) = found
            .iter()
            .find(|file| file.kind == FileKind::BlockDevice && stream.blocks.rw.changes())
            && !load.destroy_data
        {
            return Err(problem(
                stream,
                format!(
                    "it would overwrite the device {}: if all data on it may be lost, say so with --destroy-data",
                    shown(&device.path)
                ),
            ));
        }
        let plan = size::settle(stream, load.entropy, &found)?;
        plan.check_creation(stream, load, &found)?;
        Ok(plan)
    }

    /// Returns the paths, by number.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Returns the regions of the files, by number.
    pub(crate) fn parts(&self) -> Vec<FilePart> {
        self.files.iter().map(|file| file.span).collect()
    }

    /// Returns the paths with the sizes of the files.
    pub(crate) fn sizes(&self) -> Vec<(PathBuf, Bytes)> {
        let sizes = self.files.iter();
        sizes
            .map(|file| (file.path.clone(), Bytes(file.file_size)))
            .collect()
    }

    /// Checks that missing files or data may be created.
    fn check_creation(
        &self,
        stream: &Stream,
        load: &Load,
        found: &[look::InspectedFile],
    ) -> Result<(), EngineError> {
        for (file, found) in self.files.iter().zip(found) {
            let missing = file.kind == FileKind::Missing;
            if missing && !stream.files.allow_create {
                let path = shown(&file.path);
                return Err(problem(
                    stream,
                    format!("{path} does not exist, and allow_file_create=0 forbids to make it"),
                ));
            }
            let too_short = file.kind == FileKind::Regular
                && found.size.is_some_and(|size| size < file.file_size);
            if load.readonly && (missing || too_short) {
                let path = shown(&file.path);
                let size = file.file_size;
                return Err(problem(
                    stream,
                    format!(
                        "{path} must be made {size} bytes long first, which --readonly forbids: lay it out without"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Returns true if nothing needs to be done about a path before it is opened: the engine uses no
/// file, makes it itself or works on directories (other engines without an open file expect one to
/// exist), or the file is already prepared.
const fn needs_only_names(stream: &Stream) -> bool {
    let paths = stream.engine.kind.properties().paths;
    stream.files.prepared
        || matches!(paths, PathUse::Unused | PathUse::NewFile)
        || paths.is_of_directories()
}

/// Creates the error of a stream with invalid settings.
fn problem(stream: &Stream, problem: String) -> EngineError {
    EngineError::Job {
        job: stream.name.clone(),
        problem,
    }
}

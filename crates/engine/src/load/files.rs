//! The files of a stream: from the names and sizes of a job file to open files.
//!
//! [`FilePlan::resolve`] looks at the paths and settles sizes by fio's rules,
//! [`FilePlan::lay_out`] makes what is missing, and a [`FileTable`] holds open
//! what a running stream needs. Prepare the streams of a load one after the
//! other, each with both steps: a stream that names no size takes that of the
//! file which an earlier one has made.

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

use crate::engines::is_of_directories;
use crate::error::EngineError;
use crate::held::shown;
use assay_model::job::EngineKind;
use assay_model::load::report::FilePart;
use assay_model::load::{Load, Stream};
use assay_model::units::Bytes;
use std::path::PathBuf;

/// The files of a stream with their sizes settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePlan {
    /// In the order of their numbers.
    pub(crate) files: Vec<PlannedFile>,
    /// Bytes that one pass moves: what fio calls the total I/O size of a loop.
    /// Nearly [`u64::MAX`] where the end is a full device.
    pub(crate) total_bytes: u64,
    /// Possibly unintended effects, reported when the files are laid out.
    warnings: Vec<String>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    /// Kind of file found when the plan was made.
    pub(crate) kind: FileKind,
    /// Size that the file must have, or that the device has.
    pub(crate) file_size: u64,
    /// The region that the stream works on.
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
    /// Nothing yet: it will be a regular file.
    Missing,
    /// A block device.
    BlockDevice,
    /// One of the memory devices, such as `/dev/null`.
    CharDevice,
    /// Not looked at: the engine opens no file itself, it needs only the name,
    /// or whoever runs the load has made the file ready.
    NameOnly,
}

impl FilePlan {
    /// Looks at the files of `stream` and settles their sizes. Nothing is
    /// created or changed.
    ///
    /// # Errors
    /// [`EngineError::Job`] with what does not fit and what to do: writing
    /// where it is forbidden, a size that nobody gave, an offset beyond the
    /// end, a path that leads to no storage. [`EngineError::File`] when a path
    /// cannot be looked at.
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

    /// The paths, by number.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// The parts of the files to work on, by number.
    pub(crate) fn parts(&self) -> Vec<FilePart> {
        self.files.iter().map(|file| file.span).collect()
    }

    /// The paths with the sizes of the files.
    pub(crate) fn sizes(&self) -> Vec<(PathBuf, Bytes)> {
        let sizes = self.files.iter();
        sizes
            .map(|file| (file.path.clone(), Bytes(file.file_size)))
            .collect()
    }

    /// Files that will have to be made, where none may be.
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
    let engine = stream.engine.kind;
    stream.files.prepared
        || matches!(
            engine,
            EngineKind::Null | EngineKind::Sim | EngineKind::FileCreate
        )
        || is_of_directories(engine)
}

/// Something that does not fit in a stream.
fn problem(stream: &Stream, problem: String) -> EngineError {
    EngineError::Job {
        job: stream.name.clone(),
        problem,
    }
}

//! Storage that a trace is replayed on.

use super::counts;
use crate::checks::admission::{in_use, is_storage, not_simulated};
use crate::driver::host::Host;
use crate::exit::Failure;
use assay_model::load::Ddir;
use assay_model::storage::folder_of;
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use assay_trace::Action;
use assay_trace::describe::Description;
use assay_trace::recording::Recording;
use std::path::{Path, PathBuf};

/// Storage that a trace is replayed on.
pub struct ReplayTarget {
    /// File or device; for a file that will be made, its folder.
    pub file: PathBuf,
    /// Size in bytes; `None` if the file will be made.
    pub size: Option<Bytes>,
    /// Inspection of the file or device, or of the folder in which the file is made.
    pub inspection: Inspection,
}

/// Inspects a path, or the folder of a file that does not exist yet.
pub fn find(host: &mut Host, path: &Path) -> Result<ReplayTarget, Failure> {
    let inspection = match host.inspect(path) {
        Err(failure) if !failure.is_lost() => host.inspect(folder_of(path)).map_err(|_| failure)?,
        inspected => inspected?,
    };
    is_storage(&inspection)?;
    let found = inspection.path.clone();
    let size = match inspection.kind {
        PathKind::Directory { writable: false } => {
            return Err(Failure::usage(format!(
                "no permission to create files in {}",
                found.display()
            )));
        }
        PathKind::Directory { .. } => None,
        PathKind::File { length, .. } => Some(length).filter(|length| length.0 > 0),
        PathKind::Device { size } => Some(size),
        PathKind::Simulated { .. } => return Err(not_simulated(&found)),
    };
    Ok(ReplayTarget {
        file: found,
        size,
        inspection,
    })
}

impl ReplayTarget {
    /// `true` if assay makes the file, and removes it.
    pub fn is_made(&self) -> bool {
        self.size.is_none() && !matches!(self.inspection.kind, PathKind::File { .. })
    }

    /// Checks that the trace may be replayed there.
    pub fn admit(&self, trace: &Description, destroy_data: bool) -> Result<(), Failure> {
        let directions = &trace.directions;
        let writes = directions.write.ios + directions.trim.ios > 0;
        let shown = self.file.display();
        if !writes {
            return Ok(());
        }
        if !self.inspection.in_use.is_empty() {
            return Err(in_use(&self.inspection));
        }
        match self.size {
            Some(_) if !destroy_data => Err(Failure::usage(format!(
                "the trace writes, and what is in {shown} would be lost; if that is what you \
                 want, add --destroy-data"
            ))),
            _ => Ok(()),
        }
    }

    /// Removes trims if the target is a file, and returns their number.
    pub fn leave_out_trims(&self, recording: &mut Recording) -> u64 {
        if matches!(self.inspection.kind, PathKind::Device { .. }) {
            return 0;
        }
        let trims = counts(recording).trim;
        let is_trim = |action| matches!(action, Action::Io(io) if io.ddir == Ddir::Trim);
        recording.steps.retain(|step| !is_trim(step.action));
        trims
    }
}

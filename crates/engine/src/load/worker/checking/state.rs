//! State that an interrupted stream leaves behind for a later check.

use super::{Checks, Phase, Worker};
use crate::clock::Clock;
use crate::io::IoEngine;
use crate::load::Note;
use crate::verify::VerifyState;
use assay_model::load::Stream;
use assay_model::load::verify::{SaveState, Verify};
use std::path::{Path, PathBuf};

/// Returns the path of a stream's state.
pub(in crate::load) fn path(spec: &Verify, stream: &Stream, folder: &Path) -> PathBuf {
    match &spec.state_path {
        Some(path) => folder.join(path),
        None => VerifyState::path(folder, &stream.name, u64::from(stream.number) - 1),
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Saves how far a stream came that was stopped while it wrote, or any
    /// that writes, as the job says.
    pub(in crate::load::worker) fn save_state(&mut self) {
        let Some(checks) = self.checks.as_ref() else {
            return;
        };
        let interrupted = self.phase == Phase::Work && self.shared.is_stopped();
        let wanted = match checks.spec.save_state {
            SaveState::Never => false,
            SaveState::WhenStopped => interrupted,
            SaveState::Always => true,
        };
        let wrote = checks.number > 0 && self.stream.blocks.rw.write && !checks.spec.only;
        if !wanted || !wrote {
            return;
        }
        let saved = checks.state(self.stream);
        let path = path(&checks.spec, self.stream, &checks.folder);
        if let Err(error) = saved.save(&path) {
            self.notes.push(Note::Warning(error.to_string()));
        }
    }
}

impl Checks {
    fn state(&self, stream: &Stream) -> VerifyState {
        VerifyState {
            name: stream.name.clone(),
            stream: u64::from(stream.number) - 1,
            depth: stream.engine.iodepth,
            files: u32::try_from(stream.files.paths.len()).unwrap_or(u32::MAX),
            issued: self.number,
            completed: self.completed.iter().copied().collect(),
            // All others that were under way have come back.
            in_flight: Some(self.lost.clone()),
        }
    }
}

//! Traces: recording what a stream does, and replaying what was recorded.
//!
//! - [`writer`]: fio's iolog, as fio 3.33 writes it (version 3, with times).
//! - [`replay`]: what the options make of what was read.
//! - [`reader`]: a trace as a sequence of steps.
//! - [`traced`]: which files a trace touches.

mod reader;
mod replay;
#[cfg(test)]
mod tests;
mod traced;
mod writer;

pub(crate) use reader::{TraceReader, TraceSummary};
pub use traced::traced_files;
pub(crate) use writer::TraceWriter;

use crate::error::EngineError;
use assay_model::load::Ddir;
use assay_trace::Action;
use std::path::Path;

/// One thing to do in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceStep {
    /// Index into [`TraceSummary::files`].
    pub(crate) file: usize,
    pub(crate) action: TraceAction,
    /// From the time of the step before to the time of this one; 0 when times
    /// are not kept. Their sum is the time since the first step, so whoever
    /// adds them up does not drift.
    pub(crate) delay_ns: u64,
}

/// Action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceAction {
    Io {
        ddir: Ddir,
        offset: u64,
        length: u32,
    },
    /// fsync.
    Sync,
    /// fdatasync.
    Datasync,
    /// Comes before the first other step of a file, and only for a closed file.
    Open,
    /// Only for an open file.
    Close,
}

impl TraceAction {
    /// Returns the replay's action for the recorded `action`; `None`: nothing to do.
    const fn of(action: Action) -> Option<Self> {
        Some(match action {
            Action::Io {
                ddir,
                offset,
                length,
            } => Self::Io {
                ddir,
                offset,
                length,
            },
            Action::Sync => Self::Sync,
            Action::Datasync => Self::Datasync,
            Action::Open => Self::Open,
            Action::Close => Self::Close,
            Action::Done { .. } => return None,
        })
    }
}

/// The trace at `path` cannot be used: where in it, and why.
fn damaged(path: &Path, problem: &str) -> EngineError {
    EngineError::file("read the trace", path, assay_trace::damaged(problem))
}

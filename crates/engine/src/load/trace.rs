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
use assay_trace::Action;
use std::path::Path;

/// One thing to do in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceStep {
    /// Index into [`TraceSummary::files`].
    pub(crate) file: usize,
    /// Never [`Action::Done`]. A file is opened before its first other step, and only while it
    /// is closed; closed only while it is open.
    pub(crate) action: Action,
    /// From the time of the step before to the time of this one; 0 when times
    /// are not kept. Their sum is the time since the first step, so whoever
    /// adds them up does not drift.
    pub(crate) delay_ns: u64,
}

/// The trace at `path` cannot be used: where in it, and why.
fn damaged(path: &Path, problem: &str) -> EngineError {
    EngineError::file("read the trace", path, assay_trace::damaged(problem))
}

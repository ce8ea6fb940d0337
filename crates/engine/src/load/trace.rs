//! Traces: recording and replaying the I/O of a stream.
//!
//! - [`writer`]: fio's iolog, as fio 3.33 writes it (version 3, with times).
//! - [`replay`]: applies the replay options to a trace's events.
//! - [`reader`]: a trace as a sequence of steps.
//! - [`traced`]: the files that a trace uses.

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

/// One step of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceStep {
    /// Index into [`TraceSummary::files`].
    pub(crate) file: usize,
    /// Action of the step, never [`Action::Done`]. A file is opened before its first other
    /// step, and only while it is closed; it is closed only while it is open.
    pub(crate) action: Action,
    /// Time from the previous step to this one, in nanoseconds; 0 when times are not kept.
    /// Their sum is the time since the first step, so that the sum does not drift.
    pub(crate) delay_ns: u64,
}

/// Creates the error of a trace that cannot be used. `problem` contains the position and the
/// reason.
fn damaged(path: &Path, problem: &str) -> EngineError {
    EngineError::file("read the trace", path, assay_trace::damaged(problem))
}

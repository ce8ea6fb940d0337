//! Traces: recording what a stream does, and replaying what was recorded.
//!
//! - [`writer`]: fio's iolog, as fio 3.33 writes it (version 3, with times).
//! - [`text`]: reading iologs of versions 2 and 3.
//! - [`blktrace`]: reading the kernel's block trace.
//! - [`replay`]: what the options make of what was read.
//! - [`reader`]: a trace as a sequence of steps.
//! - [`traced`]: which files a trace touches.

mod blktrace;
mod reader;
mod replay;
#[cfg(test)]
mod tests;
mod text;
mod traced;
mod writer;

pub(crate) use reader::{TraceReader, TraceSummary};
pub use traced::traced_files;
pub(crate) use writer::TraceWriter;

use crate::error::EngineError;
use assay_model::load::Ddir;
use std::io;
use std::path::{Path, PathBuf};

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

/// What is done in a step.
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

/// What a trace says, before any option is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    /// Index into [`Source::files`].
    file: usize,
    action: TraceAction,
    time: EventTime,
}

/// When an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventTime {
    /// On the trace's clock (ns).
    At(u64),
    /// So long after the event before (ns).
    After(u64),
}

/// A trace file of one format, read from front to back. Nothing follows an
/// error.
trait Source {
    /// The next event; `None` at the end.
    fn next_event(&mut self) -> Result<Option<Event>, EngineError>;

    /// The files seen so far.
    fn files(&self) -> &[PathBuf];
}

/// The trace at `path` cannot be used: where in it, and why.
fn damaged(path: &Path, problem: String) -> EngineError {
    let source = io::Error::new(io::ErrorKind::InvalidData, problem);
    EngineError::file("read the trace", path, source)
}

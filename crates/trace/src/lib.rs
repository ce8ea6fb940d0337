//! Recorded I/O: what was done, to which file, where, how much and when.
//!
//! - [`iolog`]: fio's iologs, versions 2 and 3.
//! - [`blktrace`]: the kernel's binary block trace.
//! - [`events`]: the same as text: `blkparse`, and tracepoints as `trace-cmd report`,
//!   `perf script` and the kernel's own `trace` show them.
//! - [`recording`]: any of them, read whole.
//! - [`describe`]: what a recording is made of.
//! - [`fit`]: a recording on storage of another size, and as an iolog.
//!
//! Pure but for the reader that it is handed.

pub mod blktrace;
pub mod describe;
pub mod events;
pub mod fit;
pub mod iolog;
pub mod recording;

use assay_model::load::Ddir;
use std::io;
use std::path::PathBuf;

/// An event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Index into [`TraceSource::files`].
    pub file: usize,
    /// Action that the event reports.
    pub action: Action,
    /// When.
    pub time: EventTime,
}

/// Action that a trace reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An I/O began.
    Io(RecordedIo),
    /// It was done.
    Done(RecordedIo),
    /// fsync, or a flush of the device.
    Sync,
    /// fdatasync.
    Datasync,
    /// The file was opened.
    Open,
    /// The file was closed.
    Close,
}

/// A recorded I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedIo {
    /// Direction of the I/O.
    pub ddir: Ddir,
    /// In bytes.
    pub offset: u64,
    /// In bytes.
    pub length: u32,
}

impl RecordedIo {
    /// First offset after the I/O.
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}

/// When an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// On the trace's clock (ns).
    At(u64),
    /// So long after the event before (ns).
    After(u64),
}

/// A trace of one format, read from front to back. Nothing follows an error.
pub trait TraceSource {
    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged: the line or record is named.
    fn next_event(&mut self) -> io::Result<Option<TraceEvent>>;

    /// The files seen so far.
    fn files(&self) -> &[PathBuf];
}

/// A trace that cannot be used: where in it, and why.
pub fn damaged(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

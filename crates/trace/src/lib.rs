//! Recorded I/O: action, file, offset, length and time of each event.
//!
//! - [`blktrace`]: the kernel's binary block trace.
//! - [`events`]: text: fio's iologs (versions 2 and 3), and block events of `blkparse` and of
//!   tracepoints as printed by `trace-cmd report`, `perf script` and the kernel's `trace` file.
//! - [`recording`]: a complete trace of any format, its statistics, and its adaptation to another
//!   size, written as an iolog.
//!
//! Apart from the reader passed to it, this crate does no I/O.

pub mod blktrace;
pub mod events;
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
    /// Time of the event.
    pub time: EventTime,
}

/// Action that a trace reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An I/O began.
    Io(RecordedIo),
    /// An I/O was completed.
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
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

impl RecordedIo {
    /// First offset after the I/O.
    pub const fn end(self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }
}

/// Time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// Time on the trace's clock, in nanoseconds.
    At(u64),
    /// Time since the previous event, in nanoseconds.
    After(u64),
}

/// A trace of one format, read sequentially. After an error it must not be read
/// further.
pub trait TraceSource {
    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// If the input cannot be read or is damaged. The error contains the line or
    /// record.
    fn next_event(&mut self) -> io::Result<Option<TraceEvent>>;

    /// Returns the files that occurred so far.
    fn files(&self) -> &[PathBuf];
}

/// Creates the error of an unusable trace. `problem` contains the position and the
/// reason.
pub fn damaged(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

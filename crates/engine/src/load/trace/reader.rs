//! A trace as a sequence of steps.

use super::replay::{self, Replay};
use super::{TraceStep, damaged};
use crate::error::EngineError;
use assay_model::load::PerDirection;
use assay_model::load::trace::Trace;
use assay_trace::blktrace::{BlktraceSource, ByteOrder, DeviceFiles};
use assay_trace::iolog::IologSource;
use assay_trace::{Action, RecordedIo, TraceSource};
use rustix::fs::{major, makedev, minor};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Cursor};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

/// Number of bytes read from the file at once.
const PIECE: usize = 256 * 1024;

/// Summary of a whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceSummary {
    /// Files named by the trace, or the one that replaces them. Those of a block trace are the
    /// devices with the same numbers.
    pub(crate) files: Vec<TracedFile>,
    /// Number of I/Os, without flushes.
    pub(crate) ios: PerDirection<u64>,
    /// Total bytes of the I/Os.
    pub(crate) bytes: PerDirection<u64>,
    /// Length of the longest I/O, in bytes.
    pub(crate) longest: PerDirection<u32>,
}

/// A file of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TracedFile {
    pub(crate) path: PathBuf,
    /// Largest end of an I/O to the file, in bytes: its required length.
    pub(crate) extent: u64,
    /// Directions of the I/Os to the file.
    pub(crate) does: PerDirection<bool>,
}

/// A trace being replayed.
pub(crate) struct TraceReader {
    summary: TraceSummary,
    steps: Steps,
}

enum Steps {
    /// Steps kept in memory since the trace was opened.
    Kept(vec::IntoIter<TraceStep>),
    /// Steps read from the file on demand.
    Read(Box<Replay>),
}

impl TraceReader {
    /// Opens the trace at `path` with `options`. Reads it to its end first, so that an error in
    /// it is found before the clock starts. With `read_chunked`, steps are not kept but read a
    /// second time, so that memory does not grow with the trace.
    ///
    /// # Errors
    /// As for [`TraceSummary::read`].
    pub(crate) fn open(path: &Path, options: &Trace) -> Result<Self, EngineError> {
        let mut kept = Vec::new();
        let summary = read_through(path, options, |step| {
            if !options.read_chunked {
                kept.push(step);
            }
        })?;
        let steps = if options.read_chunked {
            Steps::Read(Box::new(begin(path, options)?))
        } else {
            Steps::Kept(kept.into_iter())
        };
        Ok(Self { summary, steps })
    }

    /// Returns the summary of the whole trace.
    pub(crate) fn summary(&self) -> &TraceSummary {
        &self.summary
    }
}

impl Iterator for TraceReader {
    type Item = Result<TraceStep, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.steps {
            Steps::Kept(steps) => steps.next().map(Ok),
            Steps::Read(replay) => replay.next_step().transpose(),
        }
    }
}

impl TraceSummary {
    /// Summarizes the trace at `path` under `options`, without keeping its steps.
    ///
    /// # Errors
    /// If the file cannot be read, is not a trace or contains nothing to replay. The error names
    /// the line or record.
    pub(crate) fn read(path: &Path, options: &Trace) -> Result<Self, EngineError> {
        read_through(path, options, |_| ())
    }

    fn add(&mut self, step: &TraceStep) {
        let Action::Io(io) = step.action else {
            return;
        };
        let RecordedIo { ddir, length, .. } = io;
        let file = self.file(step.file);
        file.extent = file.extent.max(io.end());
        file.does[ddir] = true;
        self.ios[ddir] += 1;
        self.bytes[ddir] = self.bytes[ddir].saturating_add(u64::from(length));
        self.longest[ddir] = length.max(self.longest[ddir]);
    }

    fn file(&mut self, index: usize) -> &mut TracedFile {
        if self.files.len() <= index {
            self.files.resize_with(index + 1, TracedFile::default);
        }
        &mut self.files[index]
    }
}

/// Passes all steps of a trace to `each`.
fn read_through(
    path: &Path,
    options: &Trace,
    mut each: impl FnMut(TraceStep),
) -> Result<TraceSummary, EngineError> {
    replay::check(options, path)?;
    let mut replay = begin(path, options)?;
    let mut summary = TraceSummary::default();
    while let Some(step) = replay.next_step()? {
        summary.add(&step);
        each(step);
    }
    for (index, path) in replay.files().into_iter().enumerate() {
        summary.file(index).path = path;
    }
    if summary.files.is_empty() {
        return Err(damaged(path, "it holds no I/O to replay"));
    }
    Ok(summary)
}

/// Starts to read a trace, whose first bytes determine its format.
fn begin(path: &Path, options: &Trace) -> Result<Replay, EngineError> {
    let failed = |source| EngineError::file("read the trace", path, source);
    if let Some(recorded) = &options.recorded {
        let input = Cursor::new(Arc::<[u8]>::from(Arc::clone(recorded)));
        let source = IologSource::open(input).map_err(failed)?;
        return Ok(Replay::new(Box::new(source), path, options));
    }
    let mut input = BufReader::with_capacity(PIECE, open(path)?);
    let start = input.fill_buf().map_err(failed)?;
    let source: Box<dyn TraceSource + Send> = match ByteOrder::of(start) {
        Some(order) => {
            let align = options.align;
            Box::new(BlktraceSource::new(input, order, align, names(options)))
        }
        None => Box::new(IologSource::open(input).map_err(failed)?),
    };
    Ok(Replay::new(source, path, options))
}

/// Returns a function that finds the device with a number. If all I/O is redirected, it searches
/// none.
fn names(options: &Trace) -> DeviceFiles {
    match options.redirect.clone() {
        Some(path) => Box::new(move |_, _| Some(path.clone())),
        None => Box::new(|major, minor| device_node(Path::new("/dev"), major, minor)),
    }
}

/// Opens a trace, which must be a regular file. It is read more than once: before any write, and
/// when it is replayed. A pipe would be empty the second time, and opening a pipe without a
/// writer would block.
fn open(path: &Path) -> Result<File, EngineError> {
    let metadata =
        fs::metadata(path).map_err(|source| EngineError::file("open the trace", path, source))?;
    if !metadata.is_file() {
        let problem = "it is read more than once, so it must be a regular file";
        return Err(damaged(path, problem));
    }
    File::open(path).map_err(|source| EngineError::file("open the trace", path, source))
}

/// Finds the block device with that number below `folder`, which is `/dev`.
fn device_node(folder: &Path, major_number: u32, minor_number: u32) -> Option<PathBuf> {
    let wanted = makedev(major_number, minor_number);
    debug_assert!(major(wanted) == major_number && minor(wanted) == minor_number);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            // Metadata of the entry itself: the targets of links are found by their own names.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.file_type().is_block_device() && metadata.rdev() == wanted {
                return Some(entry.path());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_number() {
        let mut nodes = fs::read_dir("/dev").unwrap().flatten();
        let Some((path, rdev)) = nodes.find_map(|entry| {
            let metadata = entry.metadata().ok()?;
            metadata
                .file_type()
                .is_block_device()
                .then(|| (entry.path(), metadata.rdev()))
        }) else {
            assay_testkit::skip("there is no block device in /dev");
            return;
        };
        let found = device_node(Path::new("/dev"), major(rdev), minor(rdev)).unwrap();
        assert_eq!(found.metadata().unwrap().rdev(), rdev, "{path:?}");
        assert_eq!(device_node(Path::new("/dev"), 4_000, 1), None);
    }
}

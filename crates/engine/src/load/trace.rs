//! Traces: recording and replaying the I/O of a stream.
//!
//! - `TraceWriter`: fio's iolog, as fio 3.33 writes it (version 3, with times).
//! - `TraceReader`: a trace as a sequence of steps.
//! - `Replay`: applies the replay options to a trace's events.
//! - [`traced_files`]: the files that a trace uses.

use crate::EngineError;
use crate::held::named;
use assay_model::job::FlushCall;
use assay_model::load::{Ddir, PerDirection, Trace};
use assay_trace::{
    Action, BlktraceSource, ByteOrder, DeviceFiles, EventTime, IologSource, RecordedIo, TraceEvent,
    TraceSource,
};
use rustix::fs::{major, makedev, minor};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Cursor, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, vec};

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

/// Number of bytes read from or written to a file at once.
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
pub(super) struct TracedFile {
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
    check(options, path)?;
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

/// Index of the file that receives all I/O with `replay_redirect`.
const REDIRECTED: usize = 0;

/// Source of the steps of a trace.
struct Replay {
    source: Box<dyn TraceSource + Send>,
    path: PathBuf,
    options: Trace,
    /// Time of the latest event; `None` before the first. `stepped_ns` is the
    /// time of the latest step.
    now_ns: Option<u64>,
    stepped_ns: u64,
    /// True for the files that are open.
    open: Vec<bool>,
    /// Step that follows the opening of its file.
    held: Option<TraceStep>,
}

impl Replay {
    fn new(source: Box<dyn TraceSource + Send>, path: &Path, options: &Trace) -> Self {
        Self {
            source,
            path: path.to_owned(),
            options: options.clone(),
            now_ns: None,
            stepped_ns: 0,
            open: Vec::new(),
            held: None,
        }
    }

    /// Returns the files of all steps so far.
    fn files(&self) -> Vec<PathBuf> {
        match &self.options.redirect {
            Some(path) => vec![path.clone()],
            None => self.source.files().to_vec(),
        }
    }

    /// Returns the next step; `None` at the end.
    fn next_step(&mut self) -> Result<Option<TraceStep>, EngineError> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        while let Some(event) = self.next_event()? {
            self.advance(event.time);
            if let Some(step) = self.step_for(&event) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    fn next_event(&mut self) -> Result<Option<TraceEvent>, EngineError> {
        let event = self.source.next_event();
        event.map_err(|source| EngineError::file("read the trace", &self.path, source))
    }

    /// Advances to the time of an event. If the trace's clock goes back, time
    /// stands still until the clock has passed its former value.
    fn advance(&mut self, time: EventTime) {
        let now_ns = match (time, self.now_ns) {
            (EventTime::At(at_ns), Some(now_ns)) => now_ns.max(at_ns),
            (EventTime::At(at_ns), None) => {
                self.stepped_ns = at_ns;
                at_ns
            }
            (EventTime::After(wait_ns), now_ns) => now_ns.unwrap_or(0).saturating_add(wait_ns),
        };
        self.now_ns = Some(now_ns);
    }

    /// Returns the step for an event; `None` if it is skipped. The time of a
    /// skipped event is added to the next step.
    fn step_for(&mut self, event: &TraceEvent) -> Option<TraceStep> {
        let file = match self.options.redirect {
            Some(_) => REDIRECTED,
            None => event.file,
        };
        if self.open.len() <= file {
            self.open.resize(file + 1, false);
        }
        let action = match event.action {
            Action::Done(_) => return None,
            Action::Open if self.open[file] => return None,
            Action::Close if !self.open[file] => return None,
            Action::Sync | Action::Datasync if self.options.skip_sync => return None,
            Action::Io(io) if self.options.skip[io.ddir] => return None,
            action => self.placed(action),
        };
        let was_open = self.open[file];
        self.open[file] = action != Action::Close;
        let delay_ns = self.delay();
        let step = |action, delay_ns| TraceStep {
            file,
            action,
            delay_ns,
        };
        if was_open || action == Action::Open {
            return Some(step(action, delay_ns));
        }
        self.held = Some(step(action, 0));
        Some(step(Action::Open, delay_ns))
    }

    /// Applies scale and alignment to the offset of an I/O.
    fn placed(&self, action: Action) -> Action {
        let Action::Io(io) = action else {
            return action;
        };
        let scaled = io.offset / u64::from(self.options.scale.max(1));
        let align = u64::from(self.options.align.max(1));
        Action::Io(RecordedIo {
            offset: scaled - scaled % align,
            ..io
        })
    }

    /// Returns the replayed time since the previous step. At 200 percent of the
    /// rate, it is half.
    fn delay(&mut self) -> u64 {
        let now_ns = self.now_ns.unwrap_or(0);
        let passed_ns = now_ns.saturating_sub(self.stepped_ns);
        self.stepped_ns = now_ns;
        if self.options.no_stall {
            return 0;
        }
        let percent = u128::from(self.options.time_scale_percent.max(1));
        u64::try_from(u128::from(passed_ns) * 100 / percent).unwrap_or(u64::MAX)
    }
}

/// Checks that the options are valid.
fn check(options: &Trace, path: &Path) -> Result<(), EngineError> {
    if options.align > 0 && !options.align.is_power_of_two() {
        return Err(damaged(
            path,
            &format!("replay_align={} is not a power of two", options.align),
        ));
    }
    if options.time_scale_percent == 0 {
        return Err(damaged(
            path,
            "replay_time_scale=0 would never end: 100 is the original speed",
        ));
    }
    Ok(())
}

/// Returns the files of a stream's trace and the directions of the I/Os to
/// each, after the options for skipping and redirection are applied. Empty if
/// the stream replays no trace. Reads the whole trace, in memory that does not
/// grow with its I/Os.
///
/// # Errors
/// If it cannot be replayed, with the same message as
/// [`run`](crate::load::run()).
pub fn traced_files(trace: &Trace) -> Result<Vec<(PathBuf, PerDirection<bool>)>, EngineError> {
    let Some(path) = &trace.read else {
        return Ok(Vec::new());
    };
    let files = TraceSummary::read(path, trace)?.files.into_iter();
    Ok(files.map(|file| (file.path, file.does)).collect())
}

/// An iolog being written. The first failed write is stored and returned by
/// [`finish`](TraceWriter::finish), so that the stream need not check each
/// write.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    path: PathBuf,
    /// Names of the files as written in the log, by number.
    files: Vec<Vec<u8>>,
    out: BufWriter<File>,
    error: Option<io::Error>,
}

impl TraceWriter {
    /// Creates or truncates the log at `path`, and writes the names of all
    /// files of the stream.
    ///
    /// # Errors
    /// If the log cannot be written, or an iolog cannot contain a file's name.
    pub(crate) fn create(path: &Path, files: &[PathBuf]) -> Result<Self, EngineError> {
        let file =
            File::create(path).map_err(|source| EngineError::file("create", path, source))?;
        let mut writer = Self {
            path: path.to_owned(),
            files: Vec::with_capacity(files.len()),
            out: BufWriter::with_capacity(PIECE, file),
            error: None,
        };
        writer.write(|out, _| out.write_all(b"fio version 3 iolog\n"));
        for file in files {
            writer.add(file)?;
        }
        Ok(writer)
    }

    /// Adds a file. Its name may contain no spaces, because the format
    /// separates fields by spaces and has no quotes.
    fn add(&mut self, file: &Path) -> Result<(), EngineError> {
        // Paths through descriptors would be meaningless in a replay.
        let file = named(file);
        let name = file.as_os_str().as_bytes();
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            let problem = format!("an iolog cannot hold a name with spaces ({file:?})");
            let source = io::Error::new(io::ErrorKind::InvalidInput, problem);
            return Err(EngineError::file("write the trace", &self.path, source));
        }
        self.files.push(name.to_owned());
        self.on_file(0, self.files.len() - 1, "add");
        Ok(())
    }

    /// Records the opening of a file, at a time since the start of the stream.
    pub(crate) fn opened(&mut self, at_ns: u64, file: u32) {
        self.on_file(at_ns, file as usize, "open");
    }

    /// Records the closing of a file.
    pub(crate) fn closed(&mut self, at_ns: u64, file: u32) {
        self.on_file(at_ns, file as usize, "close");
    }

    /// Records an I/O that was submitted.
    pub(crate) fn io(&mut self, at_ns: u64, file: u32, ddir: Ddir, offset: u64, length: u32) {
        self.on_bytes(at_ns, file, ddir.name(), offset, length);
    }

    /// Records a flush of a file.
    pub(crate) fn flushed(&mut self, at_ns: u64, file: u32, call: FlushCall) {
        let action = match call {
            FlushCall::Fsync => "sync",
            FlushCall::Fdatasync => "datasync",
        };
        self.on_bytes(at_ns, file, action, 0, 0);
    }

    /// Writes the remaining entries.
    ///
    /// # Errors
    /// If this or any earlier write failed; the log is then incomplete.
    pub(crate) fn finish(mut self) -> Result<(), EngineError> {
        self.write(|out, _| out.flush());
        match self.error {
            None => Ok(()),
            Some(source) => Err(EngineError::file("write", &self.path, source)),
        }
    }

    fn on_file(&mut self, at_ns: u64, file: usize, action: &str) {
        self.write(|out, files| {
            write!(out, "{} ", at_ns / 1_000)?;
            out.write_all(&files[file])?;
            writeln!(out, " {action}")
        });
    }

    fn on_bytes(&mut self, at_ns: u64, file: u32, action: &str, offset: u64, length: u32) {
        self.write(|out, files| {
            write!(out, "{} ", at_ns / 1_000)?;
            out.write_all(&files[file as usize])?;
            writeln!(out, " {action} {offset} {length}")
        });
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>, &[Vec<u8>]) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.out, &self.files).err();
        }
    }
}

#[cfg(test)]
mod tests;

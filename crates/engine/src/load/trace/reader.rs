//! A trace as a sequence of steps.

use super::blktrace::{BlktraceSource, ByteOrder};
use super::replay::{self, Replay};
use super::text::TextSource;
use super::{Source, TraceAction, TraceStep, damaged};
use crate::error::EngineError;
use assay_model::load::PerDirection;
use assay_model::load::trace::Trace;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::vec;

/// Read from the file at once.
const PIECE: usize = 256 * 1024;

/// What a whole trace holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceSummary {
    /// Largest end of an I/O to each file, in bytes: what it must be long.
    pub(crate) extents: Vec<u64>,
    /// Number of I/Os, flushes not among them.
    pub(crate) ios: PerDirection<u64>,
    /// Bytes of them.
    pub(crate) bytes: PerDirection<u64>,
    /// Length of the longest one.
    pub(crate) longest: PerDirection<u32>,
}

/// A trace that is replayed.
pub(crate) struct TraceReader {
    files: Vec<PathBuf>,
    summary: TraceSummary,
    steps: Steps,
}

enum Steps {
    /// All of them, from when the trace was opened.
    Kept(vec::IntoIter<TraceStep>),
    /// Read from the file as they are asked for.
    Read(Box<Replay>),
}

impl TraceReader {
    /// Reads the trace at `path` as `options` want it: through to its end, so
    /// that a mistake in it is found before the clock starts. With
    /// `read_chunked`, steps are not kept but read a second time: memory then
    /// does not grow with the trace.
    ///
    /// # Errors
    /// If it cannot be read or is no trace; the line or record is named.
    pub(crate) fn open(path: &Path, options: &Trace) -> Result<Self, EngineError> {
        replay::check(options, path)?;
        let input = open(path)?;
        if options.read_chunked && !is_regular(&input, path)? {
            return Err(damaged(
                path,
                "read_iolog_chunked reads it twice, so it must be a file".to_owned(),
            ));
        }
        let mut replay = begin(input, path, options)?;
        let mut summary = TraceSummary::default();
        let mut kept = Vec::new();
        while let Some(step) = replay.next_step()? {
            summary.add(&step);
            if !options.read_chunked {
                kept.push(step);
            }
        }
        let files = replay.files();
        summary.extents.resize(files.len(), 0);
        let steps = if options.read_chunked {
            Steps::Read(Box::new(begin(open(path)?, path, options)?))
        } else {
            Steps::Kept(kept.into_iter())
        };
        Ok(Self {
            files,
            summary,
            steps,
        })
    }

    /// All files that the trace names, or the one that replaces them. Those of
    /// a block trace are the devices with the same numbers.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// What the whole trace holds.
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
    fn add(&mut self, step: &TraceStep) {
        let TraceAction::Io {
            ddir,
            offset,
            length,
        } = step.action
        else {
            return;
        };
        if self.extents.len() <= step.file {
            self.extents.resize(step.file + 1, 0);
        }
        let extent = &mut self.extents[step.file];
        // The sources see to it that this is no overflow.
        *extent = (*extent).max(offset.saturating_add(u64::from(length)));
        self.ios[ddir] += 1;
        self.bytes[ddir] = self.bytes[ddir].saturating_add(u64::from(length));
        self.longest[ddir] = length.max(self.longest[ddir]);
    }
}

fn open(path: &Path) -> Result<File, EngineError> {
    File::open(path).map_err(|source| EngineError::file("open the trace", path, source))
}

fn is_regular(file: &File, path: &Path) -> Result<bool, EngineError> {
    match file.metadata() {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(source) => Err(EngineError::file("look at the trace", path, source)),
    }
}

/// Starts to read a trace of either format, which its first bytes tell.
fn begin(input: File, path: &Path, options: &Trace) -> Result<Replay, EngineError> {
    let mut input = BufReader::with_capacity(PIECE, input);
    let start = input
        .fill_buf()
        .map_err(|source| EngineError::file("read the trace", path, source))?;
    let source: Box<dyn Source + Send> = match ByteOrder::of(start) {
        Some(order) => Box::new(BlktraceSource::new(input, path, order, options)),
        None => Box::new(TextSource::open(input, path)?),
    };
    Ok(Replay::new(source, options))
}

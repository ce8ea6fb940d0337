//! Recording: fio's iolog, version 3.

use crate::error::EngineError;
use crate::held::named;
use assay_model::job::FlushCall;
use assay_model::load::Ddir;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Number of bytes written to the file at once.
const PIECE: usize = 256 * 1024;

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

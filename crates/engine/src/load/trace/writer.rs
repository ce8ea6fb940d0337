//! Recording: fio's iolog, version 3.

use crate::error::EngineError;
use crate::held::named;
use assay_model::job::FlushCall;
use assay_model::load::Ddir;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Written to the file at once.
const PIECE: usize = 256 * 1024;

/// An iolog that is being written. A failing write is kept and reported by
/// [`finish`](TraceWriter::finish), so that the stream need not look each time.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    path: PathBuf,
    /// As they stand in the log, by number.
    files: Vec<Vec<u8>>,
    out: BufWriter<File>,
    error: Option<io::Error>,
}

impl TraceWriter {
    /// Starts the log at `path`, emptying it, with all files of the stream.
    ///
    /// # Errors
    /// If it cannot be written, or a file's name cannot stand in an iolog.
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

    /// The format has spaces between its fields and no way to quote one.
    fn add(&mut self, file: &Path) -> Result<(), EngineError> {
        // Descriptors mean nothing to whoever replays it.
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

    /// A file was opened, at a time since the start of the stream.
    pub(crate) fn opened(&mut self, at_ns: u64, file: u32) {
        self.on_file(at_ns, file as usize, "open");
    }

    /// A file was closed.
    pub(crate) fn closed(&mut self, at_ns: u64, file: u32) {
        self.on_file(at_ns, file as usize, "close");
    }

    /// An I/O was handed over.
    pub(crate) fn io(&mut self, at_ns: u64, file: u32, ddir: Ddir, offset: u64, length: u32) {
        self.on_bytes(at_ns, file, ddir.name(), offset, length);
    }

    /// A file was flushed.
    pub(crate) fn flushed(&mut self, at_ns: u64, file: u32, call: FlushCall) {
        let action = match call {
            FlushCall::Fsync => "sync",
            FlushCall::Fdatasync => "datasync",
        };
        self.on_bytes(at_ns, file, action, 0, 0);
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If this or any write before failed: the log is not complete then.
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

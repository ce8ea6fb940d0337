//! Destination of results: standard output, or the file of `--output`.

use crate::exit::Failure;
use crate::output::{admit_output, print};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Destination of results.
pub enum Sink {
    /// Standard output.
    Stdout,
    /// A file, opened before the load runs: what cannot be written is found
    /// out before hours of work, not after.
    File {
        /// The file.
        file: File,
        /// Path of the file.
        path: PathBuf,
    },
}

impl Sink {
    /// A file, which is emptied, or standard output.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::Stdout);
        };
        admit_output(path)?;
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self::File {
            file,
            path: path.to_owned(),
        })
    }

    /// Writes all of it.
    pub fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => print(|out| out.write_all(text)),
            Self::File { file, path } => file.write_all(text).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", path.display()))
            }),
        }
    }

    /// `true` if the destination is standard output.
    pub const fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }
}

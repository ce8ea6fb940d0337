//! Files of the tests: which may be written, and which are removed.

use super::buffers::MARK;
use crate::WorkError;
use crate::files::remove_if_there;
use assay_engine::held::{self, shown};
use assay_model::work::iozone::{Iozone, Test};
use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Begin of iozone's files: this, and zeros.
const MARK_OF_IOZONE: [u8; 16] = *b"________\0\0\0\0\0\0\0\0";

/// Files of a work.
#[derive(Debug)]
pub(super) struct Files {
    files: Vec<TestFile>,
}

/// A test file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestFile {
    pub(super) path: PathBuf,
    /// A block device, which is neither created nor removed.
    pub(super) device: bool,
    /// True if the content is disposable: the file may be written and removed.
    pub(super) ours: bool,
}

impl Files {
    /// Checks all files before anything is written.
    ///
    /// # Errors
    /// If a file to read is missing or too short, or a file to write contains other data.
    pub(super) fn admit(work: &Iozone) -> Result<Self, WorkError> {
        let files = work.files.iter().map(|path| look(work, path));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the files of the first `children` children.
    pub(super) fn of(&self, children: u32) -> &[TestFile] {
        let children = usize::try_from(children).unwrap_or(usize::MAX);
        &self.files[..children.min(self.files.len())]
    }

    /// Removes the files of the tests, unless they are to be kept.
    pub(super) fn clear(&self, work: &Iozone) -> Result<(), WorkError> {
        if work.keep {
            return Ok(());
        }
        for file in self.files.iter().filter(|file| file.ours && !file.device) {
            remove_if_there(&file.path)?;
        }
        Ok(())
    }
}

/// Returns true if a test writes the whole file before a test reads it.
fn makes(work: &Iozone) -> bool {
    let reads = |test: &Test| !test.writes() || *test == Test::Mixed;
    let whole = |test: &Test| {
        matches!(
            test,
            Test::Write | Test::Fwrite | Test::Pwrite | Test::Pwritev | Test::RandomWrite
        )
    };
    let mut tests = work.tests.iter();
    tests
        .find(|test| reads(test) || whole(test))
        .is_none_or(whole)
}

fn look(work: &Iozone, path: &Path) -> Result<TestFile, WorkError> {
    let writes = work.tests.iter().any(|test| test.writes());
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return Err(WorkError::Refused(format!(
                "cannot look at {}: {error}",
                shown(path)
            )));
        }
    };
    let shown = shown(path);
    let device = found
        .as_ref()
        .is_some_and(|found| found.file_type().is_block_device());
    if found
        .as_ref()
        .is_some_and(|found| !device && !found.is_file())
    {
        return Err(WorkError::Refused(format!(
            "{shown} is neither a file nor a block device: name another with -f"
        )));
    }
    let length = found.as_ref().map_or(Ok(0), |_| length(path));
    let length =
        length.map_err(|error| WorkError::Refused(format!("cannot read {shown}: {error}")))?;
    let needed = work
        .rows
        .iter()
        .map(|row| row.file_kib << 10)
        .max()
        .unwrap_or(0);
    if (device || !makes(work)) && length < needed {
        let of = if device { "the device" } else { "the file" };
        return Err(WorkError::Refused(format!(
            "{shown}: the tests read {needed} bytes, and {of} has only {length}: write it first with -i 0 -w, or give a smaller -s or -g"
        )));
    }
    let ours = device || length == 0 || has_mark(path);
    if writes && !ours {
        return Err(WorkError::Refused(format!(
            "{shown} has {length} bytes that were not written by iozone's tests, so it is not overwritten: name another file with -f, or remove it"
        )));
    }
    Ok(TestFile {
        path: path.to_owned(),
        device,
        ours,
    })
}

/// Returns the length of a file or device.
fn length(path: &Path) -> io::Result<u64> {
    held::open_to_read(path)?.seek(SeekFrom::End(0))
}

fn has_mark(path: &Path) -> bool {
    let mut start = [0; 16];
    let read = held::open_to_read(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start == MARK || start == MARK_OF_IOZONE)
}

//! Device or file from which samples are taken.

use crate::capacity::store::open_direct;
use crate::meter::nanos;
use crate::{Context, WorkError};
use assay_engine::held::{self, shown};
use assay_engine::layout;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use assay_model::work::extent::Extent;
use assay_model::work::{ProgressUnit, WorkProgress};
use rustix::fs::{Advice, OFlags, SeekFrom, fadvise, seek};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Name of the file that is made in a folder; the agent knows it and removes the file.
const FILE: &str = "data";

/// An opened device or file.
#[derive(Debug)]
pub(super) struct ExtentFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    page: u64,
    direct: bool,
}

impl ExtentFile {
    /// Opens a path; for a folder, creates a file first.
    pub(super) fn open(work: &Extent, context: &mut Context<'_>) -> Result<Self, WorkError> {
        let path = match context.folder {
            Some(folder) => {
                let path = folder.join(FILE);
                make(&path, work, context)?;
                path
            }
            None => work.path.clone(),
        };
        let found =
            std::fs::metadata(&path).map_err(|error| WorkError::io("look at", &path, &error))?;
        let device = found.file_type().is_block_device();
        if !device && !found.is_file() {
            return Err(WorkError::Refused(format!(
                "{} is neither a block device nor a file",
                shown(&path)
            )));
        }
        if work.write && !device && context.folder.is_none() {
            return Err(WorkError::Refused(format!(
                "{} is an existing file, which is only read: to write, name a folder or an unused block device",
                shown(&path)
            )));
        }
        let flags = match (work.write, device) {
            (false, _) => OFlags::RDONLY,
            (true, false) => OFlags::RDWR,
            (true, true) => OFlags::RDWR | OFlags::EXCL,
        };
        let (file, direct) = open_direct(&path, flags | OFlags::SYNC)
            .map_err(|errno| WorkError::io("open", &path, &errno.into()))?;
        if !direct {
            let text =
                "the file system refuses direct I/O: cached pages are dropped before each sample";
            context.observer.note(NoteWeight::Warning, text.to_owned());
        }
        // Unlike the metadata, this also returns the length of a device.
        let bytes = seek(&file, SeekFrom::End(0))
            .map_err(|errno| WorkError::io("find the length of", &path, &errno.into()))?;
        Ok(Self {
            path,
            file,
            bytes,
            page: rustix::param::page_size() as u64,
            direct,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the size of a memory page, to which samples are aligned.
    pub(super) const fn page(&self) -> u64 {
        self.page
    }

    pub(super) const fn is_direct(&self) -> bool {
        self.direct
    }

    /// Reads all of `into`.
    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(into, offset)
    }

    /// Writes all of `from`.
    pub(super) fn write(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(from, offset)
    }

    pub(super) fn flush(&self) -> io::Result<()> {
        rustix::fs::fsync(&self.file).map_err(Into::into)
    }

    /// Without direct I/O, drops pages so that the device is accessed.
    pub(super) fn forget(&self, offset: u64, length: u64) {
        if !self.direct {
            // Pages that stay cached appear in the evidence.
            let _ = fadvise(
                &self.file,
                offset,
                NonZeroU64::new(length),
                Advice::DontNeed,
            );
        }
    }
}

/// Creates a file and writes all of its blocks.
fn make(path: &Path, work: &Extent, context: &mut Context<'_>) -> Result<(), WorkError> {
    let file =
        held::create_new(path).map_err(|errno| WorkError::io("create", path, &errno.into()))?;
    let began = Instant::now();
    let (seed, stop) = (context.seed, context.stop);
    let observer = &mut context.observer;
    layout::write(
        &file,
        path,
        Bytes(work.file_bytes),
        seed,
        stop,
        &mut |done| {
            observer.progress(&WorkProgress {
                step: "writing the test file".to_owned(),
                steps_done: 0,
                unit: ProgressUnit::Bytes,
                done: done.0,
                total: Some(work.file_bytes),
                elapsed_ns: nanos(began.elapsed()),
            });
        },
    )?;
    Ok(())
}

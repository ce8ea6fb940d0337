//! The trait that every back end implements, and what passes through it.

use crate::buffer::IoBuf;
use crate::error::EngineError;
use assay_model::job::FlushCall;
use assay_model::load::Ddir;
use assay_model::load::priority::IoPriority;
use rustix::fs::{fdatasync, fsync};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that I/O can be done to.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Opened as the job wants it. (`/dev/null` for engines that do not do I/O
    /// to an open file.)
    pub(crate) file: File,
    /// Index among the files of the worker, from 0.
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    /// Size when it was opened.
    pub(crate) size: u64,
    /// The exclusive handle of a block device, through which it is trimmed.
    pub(crate) holder: Option<Arc<File>>,
    /// Trims are a call of their own on block devices.
    pub(crate) is_device: bool,
    pub(crate) writable: bool,
    /// I/O comes in random order: reading around it would be in vain.
    pub(crate) random: bool,
}

impl OpenFile {
    /// Looks at a file that was just opened.
    pub(crate) fn new(
        mut file: File,
        number: u32,
        path: &Path,
        writable: bool,
    ) -> io::Result<Self> {
        let what = file.metadata()?;
        // A directory opens for reading, and then fails every read.
        if what.is_dir() {
            return Err(Errno::ISDIR.into());
        }
        let is_device = what.file_type().is_block_device();
        let size = if is_device {
            let end = file.seek(SeekFrom::End(0))?;
            file.rewind()?;
            end
        } else {
            what.len()
        };
        Ok(Self {
            file,
            number,
            path: path.to_owned(),
            size,
            holder: None,
            is_device,
            writable,
            random: false,
        })
    }
}

/// One I/O. It owns its buffer from the moment it is made until its
/// [`Completion`] is taken back, so the kernel never sees freed memory.
#[derive(Debug)]
pub(crate) struct IoUnit {
    pub(crate) ddir: Ddir,
    /// [`OpenFile::number`].
    pub(crate) file: u32,
    /// Offset of the block in the file.
    pub(crate) offset: u64,
    /// Length of the block; its buffer may be longer.
    pub(crate) length: u32,
    /// Bytes already moved by earlier, short attempts.
    pub(crate) moved: u32,
    pub(crate) buf: IoBuf,
    /// When it was handed to the engine, on the worker's clock.
    pub(crate) submitted_ns: u64,
    /// Priority of this I/O, if the engine can pass it on.
    pub(crate) priority: IoPriority,
    /// The worker's own mark.
    pub(crate) tag: u32,
}

impl IoUnit {
    /// Returns the remainder to transfer: its offset in the file and its memory.
    #[inline]
    pub(crate) fn remainder(&mut self) -> (u64, &mut [u8]) {
        (
            self.offset + u64::from(self.moved),
            &mut self.buf.block_mut()[self.moved as usize..self.length as usize],
        )
    }

    /// Bytes left to move.
    #[inline]
    pub(crate) const fn left(&self) -> u32 {
        self.length - self.moved
    }
}

/// An I/O that came back.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) unit: IoUnit,
    /// Bytes moved by this attempt, or the kernel's error number.
    pub(crate) result: Result<u32, i32>,
}

/// Status of an I/O that was queued.
#[derive(Debug)]
pub(crate) enum QueueStatus {
    /// It is already done (synchronous engines).
    Completed(Completion),
    /// It will come back through [`IoEngine::reap`].
    Queued,
    /// The queue is full: here it is again; reap first.
    Busy(IoUnit),
}

/// A way to hand I/O to the kernel.
pub(crate) trait IoEngine {
    /// Returns true if `queue` returns before the I/O is done.
    #[inline]
    fn is_asynchronous(&self) -> bool {
        false
    }

    /// A file was opened: I/O to it follows.
    fn opened(&mut self, _file: &OpenFile) -> Result<(), EngineError> {
        Ok(())
    }

    /// A file will be closed; no I/O to it is under way.
    fn closes(&mut self, _file: &OpenFile) {}

    /// Takes an I/O to `file`, the one that the unit names.
    #[inline]
    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        let result = self.transfer(file, &mut unit);
        QueueStatus::Completed(Completion { unit, result })
    }

    /// Does an I/O and gives what a [`Completion`] of it has. Each engine has
    /// one of both: a synchronous one this, any other [`queue`](Self::queue).
    fn transfer(&mut self, _file: &OpenFile, _unit: &mut IoUnit) -> Result<u32, i32> {
        Err(Errno::NOSYS.raw_os_error())
    }

    /// Flushes a file; returns when that is done.
    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        flush_open(file, call)
    }

    /// Hands over what is queued, in that order, as far as the kernel takes it
    /// now; how many were handed over since the last time. (Nothing waits in a
    /// synchronous engine.)
    fn commit(&mut self) -> Result<usize, EngineError> {
        Ok(0)
    }

    /// Waits until at least `min` I/Os are done, or `timeout_ns` has passed,
    /// and appends those that are to `done`, at most `max`. A `min` of 0 only
    /// looks; one that is more than there are under way waits for all of them.
    /// An engine whose I/Os come back together may give more than `max`.
    fn reap(
        &mut self,
        _min: u32,
        _max: u32,
        _timeout_ns: Option<u64>,
        _done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Flushes a file by system call.
pub(crate) fn flush_open(file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
    match call {
        FlushCall::Fsync => fsync(&file.file),
        FlushCall::Fdatasync => fdatasync(&file.file),
    }
}

/// A system call's answer as a [`Completion`] has it.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the kernel moves at most as much as asked, and blocks are below 4 GiB"
)]
pub(crate) fn moved(answer: Result<usize, Errno>) -> Result<u32, i32> {
    match answer {
        Ok(bytes) => Ok(bytes as u32),
        Err(errno) => Err(errno.raw_os_error()),
    }
}

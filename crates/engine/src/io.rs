//! The trait that every I/O engine implements, and the types it exchanges with
//! the worker.

use crate::buffer::IoBuf;
use crate::error::EngineError;
use assay_model::job::FlushCall;
use assay_model::load::{Ddir, IoPriority};
use rustix::fs::{fdatasync, fsync};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file for I/O.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Handle opened as the job requires; `/dev/null` for engines that do not
    /// use an open file.
    pub(crate) file: File,
    /// Index among the files of the worker, from 0.
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
    /// Size in bytes at the time of opening.
    pub(crate) size: u64,
    /// Exclusive handle of a block device, used to trim it.
    pub(crate) holder: Option<Arc<File>>,
    /// True for a block device, which has its own system call to trim.
    pub(crate) is_device: bool,
    pub(crate) writable: bool,
    /// True if offsets are random, so read-ahead would be wasted.
    pub(crate) random: bool,
}

impl OpenFile {
    /// Reads the properties of a file that was just opened.
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

/// One I/O. It owns its buffer until its [`Completion`] is taken back, so the
/// kernel never accesses freed memory.
#[derive(Debug)]
pub(crate) struct IoUnit {
    pub(crate) ddir: Ddir,
    /// [`OpenFile::number`].
    pub(crate) file: u32,
    /// Offset of the block in the file.
    pub(crate) offset: u64,
    /// Length of the block; its buffer may be longer.
    pub(crate) length: u32,
    /// Bytes already moved by earlier attempts, which were short.
    pub(crate) moved: u32,
    pub(crate) buf: IoBuf,
    /// Time of submission to the engine, on the worker's clock.
    pub(crate) submitted_ns: u64,
    /// Priority of this I/O, if the engine can pass it on.
    pub(crate) priority: IoPriority,
    /// Mark of the worker, which the engine ignores.
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

    /// Returns the number of bytes left to move.
    #[inline]
    pub(crate) const fn left(&self) -> u32 {
        self.length - self.moved
    }
}

/// A finished I/O.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) unit: IoUnit,
    /// Bytes moved by this attempt, or the kernel's error number.
    pub(crate) result: Result<u32, i32>,
}

/// Status of an I/O that was queued.
#[derive(Debug)]
pub(crate) enum QueueStatus {
    /// The I/O is already done (synchronous engines).
    Completed(Completion),
    /// [`IoEngine::reap`] will return the I/O.
    Queued,
    /// The queue is full, and the unit is returned; call `reap` first.
    Busy(IoUnit),
}

/// An interface through which I/O is submitted to the kernel.
pub(crate) trait IoEngine {
    /// Returns true if `queue` returns before the I/O is done.
    #[inline]
    fn is_asynchronous(&self) -> bool {
        false
    }

    /// Prepares the engine for I/O to a file that was just opened.
    fn opened(&mut self, _file: &OpenFile) -> Result<(), EngineError> {
        Ok(())
    }

    /// Releases the engine's state for a file that will be closed; no I/O to it
    /// is in flight.
    fn closes(&mut self, _file: &OpenFile) {}

    /// Takes an I/O to `file`, which is the file that the unit names.
    #[inline]
    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        let result = self.transfer(file, &mut unit);
        QueueStatus::Completed(Completion { unit, result })
    }

    /// Performs an I/O and returns its result, as in [`Completion`]. A
    /// synchronous engine implements this method, any other implements
    /// [`queue`](Self::queue).
    fn transfer(&mut self, _file: &OpenFile, _unit: &mut IoUnit) -> Result<u32, i32> {
        Err(Errno::NOSYS.raw_os_error())
    }

    /// Flushes a file and waits until that is done.
    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        flush_open(file, call)
    }

    /// Submits the queued I/Os in order, as many as the kernel accepts now.
    /// Returns the number submitted since the last call; always 0 for a
    /// synchronous engine, which queues nothing.
    fn commit(&mut self) -> Result<usize, EngineError> {
        Ok(0)
    }

    /// Waits until at least `min` I/Os are done, or `timeout_ns` has passed,
    /// and appends at most `max` of the finished ones to `done`. With a `min`
    /// of 0 it does not wait; a `min` above the number in flight waits for all
    /// of them. An engine whose I/Os finish in groups may return more than
    /// `max`.
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

/// Flushes a file with a system call.
pub(crate) fn flush_open(file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
    match call {
        FlushCall::Fsync => fsync(&file.file),
        FlushCall::Fdatasync => fdatasync(&file.file),
    }
}

/// Converts the result of a system call to that of a [`Completion`].
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

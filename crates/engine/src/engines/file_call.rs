//! Engines that move no data: each I/O is one call on its file as a whole or on the range of its
//! block, and counts as done with its full length.
//!
//! All of them share one type: an indirect call costs little in comparison with the system call,
//! and the worker loop is not compiled for each of them.

use crate::held;
use crate::io::{IoEngine, IoUnit, OpenFile, flush_open};
use assay_model::job::FlushCall;
use assay_model::load::Ddir;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, ftruncate};
use rustix::io::{Errno, retry_on_intr};

/// Mode of created files: accessible to their owner only, as in fio.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Mode of created directories: accessible to their owner only.
const DIRECTORY_MODE: Mode = Mode::RWXU;

/// An engine that makes one call per I/O.
#[derive(Debug)]
pub(crate) struct FileCall {
    call: fn(&OpenFile, &IoUnit) -> Result<(), Errno>,
    /// True if the call is made on the open file. Otherwise it takes the path, and the file need
    /// not be open.
    on_open_file: bool,
}

impl FileCall {
    /// Calls `open(2)` with `O_CREAT`, then `close(2)`, for all directions.
    pub(crate) fn create() -> Self {
        Self::on_path(|file, _| {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
            held::open(&file.path, flags, MODE).map(drop)
        })
    }

    /// Calls `stat(2)` for all directions.
    pub(crate) fn stat() -> Self {
        Self::on_path(|file, _| held::stat(&file.path).map(drop))
    }

    /// Calls `unlink(2)` for all directions.
    pub(crate) fn delete() -> Self {
        Self::on_path(|file, _| held::unlink(&file.path, AtFlags::empty()))
    }

    /// Calls `mkdir(2)` for all directions.
    pub(crate) fn make_directory() -> Self {
        Self::on_path(|file, _| held::make_folder(&file.path, DIRECTORY_MODE))
    }

    /// Calls `rmdir(2)` for all directions.
    pub(crate) fn remove_directory() -> Self {
        Self::on_path(|file, _| held::unlink(&file.path, AtFlags::REMOVEDIR))
    }

    /// Each write truncates or extends the file to the offset of the block; the block's length
    /// is ignored. Reads and trims fail with `EINVAL`.
    pub(crate) fn ftruncate() -> Self {
        Self::on_open_file(|file, unit| match unit.ddir {
            Ddir::Write => ftruncate(&file.file, unit.offset),
            Ddir::Read | Ddir::Trim => Err(Errno::INVAL),
        })
    }

    /// Each write reserves its block, each read does the same without changing the size of the
    /// file, each trim frees the space. The file must be open for writing, even for reads.
    pub(crate) fn falloc() -> Self {
        Self::on_open_file(|file, unit| {
            let mode = match unit.ddir {
                Ddir::Read => FallocateFlags::KEEP_SIZE,
                Ddir::Write => FallocateFlags::empty(),
                Ddir::Trim => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            };
            fallocate(&file.file, mode, unit.offset, u64::from(unit.length))
        })
    }

    const fn on_path(call: fn(&OpenFile, &IoUnit) -> Result<(), Errno>) -> Self {
        Self {
            call,
            on_open_file: false,
        }
    }

    const fn on_open_file(call: fn(&OpenFile, &IoUnit) -> Result<(), Errno>) -> Self {
        Self {
            call,
            on_open_file: true,
        }
    }
}

impl IoEngine for FileCall {
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        retry_on_intr(|| (self.call)(file, unit))
            .map(|()| unit.left())
            .map_err(Errno::raw_os_error)
    }

    /// Flushes an open file; does nothing if the file is not open.
    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        if self.on_open_file {
            flush_open(file, call)
        } else {
            Ok(())
        }
    }
}

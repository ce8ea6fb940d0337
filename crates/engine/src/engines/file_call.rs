//! Engines that do something to files as a whole: each I/O is one call on the
//! path of its file, whatever its direction, offset and length, and counts as
//! done with its full length. The file need not be open.

use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::FlushCall;
use rustix::fs::{Mode, OFlags, open, stat, unlink};
use rustix::io::{Errno, retry_on_intr};
use std::path::Path;

/// fio makes files that only their owner may read.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An engine of one call.
#[derive(Debug)]
pub(crate) struct FileCall {
    call: fn(&Path) -> Result<(), Errno>,
}

impl FileCall {
    /// `open(2)` with `O_CREAT`, and `close(2)`.
    pub(crate) fn create() -> Self {
        let call = |path: &Path| {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
            open(path, flags, MODE).map(drop)
        };
        Self { call }
    }

    /// `stat(2)`.
    pub(crate) fn stat() -> Self {
        let call = |path: &Path| stat(path).map(drop);
        Self { call }
    }

    /// `unlink(2)`.
    pub(crate) fn delete() -> Self {
        let call = |path: &Path| unlink(path);
        Self { call }
    }
}

impl IoEngine for FileCall {
    const ASYNCHRONOUS: bool = false;

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        let result = retry_on_intr(|| (self.call)(&file.path))
            .map(|()| unit.left())
            .map_err(Errno::raw_os_error);
        QueueStatus::Completed(Completion { unit, result })
    }

    /// Nothing is open that could be flushed.
    fn flush(&mut self, _file: &OpenFile, _call: FlushCall) -> Result<(), Errno> {
        Ok(())
    }
}

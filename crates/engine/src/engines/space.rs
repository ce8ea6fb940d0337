//! Engines that change the space of a file and move no data: `ftruncate(2)` and
//! `fallocate(2)`.

use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::load::Ddir;
use rustix::fs::{FallocateFlags, fallocate, ftruncate};
use rustix::io::{Errno, retry_on_intr};

fn completed(unit: IoUnit, answer: Result<(), Errno>) -> QueueStatus {
    let result = answer.map(|()| unit.left()).map_err(Errno::raw_os_error);
    QueueStatus::Completed(Completion { unit, result })
}

/// Each write makes the file end where the block starts; the block's length
/// means nothing. Reads and trims are refused (`EINVAL`).
#[derive(Debug, Default)]
pub(crate) struct Ftruncate;

impl IoEngine for Ftruncate {
    const ASYNCHRONOUS: bool = false;

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        let answer = match unit.ddir {
            Ddir::Write => retry_on_intr(|| ftruncate(&file.file, unit.offset)),
            Ddir::Read | Ddir::Trim => Err(Errno::INVAL),
        };
        completed(unit, answer)
    }
}

/// Each write reserves its block, each read does so too but leaves the size of
/// the file alone, each trim gives the space back. The file must be open for
/// writing, for reads too.
#[derive(Debug, Default)]
pub(crate) struct Falloc;

impl IoEngine for Falloc {
    const ASYNCHRONOUS: bool = false;

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        let mode = match unit.ddir {
            Ddir::Read => FallocateFlags::KEEP_SIZE,
            Ddir::Write => FallocateFlags::empty(),
            Ddir::Trim => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        };
        let length = u64::from(unit.length);
        let answer = retry_on_intr(|| fallocate(&file.file, mode, unit.offset, length));
        completed(unit, answer)
    }
}

//! The null engine: every I/O is done at once. What remains is assay's own
//! cost.

use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::FlushCall;
use rustix::io::Errno;

#[derive(Debug, Default)]
pub(crate) struct Null;

impl IoEngine for Null {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, _file: &OpenFile, unit: IoUnit) -> QueueStatus {
        let result = Ok(unit.left());
        QueueStatus::Completed(Completion { unit, result })
    }

    fn flush(&mut self, _file: &OpenFile, _call: FlushCall) -> Result<(), Errno> {
        Ok(())
    }
}

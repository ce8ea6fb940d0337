//! The null engine: every I/O is done at once. What remains is assay's own
//! cost.

use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};

#[derive(Debug, Default)]
pub(crate) struct Null;

impl IoEngine for Null {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, _file: &OpenFile, unit: IoUnit) -> QueueStatus {
        let result = Ok(unit.left());
        QueueStatus::Completed(Completion { unit, result })
    }
}

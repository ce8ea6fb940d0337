//! The null engine: every I/O is done at once. What remains is assay's own
//! cost.

use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, QueueStatus};

#[derive(Debug, Default)]
pub(crate) struct Null;

impl IoEngine for Null {
    const ASYNCHRONOUS: bool = false;

    #[inline]
    fn queue(&mut self, unit: IoUnit) -> QueueStatus {
        let result = Ok(unit.left());
        QueueStatus::Completed(Completion { unit, result })
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn reap(
        &mut self,
        _min: u32,
        _timeout_ns: Option<u64>,
        _done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        Ok(())
    }
}

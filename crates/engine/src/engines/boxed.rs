//! Engines behind a pointer, for which an indirect call costs little in
//! comparison with the I/O. Each engine that is not boxed adds a separately
//! compiled worker loop of about 100 KiB to the program.

use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::FlushCall;
use rustix::io::Errno;

/// An engine whose type is chosen at run time.
pub(super) struct Boxed {
    engine: Box<dyn IoEngine>,
    asynchronous: bool,
}

impl Boxed {
    pub(super) fn new<E: IoEngine + 'static>(engine: E) -> Self {
        Self {
            asynchronous: engine.is_asynchronous(),
            engine: Box::new(engine),
        }
    }
}

impl IoEngine for Boxed {
    #[inline]
    fn is_asynchronous(&self) -> bool {
        self.asynchronous
    }

    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        self.engine.opened(file)
    }

    fn closes(&mut self, file: &OpenFile) {
        self.engine.closes(file);
    }

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        self.engine.queue(file, unit)
    }

    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        self.engine.transfer(file, unit)
    }

    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        self.engine.flush(file, call)
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        self.engine.commit()
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        self.engine.reap(min, max, timeout_ns, done)
    }
}

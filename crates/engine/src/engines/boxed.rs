//! Engines behind a pointer: those whose calls cost so much, or are made so
//! seldom, that one more jump is nothing. Each engine that is not behind one
//! takes a loop of its own in the program, some 100 KiB.

use crate::error::EngineError;
use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use assay_model::job::FlushCall;
use rustix::io::Errno;

/// An engine whose kind is known when the program runs.
pub(super) struct Boxed {
    engine: Box<dyn AnyEngine>,
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

/// [`IoEngine`] without what a pointer cannot have.
trait AnyEngine {
    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError>;
    fn closes(&mut self, file: &OpenFile);
    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus;
    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32>;
    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno>;
    fn commit(&mut self) -> Result<usize, EngineError>;
    fn reap(
        &mut self,
        min: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError>;
}

impl<E: IoEngine> AnyEngine for E {
    fn opened(&mut self, file: &OpenFile) -> Result<(), EngineError> {
        IoEngine::opened(self, file)
    }

    fn closes(&mut self, file: &OpenFile) {
        IoEngine::closes(self, file);
    }

    fn queue(&mut self, file: &OpenFile, unit: IoUnit) -> QueueStatus {
        IoEngine::queue(self, file, unit)
    }

    fn transfer(&mut self, file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        IoEngine::transfer(self, file, unit)
    }

    fn flush(&mut self, file: &OpenFile, call: FlushCall) -> Result<(), Errno> {
        IoEngine::flush(self, file, call)
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        IoEngine::commit(self)
    }

    fn reap(
        &mut self,
        min: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        IoEngine::reap(self, min, timeout_ns, done)
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
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        self.engine.reap(min, timeout_ns, done)
    }
}

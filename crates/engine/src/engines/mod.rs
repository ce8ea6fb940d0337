//! The back ends, one file each.

mod libaio;
mod null;
mod psync;
mod slots;
mod sync;
mod trim;
mod uring;

use crate::error::EngineError;
use crate::io::IoEngine;
use assay_model::job::EngineKind;
use assay_model::load::Engine;
use libaio::Libaio;
use null::Null;
use psync::Psync;
use sync::Sync;
use uring::Uring;

/// Whether the kernel offers an engine; the error says why not.
///
/// # Errors
/// [`EngineError::Unavailable`] with the kernel's answer.
pub fn usable(engine: EngineKind) -> Result<(), EngineError> {
    match engine {
        EngineKind::Libaio => libaio::probe(),
        EngineKind::IoUring => uring::probe(),
        _ => Ok(()),
    }
}

/// What is to be done with an engine, whichever it is: a function that is made
/// once for each, so that the calls in its loop cost nothing.
pub(crate) trait WithEngine {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<E: IoEngine>(self, engine: E) -> Self::Output;
}

/// Makes the engine that `engine` describes, for the calling thread alone (the
/// kernel ties a ring to the thread that uses it), and lets `visitor` run.
pub(crate) fn with_engine<V: WithEngine>(
    engine: &Engine,
    visitor: V,
) -> Result<V::Output, EngineError> {
    Ok(match engine.kind {
        EngineKind::Psync => visitor.run(Psync),
        EngineKind::Sync => visitor.run(Sync::default()),
        EngineKind::Libaio => visitor.run(Libaio::new(engine)?),
        EngineKind::IoUring => visitor.run(Uring::new(engine)?),
        _ => visitor.run(Null),
    })
}

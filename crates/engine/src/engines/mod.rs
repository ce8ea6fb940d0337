//! The I/O engines, one file each.

mod boxed;
mod file_call;
mod libaio;
pub(crate) mod mmap;
mod null;
mod posixaio;
mod psync;
mod pvsync;
mod slots;
mod sync;
#[cfg(test)]
mod tests;
pub(crate) mod trim;
mod uring;
mod vsync;

use crate::error::EngineError;
use crate::extra::Loads;
use crate::io::IoEngine;
use assay_model::job::EngineKind;
use assay_model::load::Engine;
use boxed::Boxed;
use file_call::FileCall;
use libaio::Libaio;
use mmap::Mmap;
use null::Null;
use posixaio::Posixaio;
use psync::Psync;
use pvsync::Pvsync;
use sync::Sync;
use uring::Uring;
use vsync::Vsync;

/// Checks that the kernel supports an engine.
///
/// # Errors
/// [`EngineError::Unavailable`] with the kernel's error.
pub fn usable(engine: EngineKind) -> Result<(), EngineError> {
    match engine {
        EngineKind::Libaio => libaio::probe(),
        EngineKind::IoUring => uring::probe(),
        EngineKind::Pvsync2 => pvsync::probe(),
        EngineKind::Sim => Err(no_simulation()),
        // Every kernel has these calls.
        EngineKind::Psync
        | EngineKind::Sync
        | EngineKind::Pvsync
        | EngineKind::Vsync
        | EngineKind::Mmap
        | EngineKind::Posixaio
        | EngineKind::Null
        | EngineKind::FileCreate
        | EngineKind::FileStat
        | EngineKind::FileDelete
        | EngineKind::DirCreate
        | EngineKind::DirStat
        | EngineKind::DirDelete
        | EngineKind::Ftruncate
        | EngineKind::Falloc => Ok(()),
    }
}

fn no_simulation() -> EngineError {
    let why = "simulated devices are a part of assay on its own machine only";
    EngineError::unavailable(EngineKind::Sim, std::io::Error::other(why))
}

/// Operation on an engine of any kind. It is a generic function, compiled once per engine, so that
/// the calls in its loop cost nothing.
pub(crate) trait WithEngine {
    /// Result of the operation.
    type Output;

    /// Runs the operation.
    fn run<E: IoEngine>(self, engine: E) -> Self::Output;
}

/// Creates the engine that `engine` describes and runs `visitor` with it, on the calling thread
/// only (the kernel binds a ring to the thread that uses it).
pub(crate) fn with_engine<V: WithEngine>(
    engine: &Engine,
    visitor: V,
) -> Result<V::Output, EngineError> {
    Ok(match engine.kind {
        // Never boxed: an indirect call around its system call would add a costly return (see
        // psync.rs).
        EngineKind::Psync => visitor.run(Psync),
        EngineKind::Libaio => with_own_loop(visitor, Libaio::new(engine)?),
        EngineKind::IoUring => with_own_loop(visitor, Uring::new(engine)?),
        EngineKind::Null => with_own_loop(visitor, Null),
        EngineKind::Vsync => visitor.run(Boxed::new(Vsync::new(engine))),
        EngineKind::Posixaio => visitor.run(Boxed::new(Posixaio::new(engine))),
        EngineKind::Sync => visitor.run(Boxed::new(Sync::default())),
        EngineKind::Pvsync => visitor.run(Boxed::new(Pvsync::first())),
        EngineKind::Pvsync2 => visitor.run(Boxed::new(Pvsync::second(engine))),
        EngineKind::Mmap => visitor.run(Boxed::new(Mmap::new())),
        EngineKind::FileCreate => with_file_call(visitor, FileCall::create())?,
        EngineKind::FileStat | EngineKind::DirStat => with_file_call(visitor, FileCall::stat())?,
        EngineKind::FileDelete => with_file_call(visitor, FileCall::delete())?,
        EngineKind::DirCreate => with_file_call(visitor, FileCall::make_directory())?,
        EngineKind::DirDelete => with_file_call(visitor, FileCall::remove_directory())?,
        EngineKind::Ftruncate => with_file_call(visitor, FileCall::ftruncate())?,
        EngineKind::Falloc => with_file_call(visitor, FileCall::falloc())?,
        // Streams on simulated devices are created elsewhere.
        EngineKind::Sim => return Err(no_simulation()),
    })
}

/// Runs the visitor with an engine of calls on files, which only loads use.
fn with_file_call<V: WithEngine>(visitor: V, call: FileCall) -> Result<V::Output, EngineError> {
    match Loads::here() {
        Some(_) => Ok(visitor.run(Boxed::new(call))),
        None => Err(no_simulation()),
    }
}

/// Runs the visitor with a separately compiled loop.
#[cfg(not(feature = "compact"))]
fn with_own_loop<V: WithEngine>(visitor: V, engine: impl IoEngine) -> V::Output {
    visitor.run(engine)
}

/// Runs the visitor with the loop that all engines but psync share.
#[cfg(feature = "compact")]
fn with_own_loop<V: WithEngine>(visitor: V, engine: impl IoEngine + 'static) -> V::Output {
    visitor.run(Boxed::new(engine))
}

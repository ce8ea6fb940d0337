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

/// Returns true if an engine does I/O on an open file. The others need only its path, or nothing at
/// all.
pub(crate) const fn needs_open_file(engine: EngineKind) -> bool {
    !matches!(
        engine,
        EngineKind::Null
            | EngineKind::Sim
            | EngineKind::FileCreate
            | EngineKind::FileStat
            | EngineKind::FileDelete
            | EngineKind::DirCreate
            | EngineKind::DirStat
            | EngineKind::DirDelete
    )
}

/// Returns true if an engine works on directories instead of files.
pub(crate) const fn is_of_directories(engine: EngineKind) -> bool {
    matches!(
        engine,
        EngineKind::DirCreate | EngineKind::DirStat | EngineKind::DirDelete
    )
}

/// Returns true if the thread may have its own table of open files
/// ([`sys::own_file_table`](crate::sys::own_file_table)). The C library runs POSIX asynchronous I/O
/// on threads shared by all of its users, so a descriptor must be the same file to all of them.
pub(crate) const fn may_own_file_table(engine: EngineKind) -> bool {
    !matches!(engine, EngineKind::Posixaio)
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
        kind => match (FileCall::of(kind), Loads::here()) {
            (Some(call), Some(_)) => visitor.run(Boxed::new(call)),
            // Streams on simulated devices are created elsewhere.
            _ => return Err(no_simulation()),
        },
    })
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

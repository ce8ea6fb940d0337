//! The back ends, one file each.

pub(crate) mod libaio;
pub(crate) mod null;
pub(crate) mod psync;
mod slots;
pub(crate) mod sync;
pub(crate) mod uring;

use crate::error::EngineError;
use assay_model::job::EngineKind;

/// Whether the kernel offers an engine; the error says why not.
///
/// # Errors
/// [`EngineError::Unavailable`] with the kernel's answer.
pub fn usable(engine: EngineKind) -> Result<(), EngineError> {
    match engine {
        EngineKind::Psync | EngineKind::Sync | EngineKind::Null => Ok(()),
        EngineKind::Libaio => libaio::probe(),
        EngineKind::IoUring => uring::probe(),
        _ => Ok(()),
    }
}

//! Free space in a file system, and the reserve that stays free.

use super::Scene;
use crate::ActError;
use assay_engine::held::shown;
use assay_model::units::Bytes;
use std::path::Path;

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeSpace {
    /// Size in bytes, without the part reserved for root.
    pub(super) size: u64,
    /// Bytes that this user may still write.
    pub(super) free: u64,
}

impl FreeSpace {
    /// Determines the free space of a path's file system.
    pub(super) fn of(path: &Path) -> Result<Self, ActError> {
        let stat = rustix::fs::statvfs(path)
            .map_err(|errno| ActError::call(format!("cannot look at {}", shown(path)), errno))?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let used = stat.f_blocks.saturating_sub(stat.f_bfree);
        Ok(Self {
            // As in df: the part reserved for root is neither used nor free.
            size: bytes(used.saturating_add(stat.f_bavail)),
            free: bytes(stat.f_bavail),
        })
    }

    /// Returns the used part in percent.
    pub(super) fn percent(self) -> u8 {
        let used = self.size.saturating_sub(self.free);
        let percent = u128::from(used) * 100 / u128::from(self.size.max(1));
        u8::try_from(percent).unwrap_or(100)
    }
}

/// Refuses to write `bytes` more if less than the reserve would remain free.
pub(super) fn check(scene: &Scene, path: &Path, bytes: u64) -> Result<(), ActError> {
    let Some(folder) = path
        .parent()
        .filter(|_| scene.device().is_none_or(|d| d != path))
    else {
        return Ok(());
    };
    let room = FreeSpace::of(folder)?;
    if bytes.saturating_add(scene.reserve) <= room.free {
        return Ok(());
    }
    Err(ActError::failed(format!(
        "{} needs {} more and {} stay free as a reserve, but only {} are free: use a smaller \
             --scale, or a larger file system",
        shown(path),
        Bytes(bytes),
        Bytes(scene.reserve),
        Bytes(room.free)
    )))
}

//! Filling a file system to a level. Most of a large file is only allocated: the user limits
//! the bytes that are written, because flash wears.

use super::Play;
use super::content::ContentSource;
use super::free_space::FreeSpace;
use super::scene::Scene;
use super::turn::Turn;
use super::write::{Flusher, open_to_write, write_block};
use crate::WorkError;
use assay_engine::buffer::IoBuf;
use assay_engine::held::shown;
use assay_model::units::Bytes;
use assay_model::work::scenario::{Filling, Sync};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::path::PathBuf;

/// Bytes written at a time.
const BLOCK: u64 = 1 << 20;
/// Bytes after which the file is flushed, so that the page cache does not hold all of it.
const FLUSH_EVERY: u64 = 64 << 20;

/// A file that occupies the space.
pub(super) struct Filler<'a> {
    spec: &'a Filling,
    scene: &'a Scene,
    root: PathBuf,
    path: PathBuf,
    file: File,
    /// Bytes that are allocated first, then bytes that are written.
    plan: (u64, u64),
}

impl<'a> Filler<'a> {
    pub(super) fn new(spec: &'a Filling, name: &str, scene: &'a Scene) -> Result<Self, WorkError> {
        let root = scene.root()?;
        let path = scene.path(&format!("filler-{name}"))?;
        let file = open_to_write(scene, &path, false)?;
        let room = FreeSpace::of(&root)?;
        Ok(Self {
            plan: plan(spec, room, scene.reserve)?,
            spec,
            scene,
            root,
            path,
            file,
        })
    }

    fn allocate(&self, bytes: u64) -> Result<(), WorkError> {
        if bytes == 0 {
            return Ok(());
        }
        fallocate(&self.file, FallocateFlags::empty(), 0, bytes).map_err(|errno| {
            let path = shown(&self.path);
            WorkError::call(
                format!(
                    "cannot allocate {} for {path} (to write them all instead, raise \
                     write_at_most)",
                    Bytes(bytes)
                ),
                errno,
            )
        })
    }
}

/// Returns the bytes to allocate and the bytes to write, so that the level is reached and the
/// reserve remains.
fn plan(spec: &Filling, room: FreeSpace, reserve: u64) -> Result<(u64, u64), WorkError> {
    let used = room.size.saturating_sub(room.free);
    let level = u128::from(room.size) * u128::from(spec.percent.min(100)) / 100;
    let level = u64::try_from(level).unwrap_or(u64::MAX);
    let wanted = level.saturating_sub(used);
    if wanted.saturating_add(reserve) > room.free {
        return Err(WorkError::failed(format!(
            "{} % full would leave less than the reserve of {}: use a larger file system, or \
                 a smaller reserve",
            spec.percent,
            Bytes(reserve)
        )));
    }
    let written = wanted.min(spec.write_at_most);
    Ok((wanted - written, written))
}

impl Play for Filler<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.plan.1)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        let (allocated, written) = self.plan;
        self.allocate(allocated)?;
        turn.step.allocated_bytes = allocated;
        let source = ContentSource::new(self.scene.seed ^ u64::from(self.spec.percent));
        let mut buffer = IoBuf::zeroed(usize::try_from(BLOCK).unwrap_or(usize::MAX));
        let mut flusher = Flusher::new(Sync::EveryBytes(FLUSH_EVERY));
        let mut at = allocated;
        let end = allocated + written;
        while at < end {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let length = BLOCK.min(end - at);
            let bytes = &mut buffer.block_mut()[..usize::try_from(length).unwrap_or(0)];
            source.fill(bytes, at);
            write_block(&self.file, &self.path, at, bytes, turn)?;
            flusher.wrote(length, &self.file, &self.path, turn)?;
            turn.over(due_ns);
            turn.tell(length);
            at += length;
        }
        flusher.end(&self.file, &self.path, turn)?;
        turn.step.full_percent = Some(FreeSpace::of(&self.root)?.percent());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(percent: u8, write_at_most: u64, free: u64) -> Result<(u64, u64), WorkError> {
        let spec = Filling {
            percent,
            write_at_most,
        };
        plan(&spec, FreeSpace { size: 1000, free }, 50)
    }

    #[test]
    fn what_is_not_written_is_allocated_and_the_reserve_stays() {
        assert_eq!(planned(80, 1000, 700).unwrap(), (0, 500));
        assert_eq!(planned(80, 100, 700).unwrap(), (400, 100));
        assert_eq!(
            planned(80, 100, 100).unwrap(),
            (0, 0),
            "it is fuller already"
        );
        assert!(planned(96, 1000, 700).is_err());
        assert_eq!(planned(95, 1000, 700).unwrap(), (0, 650));
    }
}

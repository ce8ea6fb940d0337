//! Caches of the kernel.

use super::Play;
use super::scene::Scene;
use super::turn::Turn;
use crate::WorkError;
use std::fs;

/// Writing a number here makes the kernel drop what is clean: 1 pages, 2 entries of
/// folders and files.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Everything is written back, and what may be dropped is.
pub(super) struct DropCaches<'a> {
    scene: &'a Scene,
}

impl<'a> DropCaches<'a> {
    pub(super) const fn new(scene: &'a Scene) -> Self {
        Self { scene }
    }
}

impl Play for DropCaches<'_> {
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        let began_ns = turn.meter.now_ns();
        self.scene.settle()?;
        turn.meter.flushed(began_ns);
        // Only root may; what stays cached is seen in the evidence.
        let _ = fs::write(DROP_CACHES, "3");
        Ok(())
    }
}

/// Drops entries of folders and files that nobody uses, as far as this user may.
pub(super) fn drop_entries() {
    let _ = fs::write(DROP_CACHES, "2");
}

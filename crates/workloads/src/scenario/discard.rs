//! Discard acts: discarding a device or the blocks of a file, and removing files.

use super::stage::Turn;
use super::write::{length, open_to_write};
use super::{Play, Scene};
use crate::ActError;
use assay_engine::{discard_range, held};
use std::fs::{self, File};
use std::path::PathBuf;

/// Bytes that are discarded by one call; a stop takes effect between two calls.
const PIECE: u64 = 1 << 30;

/// A device or file whose blocks are discarded.
pub(super) struct Discarding<'a> {
    scene: &'a Scene,
    name: &'a str,
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl<'a> Discarding<'a> {
    pub(super) fn new(name: &'a str, scene: &'a Scene) -> Result<Self, ActError> {
        let path = scene.path(name)?;
        let file = open_to_write(scene, &path, false)?;
        Ok(Self {
            bytes: length(&file, &path)?,
            scene,
            name,
            path,
            file,
        })
    }
}

impl Play for Discarding<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let is_device = self
            .scene
            .device()
            .is_some_and(|device| *device == self.path);
        self.scene.holds(self.name, None);
        let mut at = 0;
        while at < self.bytes {
            let Some(due_ns) = turn.due()? else {
                break;
            };
            let length = PIECE.min(self.bytes - at);
            discard_range(&self.file, is_device, at, length)
                .map_err(|error| ActError::io("discard", &self.path, &error))?;
            turn.step.discarded_bytes += length;
            turn.over(due_ns);
            turn.tell(length);
            at += length;
        }
        Ok(())
    }
}

/// A file, or a folder with its content, to delete.
pub(super) struct Deletion<'a> {
    scene: &'a Scene,
    name: &'a str,
    path: PathBuf,
}

impl<'a> Deletion<'a> {
    pub(super) fn new(name: &'a str, scene: &'a Scene) -> Result<Self, ActError> {
        let path = scene.path(name)?;
        if scene.device() == Some(&path) {
            return Err(ActError::Refused(format!(
                "{name} cannot be removed: discard it"
            )));
        }
        Ok(Self { scene, name, path })
    }
}

impl Play for Deletion<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        self.scene.root().into_iter().collect()
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let Some(due_ns) = turn.due()? else {
            return Ok(());
        };
        let meta = fs::symlink_metadata(&self.path);
        let meta = meta.map_err(|error| ActError::io("look at", &self.path, &error))?;
        let removed = match meta.is_dir() {
            true => fs::remove_dir_all(&self.path),
            false => held::remove_file(&self.path),
        };
        removed.map_err(|error| ActError::io("remove", &self.path, &error))?;
        // Deleted blocks are free, and discarded, only after the deletion is on the
        // device.
        let began_ns = turn.meter.now_ns();
        self.scene.settle()?;
        turn.meter.flushed(began_ns);
        turn.over(due_ns);
        self.scene.forget(self.name);
        Ok(())
    }
}

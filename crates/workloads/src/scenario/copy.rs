//! Reading one file, inflating, and writing another, like the installation of an update
//! that was downloaded.

use super::content::Recipe;
use super::inflate::Inflater;
use super::read::{open_to_read, read_block};
use super::stage::Turn;
use super::write::{Flusher, length, open_to_write, write_block};
use super::{Play, Scene, free_space};
use crate::ActError;
use assay_engine::buffer::IoBuf;
use assay_engine::page_cache;
use assay_model::act::scenario::Copying;
use std::fs::File;
use std::path::PathBuf;

/// A file to copy.
pub(super) struct Copier<'a> {
    spec: &'a Copying,
    scene: &'a Scene,
    from: (File, PathBuf),
    to: (File, PathBuf),
    bytes: u64,
    recipe: Option<Recipe>,
    flusher: Flusher,
    inflater: Option<Inflater>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(spec: &'a Copying, scene: &'a Scene) -> Result<Self, ActError> {
        let (from, to) = (scene.path(&spec.from)?, scene.path(&spec.to)?);
        let source = open_to_read(&from, false, true)?;
        let bytes = length(&source, &from)?;
        let target = open_to_write(scene, &to, spec.direct)?;
        // Cached pages of the target would turn partial writes into reads that do not
        // belong to the copy.
        page_cache::evict(&target, &to)?;
        let there = length(&target, &to)?;
        free_space::check(scene, &to, bytes.saturating_sub(there))?;
        let inflates = spec.inflate_percent > 0;
        Ok(Self {
            recipe: scene.recipe(&spec.from),
            flusher: Flusher::new(spec.sync),
            inflater: inflates.then(|| Inflater::new(scene.seed)),
            spec,
            scene,
            from: (source, from),
            to: (target, to),
            bytes,
        })
    }

    /// Returns offsets and lengths of the data to copy. Holes are left out, as in
    /// `simg2img` and `bmaptool`.
    fn extents(&self) -> Vec<(u64, u64)> {
        match &self.recipe {
            Some(recipe) => recipe.extents(self.spec.block).collect(),
            None => {
                let blocks = (0..self.bytes).step_by(usize::try_from(self.spec.block).unwrap_or(1));
                let length = |at: u64| self.spec.block.min(self.bytes - at);
                blocks.map(|at| (at, length(at))).collect()
            }
        }
    }

    fn one(
        &mut self,
        (at, length): (u64, u64),
        buffer: &mut IoBuf,
        turn: &mut Turn<'_>,
    ) -> Result<(), ActError> {
        read_block(&self.from.0, &self.from.1, at, length, buffer, turn)?;
        if let Some(inflater) = &mut self.inflater {
            let wanted = length * u64::from(self.spec.inflate_percent) / 100;
            turn.step.inflated_bytes += inflater.inflate(wanted);
        }
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        let (file, path) = &self.to;
        write_block(file, path, at, &buffer.block()[..size], turn)?;
        self.flusher.wrote(length, file, path, turn)
    }
}

impl Play for Copier<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.from.1.clone(), self.to.1.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let extents = self.extents();
        let written: u64 = extents.iter().map(|(_, length)| length).sum();
        let mut buffer = IoBuf::of(self.spec.block)?;
        let mut whole = true;
        'passes: loop {
            for &extent in &extents {
                let Some(due_ns) = turn.due()? else {
                    whole = false;
                    break 'passes;
                };
                self.one(extent, &mut buffer, turn)?;
                turn.over(due_ns);
                turn.tell(extent.1);
            }
            if !turn.again() || extents.is_empty() {
                break;
            }
        }
        let (file, path) = &self.to;
        self.flusher.end(file, path, turn)?;
        turn.step.hole_bytes = self.bytes - written;
        let recipe = self.recipe.clone().filter(|_| whole);
        self.scene.holds(&self.spec.to, recipe);
        Ok(())
    }
}

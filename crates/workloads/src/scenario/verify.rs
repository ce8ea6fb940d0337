//! Reading a file back, and comparing its SHA-256 with that of the data written. The
//! expected digest is computed before the clock starts. Hashing counts, as it does when a
//! product verifies an installed update.

use super::content::{Recipe, hex};
use super::read::{open_to_read, read_block};
use super::stage::Turn;
use super::{Play, Scene};
use crate::ActError;
use assay_engine::buffer::IoBuf;
use assay_model::act::scenario::{Verified, Verifying};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::PathBuf;

/// A file to verify.
pub(super) struct Verifier<'a> {
    spec: &'a Verifying,
    path: PathBuf,
    file: File,
    recipe: Recipe,
    expected: String,
}

impl<'a> Verifier<'a> {
    pub(super) fn new(spec: &'a Verifying, scene: &Scene) -> Result<Self, ActError> {
        let Some(recipe) = scene.recipe(&spec.file) else {
            return Err(ActError::Refused(format!(
                "{} cannot be verified: no step of this scenario has written all of it in order",
                spec.file
            )));
        };
        let path = scene.path(&spec.file)?;
        Ok(Self {
            file: open_to_read(&path, spec.direct, true)?,
            expected: recipe.digest(),
            spec,
            path,
            recipe,
        })
    }
}

impl Play for Verifier<'_> {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn total(&self) -> Option<u64> {
        Some(self.recipe.bytes)
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), ActError> {
        let mut buffer = IoBuf::of(self.spec.block)?;
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        for (at, length) in self.recipe.extents(self.spec.block) {
            let Some(due_ns) = turn.due()? else {
                return Ok(());
            };
            read_block(&self.file, &self.path, at, length, &mut buffer, turn)?;
            let length_here = usize::try_from(length).unwrap_or(usize::MAX);
            hasher.update(&buffer.block()[..length_here]);
            bytes += length;
            turn.over(due_ns);
            turn.tell(length);
        }
        let found = Verified {
            bytes,
            written: self.expected.clone(),
            read: hex(&hasher.finalize()),
        };
        let differs = found.differs();
        let message = format!(
            "{} is not what was written to it: its SHA-256 is {}…, and should be {}…",
            self.spec.file,
            &found.read[..16],
            &found.written[..16]
        );
        turn.step.verified = Some(found);
        match differs {
            true => Err(ActError::failed(message)),
            false => Ok(()),
        }
    }
}

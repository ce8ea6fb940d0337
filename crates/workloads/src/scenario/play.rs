//! An act as it is played.

use super::Play;
use super::caches::DropCaches;
use super::command::Program;
use super::copy::Copier;
use super::database::Transactions;
use super::discard::{Deletion, Discarding};
use super::fill::Filler;
use super::inflate::Inflating;
use super::read::FileReader;
use super::scene::Scene;
use super::tree;
use super::turn::Turn;
use super::verify::Verifier;
use super::write::FileWriter;
use crate::WorkError;
use assay_model::work::scenario::{Act, Action};
use std::path::PathBuf;
use std::time::Duration;

/// Brings everything to the state that an act finds; nothing is measured yet.
///
/// # Errors
/// When it cannot be brought there.
pub(super) fn prepare<'a>(
    act: &'a Act,
    scene: &'a Scene,
    number: u64,
) -> Result<Box<dyn Play + 'a>, WorkError> {
    Ok(match &act.action {
        Action::Write(spec) => Box::new(FileWriter::new(spec, scene, number)?),
        Action::Read(spec) => Box::new(FileReader::new(spec, scene)?),
        Action::Copy(spec) => Box::new(Copier::new(spec, scene)?),
        Action::Verify(spec) => Box::new(Verifier::new(spec, scene)?),
        Action::Tree(spec) => tree::prepare(spec, scene, number)?,
        Action::Database(phase) => Box::new(Transactions::new(phase, &act.job.name, scene)?),
        Action::Inflate { bytes } => Box::new(Inflating::new(*bytes, scene)),
        Action::Discard { file } => Box::new(Discarding::new(file, scene)?),
        Action::Delete { file } => Box::new(Deletion::new(file, scene)?),
        Action::Fill(spec) => Box::new(Filler::new(spec, &act.job.name, scene)?),
        Action::Command(spec) => Box::new(Program::new(spec, scene)?),
        Action::Pause { time_ns } => Box::new(Pause(Duration::from_nanos(*time_ns))),
        Action::DropCaches => Box::new(DropCaches::new(scene)),
        // Only whoever stands around the steps can; it never comes here.
        Action::Format { .. } => {
            return Err(WorkError::Refused(
                "making a file system must be the only act of its stage".to_owned(),
            ));
        }
    })
}

/// Nothing, for a while.
struct Pause(Duration);

impl Play for Pause {
    fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        turn.sleep(self.0)
    }
}

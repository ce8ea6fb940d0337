//! Scenarios: stages of acts, each act a step with separate evidence.
//!
//! An act is a [`Play`]: prepared outside the clock, then run on a separate thread. Acts
//! of one stage begin together; background acts continue until all foreground acts have
//! ended.
//!
//! All files of a scenario are in one folder, `scene`. Their contents follow from a seed and the
//! offset, so that `verify` knows a digest without a copy. Acts that run at the same time share one
//! evidence (`Observer::ended_together`).

mod command;
mod content;
mod copy;
mod database;
mod discard;
mod fill;
mod free_space;
mod inflate;
mod read;
mod rules;
mod scene;
mod stage;
mod tree;
mod turn;
mod verify;
mod write;

#[cfg(test)]
mod tests;

use crate::{Context, WorkError};
use assay_model::work::WorkReport;
use assay_model::work::scenario::{Act, Action, Scenario};
use command::Program;
use copy::Copier;
use database::Transactions;
use discard::{Deletion, Discarding};
use fill::Filler;
use inflate::Inflating;
use read::FileReader;
use scene::Scene;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use turn::Turn;
use verify::Verifier;
use write::FileWriter;

/// An act that is ready to run.
trait Play: Send {
    /// Returns the files or devices whose storage and cached pages are evidence.
    fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the total amount of work, in the unit of its progress; `None` if unknown.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Runs the act, while the clock of the turn runs.
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError>;
}

/// Carries out a scenario.
///
/// # Errors
/// If it cannot be carried out here, an act fails, or it is stopped. Its files are in the
/// private folder, which is removed, or on the scratch device.
pub(crate) fn run(work: &Scenario, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    rules::check(work)?;
    let scene = Scene::new(work, context)?;
    let mut steps_done = 0;
    for (number, stage) in work.stages.iter().enumerate() {
        if context.stopped() {
            return Err(WorkError::Stopped);
        }
        stage::run(stage, &scene, (number as u64, steps_done), context)?;
        let steps = stage.acts.iter().filter(|act| !act.unmeasured).count();
        steps_done += u32::try_from(steps).unwrap_or(u32::MAX);
        context.observer.keep();
    }
    Ok(WorkReport::Steps)
}

/// Prepares the state that an act requires; nothing is measured yet.
///
/// # Errors
/// If the state cannot be prepared.
fn prepare<'a>(
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
        // Formatting is left to the observer and handled before.
        Action::Format { .. } => {
            return Err(WorkError::Refused(
                "making a file system must be the only act of its stage".to_owned(),
            ));
        }
    })
}

/// An act that only waits.
struct Pause(Duration);

impl Play for Pause {
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        turn.sleep(self.0)
    }
}

/// File that makes the kernel drop clean caches: 1 for pages, 2 for dentries and inodes,
/// 3 for both.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Writes back all data, then drops the caches.
struct DropCaches<'a> {
    scene: &'a Scene,
}

impl<'a> DropCaches<'a> {
    const fn new(scene: &'a Scene) -> Self {
        Self { scene }
    }
}

impl Play for DropCaches<'_> {
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        let began_ns = turn.meter.now_ns();
        self.scene.settle()?;
        turn.meter.flushed(began_ns);
        // Only root may do this; pages that stay cached appear in the evidence.
        let _ = fs::write(DROP_CACHES, "3");
        Ok(())
    }
}

/// Drops unused dentries and inodes, if this user may.
fn drop_entries() {
    let _ = fs::write(DROP_CACHES, "2");
}

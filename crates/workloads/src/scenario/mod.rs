//! Scenarios: stages of acts, each act a step with evidence of its own.
//!
//! An act is a [`Play`]: prepared outside the clock, then played on a thread of
//! its own. Acts of one stage begin together; those in the background go on until those
//! in the foreground have ended.

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

/// An act that is ready to be played.
trait Play: Send {
    /// The files or devices whose storage and pages are evidence.
    fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the total amount of work, in the unit of its progress; `None` if unknown.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Does it, while the clock of the turn runs.
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError>;
}

/// Carries out a scenario.
///
/// # Errors
/// When it cannot be carried out here, an act fails, or it is stopped. What was made is
/// in the private folder, which goes with it, or on the scratch device.
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

/// Brings everything to the state that an act finds; nothing is measured yet.
///
/// # Errors
/// When it cannot be brought there.
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
    fn play(&mut self, turn: &mut Turn<'_>) -> Result<(), WorkError> {
        turn.sleep(self.0)
    }
}

/// Writing a number here makes the kernel drop what is clean: 1 pages, 2 entries of
/// folders and files.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Everything is written back, and what may be dropped is.
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
        // Only root may; what stays cached is seen in the evidence.
        let _ = fs::write(DROP_CACHES, "3");
        Ok(())
    }
}

/// Drops entries of folders and files that nobody uses, as far as this user may.
fn drop_entries() {
    let _ = fs::write(DROP_CACHES, "2");
}

//! Scenarios: stages of acts, each act a step with evidence of its own.
//!
//! An act is a [`Play`]: prepared outside the clock, then played on a thread of
//! its own. Acts of one stage begin together; those in the background go on until those
//! in the foreground have ended.

mod caches;
mod command;
mod content;
mod copy;
mod database;
mod discard;
mod fill;
mod free_space;
mod inflate;
mod play;
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
use assay_model::work::scenario::Scenario;
use scene::Scene;
use std::path::PathBuf;
use turn::Turn;

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

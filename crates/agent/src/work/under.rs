//! Repetition of a work under a condition, which is set for this repetition and undone
//! afterwards, even if the host is lost.

use super::Workshop;
use super::steps::InForceNow;
use crate::conditions::{self, Conditions, before_trial};
use crate::frame::FrameError;
use crate::permission::refuse;
use assay_model::condition::InForce;
use assay_model::storage::Storage;
use assay_model::wire::{FromAgent, RunEnd};
use assay_model::work::Under;
use assay_probe::stack;
use std::slice::from_ref;
use std::sync::atomic::Ordering;

/// Sets the condition, carries out the work, and undoes the condition; returns the last
/// message to the host.
pub(super) fn run(workshop: &mut Workshop<'_>, under: &Under) -> Result<FromAgent, FrameError> {
    let (roots, run_id) = (workshop.roots, &workshop.order.run_id);
    let found = stack::resolve(roots, &under.path).map_err(|error| error.to_string());
    let journals = conditions::journals();
    let conditions = found.and_then(|storage| {
        let one = from_ref(&under.condition);
        let conditions = Conditions::new(roots, &storage, run_id, one, journals)?;
        Ok((conditions, storage))
    });
    let (mut conditions, storage) = match conditions {
        Ok(found) => found,
        Err(message) => return Ok(FromAgent::Refused(refuse(message))),
    };
    if under.condition.makes_file_system() && !workshop.order.destroy_data {
        let path = under.path.display();
        return Ok(FromAgent::Refused(refuse(format!(
            "a file system on {path} destroys all data on it: add --destroy-data"
        ))));
    }
    let done = match enter(workshop, under, &mut conditions, storage) {
        Ok(in_force) => workshop.carry_out(InForceNow {
            read_back: &in_force,
            still: &|| conditions.still(),
        }),
        Err(error) => fail(workshop, under, &error),
    };
    for problem in conditions.leave() {
        workshop.outbox.warn(problem)?;
    }
    done
}

/// Enters the conditions at the start of the work, and returns the settings in force.
fn enter(
    workshop: &Workshop<'_>,
    under: &Under,
    conditions: &mut Conditions<'_>,
    storage: Storage,
) -> Result<Vec<InForce>, String> {
    let mut in_force = conditions.enter(Some(0))?;
    let storage = match conditions.mount_point() {
        Some(point) => stack::resolve(workshop.roots, point).map_err(|error| error.to_string())?,
        None => storage,
    };
    let stop = &workshop.controls.stop;
    in_force.extend(before_trial(
        workshop.roots,
        &storage,
        &under.restore,
        stop,
    )?);
    Ok(in_force)
}

/// Records the steps as failed, because the condition cannot be set; repetitions under
/// other conditions may succeed.
fn fail(workshop: &mut Workshop<'_>, under: &Under, error: &str) -> Result<FromAgent, FrameError> {
    let mut steps = workshop.steps(InForceNow::NOTHING, &[]);
    steps.fail_all(&under.steps, error);
    steps.close()?;
    let end = match workshop.controls.stop.load(Ordering::Relaxed) {
        true => RunEnd::Cancelled,
        false => RunEnd::Finished,
    };
    Ok(FromAgent::Done { end, report: None })
}

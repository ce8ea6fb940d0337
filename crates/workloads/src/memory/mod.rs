//! Main memory: data rates of loops over arrays, latency as a function of the size of the
//! working set, and tests for bit flips.

mod bandwidth;
mod latency;
pub(crate) mod stress;

use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_model::act::memory::{Machine, Memory, MemoryStep, MemoryStepResult};
use assay_model::act::{ActReport, StepDetail};
use assay_model::job::Job;
use assay_model::trial::Outcome;
use std::io;

/// Machine information that only the agent can look up.
pub trait MachineInfo {
    /// Returns caches, nodes and available memory.
    fn machine(&self) -> Machine;
    /// Returns the number of thermal throttling events since boot, over all CPUs.
    fn throttled(&self) -> Option<u64>;
    /// Returns the bytes of this process between two addresses that are in huge pages.
    fn huge_bytes(&self, from: u64, to: u64) -> Option<u64>;
    /// Returns the physical address of an address of this process.
    fn physical(&self, address: u64) -> Option<u64>;
}

/// Carries out a work on main memory.
///
/// # Errors
/// If there is not enough memory, or the work was stopped.
pub fn run(
    work: &Memory,
    around: &dyn MachineInfo,
    context: &mut Context<'_>,
) -> Result<ActReport, ActError> {
    let mut steps = Steps { done: 0, around };
    if let Some(bandwidth) = &work.bandwidth {
        bandwidth::run(bandwidth, &mut steps, context)?;
    }
    if let Some(latency) = &work.latency {
        latency::run(latency, &mut steps, context)?;
    }
    if let Some(stress) = &work.stress {
        stress::run(stress, &mut steps, context)?;
    }
    Ok(ActReport::Steps)
}

/// Steps of a work, which are reported to the observer one after the other.
struct Steps<'a> {
    done: u32,
    around: &'a dyn MachineInfo,
}

impl Steps<'_> {
    /// Runs one step; `measure` runs while the clock runs.
    fn take(
        &mut self,
        job: &Job,
        context: &mut Context<'_>,
        measure: impl FnOnce(&mut Context<'_>, u32) -> Result<(MemoryStepResult, Outcome), ActError>,
    ) -> Result<(), ActError> {
        let step = ObservedStep { job, paths: &[] };
        context.observer.begins(step);
        let machine = self.around.machine();
        context.observer.clock_starts(step);
        let measured = measure(context, self.done);
        context.observer.clock_stopped();
        self.done += 1;
        let (found, outcome, ended) = match measured {
            Ok((found, outcome)) => (Some(found), outcome, Ok(())),
            Err(error) => (None, error.outcome(), Err(error)),
        };
        let detail = found.map(|found| {
            StepDetail::Memory(Box::new(MemoryStep {
                machine,
                throttled_after: self.around.throttled(),
                found,
            }))
        });
        let came = StepOutcome {
            measured: None,
            detail,
        };
        context.observer.ended(outcome, came);
        // Storing does not disturb: no step of main memory uses storage.
        context.observer.keep();
        ended
    }
}

/// Creates the error for memory that cannot be allocated.
pub(crate) fn no_room(bytes: u64, error: &io::Error) -> ActError {
    ActError::Failed {
        message: format!(
            "cannot get {} of memory: {error}; ask for less",
            assay_model::units::Bytes(bytes)
        ),
        errno: error.raw_os_error(),
    }
}

/// Creates the error for measuring threads that ended unexpectedly.
fn lost_threads() -> ActError {
    ActError::failed(
        "a measuring thread ended unexpectedly: it is a bug in assay, please report it",
    )
}

#[cfg(test)]
mod tests;

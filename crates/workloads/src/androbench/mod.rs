//! Phases of AndroBench and Mobibench: patterns on files made by assay, and transactions
//! on an `SQLite` database.

#[cfg(feature = "sqlite")]
pub(crate) mod database;
mod files;
mod rules;
#[cfg(test)]
mod tests;

use crate::meter::nanos;
use crate::{Context, WorkError};
use assay_model::work::androbench::{AndroBench, Phase};
use assay_model::work::{ProgressUnit, WorkProgress, WorkReport};
use files::TestFiles;
use std::time::Duration;

pub(crate) fn run(work: &AndroBench, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    rules::check(work)?;
    let Some(folder) = context.folder else {
        return Err(WorkError::Refused(
            "no folder was given for the test files".to_owned(),
        ));
    };
    let mut files = TestFiles::new(folder);
    let mut steps_done = 0;
    for phase in &work.phases {
        match phase {
            Phase::Files(phase) => files.run(phase, steps_done, context)?,
            Phase::Database(phase) => {
                files.remove()?;
                transact(phase, folder, steps_done, context)?;
            }
        }
        steps_done += u32::try_from(phase.jobs().len()).unwrap_or(u32::MAX);
        context.observer.keep();
    }
    Ok(WorkReport::Steps)
}

#[cfg(feature = "sqlite")]
use database::run as transact;

#[cfg(not(feature = "sqlite"))]
fn transact(
    _phase: &assay_model::work::androbench::DatabasePhase,
    _folder: &std::path::Path,
    _steps_done: u32,
    _context: &mut Context<'_>,
) -> Result<(), WorkError> {
    Err(rules::without_sqlite())
}

/// Builds the progress of a step, `done` of `total`.
fn progress(
    step: &str,
    steps_done: u32,
    (unit, done, total): (ProgressUnit, u64, u64),
    elapsed: Duration,
) -> WorkProgress {
    WorkProgress {
        step: step.to_owned(),
        steps_done,
        unit,
        done,
        total: Some(total),
        elapsed_ns: nanos(elapsed),
    }
}

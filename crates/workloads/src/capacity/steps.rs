//! Steps of a capacity check, and the jobs that describe them.

use crate::meter::Meter;
use crate::{Context, ObservedStep, StepOutcome, WorkError};
use assay_model::job::Job;
use assay_model::work::StepDetail;
use assay_model::work::capacity::CapacityStep;
use std::path::Path;

/// Result of a step.
pub(super) struct Measured {
    pub(super) found: CapacityStep,
    pub(super) done: Result<(), WorkError>,
}

/// Runs a step between clock start and clock stop, and reports its outcome.
///
/// # Errors
/// The error that ended the step early.
pub(super) fn measured(
    job: &Job,
    path: &Path,
    context: &mut Context<'_>,
    work: impl FnOnce(&mut Meter, &mut Context<'_>) -> Measured,
) -> Result<(), WorkError> {
    let paths = [path];
    let step = ObservedStep { job, paths: &paths };
    context.observer.begins(step);
    context.observer.clock_starts(step);
    let mut meter = Meter::start(job.interval.0);
    let Measured { found, done } = work(&mut meter, context);
    let measurement = meter.stop();
    context.observer.clock_stopped();
    let outcome = WorkError::outcome_of(&done);
    let came = StepOutcome {
        measured: Some(measurement),
        detail: Some(StepDetail::Capacity(found)),
    };
    context.observer.ended(outcome, came);
    context.observer.keep();
    done
}

/// Jobs that describe the steps.
pub(super) mod job {
    use super::super::CHUNKS_PER_FLUSH;
    use super::super::check::CHUNK;
    use assay_model::job::{CacheState, FileState, Flush, FlushCall, Job, Rw};
    use assay_model::units::{Bytes, Nanos};

    /// Interval of the series. It is long because filling takes hours.
    const INTERVAL: Nanos = Nanos::secs(1);

    /// Writes `bytes`, with a flush after every few chunks.
    pub(in super::super) fn of_writing(bytes: u64, direct: bool) -> Job {
        Job {
            direct,
            flush: Flush {
                every: Some((CHUNKS_PER_FLUSH, FlushCall::Fdatasync)),
                at_end: Some(FlushCall::Fdatasync),
            },
            file_state: FileState::Fresh,
            cache_state: CacheState::AsIs,
            interval: INTERVAL,
            description: Some("fills it with sectors that say where they belong".to_owned()),
            ..Job::new("write", Rw::Write, Bytes(CHUNK as u64), Bytes(bytes))
        }
    }

    /// Reads `bytes` back.
    pub(in super::super) fn of_checking(bytes: u64, direct: bool) -> Job {
        Job {
            direct,
            interval: INTERVAL,
            description: Some("reads back what was written and compares it".to_owned()),
            ..Job::new("verify", Rw::Read, Bytes(CHUNK as u64), Bytes(bytes))
        }
    }

    /// Marks scattered blocks and reads them back.
    pub(in super::super) fn of_probing(bytes: u64, direct: bool) -> Job {
        Job {
            direct,
            cache_state: CacheState::AsIs,
            interval: INTERVAL,
            description: Some(
                "marks blocks, looks where the marks are, and puts back what was there".to_owned(),
            ),
            ..Job::new("probe", Rw::RandRw, Bytes::kib(4), Bytes(bytes))
        }
    }
}

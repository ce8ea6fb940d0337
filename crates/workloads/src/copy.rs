//! Copying like GNU dd: the same bytes, records and error messages.
//!
//! A copy is one step. Its clock runs like that of dd: from the moment both files are open until
//! the output is flushed, if that is requested.

mod buffer;
mod convert;
mod copier;
mod describe;
mod drop_cache;
mod ends;
mod position;
mod words;

use crate::{Context, ObservedStep, StepOutcome, WorkError};
use assay_engine::held::{self, shown};
use assay_engine::{Waker, own_file_table};
use assay_model::job::Job;
use assay_model::trial::Outcome;
use assay_model::wire::NoteWeight;
use assay_model::work::copy::FileCopy;
use assay_model::work::{StepDetail, WorkReport};
use copier::Copier;
use ends::Ends;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which a request to stop or to report is noticed while the copy waits for a pipe or a
/// terminal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Reason why a copy ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Halt {
    /// A stop was requested.
    Stopped,
    /// An error occurred and was reported.
    Failed,
}

/// Copies, once or several times in a row; returns the report of the last copy.
pub(crate) fn run(work: &FileCopy, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    // Before any file is opened, so that no other thread shares a descriptor, and a pipe ends when
    // the copy closes it.
    own_file_table();
    let mut report = step(work, context)?;
    for next in &work.then {
        if context.stopped() {
            break;
        }
        report = step(next, context)?;
    }
    Ok(report)
}

/// Makes one copy. A failure after both files are open is reported, and included in the report.
fn step(work: &FileCopy, context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    let ends = interruptible(context, |context| Ends::open(work, context))?;
    let buffers = match buffer::Buffers::new(work) {
        Ok(buffers) => buffers,
        Err(error) => {
            tidy(work, context);
            return Err(error);
        }
    };
    let job = describe::job(work, &ends);
    let evidence = ends.evidence_path();
    let paths: Vec<&Path> = evidence.iter().map(AsRef::as_ref).collect();
    let step = ObservedStep {
        job: &job,
        paths: &paths,
    };
    context.observer.begins(step);
    context.observer.clock_starts(step);
    let (outcome, came) = measured(work, &job, ends, buffers, context);
    tidy(work, context);
    let report = came.detail.clone();
    context.observer.ended(outcome, came);
    context.observer.keep();
    match report {
        Some(StepDetail::Copy(report)) => Ok(WorkReport::Copy(report)),
        _ => Ok(WorkReport::Steps),
    }
}

/// Removes or syncs the output, if requested. A failure does not affect the figures of this copy.
fn tidy(work: &FileCopy, context: &mut Context<'_>) {
    let Some(output) = &work.output else {
        return;
    };
    if work.remove_output {
        if let Err(error) = held::remove_file(output) {
            let path = shown(output);
            let text = format!("{path} could not be removed: {error}");
            context.observer.note(NoteWeight::Warning, text);
        }
    } else if work.settle
        && let Ok(file) = held::open_to_read(output)
    {
        let _ = file.sync_all();
    }
}

/// Runs the copy from the start of the clock until it stops.
fn measured(
    work: &FileCopy,
    job: &Job,
    ends: Ends,
    buffers: buffer::Buffers,
    context: &mut Context<'_>,
) -> (Outcome, StepOutcome) {
    let mut copier = Copier::new(work, ends);
    let came = interruptible(context, |context| {
        // The watching thread had shared the table of open files again.
        own_file_table();
        copier.start();
        let came = copier.run(buffers, context);
        came.and(copier.finish(context))
    });
    context.observer.clock_stopped();
    let outcome = match came {
        Err(Halt::Stopped) => Outcome::Interrupted,
        Ok(()) if copier.error().is_none() => Outcome::Completed,
        Ok(()) | Err(Halt::Failed) => Outcome::Failed {
            error: copier.error().unwrap_or("the copy failed").to_owned(),
        },
    };
    let (measurement, report) = copier.results(job);
    let came = StepOutcome {
        measured: Some(measurement),
        detail: Some(StepDetail::Copy(report)),
    };
    (outcome, came)
}

/// Runs a function in which the thread may block in a system call for an unlimited time: a stop or
/// a request for a report interrupts the call.
fn interruptible<'c, T>(context: &mut Context<'c>, act: impl FnOnce(&mut Context<'c>) -> T) -> T {
    let Ok(waker) = Waker::of_this_thread() else {
        return act(context);
    };
    let (stop, report_now) = (context.stop, context.report_now);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = std::thread::Builder::new().spawn_scoped(scope, || {
            while !over.load(Ordering::Acquire) {
                if stop.load(Ordering::Relaxed) || report_now.load(Ordering::Relaxed) {
                    waker.wake();
                }
                std::thread::park_timeout(LOOK_EVERY);
            }
        });
        let came = act(context);
        over.store(true, Ordering::Release);
        // Without the watching thread, the call is not interrupted.
        if let Ok(watch) = watch {
            watch.thread().unpark();
        }
        came
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::recording::Recording;
    use std::fs;

    fn with_context<T>(act: impl FnOnce(&mut Context<'_>) -> T) -> (T, Recording) {
        let mut recording = Recording::default();
        let (stop, report_now) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut context = Context {
            seed: 1,
            folder: None,
            stop: &stop,
            report_now: &report_now,
            observer: &mut recording,
        };
        let came = act(&mut context);
        (came, recording)
    }

    fn removing(output: &Path) -> FileCopy {
        FileCopy {
            input: Some("/dev/null".into()),
            output: Some(output.to_owned()),
            remove_output: true,
            ..FileCopy::default()
        }
    }

    #[test]
    fn what_a_copy_did_not_make_it_does_not_remove() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        fs::write(&output, "somebody else's").unwrap();
        let (came, _) = with_context(|context| run(&removing(&output), context));
        assert!(came.is_err());
        assert_eq!(fs::read(&output).unwrap(), b"somebody else's");
        fs::remove_file(&output).unwrap();
        let (came, recording) = with_context(|context| run(&removing(&output), context));
        assert!(came.is_ok());
        assert!(!output.exists());
        assert_eq!(recording.notes, Vec::<String>::new());
    }

    #[test]
    fn a_copy_without_memory_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let copy = FileCopy {
            input_block: u64::MAX,
            ..removing(&output)
        };
        let (came, _) = with_context(|context| run(&copy, context));
        assert!(came.is_err());
        assert!(!output.exists());
    }

    #[test]
    fn what_could_not_be_removed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("gone");
        let ((), recording) = with_context(|context| tidy(&removing(&output), context));
        assert!(recording.notes[0].contains("could not be removed"));
    }
}

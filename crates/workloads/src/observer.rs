//! Observer of a work's steps.

use crate::WorkError;
use assay_model::job::Job;
use assay_model::trial::{Measurement, Outcome};
use assay_model::wire::NoteWeight;
use assay_model::work::powercut::Word;
use assay_model::work::{StepDetail, WorkProgress, WorkReport};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Environment of a running work.
pub struct Context<'a> {
    /// Seed of orders and contents.
    pub seed: u64,
    /// Private folder that is removed afterwards, for a work that requests one
    /// (`Work::private_folder_in`).
    pub folder: Option<&'a Path>,
    /// Set when the work must stop and clean up.
    pub stop: &'a AtomicBool,
    /// Set when an interim report is requested; the work clears it.
    pub report_now: &'a AtomicBool,
    /// Observer of the steps.
    pub observer: &'a mut dyn Observer,
}

impl Context<'_> {
    /// Returns true if the work must stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns true if a report is requested, and clears the request.
    pub fn report_wanted(&self) -> bool {
        self.report_now.load(Ordering::Relaxed) && self.report_now.swap(false, Ordering::Relaxed)
    }
}

/// A step that is about to be measured.
#[derive(Clone, Copy, Debug)]
pub struct ObservedStep<'a> {
    /// Description of the step; its name is unique in the work.
    pub job: &'a Job,
    /// Files or devices whose storage and cached pages are evidence.
    pub paths: &'a [&'a Path],
}

/// Outcome of a step.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Measurement; `None` if the step did not start.
    pub measured: Option<Measurement>,
    /// Detail beyond the measurement.
    pub detail: Option<StepDetail>,
}

/// One of several steps that ran at the same time.
#[derive(Clone, Debug)]
pub struct Together {
    /// Description of the step.
    pub job: Job,
    /// Outcome of the step.
    pub outcome: Outcome,
    /// Measurement and detail of the step.
    pub came: StepOutcome,
}

/// Receives the events of a work's steps. The methods are called on the thread that runs
/// the work, in this order for each step: `begins`, `clock_starts`, `clock_stopped`,
/// `ended`.
pub trait Observer {
    /// The preparation of a step begins; nothing is measured yet.
    fn begins(&mut self, step: ObservedStep<'_>);
    /// The preparation is complete: the clock starts when this returns. `step` is as in
    /// `begins`, but its files may exist only now.
    fn clock_starts(&mut self, step: ObservedStep<'_>);
    /// The clock has just stopped.
    fn clock_stopped(&mut self);
    /// The step has ended.
    fn ended(&mut self, outcome: Outcome, came: StepOutcome);
    /// Several simultaneous steps have ended. This replaces `ended`, after one `begins`
    /// whose evidence covers all of them. Works with one step at a time never call it.
    fn ended_together(&mut self, all: Vec<Together>) {
        for one in all {
            self.ended(one.outcome, one.came);
        }
    }
    /// Returns true if the storage of the current step no longer exists.
    fn is_gone(&self) -> bool {
        false
    }
    /// Makes a file system on the scratch device of the work, and mounts it; returns the
    /// mount point.
    ///
    /// # Errors
    /// If there is no such device, or an operation fails.
    fn make_file_system(&mut self, kind: &str) -> Result<PathBuf, WorkError> {
        Err(WorkError::Refused(format!(
            "{kind}: no scratch device was given to make a file system on"
        )))
    }
    /// Unmounts the file system of [`Self::make_file_system`], if there is one.
    ///
    /// # Errors
    /// If it cannot be unmounted.
    fn leave_file_system(&mut self) -> Result<(), WorkError> {
        Ok(())
    }
    /// Waits until all ended steps are stored. Called only when waiting disturbs nothing.
    fn keep(&mut self);
    /// Receives a message for the user.
    fn note(&mut self, weight: NoteWeight, text: String);
    /// Receives the progress a few times a second.
    fn progress(&mut self, progress: &WorkProgress);
    /// Receives a message of a power-cut work; other works send none.
    fn powercut(&mut self, _word: Word) {}
    /// Receives an interim report after one was requested.
    fn stands(&mut self, report: WorkReport);
}

/// Observer for tests.
#[cfg(test)]
pub(crate) mod recording {
    use super::*;

    /// Observer that records its events.
    #[derive(Default)]
    pub(crate) struct Recording {
        pub(crate) steps: Vec<(Job, Outcome, StepOutcome)>,
        pub(crate) notes: Vec<String>,
        /// Answer of `is_gone`.
        pub(crate) gone: bool,
        pub(crate) under_way: Option<Job>,
    }

    /// Runs a work without stopping it; returns its result and the details of its steps.
    pub(crate) fn recorded(
        run: impl FnOnce(&mut Context<'_>) -> Result<WorkReport, WorkError>,
    ) -> (Result<WorkReport, WorkError>, Vec<StepDetail>) {
        let mut recording = Recording::default();
        let (stop, report_now) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut context = Context {
            seed: 7,
            folder: None,
            stop: &stop,
            report_now: &report_now,
            observer: &mut recording,
        };
        let ended = run(&mut context);
        let steps = recording.steps.into_iter();
        let details = steps.filter_map(|(_, _, came)| came.detail).collect();
        (ended, details)
    }

    impl Observer for Recording {
        fn begins(&mut self, step: ObservedStep<'_>) {
            self.under_way = Some(step.job.clone());
        }
        fn clock_starts(&mut self, _step: ObservedStep<'_>) {}
        fn clock_stopped(&mut self) {}
        fn ended(&mut self, outcome: Outcome, came: StepOutcome) {
            let job = self.under_way.take().expect("a step begins before it ends");
            self.steps.push((job, outcome, came));
        }
        fn ended_together(&mut self, all: Vec<Together>) {
            self.under_way = None;
            let all = all.into_iter();
            self.steps
                .extend(all.map(|one| (one.job, one.outcome, one.came)));
        }
        fn is_gone(&self) -> bool {
            self.gone
        }
        fn keep(&mut self) {}
        fn note(&mut self, _weight: NoteWeight, text: String) {
            self.notes.push(text);
        }
        fn progress(&mut self, _progress: &WorkProgress) {}
        fn stands(&mut self, _report: WorkReport) {}
    }
}

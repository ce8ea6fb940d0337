//! A work under way: its repetitions, and what is heard of each.

use super::repetitions::{Repetition, steps_so_far};
use super::{Done, Listener, Request};
use crate::exit::Failure;
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::leftovers;
use crate::runs::{self, Ending, of_store, unix_ms};
use assay_model::annotation::Annotation;
use assay_model::job::Job;
use assay_model::rng::SplitMix64;
use assay_model::run::{Run, RunHeader};
use assay_model::trial::TrialRecord;
use assay_model::wire::{FromAgent, RunEnd};
use assay_model::work::{Under, WorkOrder, WorkReport};
use assay_store::Store;
use assay_target::Target;

/// Steps that are taken of one run: whole matrices of iozone have some thousand.
const MOST_STEPS: usize = 1_000_000;

/// An event of a step that the listener hears of once the steps that ended are stored.
pub(super) enum Untold {
    Started(Box<Job>),
    /// The index of its trial.
    Ended(usize),
}

/// A work under way.
pub(super) struct Runner<'a> {
    /// `None`: it goes unstored.
    pub(super) store: Option<Store>,
    pub(super) header: RunHeader,
    pub(super) trials: Vec<TrialRecord>,
    /// How many of `trials` are stored.
    pub(super) kept: usize,
    /// Events since the trials were stored last, in their order.
    pub(super) untold: Vec<Untold>,
    /// How many repetitions are not to be done again.
    pub(super) finished: usize,
    pub(super) listener: &'a mut dyn Listener,
}

impl Runner<'_> {
    /// All of it, to the end.
    pub(super) fn run(
        mut self,
        target: &mut dyn Target,
        host: &mut Host,
        request: &Request,
        interrupt: &Interrupt,
    ) -> Result<Done, Failure> {
        let ended = self.repeat(host, request, interrupt);
        let ending = ended.unwrap_or_else(Ending::of_failure);
        if ending.agent_lost && request.work.private_folder_in().is_some() {
            for leftover in leftovers::clear_after_loss(target, &request.place, &self.header.id) {
                // What cannot be told is no reason to lose the run.
                let _ = self.listener.note(&leftovers::note(&leftover));
            }
        }
        self.close(ending)
    }

    fn repeat(
        &mut self,
        host: &mut Host,
        request: &Request,
        interrupt: &Interrupt,
    ) -> Result<Ending, Failure> {
        let mut seeds = SplitMix64::new(request.seed);
        for (index, repetition) in request.repetitions().into_iter().enumerate() {
            let seed = seeds.next_u64();
            if index < self.finished {
                continue;
            }
            let Repetition { trial, condition } = repetition;
            let under = condition.map(|condition| Under {
                steps: steps_so_far(request, &self.trials),
                restore: condition.restore.after(&self.trials),
                ..condition
            });
            host.run_work(WorkOrder {
                run_id: self.header.id.clone(),
                seed,
                trial,
                first_position: u32::try_from(self.trials.len()).unwrap_or(u32::MAX),
                destroy_data: request.destroy_data,
                work: request.work.clone(),
                under,
            })?;
            // A wish to stop that was heard before the order was not about it.
            if interrupt.exit_code().is_some() {
                host.cancel()?;
            }
            let (end, report) = self.follow(host)?;
            self.keep()?;
            self.listener.repeated(trial, report.as_ref())?;
            if end != RunEnd::Finished {
                return Ok(Ending::of(end, interrupt.exit_code()));
            }
        }
        Ok(Ending::of(RunEnd::Finished, interrupt.exit_code()))
    }

    /// Listens until the work is done.
    fn follow(&mut self, host: &mut Host) -> Result<(RunEnd, Option<WorkReport>), Failure> {
        loop {
            match host.hear()? {
                FromAgent::LoadNote(note) => self.listener.note(&note)?,
                FromAgent::StepStarted { job } if self.untold.is_empty() => {
                    self.listener.started(&job)?;
                }
                FromAgent::StepStarted { job } if self.untold.len() < 2 * MOST_STEPS => {
                    self.untold.push(Untold::Started(job));
                }
                FromAgent::StepDone(record) if self.trials.len() < MOST_STEPS => {
                    self.ended(*record);
                }
                FromAgent::StepStarted { .. } | FromAgent::StepDone(_) => {
                    return Err(Failure::lost("the agent tells of steps without end"));
                }
                FromAgent::KeepSteps { position } => {
                    self.keep()?;
                    // An agent that cannot hear it has ended, which is heard next.
                    let _ = host.stored(position);
                }
                FromAgent::WorkProgress(progress) => self.listener.progress(&progress)?,
                FromAgent::WorkStands(report) => self.listener.stands(&report)?,
                FromAgent::WorkDone { end, report } => {
                    return Ok((end, report.map(|report| *report)));
                }
                FromAgent::Hello { .. }
                | FromAgent::Inspected(_)
                | FromAgent::Swept { .. }
                | FromAgent::Undone { .. }
                | FromAgent::Offers { .. }
                | FromAgent::Rehearsed { .. }
                | FromAgent::Devices(_)
                | FromAgent::Checkup(_)
                | FromAgent::Powercut(_)
                | FromAgent::Preparing { .. }
                | FromAgent::TrialStarted { .. }
                | FromAgent::Progress { .. }
                | FromAgent::TrialDone(_)
                | FromAgent::RunDone { .. }
                | FromAgent::LoadProgress(_)
                | FromAgent::LoadStream(_)
                | FromAgent::LoadReport(_)
                | FromAgent::Refused(_) => {}
            }
        }
    }

    fn ended(&mut self, record: TrialRecord) {
        self.untold.push(Untold::Ended(self.trials.len()));
        self.trials.push(record);
    }

    /// Stores the steps that were not stored yet, together, and only then tells them:
    /// a step that is said to have ended survives a kill. One that cannot be told is
    /// not lost, and one that cannot be stored is still told.
    fn keep(&mut self) -> Result<(), Failure> {
        let new = self.trials.get(self.kept..).unwrap_or_default();
        let saved = match &mut self.store {
            Some(store) if !new.is_empty() => store.save_trials(&self.header.id, new),
            _ => Ok(()),
        };
        if saved.is_ok() {
            self.kept = self.trials.len();
        }
        let untold = std::mem::take(&mut self.untold);
        let told = untold.iter().try_for_each(|event| match event {
            Untold::Started(job) => self.listener.started(job),
            Untold::Ended(index) => self.listener.ended(&self.trials[*index]),
        });
        saved.map_err(of_store).and(told)
    }

    fn close(mut self, mut ending: Ending) -> Result<Done, Failure> {
        // What was heard of an agent that is gone is kept too.
        ending.and_noted(self.keep());
        let run = Run {
            header: self.header,
            status: ending.status.clone(),
            finished_unix_ms: Some(unix_ms()),
            trials: self.trials,
            annotation: Annotation::default(),
        };
        let stored = self.store.is_some() && !run.trials.is_empty();
        match &mut self.store {
            Some(store) if stored => ending.and_noted(runs::finish(store, &run)),
            // A work that is refused leaves no run behind.
            Some(store) => store.forget_run(&run.header.id).map_err(of_store)?,
            None => {}
        }
        Ok(Done {
            run,
            ending,
            stored,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{begin, plan};
    use super::*;
    use crate::runs::{Names, header};
    use assay_model::job::Rw;
    use assay_model::plan::Place;
    use assay_model::storage::{Backing, Storage};
    use assay_model::system::System;
    use assay_model::trial::Outcome;
    use assay_model::units::Bytes;
    use assay_model::wire::{Inspection, PathKind};
    use assay_model::work::Work;
    use std::path::PathBuf;

    struct Mute;

    impl Listener for Mute {
        fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
            Err(Failure::failed("nobody reads"))
        }
    }

    fn inspection() -> Inspection {
        let path = PathBuf::from("/mnt");
        Inspection {
            path: path.clone(),
            kind: PathKind::Directory { writable: true },
            system: System::default(),
            storage: Storage {
                path,
                mount: None,
                backing: Backing::Unknown { why: String::new() },
                layers: Vec::new(),
                total: None,
                available: None,
            },
            in_use: Vec::new(),
            async_engines: Vec::new(),
        }
    }

    #[test]
    fn a_step_that_cannot_be_told_is_stored() {
        let folder = assay_testkit::Scratch::new().unwrap();
        let work = Work::Watch(Box::default());
        let job = Job::new("step", Rw::Read, Bytes(1), Bytes(1));
        let place = Place::Directory {
            path: folder.path().to_owned(),
        };
        let request = Request {
            work,
            steps: vec![job.clone()],
            trials: 1,
            seed: 1,
            destroy_data: false,
            place,
            stopping: "",
            must_be_stored: true,
            sweep: None,
        };
        let store = Store::open(&folder.path().join("store")).unwrap();
        let header = header(plan(&request), inspection(), &Names::default());
        let mut runner = Runner {
            store: Some(begin(store, &header).unwrap()),
            header,
            trials: Vec::new(),
            kept: 0,
            untold: Vec::new(),
            finished: 0,
            listener: &mut Mute,
        };
        let record = TrialRecord {
            job,
            trial: 1,
            position: 0,
            started_unix_ms: 0,
            seed: 1,
            outcome: Outcome::Completed,
            measured: None,
            evidence: None,
            wave: None,
            detail: None,
            condition: None,
            in_force: Vec::new(),
        };
        runner.ended(record);
        let failure = runner.keep().unwrap_err();
        let done = runner.close(Ending::of_failure(failure)).unwrap();
        assert!(done.stored);
        assert_eq!(done.run.trials.len(), 1);
    }
}

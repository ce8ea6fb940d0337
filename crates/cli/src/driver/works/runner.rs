//! A work under way: its repetitions and their messages.

use super::Request;
use super::repetitions::{Repetition, steps_so_far};
use crate::driver::host::Host;
use crate::driver::runs::{Done, Ending};
use crate::driver::trials::{Heard, Listener, Trials};
use crate::driver::{leftovers, notes};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use assay_model::rng::SplitMix64;
use assay_model::run::RunHeader;
use assay_model::wire::RunEnd;
use assay_model::work::{Under, WorkOrder, WorkReport};
use assay_store::Store;
use assay_target::Target;

/// A work under way.
pub(super) struct Runner<'a> {
    /// Store of the run; `None` if it is not stored.
    pub(super) store: Option<Store>,
    pub(super) header: RunHeader,
    pub(super) trials: Trials,
    /// Number of complete repetitions, which are skipped.
    pub(super) finished: usize,
    pub(super) listener: &'a mut dyn Listener,
}

impl Runner<'_> {
    /// Runs all missing repetitions, and closes the run.
    pub(super) fn run(
        mut self,
        target: &mut dyn Target,
        host: &mut Host,
        request: &Request,
        interrupt: &Interrupt,
    ) -> Result<Done, Failure> {
        let ended = self.repeat(host, request, interrupt);
        let ending = ended.unwrap_or_else(Ending::of_failure);
        if ending.agent_lost && request.work.spec().private_folder_in().is_some() {
            for leftover in leftovers::clear_after_loss(target, &request.place, &self.header.id) {
                // A note that cannot be shown must not lose the run.
                let _ = self.listener.note(&notes::of_leftover(&leftover));
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
                steps: steps_so_far(request, &self.trials.all),
                restore: condition.restore.after(&self.trials.all),
                ..condition
            });
            host.run_work(WorkOrder {
                run_id: self.header.id.clone(),
                seed,
                trial,
                first_position: u32::try_from(self.trials.all.len()).unwrap_or(u32::MAX),
                destroy_data: request.destroy_data,
                work: request.work.clone(),
                under,
            })?;
            // A signal before the order cancelled nothing: cancel again.
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

    /// Receives messages until the work is done.
    fn follow(&mut self, host: &mut Host) -> Result<(RunEnd, Option<WorkReport>), Failure> {
        loop {
            let store = (&*self.header.id, self.store.as_mut());
            match self.trials.hear(host, store, self.listener)? {
                // A failed send means that the agent has ended, which the next message shows.
                Heard::Kept(position) => drop(host.stored(position)),
                Heard::Done(end, report) => return Ok((end, report)),
            }
        }
    }

    fn keep(&mut self) -> Result<(), Failure> {
        let store = (&*self.header.id, self.store.as_mut());
        self.trials.keep(store, self.listener)
    }

    fn close(mut self, mut ending: Ending) -> Result<Done, Failure> {
        // Store the trials of a lost agent, too.
        ending.and_noted(self.keep());
        let trials = self.trials.all;
        // A refused work leaves no run behind.
        let forget = trials.is_empty();
        Done::close(self.store.as_mut(), self.header, trials, ending, forget)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{begin, plan};
    use super::*;
    use crate::driver::runs::{Origin, header};
    use assay_model::job::{Job, Rw};
    use assay_model::plan::Place;
    use assay_model::storage::{Backing, Storage};
    use assay_model::system::System;
    use assay_model::trial::{Outcome, TrialRecord};
    use assay_model::units::Bytes;
    use assay_model::wire::{Inspection, PathKind};
    use assay_model::work::Work;
    use std::path::PathBuf;

    struct Mute;

    impl Listener for Mute {
        fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
            Err(Failure::failed("the reader of the output is gone"))
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
            holds: Vec::new(),
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
        let header = header(plan(&request), inspection(), &Origin::default());
        let mut runner = Runner {
            store: Some(begin(store, &header).unwrap()),
            header,
            trials: Trials::default(),
            finished: 0,
            listener: &mut Mute,
        };
        let record = TrialRecord::new(job, 1, 0, 1, Outcome::Completed);
        runner.trials.ended(record).unwrap();
        let failure = runner.keep().unwrap_err();
        let done = runner.close(Ending::of_failure(failure)).unwrap();
        assert!(done.stored);
        assert_eq!(done.run.trials.len(), 1);
    }
}

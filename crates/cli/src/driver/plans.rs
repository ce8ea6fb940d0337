//! Host's side of a plan: sending it, storing each trial as it ends, and showing the progress.

use crate::checks::admission::can_be_stored;
use crate::checks::estimate;
use crate::driver::announce::announce;
use crate::driver::host::{Host, Requests};
use crate::driver::runs::{Done, Ending, header, run_id};
use crate::driver::trials::{Heard, Listener, Trials};
use crate::driver::{leftovers, notes};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::say;
use crate::stored::keep::KeepArgs;
use crate::stored::owner;
use crate::ui::progress::{Progress, SoFar, Voice, steps};
use assay_model::condition::Restore;
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, PlannedJob, interleave};
use assay_model::run::RunHeader;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, RunEnd};
use assay_store::Store;
use assay_target::Target;
use std::path::Path;

/// Makes a plan of jobs in rounds of random order, without conditions.
pub fn interleaved(seed: u64, place: Place, file_size: Bytes, jobs: Vec<PlannedJob>) -> Plan {
    let trials: Vec<u32> = jobs.iter().map(|planned| planned.trials).collect();
    Plan {
        run_id: run_id(),
        seed,
        place,
        file_size,
        jobs,
        conditions: Vec::new(),
        restore: Restore::default(),
        order: interleave(&trials, seed),
    }
}

/// Place that was admitted, and the store for its run.
pub struct Prepared {
    /// Connection to the agent.
    pub host: Host,
    /// Inspection of the path.
    pub inspection: Inspection,
    /// Admitted place.
    pub place: Place,
    /// Store of the run.
    pub store: Store,
}

impl Prepared {
    /// Admits a path on a target, opens the store, and removes leftovers of killed runs there.
    pub fn new(
        path: &Path,
        keep: &KeepArgs,
        target: &mut dyn Target,
        admit: impl FnOnce(&Inspection) -> Result<Place, Failure>,
    ) -> Result<Self, Failure> {
        can_be_stored(path)?;
        let store_path = keep.path()?;
        let mut host = Host::start(target)?;
        let place = admit(&host.inspect(path)?)?;
        // A refused path must leave no store behind, so the store is opened after the check.
        let mut store = keep.open(&store_path)?;
        leftovers::clear(&mut host, &mut store, &place)?;
        Ok(Self {
            // Inspect again: removed leftovers freed space.
            inspection: host.inspect(path)?,
            host,
            place,
            store,
        })
    }

    /// Announces a plan and runs it until `enough` accepts its trials.
    pub fn run(
        mut self,
        plan: Plan,
        target: &mut dyn Target,
        enough: impl FnMut(&[TrialRecord], &Voice) -> bool,
    ) -> Result<Done, Failure> {
        let (duration, store) = ((estimate::of_plan(&plan), None), &mut self.store);
        let machine = self.host.target();
        announce(&plan, &self.inspection, machine, duration, store.path());
        let header = header(plan, self.inspection, self.host.origin());
        store.begin_run(&header, &owner::this_process())?;
        let executed = execute(&mut self.host, &header, store, Vec::new(), enough);
        close(header, store, executed, target)
    }
}

/// Never ends a plan early.
pub fn never_enough(_: &[TrialRecord], _: &Voice) -> bool {
    false
}

/// Store of trials, and display of the run.
pub struct Recorder<'a> {
    /// Store that contains the run of each coming trial.
    pub store: &'a mut Store,
    /// Display of the trials.
    pub progress: Progress,
}

/// Listener that shows the trials of one plan.
struct Shown<'a> {
    progress: &'a mut Progress,
    header: &'a RunHeader,
    /// Position of the trial under way.
    next: usize,
}

impl Listener for Shown<'_> {
    fn voice(&self) -> Option<&Voice> {
        Some(&self.progress.voice)
    }

    fn preparing(&mut self, done: Bytes, total: Bytes) {
        self.progress.preparing(done, total);
    }

    fn started(&mut self, _: &Job) -> Result<(), Failure> {
        let position = u32::try_from(self.next).unwrap_or(u32::MAX);
        self.progress.started(self.header.place_of(position));
        Ok(())
    }

    fn under_way(&mut self, so_far: SoFar) {
        let plan = &self.header.plan;
        if let Some(slot) = plan.order.get(self.next) {
            self.progress.under_way(&plan.jobs[slot.job].job, so_far);
        }
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        let place = self.header.place_of(trial.position);
        self.progress.ended(place, trial);
        Ok(())
    }
}

/// A plan under way at an agent, trial by trial.
pub struct Execution<'a> {
    host: &'a mut Host,
    header: &'a RunHeader,
    trials: Trials,
    /// Position (in the agent's count) of the trial that the agent waits to have acknowledged.
    unanswered: Option<u32>,
}

impl<'a> Execution<'a> {
    /// Makes the execution of a plan whose first `trials` have ended already.
    pub fn new(host: &'a mut Host, header: &'a RunHeader, trials: Vec<TrialRecord>) -> Self {
        let first = u32::try_from(trials.len()).unwrap_or(u32::MAX);
        Self {
            host,
            header,
            trials: Trials::after(trials, first),
            unanswered: None,
        }
    }

    /// Returns the trials that have ended.
    pub fn trials(&self) -> &[TrialRecord] {
        &self.trials.all
    }

    /// Ends the execution; returns its trials.
    pub fn finish(self) -> Vec<TrialRecord> {
        self.trials.all
    }

    /// Requests the missing trials on the first call; later calls let the agent begin the next trial.
    pub fn go_on(&mut self) -> Result<(), Failure> {
        match self.unanswered.take() {
            None => self.host.run(&rest(&self.header.plan, self.trials())),
            Some(position) => {
                // A failed send means that the agent has ended: `hear` then returns its last messages,
                // or that it ended unexpectedly.
                let _ = self.host.stored(position);
                Ok(())
            }
        }
    }

    /// Cancels the missing trials; [`hear`](Self::hear) then returns the end.
    pub fn cancel(&mut self) {
        self.unanswered = None;
        self.host.requests().cancel();
    }

    /// Runs the missing trials, until `enough` accepts those that have ended.
    fn run_until(
        &mut self,
        recorder: &mut Recorder<'_>,
        enough: &mut dyn FnMut(&[TrialRecord], &Voice) -> bool,
    ) -> Result<RunEnd, Failure> {
        let voice = recorder.progress.voice.clone();
        let mut over = false;
        if self.is_whole() && enough(self.trials(), &voice) {
            return Ok(RunEnd::Finished);
        }
        self.go_on()?;
        loop {
            match self.hear(recorder)? {
                Heard::Done(RunEnd::Cancelled, _) if over => return Ok(RunEnd::Finished),
                Heard::Done(end, _) => return Ok(end),
                Heard::Kept(_) if self.is_whole() && enough(self.trials(), &voice) => {
                    over = true;
                    self.cancel();
                }
                Heard::Kept(_) => self.go_on()?,
            }
        }
    }

    /// `true` if the last trial was not interrupted.
    pub fn is_whole(&self) -> bool {
        let last = self.trials().last();
        last.is_some_and(|trial| trial.outcome != Outcome::Interrupted)
    }

    /// Receives messages until a trial, or the run, has ended.
    pub fn hear(&mut self, recorder: &mut Recorder<'_>) -> Result<Heard, Failure> {
        let mut shown = Shown {
            progress: &mut recorder.progress,
            header: self.header,
            next: self.trials().len(),
        };
        let store = (&*self.header.id, Some(&mut *recorder.store));
        let heard = self.trials.hear(self.host, store, &mut shown)?;
        if let Heard::Kept(position) = heard {
            self.unanswered = Some(position);
            if self.trials().len() > self.header.plan.order.len() {
                return Err(Failure::lost(
                    "the agent reported more trials than were planned",
                ));
            }
        }
        Ok(heard)
    }
}

/// Trials that have ended, and the end of the run.
pub struct Executed {
    /// The trials.
    pub trials: Vec<TrialRecord>,
    /// End of the run.
    pub ended: Result<Ending, Failure>,
}

/// Runs the trials of a plan that are not in `done`, until `enough` accepts those that have ended.
pub fn execute(
    host: &mut Host,
    header: &RunHeader,
    store: &mut Store,
    done: Vec<TrialRecord>,
    mut enough: impl FnMut(&[TrialRecord], &Voice) -> bool,
) -> Executed {
    let progress = Progress::new(steps(&header.plan, &estimate::of_trials(&header.plan)));
    let voice = progress.voice.clone();
    let mut recorder = Recorder { store, progress };
    let mut execution = Execution::new(host, header, done);
    let agents = vec![execution.host.requests()];
    let ended = interruptible(agents, &voice, |_| {
        execution.run_until(&mut recorder, &mut enough)
    });
    Executed {
        trials: execution.finish(),
        ended: ended.and_then(|(end, signal)| Ok(Ending::of(end?, signal))),
    }
}

/// Runs `work`; the first signal cancels the requests to its agents. Returns the exit code of the
/// signal as well.
pub fn interruptible<T>(
    agents: Vec<Requests>,
    voice: &Voice,
    work: impl FnOnce(&Interrupt) -> T,
) -> Result<(T, Option<u8>), Failure> {
    let on_signal = voice.clone();
    let interrupt = Interrupt::catch(move || {
        on_signal.say("stopping after this I/O; finished trials are kept");
        agents.iter().for_each(Requests::cancel);
    })?;
    let done = work(&interrupt);
    voice.clear();
    Ok((done, interrupt.exit_code()))
}

/// Returns the plan without the trials that have ended.
fn rest(plan: &Plan, there: &[TrialRecord]) -> Plan {
    let first = there.len();
    Plan {
        order: plan.order.get(first..).unwrap_or_default().to_vec(),
        restore: plan.restore.after(there),
        // Another seed, so that offsets differ from those of the earlier trials.
        seed: plan.seed ^ ((first as u64) << 32),
        ..plan.clone()
    }
}

/// Stores the end of a run, and removes the test files of a lost agent. A run that the agent refused
/// before any trial is removed from the store.
pub fn close(
    header: RunHeader,
    store: &mut Store,
    executed: Executed,
    target: &mut dyn Target,
) -> Result<Done, Failure> {
    let ending = executed.ended.unwrap_or_else(Ending::of_failure);
    let is_refused = ending.failure.as_ref().is_some_and(Failure::is_usage);
    let forget = is_refused && executed.trials.is_empty();
    let done = Done::close(Some(store), header, executed.trials, ending, forget)?;
    if done.ending.agent_lost {
        let header = &done.run.header;
        for leftover in leftovers::clear_after_loss(target, &header.plan.place, &header.id) {
            say(&notes::note_in_words(&notes::of_leftover(&leftover)));
        }
    }
    Ok(done)
}

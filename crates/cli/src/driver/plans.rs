//! Host's side of a plan: sending it, storing each trial as it ends, and showing the progress.

use crate::checks::admission::can_be_stored;
use crate::checks::estimate;
use crate::driver::announce::announce;
use crate::driver::runs::{Done, Ending, header, run_id};
use crate::driver::trials::{AgentEvent, Listener, SlotTalk, Trials, TrialsOfStreams};
use crate::driver::{
    Host, Requests, clear_leftovers, clear_leftovers_after_loss, note_in_words, note_of_leftover,
};
use crate::exit::{Failure, Interrupt};
use crate::output::say;
use crate::stored;
use crate::stored::KeepArgs;
use crate::ui::progress::{Messages, Progress, SoFar, steps};
use assay_model::act::{Act, ActOrder, ActProgress, Acts};
use assay_model::condition::Restore;
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, PlannedJob, Slot, interleave};
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
        clear_leftovers(&mut host, &mut store, &place)?;
        Ok(Self {
            // Inspect again: removed leftovers freed space.
            inspection: host.inspect(path)?,
            host,
            place,
            store,
        })
    }

    /// Announces a plan and runs it until `enough` accepts the slots that are done.
    pub fn run(
        mut self,
        plan: Plan,
        target: &mut dyn Target,
        enough: impl FnMut(SoFarOfPlan<'_>, &Messages) -> bool,
    ) -> Result<Done, Failure> {
        let (times, store) = (estimate::of_plan(&plan), &mut self.store);
        let machine = self.host.target();
        announce((&plan, &plan), &self.inspection, machine, times, store)?;
        let header = header(plan, self.inspection, self.host.origin());
        store.begin_run(&header, &stored::this_process())?;
        let executed = execute(&mut self.host, &header, store, Vec::new(), enough);
        close(header, store, executed, target)
    }
}

/// For a plan of which all slots are wanted.
pub fn never_enough(_: SoFarOfPlan<'_>, _: &Messages) -> bool {
    false
}

/// Part of a plan that is done.
#[derive(Clone, Copy)]
pub struct SoFarOfPlan<'a> {
    /// Trials that ended.
    pub trials: &'a [TrialRecord],
    /// Slots that ended.
    pub slots: usize,
}

/// Stores trials as they end, and shows them.
pub struct Recorder<'a> {
    /// Store that contains the run of each coming trial.
    pub store: &'a mut Store,
    /// Display of the slots.
    pub display: SlotDisplay,
}

/// Display of the slots of a run.
pub enum SlotDisplay {
    /// Trials of jobs, with a forecast of each.
    Jobs(Progress),
    /// Acts.
    Acts(SlotTalk),
}

impl SlotDisplay {
    /// Output of messages above the live line.
    pub const fn messages(&self) -> &Messages {
        match self {
            Self::Jobs(progress) => &progress.messages,
            Self::Acts(talk) => &talk.messages,
        }
    }
}

/// Listener that shows the trials of one plan.
pub struct TrialTalk<'a> {
    /// Display with a forecast of each trial.
    pub progress: &'a mut Progress,
    /// Header with the plan.
    pub header: &'a RunHeader,
    /// Position of the trial under way.
    pub next: usize,
}

impl Listener for TrialTalk<'_> {
    fn messages(&self) -> Option<&Messages> {
        Some(&self.progress.messages)
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
        self.next = trial.position as usize + 1;
        Ok(())
    }

    fn progress(&mut self, progress: &ActProgress) -> Result<(), Failure> {
        self.progress.step(progress);
        Ok(())
    }
}

/// A plan under way at an agent, slot by slot.
pub struct Execution<'a> {
    host: &'a mut Host,
    header: &'a RunHeader,
    /// The acts of the slots; `None` if these are the jobs of the plan.
    acts: Option<&'a Acts>,
    trials: Trials<'a>,
    /// Slots that ended.
    slots: usize,
    /// Position that the agent waits for before the next slot.
    unanswered: Option<u32>,
}

impl<'a> Execution<'a> {
    /// Jobs of a plan, whose first `trials` are there.
    pub fn new(host: &'a mut Host, header: &'a RunHeader, trials: Vec<TrialRecord>) -> Self {
        Self {
            slots: trials.len(),
            host,
            header,
            acts: None,
            trials: Trials::after(trials),
            unanswered: None,
        }
    }

    /// Acts, whose first `finished` slots are done. Trials of streams are made by `of_streams`.
    pub fn of_acts(
        host: &'a mut Host,
        header: &'a RunHeader,
        acts: &'a Acts,
        (trials, finished): (Vec<TrialRecord>, usize),
        of_streams: Option<TrialsOfStreams<'a>>,
    ) -> Self {
        Self {
            host,
            header,
            acts: Some(acts),
            trials: Trials::after(trials)
                .of_streams(of_streams)
                .expecting(&acts.acts, finished),
            slots: finished,
            unanswered: None,
        }
    }

    /// The part that is done.
    pub fn so_far(&self) -> SoFarOfPlan<'_> {
        SoFarOfPlan {
            trials: &self.trials.all,
            slots: self.slots,
        }
    }

    /// The trials that ended.
    pub fn trials(&self) -> &[TrialRecord] {
        &self.trials.all
    }

    /// Takes the trials out, at the end.
    pub fn finish(self) -> Vec<TrialRecord> {
        self.trials.all
    }

    /// Stores the trials that ended and are not stored, for example those of an agent that is gone.
    pub fn keep(
        &mut self,
        store: Option<&mut Store>,
        listener: &mut dyn Listener,
    ) -> Result<(), Failure> {
        self.trials.keep((&self.header.id, store), listener)
    }

    /// Asks for the slots that are missing, the first time; then lets the agent begin the next
    /// one.
    pub fn next_slot(&mut self) -> Result<(), Failure> {
        match (self.unanswered.take(), self.acts) {
            (None, None) => self.host.run(&rest(&self.header.plan, self.trials())),
            (None, Some(acts)) => {
                let order = order(acts, &self.header.plan, self.slots, self.trials());
                self.host.run_acts(order)
            }
            (Some(position), _) => {
                // An agent that cannot read it has ended; its last messages follow, which say why.
                let _ = self.host.stored(position);
                Ok(())
            }
        }
    }

    /// Ends the run at the agent; its end is still to be [received](Self::receive).
    pub fn cancel(&mut self) {
        self.unanswered = None;
        self.host.requests().cancel();
    }

    /// Runs all missing slots, until `enough` accepts those that there are, or a signal comes.
    pub fn run_until(
        &mut self,
        interrupt: &Interrupt,
        mut receive: impl FnMut(&mut Self) -> Result<AgentEvent, Failure>,
        mut enough: impl FnMut(SoFarOfPlan<'_>) -> bool,
    ) -> Result<Ending, Failure> {
        if self.is_whole() && enough(self.so_far()) {
            return Ok(Ending::of(RunEnd::Finished, interrupt.exit_code()));
        }
        self.next_slot()?;
        // A cancel before the request would not be about it.
        if interrupt.exit_code().is_some() {
            self.cancel();
        }
        let mut over = false;
        let end = loop {
            match receive(self)? {
                AgentEvent::Done(RunEnd::Cancelled) if over => break RunEnd::Finished,
                AgentEvent::Done(end) => break end,
                AgentEvent::Slot(_) if self.is_whole() && enough(self.so_far()) => {
                    over = true;
                    self.cancel();
                }
                AgentEvent::Slot(_) => self.next_slot()?,
            }
        };
        Ok(Ending::of(end, interrupt.exit_code()))
    }

    /// `true` if the last trial was not stopped from outside.
    fn is_whole(&self) -> bool {
        let last = self.trials().last();
        last.is_some_and(|trial| trial.outcome != Outcome::Interrupted)
    }

    /// Receives messages until a slot, or the run, has ended.
    pub fn receive(
        &mut self,
        store: Option<&mut Store>,
        listener: &mut dyn Listener,
    ) -> Result<AgentEvent, Failure> {
        let received = self
            .trials
            .receive(self.host, (&self.header.id, store), listener)?;
        if let AgentEvent::Slot(outcome) = &received {
            self.unanswered = Some(outcome.position);
            self.slots += 1;
            let planned = match self.acts {
                Some(acts) => acts.slots.len(),
                None => self.header.plan.order.len(),
            };
            if self.slots > planned {
                return Err(Failure::lost(
                    "the agent reported more trials than were planned",
                ));
            }
        }
        Ok(received)
    }
}

impl Recorder<'_> {
    /// Receives messages until a slot, or the run, has ended.
    pub fn receive(&mut self, execution: &mut Execution<'_>) -> Result<AgentEvent, Failure> {
        match &mut self.display {
            SlotDisplay::Jobs(progress) => {
                let mut shown = TrialTalk {
                    progress,
                    header: execution.header,
                    next: execution.trials().len(),
                };
                execution.receive(Some(self.store), &mut shown)
            }
            SlotDisplay::Acts(talk) => execution.receive(Some(self.store), talk),
        }
    }
}

/// The trials that ended, and how.
pub struct Executed {
    /// The trials.
    pub trials: Vec<TrialRecord>,
    /// End of the run.
    pub ended: Result<Ending, Failure>,
}

/// Runs the trials of a plan that are not `done`, until `enough` accepts those that there are.
pub fn execute(
    host: &mut Host,
    header: &RunHeader,
    store: &mut Store,
    done: Vec<TrialRecord>,
    mut enough: impl FnMut(SoFarOfPlan<'_>, &Messages) -> bool,
) -> Executed {
    let progress = Progress::new(steps(&header.plan, &estimate::of_trials(&header.plan)));
    let messages = progress.messages.clone();
    let display = SlotDisplay::Jobs(progress);
    let mut recorder = Recorder { store, display };
    let agents = vec![host.requests()];
    let mut execution = Execution::new(host, header, done);
    let ended = interruptible(agents, &messages, |interrupt| {
        let receive = |execution: &mut Execution<'_>| recorder.receive(execution);
        execution.run_until(interrupt, receive, |so_far| enough(so_far, &messages))
    });
    Executed {
        trials: execution.finish(),
        ended: ended.and_then(|(ending, _)| ending),
    }
}

/// Runs `work`; the first signal cancels the requests to its agents. Returns the exit code of the
/// signal as well.
pub fn interruptible<T>(
    agents: Vec<Requests>,
    messages: &Messages,
    work: impl FnOnce(&Interrupt) -> T,
) -> Result<(T, Option<u8>), Failure> {
    let on_signal = messages.clone();
    let interrupt = Interrupt::catch(move || {
        on_signal.say("stopping after this I/O; finished trials are kept");
        agents.iter().for_each(Requests::cancel);
    })?;
    let done = work(&interrupt);
    messages.clear();
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

/// Makes the order for the slots after the first `finished`, which have made trials.
fn order(acts: &Acts, plan: &Plan, finished: usize, trials: &[TrialRecord]) -> ActOrder {
    let left = acts.slots.get(finished..).unwrap_or_default();
    let (mut order, mut seeds): (Vec<Slot>, Vec<u64>) = left.iter().copied().unzip();
    let mut all = acts.acts.clone();
    for (index, (slot, seed)) in order.iter_mut().zip(&mut seeds).enumerate() {
        let Some(Act::Jobs(jobs)) = acts.acts.get(slot.job) else {
            continue;
        };
        let number = finished + index;
        let of_slot = |trial: &&TrialRecord| trial.slot.is_some_and(|at| at as usize == number);
        let there: Vec<TrialRecord> = trials.iter().filter(of_slot).cloned().collect();
        if slot.trial == 1 && there.is_empty() {
            continue;
        }
        // The agent gets the trials of this round; of jobs that were interrupted, those that are
        // missing, by another seed, so that offsets differ from those of the earlier trials.
        let left = rest(&jobs.in_round(slot.trial), &there);
        *seed ^= jobs.seed ^ left.seed;
        slot.job = all.len();
        all.push(Act::Jobs(Box::new(left)));
    }
    ActOrder {
        plan: Plan {
            order,
            restore: plan.restore.after(trials),
            jobs: steps_of(acts, plan, trials),
            ..plan.clone()
        },
        acts: all,
        seeds,
        destroy_data: acts.destroy_data,
    }
}

/// Steps of the acts: those that were planned, else those of the trials.
fn steps_of(acts: &Acts, plan: &Plan, trials: &[TrialRecord]) -> Vec<PlannedJob> {
    let mut steps = plan.jobs.clone();
    let planned = |job: &Job| PlannedJob {
        job: job.clone(),
        trials: 0,
    };
    if steps.is_empty() {
        for trial in trials {
            if !steps.iter().any(|step| step.job.name == trial.job.name) {
                steps.push(planned(&trial.job));
            }
        }
    }
    if steps.is_empty() {
        steps.extend(acts.stand_in.as_ref().map(planned));
    }
    steps
}

/// Stores the end of a run, and removes the test files of a lost agent. A run that the agent refused
/// before any trial is removed from the store.
pub fn close(
    header: RunHeader,
    store: &mut Store,
    executed: Executed,
    target: &mut dyn Target,
) -> Result<Done, Failure> {
    let refused = matches!(&executed.ended, Err(failure) if failure.is_usage());
    let forget = refused && executed.trials.is_empty();
    close_one_of_two(header, store, executed, target, forget)
}

/// Stores the end of one of two runs that took turns, and removes the test files of a lost agent;
/// `forget` removes the run from the store instead.
pub fn close_one_of_two(
    header: RunHeader,
    store: &mut Store,
    executed: Executed,
    target: &mut dyn Target,
    forget: bool,
) -> Result<Done, Failure> {
    let ending = executed.ended.unwrap_or_else(Ending::of_failure);
    let done = Done::close(Some(store), header, executed.trials, ending, forget)?;
    if done.ending.agent_lost {
        let header = &done.run.header;
        for leftover in clear_leftovers_after_loss(target, &header.plan.place, &header.id) {
            say(&note_in_words(&note_of_leftover(&leftover)));
        }
    }
    Ok(done)
}

//! Acts on the host's side: the slots of a run, its trials in the store, and its end. Commands that
//! measure by one act, and those whose run is composed of several.

use crate::checks::admission::can_be_stored;
use crate::checks::estimate;
use crate::driver::announce::{Announcement, announce, facts_of_act, held, tell};
use crate::driver::plans::{self, Execution, Prepared, SoFarOfPlan, TrialTalk, never_enough};
use crate::driver::runs::{self, Done, Ending, header, run_id};
use crate::driver::trials::{AgentEvent, Listener, SlotOutcome, StepTalk, Trials, TrialsOfStreams};
use crate::driver::{Host, clear_leftovers, clear_leftovers_after_loss, note_of_leftover};
use crate::exit::{Failure, Interrupt, Interrupts};
use crate::output::say;
use crate::stored;
use crate::stored::{KeepArgs, keep_apart};
use crate::targets::OnArgs;
use crate::ui::progress::{Progress, steps};
use assay_model::act::{Act, ActOrder, ActSpec, Acts, StepDetail};
use assay_model::condition::{Condition, Restore};
use assay_model::job::Job;
use assay_model::load::Load;
use assay_model::plan::{Place, Plan, Slot, rounds};
use assay_model::rng::SplitMix64;
use assay_model::run::{Claims, Run, RunHeader, Stopping};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_model::wire::{Feature, Inspection, RunEnd};
use assay_store::Store;
use assay_target::Target;
use clap::Args;
use std::path::{Path, PathBuf};

/// Permits a load to overwrite the devices that it names: as in fio, naming one is the permission.
/// A device in use is refused all the same.
pub fn permit_devices(load: Load) -> Load {
    Load {
        destroy_data: true,
        ..load
    }
}

/// Order for one slot of an act, as the machine is.
pub fn single(run_id: &str, place: Place, act: Act, seed: u64, destroy_data: bool) -> ActOrder {
    ActOrder {
        plan: Plan::once(run_id.to_owned(), place),
        acts: vec![act],
        seeds: vec![seed],
        destroy_data,
    }
}

/// Carries out one act once, of which nothing is stored; its outcome is `None` if it ended early.
pub fn once(
    host: &mut Host,
    order: ActOrder,
    listener: &mut dyn Listener,
) -> Result<(RunEnd, Option<SlotOutcome>), Failure> {
    let (mut trials, mut outcome) = (Trials::default().expecting(&order.acts, 0), None);
    host.run_acts(order)?;
    loop {
        match trials.receive(host, ("", None), listener)? {
            AgentEvent::Slot(_) if outcome.is_some() => {
                return Err(Failure::lost(
                    "the agent reported more slots than were planned",
                ));
            }
            AgentEvent::Slot(ended) => {
                // An agent that cannot read it has ended; its last messages follow.
                let _ = host.stored(ended.position);
                outcome = Some(*ended);
            }
            AgentEvent::Done(end) => return Ok((end, outcome)),
        }
    }
}

/// An act that was asked for, and its terms.
pub struct Request {
    /// The act.
    pub work: Act,
    /// Steps in their order, as far as they are known beforehand.
    pub steps: Vec<Job>,
    /// Number of repetitions.
    pub trials: u32,
    /// Decides orders and contents.
    pub seed: u64,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
    /// Place to work on.
    pub place: Place,
    /// Message when the user asks to stop; empty: none.
    pub stopping: &'static str,
    /// It is not carried out if it cannot be stored.
    pub must_be_stored: bool,
    /// Announcement before it begins; drop-in tools have none.
    pub announced: Option<Announcement>,
    /// Conditions of the slots; `None`: as the machine is.
    pub sweep: Option<Sweep>,
}

/// Conditions under which an act is carried out, each once in every round.
pub struct Sweep {
    /// The run.
    pub run_id: String,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// Actions before each slot.
    pub restore: Restore,
    /// Job that stands for the act when its steps are not known.
    pub job: Job,
    /// Conditions that end the run early.
    pub ends: Stopping,
}

/// Decides after a slot if the run has enough of them.
pub type Enough<'a> = dyn FnMut(&RunHeader, SoFarOfPlan<'_>) -> bool + 'a;

impl Request {
    /// Returns the acts with their slots.
    pub fn acts(&self) -> Acts {
        let (act, seed, destroy_data) = (self.work.clone(), self.seed, self.destroy_data);
        let Some(sweep) = &self.sweep else {
            return Acts::repeated(act, self.trials, seed, destroy_data);
        };
        let slots = rounds(1, sweep.conditions.len(), self.trials, seed);
        Acts {
            stand_in: Some(sweep.job.clone()),
            ..Acts::in_slots(act, slots, seed, destroy_data)
        }
    }

    /// Returns the plan of the run.
    pub fn plan(&self, acts: &Acts) -> Plan {
        let steps = [self.steps.clone()];
        let plan = acts.plan(run_id(), &steps, self.seed, self.place.clone());
        match &self.sweep {
            None => plan,
            Some(sweep) => Plan {
                run_id: sweep.run_id.clone(),
                conditions: sweep.conditions.clone(),
                restore: sweep.restore,
                ..plan
            },
        }
    }
}

/// Accepts nothing before the last slot.
pub fn all_slots(_: &RunHeader, _: SoFarOfPlan<'_>) -> bool {
    false
}

/// Carries out an act at the agent of the host, and stores its steps. The target is for another
/// agent, which cleans up after one that is lost.
///
/// # Errors
/// When it cannot begin. Later failures are in [`Done::ending`].
pub fn execute(
    target: &mut dyn Target,
    host: &mut Host,
    inspection: Inspection,
    request: &Request,
    store: &KeepArgs,
    listener: &mut dyn Listener,
    enough: &mut Enough<'_>,
) -> Result<Done, Failure> {
    let path = store.path();
    // Paths of another machine lead nowhere here.
    if let (Ok(path), None) = (&path, host.target()) {
        keep_apart(path, written(request.work.spec()))?;
    }
    let opened = path.and_then(|path| store.open(&path));
    let mut store = unless_it_may_go_unstored(opened, request)?;
    if let (Some(_), Some(store)) = (request.work.spec().private_folder_in(), &mut store) {
        clear_leftovers(host, store, &request.place)?;
    }
    let acts = request.acts();
    if let (Some(announced), Some(store)) = (&request.announced, &store) {
        let act = (&request.place, &request.work, request.trials);
        let facts = facts_of_act(announced, act, &inspection.storage, host.target(), store)?;
        listener.announce(facts);
    }
    let mut header = header(request.plan(&acts), inspection, host.origin());
    if let Some(sweep) = &request.sweep {
        header.stopping = sweep.ends.clone();
    }
    header.acts = Some(Box::new(acts.clone()));
    let interrupt = listen_to_signals(host, request)?;
    let begun = store.map(|store| begin(store, &header)).transpose();
    let store = unless_it_may_go_unstored(begun, request)?.flatten();
    let run = ActRun::new(header, store, &acts);
    run.carry_out(target, host, &interrupt, listener, enough)
}

/// Continues a run by the slots of a request after the first `finished`; the trials of those are in
/// the run.
///
/// # Errors
/// As [`execute`].
pub fn resume(
    target: &mut dyn Target,
    host: &mut Host,
    (run, finished): (Run, usize),
    request: &Request,
    mut store: Store,
    listener: &mut dyn Listener,
    enough: &mut Enough<'_>,
) -> Result<Done, Failure> {
    let interrupt = listen_to_signals(host, request)?;
    store.reopen_run(&run.header.id, &stored::this_process(), run.trials.len())?;
    let acts = request.acts();
    let run = ActRun {
        done: (run.trials, finished),
        ..ActRun::new(run.header, Some(store), &acts)
    };
    run.carry_out(target, host, &interrupt, listener, enough)
}

/// A run of acts.
pub struct ActRun<'a> {
    /// Header of the run, which the store has.
    pub header: RunHeader,
    /// `None`: nothing of it is stored.
    pub store: Option<Store>,
    /// The acts and all slots.
    pub acts: &'a Acts,
    /// Trials and number of the slots that are done.
    pub done: (Vec<TrialRecord>, usize),
    /// Makes trials of streams.
    pub of_streams: Option<TrialsOfStreams<'a>>,
}

impl<'a> ActRun<'a> {
    /// A run that begins.
    pub const fn new(header: RunHeader, store: Option<Store>, acts: &'a Acts) -> Self {
        Self {
            header,
            store,
            acts,
            done: (Vec::new(), 0),
            of_streams: None,
        }
    }

    /// Carries out the slots that are missing, until `enough` accepts those that there are; a run
    /// without trials is not kept.
    pub fn carry_out(
        mut self,
        target: &mut dyn Target,
        host: &mut Host,
        interrupt: &Interrupt,
        listener: &mut dyn Listener,
        enough: &mut Enough<'_>,
    ) -> Result<Done, Failure> {
        let (acts, done, of_streams) = (self.acts, self.done, self.of_streams);
        let mut execution = Execution::of_acts(host, &self.header, acts, done, of_streams);
        let receive =
            |execution: &mut Execution<'_>| execution.receive(self.store.as_mut(), listener);
        let ended = execution.run_until(interrupt, receive, |so_far| enough(&self.header, so_far));
        let mut ending = ended.unwrap_or_else(Ending::of_failure);
        // Trials of an agent that is gone are kept too.
        ending.and_noted(execution.keep(self.store.as_mut(), listener));
        let trials = execution.finish();
        let mut acts = acts.acts.iter().map(Act::spec);
        if ending.agent_lost && acts.any(|act| act.private_folder_in().is_some()) {
            let RunHeader { plan, id, .. } = &self.header;
            for leftover in clear_leftovers_after_loss(target, &plan.place, id) {
                // A note that cannot be shown is no reason to lose the run.
                let _ = listener.note(&note_of_leftover(&leftover));
            }
        }
        let forget = trials.is_empty();
        Done::close(self.store.as_mut(), self.header, trials, ending, forget)
    }
}

/// Returns all paths that an act writes, including this program's standard output.
fn written(work: &dyn ActSpec) -> Vec<PathBuf> {
    let mut written = work.writes();
    if work.writes_stdout() {
        written.push(PathBuf::from("/proc/self/fd/1"));
    }
    written
}

/// Returns the store; if it cannot be opened, an act that may run unstored gets `None` and a warning.
fn unless_it_may_go_unstored<T>(
    came: Result<T, Failure>,
    request: &Request,
) -> Result<Option<T>, Failure> {
    match came {
        Ok(store) => Ok(Some(store)),
        Err(failure) if request.must_be_stored => Err(failure),
        Err(failure) => {
            say(&format!("assay: this run is not stored: {failure}"));
            Ok(None)
        }
    }
}

/// Stores the run before the act begins: if the process is killed, the next start must find the
/// run even during the first step, and storing must not disturb a measurement.
fn begin(mut store: Store, header: &RunHeader) -> Result<Store, Failure> {
    let begun = store.begin_run(header, &stored::this_process());
    begun.map_err(Failure::failed)?;
    Ok(store)
}

/// Handles signals that end the act or request an interim report.
fn listen_to_signals(host: &Host, request: &Request) -> Result<Interrupt, Failure> {
    let stopping = request.stopping;
    let interrupts = match request.work.spec().is_filter() {
        true => Interrupts::UnlessIgnored,
        false => Interrupts::Caught,
    };
    host.obey_signals(interrupts, move || {
        if !stopping.is_empty() {
            say(stopping);
        }
    })
}

/// Arguments that commands which measure have in common.
#[derive(Args, Debug)]
pub struct MeasureArgs {
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// A command that measures by one work.
pub struct MeasuringCommand<'a> {
    /// Feature that the agent must have.
    pub needs: Feature,
    /// Path that is inspected.
    pub path: &'a Path,
    /// Repetitions.
    pub trials: u32,
    /// `true` if the user agreed that the data on a block device is destroyed.
    pub destroy_data: bool,
    /// Arguments that such commands share.
    pub shared: &'a MeasureArgs,
    /// Message when the user asks to stop.
    pub stopping: &'static str,
}

/// Target that was inspected, before the measurement.
pub struct Bench {
    /// Connection to the agent.
    pub host: Host,
    /// Inspection of the path; the run's description of its storage comes from here.
    pub inspection: Inspection,
    /// Seed of orders and contents.
    pub seed: u64,
}

/// Place, act and announcement, with the steps in their order, as far as they are known.
pub struct Planned {
    /// Place to work on.
    pub place: Place,
    /// The act.
    pub act: Act,
    /// The steps.
    pub steps: Vec<Job>,
    /// Announcement; `None` for a command that announces itself.
    pub announced: Option<Announcement>,
}

impl MeasuringCommand<'_> {
    /// Carries out the command on a target. `plan` admits the place, makes the act, and announces it.
    pub fn carry_out(
        &self,
        target: &mut dyn Target,
        plan: impl FnOnce(&mut Bench) -> Result<Planned, Failure>,
    ) -> Result<Done, Failure> {
        can_be_stored(self.path)?;
        target.needs(self.needs);
        let mut host = Host::start(target)?;
        let inspection = host.inspect(self.path)?;
        let seed = self.shared.seed.unwrap_or_else(runs::random);
        let mut bench = Bench {
            host,
            inspection,
            seed,
        };
        let request = self.request(plan(&mut bench)?, seed);
        if self.destroy_data {
            tell(&Vec::from_iter(held(&bench.inspection)));
        }
        let mut talk = StepTalk::new(request.steps.len());
        let (store, found) = (&self.shared.store, bench.inspection);
        let done = execute(
            target,
            &mut bench.host,
            found,
            &request,
            store,
            &mut talk,
            &mut all_slots,
        );
        talk.close();
        done
    }

    /// Makes the request for an act.
    pub fn request(&self, planned: Planned, seed: u64) -> Request {
        Request {
            work: planned.act,
            steps: planned.steps,
            announced: planned.announced,
            trials: self.trials,
            seed,
            destroy_data: self.destroy_data,
            place: planned.place,
            stopping: self.stopping,
            must_be_stored: true,
            sweep: None,
        }
    }
}

/// An act of a composed run, with all its repetitions.
pub struct PlannedAct {
    /// The act; a plan of jobs has its repetitions itself.
    pub act: Act,
    /// Steps in their order, by the names that the agent gives them; empty for a plan of jobs.
    pub steps: Vec<Job>,
    /// Number of repetitions; 1 for a plan of jobs.
    pub trials: u32,
    /// Estimated time of a repetition at the speeds of [`SPEEDS`](estimate::SPEEDS).
    pub times: [Nanos; 2],
}

impl PlannedAct {
    /// The jobs of a plan, in its order.
    pub fn jobs(plan: Plan) -> Self {
        Self {
            steps: Vec::new(),
            trials: 1,
            times: estimate::of_plan(&plan),
            act: Act::Jobs(Box::new(plan)),
        }
    }

    /// Returns the names of the steps.
    pub fn step_names(&self) -> impl Iterator<Item = &str> {
        let jobs = match &self.act {
            Act::Jobs(plan) => plan.jobs.as_slice(),
            _ => &[],
        };
        let of_jobs = jobs.iter().map(|planned| &*planned.job.name);
        of_jobs.chain(self.steps.iter().map(|step| &*step.name))
    }

    /// Number of trials of a repetition.
    pub const fn trials_each(&self) -> usize {
        match &self.act {
            Act::Jobs(plan) => plan.order.len(),
            _ => self.steps.len(),
        }
    }

    /// Estimates the time of each trial of a repetition, in their order, at the speeds of
    /// [`SPEEDS`](estimate::SPEEDS).
    pub fn times_of_trials(&self) -> Vec<[Nanos; 2]> {
        match &self.act {
            Act::Jobs(plan) => estimate::trials_at_speeds(plan).collect(),
            _ => {
                let steps = self.steps.len();
                vec![self.times.map(|time| Nanos(time.0 / steps.max(1) as u64)); steps]
            }
        }
    }
}

/// Several acts that make one run, such as a probe, jobs and a scenario.
pub struct ComposedRun {
    /// The acts, each with all its repetitions before the next one.
    pub acts: Vec<PlannedAct>,
    /// Decides orders and contents.
    pub seed: u64,
    /// The user's statements about the device.
    pub claims: Option<Claims>,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
}

impl ComposedRun {
    /// Announces the acts, carries them out, and stores their trials. An act that does not finish
    /// is the last.
    ///
    /// # Errors
    /// When it cannot begin. Later failures are in [`Done::ending`].
    pub fn carry_out(self, prepared: Prepared, target: &mut dyn Target) -> Result<Done, Failure> {
        let Prepared {
            mut host,
            inspection,
            place,
            mut store,
        } = prepared;
        let (acts, times) = (self.in_slots(), self.times());
        let id = run_id();
        let plan = |steps: &dyn Fn(&PlannedAct) -> Vec<Job>| {
            let steps: Vec<Vec<Job>> = self.acts.iter().map(steps).collect();
            acts.plan(id.clone(), &steps, self.seed, place.clone())
        };
        // What other acts write was announced when they were planned.
        let jobs = plan(&|_| Vec::new());
        let whole = plan(&|act| act.steps.clone());
        let plans = (&whole, &jobs);
        announce(plans, &inspection, host.target(), times, &store)?;
        let mut header = header(whole, inspection, host.origin());
        header.claims.clone_from(&self.claims);
        // The smallest agent runs jobs, and no acts.
        if let [Act::Jobs(_)] = &acts.acts[..] {
            store.begin_run(&header, &stored::this_process())?;
            let executed = plans::execute(&mut host, &header, &mut store, Vec::new(), never_enough);
            return plans::close(header, &mut store, executed, target);
        }
        header.acts = Some(Box::new(acts.clone()));
        store.begin_run(&header, &stored::this_process())?;
        let times = self.times_of_trials();
        let run = ActRun::new(header.clone(), Some(store), &acts);
        carry_out_slots(run, &header, &times, (&mut host, target))
    }

    /// Estimates the time of the run at the speeds of [`SPEEDS`](estimate::SPEEDS).
    fn times(&self) -> [Nanos; 2] {
        let each = |act: &PlannedAct| {
            let repetitions = u64::from(act.trials);
            act.times
                .map(|once| Nanos(once.0.saturating_mul(repetitions)))
        };
        estimate::sum(self.acts.iter().map(each))
    }

    /// Estimates the time of each trial, in the order of the run.
    fn times_of_trials(&self) -> Vec<Nanos> {
        let all = self.acts.iter().flat_map(|act| {
            let one = act.times_of_trials().into_iter().map(|[usual, _]| usual);
            std::iter::repeat_n(one, act.trials as usize).flatten()
        });
        all.collect()
    }

    fn in_slots(&self) -> Acts {
        let mut slots = Vec::new();
        for ((index, number), planned) in (0..).zip(0..).zip(&self.acts) {
            let mut seeds = SplitMix64::new(self.seed ^ number);
            let trials = (1..=planned.trials).map(|trial| Slot::plain(index, trial));
            slots.extend(trials.map(|slot| (slot, seeds.next_u64())));
        }
        Acts {
            acts: self
                .acts
                .iter()
                .map(|planned| planned.act.clone())
                .collect(),
            slots,
            destroy_data: self.destroy_data,
            stand_in: None,
            steps: self.acts.iter().map(PlannedAct::trials_each).collect(),
        }
    }
}

/// `true` if an act found less capacity than is claimed: such storage is not measured any further.
pub fn has_lost_data(trials: &[TrialRecord]) -> bool {
    let mut details = trials.iter().filter_map(|trial| trial.detail.as_deref());
    details.any(|detail| matches!(detail, StepDetail::Capacity(step) if step.differs()))
}

/// Carries out the missing slots of a composed run, with a forecast; `times` are those of the trials
/// of the whole run.
///
/// # Errors
/// If signals cannot be handled, or the end cannot be stored. Other failures are in
/// [`Done::ending`].
pub fn carry_out_slots(
    run: ActRun<'_>,
    header: &RunHeader,
    times: &[Nanos],
    (host, target): (&mut Host, &mut dyn Target),
) -> Result<Done, Failure> {
    let mut progress = Progress::new(steps(&header.plan, times));
    let messages = progress.messages.clone();
    let on_signal = messages.clone();
    let interrupt = host.obey_signals(Interrupts::Caught, move || {
        on_signal.say("stopping after this I/O; finished trials are kept");
    })?;
    let mut talk = TrialTalk {
        progress: &mut progress,
        header,
        next: run.done.0.len(),
    };
    let mut enough = |_: &RunHeader, so_far: SoFarOfPlan<'_>| has_lost_data(so_far.trials);
    let done = run.carry_out(target, host, &interrupt, &mut talk, &mut enough);
    messages.clear();
    done
}

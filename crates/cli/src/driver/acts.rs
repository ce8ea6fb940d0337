//! Acts on the host's side: the slots of a run, its trials in the store, and its end. Commands that
//! measure by one act, and those whose acts follow the jobs of a plan in the same run.

use crate::checks::admission::can_be_stored;
use crate::checks::estimate;
use crate::driver::announce::{announce, held, tell};
use crate::driver::plans::{self, Execution, Prepared, SoFarOfPlan, never_enough};
use crate::driver::runs::{self, Done, Ending, header, run_id};
use crate::driver::trials::{AgentEvent, Listener, SlotOutcome, StepTalk, Trials, TrialsOfStreams};
use crate::driver::{Host, clear_leftovers, clear_leftovers_after_loss, note_of_leftover};
use crate::exit::{Failure, Interrupt, Interrupts};
use crate::output::say;
use crate::stored;
use crate::stored::{KeepArgs, keep_apart};
use crate::targets::OnArgs;
use assay_model::act::{Act, ActOrder, ActSpec, Acts};
use assay_model::condition::{Condition, Restore};
use assay_model::job::Job;
use assay_model::load::Load;
use assay_model::plan::{Place, Plan, PlannedJob, Slot, rounds};
use assay_model::rng::SplitMix64;
use assay_model::run::{Claims, Run, RunHeader, RunStatus, Stopping};
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
    let (mut trials, mut outcome) = (Trials::default().expecting(&order.acts), None);
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
        let plan = acts.plan(run_id(), &self.steps, self.seed, self.place.clone());
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

/// Returns all paths that a work writes, including this program's standard output.
fn written(work: &dyn ActSpec) -> Vec<PathBuf> {
    let mut written = work.writes();
    if work.writes_stdout() {
        written.push(PathBuf::from("/proc/self/fd/1"));
    }
    written
}

/// Returns the store; if it cannot be opened, a work that may run unstored gets `None` and a warning.
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

/// Stores the run before the work begins: if the process is killed, the next start must find the
/// run even during the first step, and storing must not disturb a measurement.
fn begin(mut store: Store, header: &RunHeader) -> Result<Store, Failure> {
    let begun = store.begin_run(header, &stored::this_process());
    begun.map_err(Failure::failed)?;
    Ok(store)
}

/// Handles signals that end the work or request an interim report.
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

/// Place and work, with the steps in their order, as far as they are known.
pub type Planned = (Place, Act, Vec<Job>);

impl MeasuringCommand<'_> {
    /// Carries out the command on a target. `plan` admits the place, makes the work, and announces it.
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

    /// Makes the request for a work.
    pub fn request(&self, (place, work, steps): Planned, seed: u64) -> Request {
        Request {
            work,
            steps,
            trials: self.trials,
            seed,
            destroy_data: self.destroy_data,
            place,
            stopping: self.stopping,
            must_be_stored: true,
            sweep: None,
        }
    }
}

/// An act that follows the jobs of a plan.
pub struct FollowingAct {
    /// The act.
    pub act: Act,
    /// Steps in their order, by the names that the agent gives them.
    pub steps: Vec<Job>,
    /// Number of repetitions.
    pub trials: u32,
    /// Estimated time of a repetition at the speeds of [`SPEEDS`](estimate::SPEEDS).
    pub times: [Nanos; 2],
}

/// A plan of jobs and the acts that follow them, all in one run. The order is fixed: a plan of jobs
/// continues only after trials of its own.
pub struct JobsThenActs {
    /// The jobs and their order.
    pub plan: Plan,
    /// The acts, each with all its repetitions before the next one; may be empty.
    pub acts: Vec<FollowingAct>,
    /// The user's statements about the device.
    pub claims: Option<Claims>,
    /// Permission to overwrite the data of block devices.
    pub destroy_data: bool,
}

impl JobsThenActs {
    /// Announces jobs and acts, carries them out, and stores their trials. An act that does not
    /// finish is the last.
    ///
    /// # Errors
    /// When it cannot begin. Later failures are in [`Done::ending`].
    pub fn carry_out(self, prepared: Prepared, target: &mut dyn Target) -> Result<Done, Failure> {
        let Prepared {
            mut host,
            inspection,
            mut store,
            ..
        } = prepared;
        let machine = host.target();
        announce(
            &self.plan,
            &inspection,
            machine,
            self.duration(),
            store.path(),
        );
        // The agent gets the plan of the jobs alone.
        let mut header = header(self.plan.clone(), inspection, host.origin());
        header.claims.clone_from(&self.claims);
        let whole = RunHeader {
            plan: self.whole_plan(),
            ..header.clone()
        };
        store.begin_run(&whole, &stored::this_process())?;
        let executed = plans::execute(&mut host, &header, &mut store, Vec::new(), never_enough);
        let done = plans::close(whole, &mut store, executed, target)?;
        if self.acts.is_empty() || done.run.status != RunStatus::Finished {
            return Ok(done);
        }
        self.follow(done.run, store, (&mut host, target))
    }

    /// Estimates the time of the run, and that on slow storage if the acts make it differ.
    fn duration(&self) -> (Nanos, Option<Nanos>) {
        let jobs = estimate::of_plan(&self.plan).0;
        let [usual, slow] = [0, 1].map(|speed| {
            let each = |act: &FollowingAct| act.times[speed].0.saturating_mul(act.trials.into());
            Nanos(jobs.saturating_add(self.acts.iter().map(each).sum()))
        });
        (usual, (!self.acts.is_empty()).then_some(slow))
    }

    /// Returns the plan of the whole run: with the steps of the acts.
    fn whole_plan(&self) -> Plan {
        let steps = self.acts.iter().flat_map(|act| {
            let planned = |job: &Job| PlannedJob {
                job: job.clone(),
                trials: act.trials,
            };
            act.steps.iter().map(planned)
        });
        let mut plan = self.plan.clone();
        plan.jobs.extend(steps);
        plan
    }

    /// Appends the trials of the acts to the finished run of the jobs.
    fn follow(
        self,
        run: Run,
        mut store: Store,
        (host, target): (&mut Host, &mut dyn Target),
    ) -> Result<Done, Failure> {
        // The jobs have printed the message about a stop.
        let interrupt = host.obey_signals(Interrupts::Caught, || {})?;
        store.reopen_run(&run.header.id, &stored::this_process(), run.trials.len())?;
        let mut talk = StepTalk::new(self.acts.iter().map(|act| act.steps.len()).sum());
        let acts = self.in_slots(run.header.plan.seed);
        let acts_of_run = ActRun {
            done: (run.trials, 0),
            ..ActRun::new(run.header, Some(store), &acts)
        };
        let done = acts_of_run.carry_out(target, host, &interrupt, &mut talk, &mut all_slots);
        talk.close();
        done
    }

    fn in_slots(self, seed: u64) -> Acts {
        let mut all = Acts {
            acts: Vec::new(),
            slots: Vec::new(),
            destroy_data: self.destroy_data,
            stand_in: None,
        };
        for ((index, number), following) in (0..).zip(1..).zip(self.acts) {
            let mut seeds = SplitMix64::new(seed ^ number);
            let trials = (1..=following.trials).map(|trial| Slot::plain(index, trial));
            all.slots
                .extend(trials.map(|slot| (slot, seeds.next_u64())));
            all.acts.push(following.act);
        }
        all
    }
}

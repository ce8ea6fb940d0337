//! Two sides that are measured in turn, in blocks of A B B A: `assay compare --paired-on` and `assay
//! accept`.
//!
//! A [`Setup`] has the targets, what a turn carries out, and the order. A [`Session`] then runs two plans
//! at two agents that take turns: an agent waits until its last trial is acknowledged as stored. Each agent runs a plan as in a single run, so evidence, leftovers, signals and lost agents need
//! nothing new. The headers of both runs name each other and the place of each trial in the session
//! (`assay_model::run::Paired`).

use super::stopper::{LevelAndMargin, Question, Spread, alpha_of_metric, jobs_of, time_used};
use super::{
    ActPlace, Cost, JobSource, Jobs, RepeatedAct, RepeatedCommand, RoundArgs, Schedule, Trials,
    USUAL, Wish, check_place, choose, facts, plan,
};
use crate::checks::admission::Need;
use crate::checks::estimate::Forecast;
use crate::checks::{admission, estimate};
use crate::driver::acts::{PlannedAct, has_lost_data};
use crate::driver::announce::tell;
use crate::driver::plans::{
    self, Executed, Execution, Recorder, SlotDisplay, SoFarOfPlan, interleaved,
};
use crate::driver::runs::{Done, Ending, header, random, run_id};
use crate::driver::trials::{AgentEvent, SlotTalk};
use crate::driver::{Host, announce, clear_leftovers};
use crate::exit::{Failure, Interrupt};
use crate::jobs::{self, SuiteArgs};
use crate::output::say;
use crate::stored::AnnotationArgs;
use crate::ui::progress::{Progress, Step, steps};
use crate::{config, scenarios, stored};
use assay_lang::{counted, tr};
use assay_model::act::{Act, Acts};
use assay_model::figures::Side;
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, PlannedJob, Slot, turns};
use assay_model::rng::SplitMix64;
use assay_model::run::{Paired, Run, RunHeader};
use assay_model::text::clean;
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection, RunEnd};
use assay_store::Store;
use assay_target::Target;
use std::path::Path;

/// Measurement that both sides repeat.
pub enum Repeated {
    /// One command on each side.
    Command([RepeatedCommand; 2]),
    /// Several commands on each side, all in every turn; such a session can be resumed.
    Commands {
        /// The commands of A and of B, of the same kinds.
        each: [Vec<RepeatedCommand>; 2],
        /// `true` to probe the capacity of both sides before the first turn.
        probes: bool,
    },
}

/// Request to measure two sides in turn. Pairs are in the order of [`Side::BOTH`].
pub struct Request<'a> {
    /// Path of each side.
    pub paths: [&'a Path; 2],
    /// Measurement that is repeated.
    pub repeated: Repeated,
    /// Number of trials, and jobs of the suite.
    pub rounds: &'a RoundArgs,
    /// Maximum number of trials of `--trials auto` and `--budget`.
    pub max_trials: Option<u32>,
    /// Margin of the looks, as a share.
    pub margin: f64,
    /// Seed of an earlier session.
    pub seed: Option<u64>,
}

/// Setup of two runs that take turns. Pairs are in the order of [`Side::BOTH`].
pub struct Setup {
    /// Connections to the agents.
    hosts: [Host; 2],
    /// Headers of the runs.
    pub headers: [RunHeader; 2],
    /// Store of both runs.
    store: Store,
    /// Trials and number of slots that are done.
    done: [(Vec<TrialRecord>, usize); 2],
    /// Margins of single metrics, if the question is whether B may replace A: a look then ends the
    /// session when that is decided.
    pub replaces: Option<Vec<(String, f64)>>,
    /// Number of rounds after which the session pauses, although more are planned.
    pub pause: Option<u32>,
    /// Time that the finished part of a resumed session took.
    used: Nanos,
    /// Acts of both sides; `None`: the jobs of the plans.
    acts: Option<[Acts; 2]>,
    /// Estimated time of each trial of a side on fast and on slow storage, in the order of its run.
    times: [Vec<[Nanos; 2]>; 2],
    /// Maximum number of trials of a side.
    trials: u32,
}

/// Plans and acts of both sides, with the number of their trials.
struct SessionPlan {
    plans: [Plan; 2],
    acts: Option<[Acts; 2]>,
    times: [Vec<[Nanos; 2]>; 2],
    schedule: Schedule,
}

/// Target that was admitted.
struct Admitted {
    host: Host,
    inspection: Inspection,
    place: Place,
}

impl Setup {
    /// Inspects and admits both targets; nothing is written there yet.
    ///
    /// # Errors
    /// If a target is refused, or the sides cannot run the same.
    pub fn new(
        request: &Request<'_>,
        store: &Path,
        targets: &mut [Box<dyn Target>; 2],
    ) -> Result<Self, Failure> {
        has_whole_blocks(request.rounds)?;
        for act in request.repeated.acts() {
            let mut targets = targets.iter_mut();
            targets.try_for_each(|target| act.check_target(target.as_mut()))?;
        }
        if let Repeated::Commands { .. } = &request.repeated {
            for target in targets.iter_mut() {
                target.needs(Feature::Composed);
            }
        }
        let [on_a, on_b] = targets;
        let mut a = Admitted::new(request.paths[0], request.rounds, on_a.as_mut())?;
        let mut b = Admitted::new(request.paths[1], request.rounds, on_b.as_mut())?;
        are_two(&a, &b)?;
        // A refused target must leave no store behind, so the store is made after the checks.
        let mut store = Store::open(store)?;
        for side in [&mut a, &mut b] {
            clear_leftovers(&mut side.host, &mut store, &side.place)?;
            side.inspection = side.host.inspect(side.place.path())?;
        }
        // One seed: the same I/Os in the same order on both sides.
        let seed = request.seed.unwrap_or_else(random);
        let content = match &request.repeated {
            Repeated::Command([RepeatedCommand::Jobs(source), _]) => {
                jobs_in_turn(request, source, [&a, &b], seed)?
            }
            Repeated::Command([RepeatedCommand::Act(of_a), RepeatedCommand::Act(of_b)]) => {
                let planned =
                    [a.planned(of_a, false)?, b.planned(of_b, false)?].map(|act| vec![act]);
                // The time of one act is known after the first.
                let schedule = request.schedule(&Cost {
                    step: 2,
                    ..Cost::UNKNOWN
                })?;
                in_rounds(request, &planned, 0, [&a, &b], seed, schedule)
            }
            Repeated::Command(_) => return Err(not_alike()),
            Repeated::Commands { each, probes } => {
                commands_in_turn(request, (each, *probes), [&mut a, &mut b], seed)?
            }
        };
        let SessionPlan {
            plans: [plan_a, plan_b],
            acts,
            times,
            schedule,
        } = content;
        let is_composed = matches!(&request.repeated, Repeated::Commands { .. });
        let begun = |plan: Plan, side: &Admitted, index: usize| {
            let mut header = header(plan, side.inspection.clone(), side.host.origin());
            header.stopping = schedule.stopping.clone();
            if let (Some(acts), true) = (&acts, is_composed) {
                header.acts = Some(Box::new(acts[index].clone()));
            }
            header
        };
        let mut headers = [begun(plan_a, &a, 0), begun(plan_b, &b, 1)];
        pair(&mut headers, &order(schedule.trials, seed));
        Ok(Self {
            hosts: [a.host, b.host],
            headers,
            store,
            done: Default::default(),
            replaces: None,
            pause: None,
            used: Nanos(0),
            acts,
            times,
            trials: schedule.trials,
        })
    }

    /// Continues a session of several commands, of which each side has done some slots.
    pub fn resumed(
        hosts: [Host; 2],
        runs: [(Run, usize); 2],
        store: Store,
    ) -> Result<Self, Failure> {
        let [(a, done_a), (b, done_b)] = runs;
        let acts = |run: &Run| {
            let acts = run.header.acts.as_deref().cloned();
            acts.ok_or_else(|| Failure::failed(format!("run {} has no acts", run.header.id)))
        };
        let both = [acts(&a)?, acts(&b)?];
        let slots = both[0].slots.iter().map(|(slot, _)| slot.trial);
        Ok(Self {
            hosts,
            trials: slots.max().unwrap_or(0),
            acts: Some(both),
            times: [&a, &b].map(|run| estimate::trials_at_speeds(&run.header.plan).collect()),
            used: time_used(&a.header, &a.trials).max(time_used(&b.header, &b.trials)),
            done: [(a.trials, done_a), (b.trials, done_b)],
            headers: [a.header, b.header],
            store,
            replaces: None,
            pause: None,
        })
    }

    /// Returns the facts to announce before the session begins.
    pub fn facts(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let [a, b] = &self.headers;
        let mut told = Vec::new();
        for (side, header) in [tr!("Side A"), tr!("Side B")].into_iter().zip([a, b]) {
            told.push((side, announce::storage(&header.plan.place, &header.storage)));
            if self.acts.is_none() || header.acts.is_some() {
                told.push((tr!("Writes"), announce::writes(&self.part_of(&header.plan))));
            }
        }
        let trials = counted!(u64::from(self.until()), "{n} trial", "{n} trials");
        let takes = match &self.acts {
            Some(_) if !self.shows_trials() => tr!(
                "{trials} of the command on each side, in turn; the duration is known after the first; seed {seed}",
                trials,
                seed = a.plan.seed
            ),
            _ => {
                tr!(
                    "{time}: {trials} of {jobs} on each side, in turn, seed {seed}",
                    time = Forecast::new(self.estimate()),
                    trials,
                    jobs = counted!(a.plan.jobs.len() as u64, "{n} job", "{n} jobs"),
                    seed = a.plan.seed
                )
            }
        };
        let keeps = tr!(
            "each trial as it ends, as runs {a} and {b} in {store}",
            a = a.id,
            b = b.id,
            store = self.store.path().display()
        );
        told.extend([(tr!("Takes"), takes), (tr!("Keeps"), keeps)]);
        told.extend(facts(&a.stopping, self.trials));
        if let Some(pause) = self.pause.filter(|pause| *pause < self.trials) {
            let text = tr!(
                "after {pause} trials of each, where metrics are open; --resume continues, --trials auto does not pause",
                pause
            );
            told.push((tr!("Pauses"), text));
        }
        if a.acts.is_none() {
            let spread = Spread::known(&self.store, &a.storage.words(), &jobs_of(a))?;
            let held = LevelAndMargin::to(alpha_of_metric(a), &a.stopping);
            let shows = spread.foretells(self.trials, held, &a.stopping);
            told.push((tr!("Detects"), shows));
        }
        Ok(told)
    }

    /// Estimates the time of the session on fast and on slow storage, with the test files of jobs.
    fn estimate(&self) -> [Nanos; 2] {
        let sides = self.headers.iter().zip(&self.times);
        estimate::sum(sides.flat_map(|(header, times)| {
            let plan = &header.plan;
            let planned = plan.order.iter().zip(times);
            let planned = planned.filter(|(slot, _)| slot.trial <= self.until());
            let files = header.acts.is_none().then(|| estimate::of_files(plan));
            planned.map(|(_, time)| *time).chain(files)
        }))
    }

    /// Announces and begins both runs, and measures; each side ends with its run. `None` if an agent
    /// refused before anything ran: then nothing is stored.
    ///
    /// # Errors
    /// If the runs cannot be stored, or the agent refuses.
    pub fn measure(
        mut self,
        annotation: &AnnotationArgs,
        targets: &mut [Box<dyn Target>; 2],
    ) -> Result<Option<[Done; 2]>, Failure> {
        let annotations = [annotation.of_side("A")?, annotation.of_side("B")?];
        for annotation in &annotations {
            // Reports a name that is taken, before anything is stored.
            self.store.annotate_next(annotation.clone())?;
        }
        tell(&self.facts()?);
        for (header, annotation) in self.headers.iter().zip(annotations) {
            self.store.annotate_next(annotation)?;
            self.store.begin_run(header, &stored::this_process())?;
        }
        self.execute(targets)
    }

    /// Measures the turns that are missing of runs which the store has; see [`Self::measure`].
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn execute(
        mut self,
        targets: &mut [Box<dyn Target>; 2],
    ) -> Result<Option<[Done; 2]>, Failure> {
        let executed = measure_in_turn(&mut self)?;
        let untouched = executed.iter().all(|side| side.trials.is_empty());
        let refused = |side: &Executed| matches!(&side.ended, Err(failure) if failure.is_usage());
        if untouched && executed.iter().any(refused) {
            // An agent refused before anything ran: remove the empty runs.
            for header in &self.headers {
                self.store.forget_run(&header.id)?;
            }
            let ended = executed.into_iter().map(|side| side.ended.map(|_| ()));
            return ended.collect::<Result<(), _>>().map(|()| None);
        }
        let Self {
            headers: [a, b],
            mut store,
            ..
        } = self;
        let [of_a, of_b] = executed;
        let [on_a, on_b] = targets;
        // A run is kept with the other one, which names it.
        let a = plans::close_one_of_two(a, &mut store, of_a, on_a.as_mut(), false)?;
        let b = plans::close_one_of_two(b, &mut store, of_b, on_b.as_mut(), false)?;
        Ok(Some([a, b]))
    }
}

impl Repeated {
    /// Returns the acts of both sides.
    fn acts(&self) -> impl Iterator<Item = &RepeatedAct> {
        let commands: Vec<&RepeatedCommand> = match self {
            Self::Command(both) => both.iter().collect(),
            Self::Commands { each, .. } => each.iter().flatten().collect(),
        };
        commands.into_iter().filter_map(|command| match command {
            RepeatedCommand::Act(act) => Some(act),
            RepeatedCommand::Jobs(_) => None,
        })
    }
}

fn not_alike() -> Failure {
    Failure::usage("both sides repeat one command")
}

/// Plans the jobs of one source on both sides.
fn jobs_in_turn(
    request: &Request<'_>,
    source: &JobSource,
    sides: [&Admitted; 2],
    seed: u64,
) -> Result<SessionPlan, Failure> {
    let jobs = common_jobs(request.rounds, source, sides)?;
    let once = estimate::of_jobs(&jobs.all, false, &request.rounds.restore());
    let round = Nanos(once.0.saturating_mul(2));
    let files = sides.map(|side| estimate::of_file(&side.place, jobs.file, false).0);
    let cost = Cost {
        before: Nanos(files.iter().sum::<u64>() + round.0),
        round,
        step: 2,
    };
    let schedule = request.schedule(&cost)?;
    let plans = sides.map(|side| {
        let (jobs, place) = (jobs.clone(), side.place.clone());
        plan(
            request.rounds,
            seed,
            jobs,
            Vec::new(),
            place,
            schedule.trials,
        )
    });
    Ok(SessionPlan {
        times: plans
            .each_ref()
            .map(|plan| estimate::trials_at_speeds(plan).collect()),
        plans,
        acts: None,
        schedule,
    })
}

/// Plans several commands, and a probe before the first turn.
fn commands_in_turn(
    request: &Request<'_>,
    (each, probes): (&[Vec<RepeatedCommand>; 2], bool),
    [a, b]: [&mut Admitted; 2],
    seed: u64,
) -> Result<SessionPlan, Failure> {
    let mut planned: [Vec<PlannedAct>; 2] = Default::default();
    if probes {
        let probed = [&*a, &*b].map(|side| jobs::capacity(false, &side.place, &side.inspection));
        match probed {
            [Ok(a), Ok(b)] => {
                planned[0].push(a);
                planned[1].push(b);
            }
            [Err(why), _] | [_, Err(why)] => {
                say(&clean(&tr!("the capacity is not checked: {why}", why)));
            }
        }
    }
    let probes = planned[0].len();
    let [of_a, of_b] = each;
    for commands in of_a.iter().zip(of_b) {
        match commands {
            (RepeatedCommand::Jobs(source), _) => {
                let jobs = common_jobs(request.rounds, source, [&*a, &*b])?;
                for (side, planned) in [&*a, &*b].into_iter().zip(&mut planned) {
                    let each = jobs.all.iter().cloned();
                    let each = each.map(|job| PlannedJob { job, trials: 1 }).collect();
                    let plan = interleaved(seed, side.place.clone(), jobs.file, each);
                    planned.push(PlannedAct::jobs(plan));
                }
            }
            (RepeatedCommand::Act(of_a), RepeatedCommand::Act(of_b)) => {
                planned[0].push(a.planned(of_a, true)?);
                planned[1].push(b.planned(of_b, true)?);
            }
            _ => return Err(not_alike()),
        }
    }
    for planned in &mut planned {
        // The number of its steps depends on the target's CPU; after a slot of another act it is known
        // that all of them are there.
        if planned.len() > probes + 1
            && matches!(planned.last().map(|last| &last.act), Some(Act::Memory(_)))
        {
            planned[probes..].rotate_right(1);
        }
    }
    have_own_names(&planned[0])?;
    let time = |acts: &[PlannedAct]| acts.iter().map(|act| act.times[0].0).sum::<u64>();
    let round = planned.iter().map(|acts| time(&acts[probes..])).sum();
    let before: u64 = planned.iter().map(|acts| time(acts)).sum();
    let schedule = request.schedule(&Cost {
        before: Nanos(before),
        round: Nanos(round),
        step: 2,
    })?;
    Ok(in_rounds(
        request,
        &planned,
        probes,
        [&*a, &*b],
        seed,
        schedule,
    ))
}

/// Checks that the steps of all acts have different names, since figures are compared by name.
fn have_own_names(acts: &[PlannedAct]) -> Result<(), Failure> {
    let mut names: Vec<String> = Vec::new();
    for act in acts {
        let own: Vec<String> = act.step_names().map(str::to_owned).collect();
        if let Some(twice) = own.iter().find(|name| names.contains(name)) {
            return Err(Failure::usage(clean(&tr!(
                "two commands have a step {twice}: their figures could not be told apart",
                twice
            ))));
        }
        names.extend(own);
    }
    Ok(())
}

/// Puts the acts of both sides into rounds: the first `probes` once, the others in each, after a round
/// that conditions the storage.
fn in_rounds(
    request: &Request<'_>,
    planned: &[Vec<PlannedAct>; 2],
    probes: usize,
    sides: [&Admitted; 2],
    seed: u64,
    schedule: Schedule,
) -> SessionPlan {
    let destroy_data = request.rounds.destroy.destroy_data.is_some();
    let both = [0, 1].map(|side: usize| {
        let planned = &planned[side];
        let once = (0..probes).map(|act| Slot::plain(act, 1));
        let rounds = (0..=schedule.trials)
            .flat_map(|round| (probes..planned.len()).map(move |act| Slot::plain(act, round)));
        let mut seeds = SplitMix64::new(seed);
        let slots: Vec<Slot> = once.chain(rounds).collect();
        let acts = Acts {
            acts: planned.iter().map(|act| act.act.clone()).collect(),
            slots: slots.iter().map(|slot| (*slot, seeds.next_u64())).collect(),
            destroy_data,
            stand_in: None,
            steps: match &request.repeated {
                Repeated::Command(_) => Vec::new(),
                Repeated::Commands { .. } => planned.iter().map(PlannedAct::trials_each).collect(),
            },
        };
        let steps: Vec<Vec<Job>> = planned.iter().map(|act| act.steps.clone()).collect();
        let place = sides[side].place.clone();
        let plan = Plan {
            restore: request.rounds.restore(),
            ..acts.plan(run_id(), &steps, seed, place)
        };
        let times = slots
            .iter()
            .flat_map(|slot| planned[slot.job].times_of_trials());
        (plan, acts, times.collect())
    });
    let [(plan_a, acts_a, times_a), (plan_b, acts_b, times_b)] = both;
    SessionPlan {
        plans: [plan_a, plan_b],
        acts: Some([acts_a, acts_b]),
        times: [times_a, times_b],
        schedule,
    }
}

impl Request<'_> {
    fn schedule(&self, cost: &Cost) -> Result<Schedule, Failure> {
        let wish = Wish {
            trials: self.rounds.trials,
            max_trials: self.max_trials,
            budget: self.rounds.budget,
            margin: self.margin,
        };
        Schedule::of(&wish, cost)
    }
}

impl Admitted {
    /// Plans an act on this side. `apart` puts the name of a scenario before those of its steps, because
    /// steps of other acts may have the same names.
    fn planned(&mut self, act: &RepeatedAct, apart: bool) -> Result<PlannedAct, Failure> {
        let (mut work, mut steps) = (act.make)(&self.inspection)?;
        let place = ActPlace {
            inspection: &self.inspection,
            bench: &self.inspection,
            makes_file_systems: false,
        };
        check_place(&mut self.host, &work, &place)?;
        if let Act::Scenario(scenario) = &mut work
            && apart
        {
            scenario.name_acts_apart();
            steps = scenarios::measured(scenario);
        }
        Ok(PlannedAct {
            times: estimate::of_act(&work, &steps),
            act: work,
            steps,
            trials: 1,
        })
    }

    fn new(path: &Path, args: &RoundArgs, target: &mut dyn Target) -> Result<Self, Failure> {
        admission::can_be_stored(path)?;
        let mut host = Host::start(target)?;
        let inspection = host.inspect(path)?;
        let agreed = args
            .destroy
            .allow(&inspection.path, |name| host.inspect(name))?;
        let place = admission::admit(&inspection, Need::anything(agreed))?;
        tell(&Vec::from_iter(announce::held(&inspection)));
        Ok(Self {
            host,
            inspection,
            place,
        })
    }

    /// `true` if this side is a device, and the other one is the same device or on it.
    fn is_beneath(&self, other: &Self) -> bool {
        let top = self.inspection.storage.top();
        let is_device = matches!(self.place, Place::Device { .. });
        let mut layers = other.inspection.storage.layers.iter();
        let is_name = |name: &str| top.is_some_and(|top| top.name == name);
        self.is_on_machine_of(other) && is_device && layers.any(|layer| is_name(&layer.name))
    }

    fn is_on_machine_of(&self, other: &Self) -> bool {
        self.host.target() == other.host.target()
    }

    fn is_on_mount_of(&self, other: &Self) -> bool {
        let point = |side: &Self| {
            let mount = side.inspection.storage.mount.as_ref();
            mount.map(|mount| (mount.point.clone(), mount.source.clone()))
        };
        self.is_on_machine_of(other) && point(self).is_some() && point(self) == point(other)
    }
}

/// Checks that the number of trials fills blocks of two turns a side.
fn has_whole_blocks(rounds: &RoundArgs) -> Result<(), Failure> {
    let usual = || Trials::Number(config::trials(None, USUAL));
    let usual = rounds.budget.is_none().then(usual);
    match rounds.trials.or(usual) {
        Some(Trials::Number(number)) if number < 4 || number % 2 == 1 => {
            Err(Failure::usage(format!(
                "--trials {number}: two targets take turns in blocks of two trials each, and a \
                 verdict takes two blocks: give an even number, 4 or more"
            )))
        }
        _ => Ok(()),
    }
}

/// Checks that neither side is a device that the other one is on: a measured device is held
/// exclusively.
fn are_two(a: &Admitted, b: &Admitted) -> Result<(), Failure> {
    match a.is_beneath(b) || b.is_beneath(a) {
        false => Ok(()),
        true => Err(Failure::usage(format!(
            "{} and {} are one device, or one is on the other, and a device is held by the \
             one that measures it: to see how alike sides compare, make a file system on it \
             and give a folder there twice",
            a.place.path().display(),
            b.place.path().display()
        ))),
    }
}

/// Returns jobs that both sides can run, with test files of one size.
fn common_jobs(
    args: &RoundArgs,
    source: &JobSource,
    sides: [&Admitted; 2],
) -> Result<Jobs, Failure> {
    let choose_both = |args: &RoundArgs| -> Result<[Jobs; 2], Failure> {
        let of = |side: &Admitted| choose(args, source, &side.inspection, &side.place);
        Ok([of(sides[0])?, of(sides[1])?])
    };
    let [a, b] = choose_both(args)?;
    let (wanted, room) = (a.file.min(b.file), room_for_two(sides));
    if args.suite.size.is_some() && room < wanted {
        return Err(Failure::usage(format!(
            "not enough space for two test files of {wanted} on one file system: it has space for two of \
             {room}"
        )));
    }
    let size = wanted.min(room);
    let sized = RoundArgs {
        suite: SuiteArgs {
            size: Some(size),
            ..args.suite.clone()
        },
        ..args.clone()
    };
    let [a, b] = match (a.file, b.file) == (size, size) {
        true => [a, b],
        false => choose_both(&sized)?,
    };
    match a.all == b.all {
        true => Ok(a),
        false => Err(Failure::usage(
            "the targets cannot run the same jobs (a file is only read): name jobs that both \
             can run with --only",
        )),
    }
}

/// Returns the space for each test file: a third of the free space if both are on one file system,
/// since jobs write other files beside them.
fn room_for_two([a, b]: [&Admitted; 2]) -> Bytes {
    let available = a.inspection.storage.available;
    match available.filter(|_| a.is_on_mount_of(b)) {
        Some(available) => Bytes(available.0 / 3),
        None => Bytes(u64::MAX),
    }
}

/// Number of the turn that each trial or slot belongs to: a turn begins where the number of the trial
/// grows.
fn turn_ends(trials: impl Iterator<Item = u32>) -> Vec<usize> {
    let (mut ends, mut last, mut count) = (Vec::new(), None, 0);
    for trial in trials {
        if last.is_some_and(|last| trial > last) {
            ends.push(count);
        }
        last = Some(trial);
        count += 1;
    }
    ends.extend((count > 0).then_some(count));
    ends
}

/// Records in both headers the id of the other run, and the position of each trial in the session.
fn pair(headers: &mut [RunHeader; 2], order: &[Side]) {
    let turns = Side::BOTH.map(|side| turns_of_slots(&headers[side as usize], order, side));
    let ids = headers.each_ref().map(|header| header.id.clone());
    let ends = headers.each_ref().map(|header| {
        let trials = header.plan.order.iter().map(|slot| slot.trial);
        turn_ends(trials)
    });
    let (mut places, mut done, mut next) = ([Vec::new(), Vec::new()], [0, 0], 0);
    for side in order {
        let side = *side as usize;
        let begin = places[side].len();
        let end = ends[side].get(done[side]).copied().unwrap_or(begin);
        done[side] += 1;
        let length = u32::try_from(end - begin).unwrap_or(u32::MAX);
        places[side].extend(next..next + length);
        next += length;
    }
    let each = Side::BOTH.into_iter().zip(headers).zip(places).zip(turns);
    for (((side, header), places), turns) in each {
        header.paired = Some(Paired {
            with: ids[side.other() as usize].clone(),
            side,
            places,
            turns,
        });
    }
}

/// Returns the turn of the session in which each slot of a side is; empty without acts.
fn turns_of_slots(header: &RunHeader, order: &[Side], side: Side) -> Vec<u32> {
    let Some(acts) = &header.acts else {
        return Vec::new();
    };
    let ends = turn_ends(acts.slots.iter().map(|(slot, _)| slot.trial));
    let own = (0..).zip(order).filter(|(_, of)| **of == side);
    let (mut turns, mut begin) = (Vec::new(), 0);
    for ((turn, _), end) in own.zip(ends) {
        turns.extend(std::iter::repeat_n(turn, end - begin));
        begin = end;
    }
    turns
}

/// Returns the side of each turn of a session; the first two turns condition the storage.
fn order(trials: u32, seed: u64) -> Vec<Side> {
    let mut order = vec![Side::A, Side::B];
    order.extend(turns(trials, &mut SplitMix64::new(seed)));
    order
}

/// Side of a session under way.
struct Arm<'a> {
    execution: Execution<'a>,
    /// Number of slots that are done after each turn of this side.
    ends: Vec<usize>,
    /// Number of turns that are done.
    turns: usize,
    /// `true` once its agent was asked to run.
    begun: bool,
    end: Option<Result<RunEnd, Failure>>,
}

/// Decides, after a number of rounds that count, if the trials of both sides are enough.
type EnoughOfBoth<'a> = dyn FnMut(u32, [SoFarOfPlan<'_>; 2]) -> bool + 'a;

/// Session of both sides.
struct Session<'a> {
    arms: [Arm<'a>; 2],
}

impl<'a> Session<'a> {
    /// Makes a session of a setup; the sides are in the order of [`Side::BOTH`].
    fn new(
        hosts: [&'a mut Host; 2],
        headers: &'a [RunHeader; 2],
        acts: Option<&'a [Acts; 2]>,
        done: &[(Vec<TrialRecord>, usize); 2],
    ) -> Self {
        let mut side = 0;
        Self {
            arms: hosts.map(|host| {
                let (header, acts) = (&headers[side], acts.map(|acts| &acts[side]));
                let done = done[side].clone();
                side += 1;
                Arm {
                    ends: match acts {
                        None => turn_ends(header.plan.order.iter().map(|slot| slot.trial)),
                        Some(acts) => turn_ends(acts.slots.iter().map(|(slot, _)| slot.trial)),
                    },
                    execution: match acts {
                        None => Execution::new(host, header, done.0),
                        Some(acts) => Execution::of_acts(host, header, acts, done, None),
                    },
                    turns: 0,
                    begun: false,
                    end: None,
                }
            }),
        }
    }

    /// Runs the turns that are missing until one side ends, a signal comes, or `enough` accepts the
    /// trials of both; `enough` is called when both sides have had the same number of turns. `whole`:
    /// the run is complete after these turns.
    fn run(
        &mut self,
        (turns, whole): (&[Side], bool),
        recorder: &mut Recorder<'_>,
        interrupt: &Interrupt,
        enough: &mut EnoughOfBoth<'_>,
    ) {
        let mut over = whole;
        for side in turns {
            let arm = &mut self.arms[*side as usize];
            let stopped = interrupt.exit_code().is_some();
            let before = arm.execution.so_far().slots;
            // A signal ends the turn early, and its last trial may be incomplete.
            if stopped || !arm.turn(recorder) || interrupt.exit_code().is_some() {
                over = false;
                break;
            }
            if has_lost_data(arm.execution.trials()) {
                over = true;
                break;
            }
            let is_new = arm.execution.so_far().slots > before;
            let done = self.arms.each_ref().map(|arm| arm.execution.so_far());
            let [of_a, of_b] = self.arms.each_ref().map(|arm| arm.turns);
            // The first turn conditions the storage.
            let rounds = u32::try_from(of_a.saturating_sub(1)).unwrap_or(u32::MAX);
            if is_new && of_a == of_b && enough(rounds, done) {
                over = true;
                break;
            }
        }
        for arm in &mut self.arms {
            arm.close(over, recorder);
        }
    }

    /// Returns the trials and the end of each side; `signal` is the exit code of a signal.
    fn finish(self, signal: Option<u8>) -> [Executed; 2] {
        self.arms.map(|arm| Executed {
            trials: arm.execution.finish(),
            ended: match arm.end {
                Some(end) => end.map(|end| Ending::of(end, signal)),
                None => Ok(Ending::of(RunEnd::Cancelled, signal)),
            },
        })
    }
}

impl Arm<'_> {
    /// Runs the slots of the next turn that are not done; returns `false` if the run of this side has
    /// ended.
    fn turn(&mut self, recorder: &mut Recorder<'_>) -> bool {
        let end = self.ends.get(self.turns).copied().unwrap_or(0);
        self.turns += 1;
        while self.execution.so_far().slots < end {
            self.begun = true;
            let received = self
                .execution
                .next_slot()
                .and_then(|()| recorder.receive(&mut self.execution));
            match received {
                Ok(AgentEvent::Slot(_)) => {}
                Ok(AgentEvent::Done(end)) => self.end = Some(Ok(end)),
                Err(failure) => self.end = Some(Err(failure)),
            }
            if self.end.is_some() {
                return false;
            }
            if has_lost_data(self.execution.trials()) {
                return true;
            }
        }
        true
    }

    /// Ends the run of this side. `over`: the session is complete, so that this is not an interruption.
    fn close(&mut self, over: bool, recorder: &mut Recorder<'_>) {
        if !self.begun && over {
            // All of its turns were done before the session was resumed.
            self.end = Some(Ok(RunEnd::Finished));
        }
        if !self.begun || self.end.is_some() {
            return;
        }
        self.execution.cancel();
        let end = loop {
            match recorder.receive(&mut self.execution) {
                // The trial that was under way.
                Ok(AgentEvent::Slot(_)) => {}
                Ok(AgentEvent::Done(RunEnd::Cancelled)) if over => break Ok(RunEnd::Finished),
                Ok(AgentEvent::Done(end)) => break Ok(end),
                Err(failure) => break Err(failure),
            }
        };
        self.end = Some(end);
    }
}

/// Runs both plans in turn.
fn measure_in_turn(setup: &mut Setup) -> Result<[Executed; 2], Failure> {
    let order = order(setup.trials, setup.headers[0].plan.seed);
    let until = 2 * (setup.until() as usize + 1);
    let display = match setup.shows_trials() {
        true => SlotDisplay::Jobs(Progress::new(setup.steps_in_turn())),
        false => SlotDisplay::Acts(SlotTalk::new(0, order.len())),
    };
    let messages = display.messages().clone();
    let store = &mut setup.store;
    let mut recorder = Recorder { store, display };
    let [a, b] = &mut setup.hosts;
    let agents = vec![a.requests(), b.requests()];
    let acts = setup.acts.as_ref();
    let mut session = Session::new([a, b], &setup.headers, acts, &setup.done);
    let question = Question {
        headers: &setup.headers,
        trials: setup.trials,
        used: setup.used,
        margins: setup.replaces.as_deref(),
    };
    let mut enough = question.decide(&messages);
    let turns = (&order[..until], until == order.len());
    let ((), signal) = plans::interruptible(agents, &messages, |interrupt| {
        session.run(turns, &mut recorder, interrupt, &mut enough);
    })?;
    Ok(session.finish(signal))
}

impl Setup {
    /// Returns the part of a plan before the session ends or pauses.
    fn part_of(&self, plan: &Plan) -> Plan {
        let mut part = plan.clone();
        part.order.retain(|slot| slot.trial <= self.until());
        for (index, planned) in part.jobs.iter_mut().enumerate() {
            let slots = part.order.iter().filter(|slot| slot.job == index);
            planned.trials = u32::try_from(slots.count()).unwrap_or(u32::MAX);
        }
        part
    }

    /// Number of trials of a side after which the session ends or pauses.
    fn until(&self) -> u32 {
        self.pause
            .map_or(self.trials, |pause| pause.min(self.trials))
    }

    /// `true` if the trials and their times are known beforehand.
    fn shows_trials(&self) -> bool {
        self.acts.is_none() || self.headers[0].acts.is_some()
    }

    /// Returns the trials of both sides, in the order of the session.
    fn steps_in_turn(&self) -> Vec<Step> {
        let mut all: Vec<(u32, Step)> = Vec::new();
        for ((header, times), side) in self.headers.iter().zip(&self.times).zip(Side::BOTH) {
            let slots = header.plan.order.iter();
            let usual: Vec<Nanos> = times.iter().map(|[usual, _]| *usual).collect();
            let planned = slots.zip(steps(&header.plan, &usual));
            let planned = planned.filter(|(slot, _)| slot.trial <= self.until());
            for (position, (_, step)) in (0..).zip(planned) {
                let step = Step {
                    name: format!("{side}: {}", step.name),
                    // The sides differ in speed, so each has its own kinds.
                    kind: 2 * step.kind + side as usize,
                    ..step
                };
                all.push((header.place_of(position), step));
            }
        }
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, step)| step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_where_the_next_trial_begins() {
        let ends = |trials: &[u32]| turn_ends(trials.iter().copied());
        assert_eq!(ends(&[0, 0, 1, 1, 2, 2]), [2, 4, 6]);
        // A probe before the first turn belongs to it.
        assert_eq!(ends(&[1, 0, 0, 1, 1]), [3, 5]);
        assert_eq!(ends(&[0]), [1]);
        assert_eq!(ends(&[]), [0; 0]);
    }
}

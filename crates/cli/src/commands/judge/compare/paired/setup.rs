//! Setup before the first turn: the targets, the jobs, the number of trials, and their order.

use crate::checks::admission::{self, Need};
use crate::checks::estimate;
use crate::commands::judge::compare::CompareArgs;
use crate::config;
use crate::driver::host::Host;
use crate::driver::runs::{header, random, run_id};
use crate::driver::{announce, leftovers};
use crate::exit::Failure;
use crate::jobs::suite::SuiteArgs;
use crate::rounds::acts::{ActPlace, ReadCommand, RepeatedAct, RepeatedCommand, check_place};
use crate::rounds::args::RoundArgs;
use crate::rounds::jobs::{self, JobSource, Jobs};
use crate::rounds::outlook::{LevelAndMargin, Spread, deciding};
use crate::rounds::plan;
use crate::rounds::schedule::{self, Cost, Schedule, Trials, USUAL, Wish};
use assay_lang::{counted, tr};
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, Slot, turns};
use assay_model::rng::SplitMix64;
use assay_model::run::{Paired, RunHeader};
use assay_model::units::{Bytes, Nanos};
use assay_model::verdict::Side;
use assay_model::wire::Inspection;
use assay_model::work::acts::Acts;
use assay_store::Store;
use assay_target::Target;
use std::path::Path;

/// Setup of two runs that take turns. Pairs are in the order of [`Side::BOTH`].
pub struct Setup {
    pub hosts: [Host; 2],
    pub headers: [RunHeader; 2],
    pub store: Store,
    /// Maximum number of trials of a side.
    pub trials: u32,
    /// Side of each turn; the first two turns condition the storage.
    pub turns: Vec<Side>,
    /// Acts of both sides; `None`: the jobs of the plans.
    pub acts: Option<[Acts; 2]>,
}

/// Target that was admitted.
struct Admitted {
    host: Host,
    inspection: Inspection,
    place: Place,
}

impl Setup {
    /// Inspects and admits both targets; nothing is written there yet.
    pub fn new(
        args: &CompareArgs,
        paths: [&Path; 2],
        read: ReadCommand,
        store: &Path,
        targets: &mut [Box<dyn Target>; 2],
    ) -> Result<Self, Failure> {
        has_whole_blocks(&args.rounds)?;
        let commands = commands(args, paths, read)?;
        if let [RepeatedCommand::Act(act), _] = &commands {
            let mut targets = targets.iter_mut();
            targets.try_for_each(|target| act.check_target(target.as_mut()))?;
        }
        let [on_a, on_b] = targets;
        let mut a = Admitted::new(paths[0], &args.rounds, on_a.as_mut())?;
        let mut b = Admitted::new(paths[1], &args.rounds, on_b.as_mut())?;
        are_two(&a, &b)?;
        // A refused target must leave no store behind, so the store is made after the checks.
        let mut store = Store::open(store)?;
        for side in [&mut a, &mut b] {
            leftovers::clear(&mut side.host, &mut store, &side.place)?;
            side.inspection = side.host.inspect(side.place.path())?;
        }
        // One seed: the same I/Os in the same order on both sides.
        let seed = args.seed.unwrap_or_else(random);
        let (plans, schedule, acts) = match &commands {
            [RepeatedCommand::Jobs(source), _] => {
                let jobs = common_jobs(&args.rounds, source, [&a, &b])?;
                let schedule = schedule(args, &cost(args, &jobs, [&a.place, &b.place]))?;
                let plans = [&a, &b].map(|side| {
                    let (jobs, place) = (jobs.clone(), side.place.clone());
                    plan(&args.rounds, seed, jobs, Vec::new(), place, schedule.trials)
                });
                (plans, schedule, None)
            }
            [RepeatedCommand::Act(of_a), RepeatedCommand::Act(of_b)] => {
                let cost = Cost {
                    step: 2,
                    ..Cost::UNKNOWN
                };
                let schedule = schedule(args, &cost)?;
                let a = a.act(of_a, args, seed, schedule.trials)?;
                let b = b.act(of_b, args, seed, schedule.trials)?;
                ([a.0, b.0], schedule, Some([a.1, b.1]))
            }
            [RepeatedCommand::Act(_), RepeatedCommand::Jobs(_)] => {
                return Err(Failure::usage("both sides repeat one command"));
            }
        };
        let mut order = vec![Side::A, Side::B];
        order.extend(turns(schedule.trials, &mut SplitMix64::new(seed)));
        let begun = |plan: Plan, side: &Admitted| {
            let mut header = header(plan, side.inspection.clone(), side.host.origin());
            header.stopping = schedule.stopping.clone();
            header
        };
        let [plan_a, plan_b] = plans;
        let mut headers = [begun(plan_a, &a), begun(plan_b, &b)];
        pair(&mut headers, &order);
        Ok(Self {
            hosts: [a.host, b.host],
            headers,
            store,
            trials: schedule.trials,
            turns: order,
            acts,
        })
    }

    /// Returns the facts to announce before the session begins.
    pub fn facts(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let [a, b] = &self.headers;
        let mut facts = Vec::new();
        for (side, header) in [tr!("Side A"), tr!("Side B")].into_iter().zip([a, b]) {
            facts.push((side, announce::storage(&header.plan.place, &header.storage)));
            if self.acts.is_none() {
                facts.push((tr!("Writes"), announce::writes(&header.plan)));
            }
        }
        let takes = match &self.acts {
            None => {
                let both = estimate::of_plan(&a.plan).0 + estimate::of_plan(&b.plan).0;
                tr!(
                    "about {time}, longer on slow storage: {trials} of {jobs} on each side, in turn, seed {seed}",
                    time = announce::minutes(Nanos(both)),
                    trials = counted!(u64::from(self.trials), "{n} trial", "{n} trials"),
                    jobs = counted!(a.plan.jobs.len() as u64, "{n} job", "{n} jobs"),
                    seed = a.plan.seed
                )
            }
            Some(_) => tr!(
                "{trials} of the command on each side, in turn; the duration is known after the first; seed {seed}",
                trials = counted!(u64::from(self.trials), "{n} trial", "{n} trials"),
                seed = a.plan.seed
            ),
        };
        let keeps = tr!(
            "each trial as it ends, as runs {a} and {b} in {store}",
            a = a.id,
            b = b.id,
            store = self.store.path().display()
        );
        facts.extend([(tr!("Takes"), takes), (tr!("Keeps"), keeps)]);
        facts.extend(schedule::facts(&a.stopping, self.trials));
        let spread = Spread::known(&self.store, &a.storage.words(), &jobs_of(a))?;
        facts.push((
            tr!("Shows"),
            spread.foretells(
                self.trials,
                LevelAndMargin::to(alpha_of_metric(a), &a.stopping),
                &a.stopping,
            ),
        ));
        Ok(facts)
    }
}

/// Commands of the two sides.
fn commands(
    args: &CompareArgs,
    paths: [&Path; 2],
    read: ReadCommand,
) -> Result<[RepeatedCommand; 2], Failure> {
    if !args.command.is_empty() {
        let [a, b] = paths.map(|path| read(&args.command, path));
        return Ok([a?, b?]);
    }
    let jobs = || match args.jobs.as_deref().map(jobs::from_file) {
        None => Ok(JobSource::Suite),
        Some(jobs) => jobs.map(JobSource::File),
    };
    Ok([jobs()?, JobSource::Suite].map(RepeatedCommand::Jobs))
}

impl Admitted {
    /// Plan and slots of an act on this side: one round that conditions the storage, then the trials.
    fn act(
        &mut self,
        act: &RepeatedAct,
        args: &CompareArgs,
        seed: u64,
        trials: u32,
    ) -> Result<(Plan, Acts), Failure> {
        let (work, steps) = (act.make)(&self.inspection)?;
        let place = ActPlace {
            inspection: &self.inspection,
            bench: &self.inspection,
            makes_file_systems: false,
        };
        check_place(&mut self.host, &work, &place)?;
        let slots = (0..=trials).map(|trial| Slot::plain(0, trial)).collect();
        let destroy_data = args.rounds.destroy.destroy_data.is_some();
        let acts = Acts::in_slots(work, slots, seed, destroy_data);
        let plan = acts.plan(run_id(), &steps, seed, self.place.clone());
        Ok((plan, acts))
    }

    fn new(path: &Path, args: &RoundArgs, target: &mut dyn Target) -> Result<Self, Failure> {
        admission::can_be_stored(path)?;
        let mut host = Host::start(target)?;
        let inspection = host.inspect(path)?;
        let agreed = args
            .destroy
            .allow(&inspection.path, |name| host.inspect(name))?;
        let place = admission::admit(&inspection, Need::anything(agreed))?;
        announce::tell(&Vec::from_iter(announce::held(&inspection)));
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

/// Significance level of a metric in the first step of Holm's correction for all that decide.
pub fn alpha_of_metric(header: &RunHeader) -> f64 {
    let metrics = deciding(&jobs_of(header)).max(1) as f64;
    header.stopping.alpha() / metrics
}

fn jobs_of(header: &RunHeader) -> Vec<Job> {
    let jobs = header.plan.jobs.iter().map(|planned| planned.job.clone());
    jobs.collect()
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
    let choose = |args: &RoundArgs| -> Result<[Jobs; 2], Failure> {
        let of = |side: &Admitted| jobs::choose(args, source, &side.inspection, &side.place);
        Ok([of(sides[0])?, of(sides[1])?])
    };
    let [a, b] = choose(args)?;
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
        false => choose(&sized)?,
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

fn cost(args: &CompareArgs, jobs: &Jobs, places: [&Place; 2]) -> Cost {
    let once = estimate::of_jobs(&jobs.all, false, &args.rounds.restore());
    let round = Nanos(once.0.saturating_mul(2));
    let files = places.map(|place| estimate::of_file(place, jobs.file, false).0);
    Cost {
        before: Nanos(files.iter().sum::<u64>() + round.0),
        round,
        step: 2,
    }
}

fn schedule(args: &CompareArgs, cost: &Cost) -> Result<Schedule, Failure> {
    let wish = Wish {
        trials: args.rounds.trials,
        max_trials: args.shown.terms.max_trials,
        budget: args.rounds.budget,
        margin: args.shown.terms.margin.unwrap_or_else(config::margin),
    };
    Schedule::of(&wish, cost)
}

/// Records in both headers the id of the other run, and the position of each trial in the session.
fn pair(headers: &mut [RunHeader; 2], turns: &[Side]) {
    let ids = headers.each_ref().map(|header| header.id.clone());
    for (side, header) in Side::BOTH.into_iter().zip(headers) {
        let jobs = header.plan.jobs.len();
        let own = turns.iter().enumerate().filter(|(_, turn)| **turn == side);
        let places = own.flat_map(|(turn, _)| turn * jobs..(turn + 1) * jobs);
        header.paired = Some(Paired {
            with: ids[side.other() as usize].clone(),
            side,
            places: places
                .map(|place| u32::try_from(place).unwrap_or(u32::MAX))
                .collect(),
        });
    }
}

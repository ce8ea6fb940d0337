//! `assay compare`: is B faster, slower or equivalent, or is there no conclusion?
//!
//! [`Setup`] is made before the first turn: the targets, the jobs, the number of trials, and their
//! order. A [`Session`] then runs two plans at two agents that take turns. An agent waits until its
//! last trial is acknowledged as stored, so that a side pauses as long as the acknowledgement is
//! withheld.
//!
//! Each agent runs a plan as in a single run, so evidence, leftovers, signals and lost agents need
//! nothing new. The headers of both runs name each other and the place of each trial in the session
//! (`assay_model::run::Paired`).
//!
//! `--in-turn` compares two states of a machine, such as two kernels, whose runs are made by turns
//! over days and reboots. It needs only the tags of the stored runs.

use crate::checks::admission::Need;
use crate::checks::{admission, estimate};
use crate::driver::announce::tell;
use crate::driver::plans::{self, Executed, Execution, Recorder, SlotDisplay, SoFarOfPlan};
use crate::driver::runs::{Done, Ending, header, random, run_id};
use crate::driver::trials::{AgentEvent, SlotTalk};
use crate::driver::{Host, announce, clear_leftovers};
use crate::exit::{DONE, Failure, Interrupt};
use crate::jobs::SuiteArgs;
use crate::judging::{
    Judged, NamedSide, VerdictArgs, present, present_judged, two_conditions, two_sources, wanted,
};
use crate::output::say;
use crate::rounds::stopper::{ComparisonsSoFar, LevelAndMargin, Spread, Stopper, deciding};
use crate::rounds::{
    ActPlace, Cost, JobSource, Jobs, ReadCommand, RepeatedAct, RepeatedCommand, RoundArgs,
    Schedule, Trials, USUAL, Wish, check_place, plan,
};
use crate::stored::AnnotationArgs;
use crate::stored::lookup::FigureSource;
use crate::targets::OnArgs;
use crate::ui::progress::{Messages, Progress, Step, steps};
use crate::{config, judging, rounds, stored, targets};
use assay_lang::{counted, tr};
use assay_model::act::Acts;
use assay_model::figures::Side;
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, Slot, turns};
use assay_model::rng::SplitMix64;
use assay_model::run::{Paired, Run, RunHeader, RunStatus};
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, RunEnd};
use assay_stats::figures::of_trials;
use assay_stats::verdict::Options;
use assay_stats::verdict::compare::compare_figures;
use assay_stats::verdict::power::spreads;
use assay_stats::verdict::units::{RUNS, Standing};
use assay_store::{RunSummary, Store};
use assay_target::Target;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A source is `last`, the first letters of a stored run's or import's id, or a file
that assay import understands. Behind an @ it may name one of its conditions.

Examples:
  assay compare 3f2a 9b1c
  assay compare before.json after.json --margin 3
  assay compare governors.csv@interactive governors.csv@ondemand
  assay compare before-after.csv          its two conditions
  assay compare 3f2a 9b1c -o patch.txt    72 columns for a mail (docs/mail.md)
  assay compare 3f2a 9b1c --gate --format junit > assay.xml    (docs/gates.md)
  assay compare --a b1 --a b2 --a b3 --b c1 --b c2 --b c3
  assay compare --in-turn before after    runs tagged so, over reboots
  assay compare --paired-on /mnt/old /mnt/new --trials auto --budget 30m
  assay compare --paired-on /dev/sdb /dev/sdc --destroy-data --only 'rand-*'
  assay compare --paired-on /mnt/old /mnt/new -- androbench
  assay compare --paired-on /data /data --on ssh://board-a --on ssh://board-b

With three or more sources a side each is taken for a unit of the part, and the
verdict holds for the part; otherwise for these alone.

Exit codes: 0 done, 1 failed, 2 wrong usage, or with --gate: nothing was judged;
3 with --gate: something is slower, or side B lost data.";

/// Arguments that only `--paired-on` takes, beside those of rounds.
const OF_PAIRED: [&str; 8] = [
    "jobs",
    "destroy_data",
    "seed",
    "name",
    "tag",
    "note",
    "on",
    "unit",
];

/// `assay compare`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct CompareArgs {
    /// The baseline (A) and the candidate (B).
    #[arg(value_name = "SOURCE", num_args = 1..=2, conflicts_with_all = ["a", "b"], conflicts_with_all = OF_PAIRED, conflicts_with_all = RoundArgs::NAMES, required_unless_present_any = ["a", "b", "paired_on", "in_turn"])]
    pub sources: Vec<String>,
    /// A unit of side A; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "b", conflicts_with_all = RoundArgs::NAMES, conflicts_with_all = OF_PAIRED)]
    pub a: Vec<String>,
    /// A unit of side B; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "a")]
    pub b: Vec<String>,
    /// Measure two directories, files or block devices in turn and compare them: in random
    /// blocks of ABBA or BAAB, so that a drift affects both alike. Both are stored as runs; with
    /// --name they are called NAME-A and NAME-B.
    #[arg(long, num_args = 2, value_names = ["TARGET_A", "TARGET_B"], conflicts_with_all = ["sources", "a", "b"])]
    pub paired_on: Vec<PathBuf>,
    /// Compare the stored runs with tag A and those with tag B, such as those of two kernels, and
    /// say which run to make next: A B B A, until there is a verdict, with a look at 3 and at 6 runs
    /// of each.
    #[arg(long, num_args = 2, value_names = ["TAG_A", "TAG_B"], conflicts_with_all = ["sources", "a", "b", "paired_on"], conflicts_with_all = OF_PAIRED, conflicts_with_all = RoundArgs::NAMES)]
    pub in_turn: Vec<String>,
    /// With --paired-on: jobs from a job file of fio instead of those of assay qualify.
    #[arg(long, value_name = "JOB-FILE", requires = "paired_on", conflicts_with_all = ["quick", "thorough", "only"])]
    pub jobs: Option<PathBuf>,
    /// With --paired-on: a command of androbench, dd, disks, iozone, mark, mem or scenario instead of
    /// the jobs of assay qualify, written as after assay, without its path.
    #[arg(last = true, value_name = "COMMAND", requires = "paired_on", conflicts_with_all = ["jobs", "quick", "thorough", "only", "size"])]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub shown: VerdictArgs,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub rounds: RoundArgs,
    /// Repeat the order, offsets and contents of an earlier session.
    #[arg(long, value_name = "N", help_heading = "With --paired-on")]
    pub seed: Option<u64>,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub annotation: AnnotationArgs,
    #[command(flatten, next_help_heading = "With --paired-on")]
    pub on: OnArgs,
}

/// Compares stored results, or measures two targets and compares them.
pub fn run(args: &CompareArgs, read: ReadCommand) -> Result<ExitCode, Failure> {
    if let [a, b] = args.paired_on.as_slice() {
        // Report an unusable format before anything is measured.
        wanted(&args.shown)?;
        return run_paired(args, [a, b], read, targets::pair(&args.on)?);
    }
    if let [a, b] = args.in_turn.as_slice() {
        return judge_in_turn(&args.shown, [a, b]);
    }
    present(&args.shown, sides(args)?)
}

fn sides(args: &CompareArgs) -> Result<(NamedSide, NamedSide), Failure> {
    let find = |word: &String| FigureSource::find(word, &args.shown.store);
    match args.sources.as_slice() {
        [only] => two_conditions(&find(only)?),
        [a, b] => two_sources([a, b], &args.shown.store),
        _ => {
            let side =
                |words: &[String]| judging::units(&words.join(", "), words, &args.shown.store);
            Ok((side(&args.a)?, side(&args.b)?))
        }
    }
}

/// Side of a session under way.
struct Arm<'a> {
    execution: Execution<'a>,
    /// `true` once its agent was asked to run.
    begun: bool,
    end: Option<Result<RunEnd, Failure>>,
}

/// Session of both sides.
struct Session<'a> {
    arms: [Arm<'a>; 2],
    /// Number of slots in a turn.
    slots: usize,
}

impl<'a> Session<'a> {
    /// Makes a session; the sides are in the order of [`Side::BOTH`].
    pub fn new(
        hosts: [&'a mut Host; 2],
        headers: [&'a RunHeader; 2],
        acts: Option<&'a [Acts; 2]>,
    ) -> Self {
        let [a, b] = hosts;
        let arm = |host, header, acts| Arm {
            execution: match acts {
                None => Execution::new(host, header, Vec::new()),
                Some(acts) => Execution::of_acts(host, header, acts, (Vec::new(), 0), None),
            },
            begun: false,
            end: None,
        };
        let of = |side: Side| acts.map(|acts| &acts[side as usize]);
        Self {
            arms: [
                arm(a, headers[0], of(Side::A)),
                arm(b, headers[1], of(Side::B)),
            ],
            slots: match acts {
                None => headers[0].plan.jobs.len(),
                Some(_) => 1,
            },
        }
    }

    /// Number of slots in a turn.
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Runs the turns until one side ends, a signal comes or `enough` accepts the trials of both;
    /// `enough` is called when both sides have the same number of trials.
    pub fn run(
        &mut self,
        turns: &[Side],
        recorder: &mut Recorder<'_>,
        interrupt: &Interrupt,
        enough: &mut dyn FnMut([SoFarOfPlan<'_>; 2]) -> bool,
    ) {
        let mut over = true;
        for side in turns {
            let stopped = interrupt.exit_code().is_some();
            if stopped || !self.arms[*side as usize].turn(self.slots, recorder) {
                over = false;
                break;
            }
            let done = self.arms.each_ref().map(|arm| arm.execution.so_far());
            if done[0].slots == done[1].slots && enough(done) {
                break;
            }
        }
        for arm in &mut self.arms {
            arm.close(over, recorder);
        }
    }

    /// Returns the trials and the end of each side; `signal` is the exit code of a signal.
    pub fn finish(self, signal: Option<u8>) -> [Executed; 2] {
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
    /// Runs each job, or the act, once; returns `false` if the run of this side has ended.
    fn turn(&mut self, slots: usize, recorder: &mut Recorder<'_>) -> bool {
        self.begun = true;
        for _ in 0..slots {
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
        }
        true
    }

    /// Ends the run of this side. `over`: the session is complete, so that this is not an interruption.
    fn close(&mut self, over: bool, recorder: &mut Recorder<'_>) {
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

/// Setup of two runs that take turns. Pairs are in the order of [`Side::BOTH`].
struct Setup {
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
            clear_leftovers(&mut side.host, &mut store, &side.place)?;
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
        facts.extend(rounds::facts(&a.stopping, self.trials));
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
    let jobs = || match args.jobs.as_deref().map(rounds::from_file) {
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
        let plan = acts.plan(run_id(), &[steps], seed, self.place.clone());
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

/// Significance level of a metric in the first step of Holm's correction for all that decide.
fn alpha_of_metric(header: &RunHeader) -> f64 {
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
        let of = |side: &Admitted| rounds::choose(args, source, &side.inspection, &side.place);
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

/// Measures two targets in turn and compares them.
fn run_paired(
    args: &CompareArgs,
    paths: [&Path; 2],
    read: ReadCommand,
    mut targets: [Box<dyn Target>; 2],
) -> Result<ExitCode, Failure> {
    let store_path = args.shown.store.local_file()?;
    let mut setup = Setup::new(args, paths, read, &store_path, &mut targets)?;
    let annotations = [args.annotation.of_side("A")?, args.annotation.of_side("B")?];
    for annotation in &annotations {
        // Reports a name that is taken, before anything is stored.
        setup.store.annotate_next(annotation.clone())?;
    }
    tell(&setup.facts()?);
    for (header, annotation) in setup.headers.iter().zip(annotations) {
        setup.store.annotate_next(annotation)?;
        setup.store.begin_run(header, &stored::this_process())?;
    }
    let executed = measure_in_turn(&mut setup)?;
    let untouched = executed.iter().all(|side| side.trials.is_empty());
    let refused = |side: &Executed| matches!(&side.ended, Err(failure) if failure.is_usage());
    if untouched && executed.iter().any(refused) {
        // An agent refused before anything ran: remove the empty runs.
        for header in &setup.headers {
            setup.store.forget_run(&header.id)?;
        }
        let ended = executed.into_iter().map(|side| side.ended.map(|_| DONE));
        return ended.collect::<Result<Vec<_>, _>>().map(|_| DONE);
    }
    let Setup {
        headers, mut store, ..
    } = setup;
    let [a, b] = headers;
    let [of_a, of_b] = executed;
    let [on_a, on_b] = &mut targets;
    let a = plans::close(a, &mut store, of_a, on_a.as_mut())?;
    let b = plans::close(b, &mut store, of_b, on_b.as_mut())?;
    conclude_paired(args, a, b)
}

/// Shows the comparison; returns the exit code of a side that was stopped, else that of the gate.
fn conclude_paired(args: &CompareArgs, a: Done, b: Done) -> Result<ExitCode, Failure> {
    let (id_a, id_b) = (&a.run.header.id, &b.run.header.id);
    say(&tr!(
        "Stored as runs {id_a} and {id_b}: assay compare {id_a} {id_b}",
        id_a,
        id_b
    ));
    let measured = |run: &Run| run.trials.iter().any(TrialRecord::counts);
    let gate = match measured(&a.run) && measured(&b.run) {
        true => present(&args.shown, (named_side(&a.run), named_side(&b.run))),
        false => Ok(DONE),
    };
    let [of_a, of_b] = [a, b].map(Done::conclude);
    // If one side failed, the other one was stopped; the failure gives the reason.
    match (of_a, of_b) {
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
        (Ok(DONE), Ok(DONE)) => gate,
        (Ok(DONE), Ok(code)) | (Ok(code), Ok(_)) => Ok(code),
    }
}

fn named_side(run: &Run) -> NamedSide {
    let source = FigureSource::of_run(run.clone());
    let path = run.header.plan.place.path().display();
    NamedSide {
        name: format!("{path} (run {})", run.header.id),
        ..NamedSide::of(source)
    }
}

/// Runs both plans in turn.
fn measure_in_turn(setup: &mut Setup) -> Result<[Executed; 2], Failure> {
    let display = match &setup.acts {
        None => SlotDisplay::Jobs(Progress::new(steps_in_turn(&setup.headers))),
        Some(_) => SlotDisplay::Acts(SlotTalk::new(0, setup.turns.len())),
    };
    let messages = display.messages().clone();
    let store = &mut setup.store;
    let mut recorder = Recorder { store, display };
    let [a, b] = &mut setup.hosts;
    let agents = vec![a.requests(), b.requests()];
    let [header_a, header_b] = &setup.headers;
    let acts = setup.acts.as_ref();
    let mut session = Session::new([a, b], [header_a, header_b], acts);
    let mut enough = enough_trials(&setup.headers, (setup.trials, session.slots()), &messages);
    let ((), signal) = plans::interruptible(agents, &messages, |interrupt| {
        session.run(&setup.turns, &mut recorder, interrupt, &mut enough);
    })?;
    Ok(session.finish(signal))
}

/// Returns the trials of both sides, in the order of the session.
fn steps_in_turn(headers: &[RunHeader; 2]) -> Vec<Step> {
    let mut all: Vec<(u32, Step)> = Vec::new();
    for (header, side) in headers.iter().zip(Side::BOTH) {
        let own = steps(&header.plan, &estimate::of_trials(&header.plan));
        for (position, step) in (0..).zip(own) {
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

/// Returns a function that decides if both sides have enough trials; called when they have equally
/// many.
fn enough_trials<'a>(
    headers: &'a [RunHeader; 2],
    (trials, slots): (u32, usize),
    messages: &'a Messages,
) -> impl FnMut([SoFarOfPlan<'_>; 2]) -> bool + 'a {
    let [header, _] = headers;
    let alpha = alpha_of_metric(header);
    // A block is two turns of each side.
    let mut stopper = Stopper::new(&header.stopping, alpha, trials, 2, Nanos(0));
    move |of_both| {
        // The first turn conditions the storage.
        let rounds = (of_both[0].slots / slots).saturating_sub(1);
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        stopper.is_enough(rounds, messages, || {
            compare_so_far(headers, of_both.map(|side| side.trials))
        })
    }
}

/// Compares the trials so far in the same way as the final comparison.
fn compare_so_far(headers: &[RunHeader; 2], trials: [&[TrialRecord]; 2]) -> ComparisonsSoFar {
    let a = of_trials(&headers[0], trials[0]);
    let b = of_trials(&headers[1], trials[1]);
    let options = Options {
        same_model: true,
        ..Options::of_run(&headers[0].stopping)
    };
    let standing = Standing::of_comparison(&compare_figures(&a, &b, &options));
    ComparisonsSoFar {
        standing,
        spread: Spread::of(spreads(&[a, b].concat())),
    }
}

/// Judges the runs that have the tags, after the numbers of runs in [`RUNS`], and prints which run to
/// make next.
fn judge_in_turn(args: &VerdictArgs, tags: [&String; 2]) -> Result<ExitCode, Failure> {
    let mut runs = args.store.open_existing()?.runs()?;
    let has = |run: &RunSummary, tag: &String| run.annotation.tags.contains(tag);
    runs.retain(|run| run.status == RunStatus::Finished && tags.iter().any(|tag| has(run, tag)));
    runs.sort_by_key(|run| run.started_unix_ms);
    // A tag may have been used before, for another card.
    let place = |run: &RunSummary| (run.target.clone(), run.device.clone(), run.path.clone());
    let of_newest = runs.last().map(place);
    runs.retain(|run| Some(place(run)) == of_newest);
    let made = tags.map(|tag| runs.iter().filter(|run| has(run, tag)).count());
    let least = u32::try_from(made[0].min(made[1])).unwrap_or(u32::MAX);
    let look = RUNS.looks.iter().rev().find(|look| **look <= least);
    let Some(&look) = look else {
        let next = next_run(tags, made, false);
        let is_asked = wanted(args)?.is_some() || args.gate && !args.allow_unjudged;
        if is_asked {
            return Err(Failure::usage(tr!("nothing was judged yet. {next}", next)));
        }
        say(&next);
        return Ok(DONE);
    };
    let first = |tag: &String| -> Vec<&RunSummary> {
        let of_side = runs.iter().filter(|run| has(run, tag));
        of_side.take(look as usize).collect()
    };
    let sides = tags.map(first);
    if !are_in_turn(&sides) {
        return Err(Failure::usage(tr!(
            "no verdict: the runs of {of_a} and {of_b} were not made in turn, so a change of the machine over time would look like a difference; with other tags, measure A B B A",
            of_a = tags[0],
            of_b = tags[1]
        )));
    }
    let [a, b] = [0, 1].map(|side: usize| {
        let ids: Vec<String> = sides[side].iter().map(|run| run.id.clone()).collect();
        judging::units(tags[side], &ids, &args.store)
    });
    let judged = Judged::of_stored((a?, b?), &args.terms, &args.store, Some(RUNS.alpha))?;
    let settled = Standing::of_comparison(judged.compared().comparison).is_settled();
    let code = present_judged(args, judged)?;
    say(&next_run(tags, made, settled));
    Ok(code)
}

/// Describes how many runs of each side there are, and which one to make next.
fn next_run(tags: [&String; 2], [a, b]: [usize; 2], settled: bool) -> String {
    let [of_a, of_b] = tags;
    let made = tr!("Runs made: {a} of {of_a}, {b} of {of_b}.", a, b, of_a, of_b);
    if settled || a.min(b) >= RUNS.last() as usize {
        return tr!(
            "{made} That is enough; for another question use other tags.",
            made
        );
    }
    let aim = RUNS.looks.iter().find(|look| **look as usize > a.min(b));
    let aim = aim.copied().unwrap_or_else(|| RUNS.last());
    // A B B A, so that a drift affects both alike.
    let is_a = if a == b { a % 2 == 0 } else { a < b };
    let tag = if is_a { of_a } else { of_b };
    tr!(
        "{made} The next look is at {aim} of each. The next run is one of {tag}: repeat the command with --tag {tag}",
        made,
        aim,
        tag
    )
}

/// Returns `true` if the mean positions of both sides' runs in the session differ by at most a quarter
/// of it, so that a drift is not taken for a difference.
fn are_in_turn(sides: &[Vec<&RunSummary>; 2]) -> bool {
    let started = |run: &&RunSummary| run.started_unix_ms;
    let mut order: Vec<u64> = sides.iter().flatten().map(started).collect();
    order.sort_unstable();
    let place = |run: &&RunSummary| order.partition_point(|start| *start < run.started_unix_ms);
    let [a, b] = [0, 1].map(|side: usize| {
        let places: usize = sides[side].iter().map(place).sum();
        places as f64 / sides[side].len() as f64
    });
    4.0 * (a - b).abs() <= order.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_those_of_a_b_b_a() {
        let (a, b) = ("old".to_owned(), "new".to_owned());
        let sides = |made| next_run([&a, &b], made, false);
        for (made, tag) in [
            ([0, 0], "old"),
            ([1, 0], "new"),
            ([1, 1], "new"),
            ([1, 2], "old"),
            ([2, 2], "old"),
            ([3, 2], "new"),
        ] {
            let said = sides(made);
            assert!(
                said.ends_with(&format!("with --tag {tag}")),
                "{made:?} {said}"
            );
        }
        assert!(sides([6, 6]).contains("That is enough"));
        assert!(next_run([&a, &b], [3, 3], true).contains("That is enough"));
    }
}

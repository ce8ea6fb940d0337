//! `assay accept A B`: may part B replace part A?
//!
//! A plan is a list of commands, such as those of dd, iozone, AndroBench and scenarios, and jobs of
//! `assay qualify`. Both sides carry out all of them in every turn, in blocks of A B B A
//! ([`crate::rounds::paired`]), and the verdict is that of `assay compare --replace`.

use crate::checks::admission::DestroyArgs;
use crate::checks::input::{self, parse_toml};
use crate::commands::resume::{self, Missing, Resumed, nothing_missing};
use crate::commands::{Command, repeated};
use crate::driver::runs::Done;
use crate::exit::{DONE, Failure, MISSED, USAGE};
use crate::jobs::SuiteArgs;
use crate::judging::requirements::Requirements;
use crate::judging::{self, Judged, NamedSide, VerdictArgs, wanted};
use crate::output::say;
use crate::rounds::paired::{Repeated, Request, Setup, is_probe};
use crate::rounds::{JobSource, RepeatedCommand, RoundArgs, Trials, from_file};
use crate::scenarios::Profile;
use crate::stored::lookup::FigureSource;
use crate::stored::{AnnotationArgs, KeepArgs};
use crate::targets::{self, OnArgs};
use crate::ui::parse_time;
use crate::{config, stored};
use assay_lang::tr;
use assay_model::figures::Side;
use assay_model::run::{Run, RunStatus, Stopping};
use assay_model::text::clean;
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_stats::verdict::judge::Qualification;
use assay_target::Target;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A plan file has the commands that both sides repeat, without their path:
  jobs = [\"seq-*\", \"rand-write-4k\"]            jobs of assay qualify
  commands = [\"androbench\", \"scenario ota-ab --scale 0.1\"]
  probe = true                                check the capacity of both sides first

Examples:
  assay accept /mnt/old /mnt/new --plan emmc -o accept.html
  assay accept /dev/sdb /dev/sdc --plan sd --destroy-data
  assay accept /data /data --on ssh://board-a --on ssh://board-b --trials auto
  assay accept --resume last
  assay accept --a old1 --a old2 --a old3 --b new1 --b new2 --b new3

Exit codes: 0 B may replace A, 1 failed, 2 wrong usage or open, 3 B may not replace A,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every
case.";

/// Arguments that begin a session; with stored runs there is nothing to measure.
const OF_MEASURING: [&str; 12] = [
    "plan",
    "trials",
    "budget",
    "quick",
    "thorough",
    "size",
    "destroy_data",
    "seed",
    "name",
    "tag",
    "note",
    "on",
];

/// `assay accept`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, mut_arg("replace", |arg| arg.hide(true)), mut_arg("gate", |arg| arg.hide(true)))]
pub struct AcceptArgs {
    /// The part in use (A) and its replacement (B): two folders or two block devices.
    #[arg(value_names = ["A", "B"], num_args = 2, required_unless_present_any = ["a", "resume"], conflicts_with_all = ["a", "b", "resume"])]
    pub sides: Vec<PathBuf>,
    /// A stored run of a unit of part A; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "b", conflicts_with_all = OF_MEASURING)]
    pub a: Vec<String>,
    /// A stored run of a unit of part B; may be given several times.
    #[arg(long, value_name = "SOURCE", requires = "a")]
    pub b: Vec<String>,
    /// What is measured: the jobs and scenarios of a product with an emcp, emmc, sd or usb part, or a
    /// plan file [default: emmc].
    #[arg(long, value_name = "PART|FILE")]
    pub plan: Option<String>,
    /// File of requirements (docs/require.md), or a built-in set: margins of single metrics against A,
    /// and limits that B must keep.
    #[arg(long, value_name = "FILE.toml|SET")]
    pub limits: Option<PathBuf>,
    /// Trials of each side, an even number. auto: until every metric passes or fails, checked after
    /// 6, 10 and 20 trials; without it the session pauses at the first of these checks.
    #[arg(long, value_name = "N|auto", value_parser = Trials::parse)]
    pub trials: Option<Trials>,
    /// Limit the time, for example 30m, by making fewer trials if necessary.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<Nanos>,
    /// Continue a session that was interrupted, or measure more trials where it left metrics open:
    /// either of its runs.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["a", "b", "plan", "seed", "name", "tag", "note"])]
    pub resume: Option<String>,
    #[command(flatten)]
    pub suite: SuiteArgs,
    #[command(flatten)]
    pub destroy: DestroyArgs,
    /// Repeat the order, offsets and contents of an earlier session.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub annotation: AnnotationArgs,
    #[command(flatten)]
    pub shown: VerdictArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Measures two parts, or takes stored runs, and decides.
pub fn run(args: &mut AcceptArgs) -> Result<ExitCode, Failure> {
    // Report an unusable format, plan or limit before anything is measured.
    wanted(&args.shown)?;
    let limits = args.limits.as_deref().map(Requirements::read).transpose()?;
    let limits = limits.unwrap_or_default();
    args.shown.terms.replace = true;
    args.shown.terms.margins = limits.margins();
    if !args.a.is_empty() {
        let side = |words: &[String]| -> Result<NamedSide, Failure> {
            let side = judging::units(&words.join(", "), words, &args.shown.store)?;
            Ok(NamedSide {
                units: side.units.into_iter().map(without_probe).collect(),
                ..side
            })
        };
        return conclude(
            args,
            (side(&args.a)?, side(&args.b)?),
            &limits,
            String::new(),
        );
    }
    let mut targets = targets::pair(&args.on)?;
    let done = match (&args.resume, &args.sides[..]) {
        (Some(run), _) => resume_session(args, run, &mut targets)?,
        (None, [a, b]) => begin(args, [a, b], &mut targets)?,
        (None, _) => return Err(Failure::usage("give two places: A and B")),
    };
    match done {
        None => Ok(DONE),
        Some(done) => conclude_measured(args, done, &limits),
    }
}

/// Begins a session.
fn begin(
    args: &AcceptArgs,
    paths: [&PathBuf; 2],
    targets: &mut [Box<dyn Target>; 2],
) -> Result<Option<[Done; 2]>, Failure> {
    let store = args.shown.store.local_file()?;
    let plan = AcceptPlan::of(args)?;
    let each = [
        plan.commands(args, paths[0])?,
        plan.commands(args, paths[1])?,
    ];
    let rounds = RoundArgs {
        trials: Some(args.trials.unwrap_or(Trials::Auto)),
        budget: args.budget,
        idle: None,
        drop_caches: false,
        trim: false,
        temperature: None,
        temperature_limit: Nanos(0),
        suite: args.suite.clone(),
        only: plan.jobs.clone(),
        destroy: args.destroy.clone(),
    };
    let terms = &args.shown.terms;
    let request = Request {
        paths: paths.map(PathBuf::as_path),
        repeated: Repeated::Commands {
            each,
            probes: plan.probe,
        },
        rounds: &rounds,
        max_trials: terms.max_trials,
        margin: terms.margin.unwrap_or_else(config::margin),
        seed: args.seed,
    };
    let mut setup = Setup::new(&request, &store, targets)?;
    setup.replaces = true;
    setup.pause = pause(args, &setup.headers[0].stopping, 0);
    setup.measure(&args.annotation, targets)
}

/// Returns the next check after this number of rounds, at which the session pauses; `None` if it goes
/// on to the end.
fn pause(args: &AcceptArgs, stopping: &Stopping, rounds: u32) -> Option<u32> {
    if args.trials == Some(Trials::Auto) {
        return None;
    }
    let looks = stopping.looks.as_ref()?;
    looks.at.iter().copied().find(|at| *at > rounds)
}

/// Continues a session by either of its runs.
fn resume_session(
    args: &AcceptArgs,
    name: &str,
    targets: &mut [Box<dyn Target>; 2],
) -> Result<Option<[Done; 2]>, Failure> {
    let keep = KeepArgs {
        store: args.shown.store.clone(),
        ..KeepArgs::default()
    };
    let [on_a, on_b] = targets;
    let stored = FigureSource::find(name, &args.shown.store)?;
    let not_of_accept = || Failure::usage(format!("{name} is no run of assay accept"));
    let run = stored.run.as_deref().ok_or_else(not_of_accept)?;
    let is_of_accept = matches!(resume::began(run)?, Some(Command::Accept(_)));
    let paired = run.header.paired.as_ref().filter(|_| is_of_accept);
    let paired = paired.ok_or_else(not_of_accept)?;
    let mut ids = [run.header.id.clone(), paired.with.clone()];
    if paired.side == Side::B {
        ids.reverse();
    }
    let a = side_of(&keep, &ids[0], args, on_a.as_mut())?;
    let b = side_of(&keep, &ids[1], args, on_b.as_mut())?;
    let is_whole = |run: &Run| run.status == RunStatus::Finished;
    if is_whole(&a.0.run) && is_whole(&b.0.run) {
        nothing_missing(&a.0.run, false)?;
        return Ok(None);
    }
    let rounds = a.0.run.whole_rounds().min(b.0.run.whole_rounds());
    say(&clean(&tr!(
        "assay: resumes runs {a} and {b} after {rounds} trials of each",
        a = ids[0],
        b = ids[1],
        rounds
    )));
    let (a, done_a) = a;
    let (b, done_b) = b;
    let mut store = a.store;
    for run in [&a.run, &b.run] {
        store.reopen_run(&run.header.id, &stored::this_process(), run.trials.len())?;
    }
    let pause = pause(args, &a.run.header.stopping, rounds);
    let mut setup = Setup::resumed([a.host, b.host], [(a.run, done_a), (b.run, done_b)], store)?;
    setup.replaces = true;
    setup.pause = pause;
    setup.execute(targets)
}

/// Finds the run of a side, and the number of its slots that are done; the trials of others are
/// removed from it.
fn side_of(
    keep: &KeepArgs,
    id: &str,
    args: &AcceptArgs,
    target: &mut dyn Target,
) -> Result<(Resumed, usize), Failure> {
    let mut resumed = Resumed::find(keep, id, target)?;
    let acts = resumed.run.header.acts.clone();
    let acts = acts.ok_or_else(|| Failure::failed(format!("run {id} has no acts")))?;
    let missing = Missing::of_acts(&mut resumed.run, &acts)?;
    resume::inspect_again(&args.destroy, &resumed.run, &mut resumed.host)?;
    Ok((resumed, missing.done))
}

/// Shows the verdict on measured runs; returns the exit code of a side that was stopped, else that of
/// the answer.
fn conclude_measured(
    args: &AcceptArgs,
    [a, b]: [Done; 2],
    limits: &Requirements,
) -> Result<ExitCode, Failure> {
    let (id_a, id_b) = (&a.run.header.id, &b.run.header.id);
    say(&tr!(
        "Stored as runs {id_a} and {id_b}: assay accept --a {id_a} --b {id_b}",
        id_a,
        id_b
    ));
    let made = a.run.whole_rounds().min(b.run.whole_rounds());
    let next = a.run.header.stopping.looks.as_ref();
    let next = next.and_then(|looks| looks.at.iter().copied().find(|at| *at > made));
    let is_paused = a.run.status == RunStatus::Interrupted;
    let remedy = next.filter(|_| is_paused).map(|next| {
        tr!(
            "{more} more trials of each side: assay accept --resume {id_a}",
            more = next - made,
            id_a
        )
    });
    let side = |done: &Done| NamedSide::of(without_probe(FigureSource::of_run(done.run.clone())));
    let measured = |done: &Done| done.run.trials.iter().any(TrialRecord::counts);
    let answer = match measured(&a) && measured(&b) {
        true => conclude(
            args,
            (side(&a), side(&b)),
            limits,
            remedy.unwrap_or_default(),
        ),
        false => Ok(DONE),
    };
    for done in [a, b] {
        match done.ending.failure {
            Some(failure) => return Err(failure),
            None if done.ending.signal.is_some() => return done.conclude(),
            None => {}
        }
    }
    answer
}

/// Removes the figures of a probe.
fn without_probe(mut source: FigureSource) -> FigureSource {
    let trials = source.run.iter().flat_map(|run| &run.trials);
    let probes = trials.filter(|trial| is_probe(trial));
    let probes: Vec<String> = probes
        .map(|trial| format!("{}: ", trial.job.name))
        .collect();
    let is_of_probe = |metric: &str| probes.iter().any(|job| metric.starts_with(job));
    source.figures.retain(|figure| !is_of_probe(&figure.metric));
    source
}

/// Judges both sides, checks the requirements on B, and shows the answer; returns its exit code.
fn conclude(
    args: &AcceptArgs,
    sides: (NamedSide, NamedSide),
    limits: &Requirements,
    remedy: String,
) -> Result<ExitCode, Failure> {
    let mut judged = Judged::of_stored(sides, &args.shown.terms, &args.shown.store, None)?;
    for unit in &judged.b.units {
        let rows = limits.check(unit, &args.shown.store, true)?;
        judged.requirements.extend(rows);
    }
    judged.remedy = remedy;
    let answer = judged.compared().replaces();
    judging::present_judged(&args.shown, judged)?;
    Ok(match answer {
        Qualification::Pass => DONE,
        Qualification::Fail => ExitCode::from(MISSED),
        Qualification::Inconclusive => ExitCode::from(USAGE),
    })
}

/// Commands that both sides repeat.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct AcceptPlan {
    /// Jobs of the suite; a name may end in `*`.
    jobs: Vec<String>,
    /// Job file of fio, whose jobs take the place of those of the suite.
    job_file: Option<PathBuf>,
    /// Commands, as after `assay`, without their path.
    commands: Vec<String>,
    /// Checks the capacity of both sides first.
    probe: bool,
}

impl AcceptPlan {
    fn of(args: &AcceptArgs) -> Result<Self, Failure> {
        let word = args.plan.as_deref().unwrap_or("emmc");
        if let Ok(profile) = Profile::from_str(word, false) {
            return Ok(Self::built_in(profile, args));
        }
        let path = Path::new(word);
        let plan: Self = parse_toml(&input::text(path)?).map_err(|mistake| {
            Failure::in_file(path, format!("it is no plan of assay accept: {mistake}"))
        })?;
        match plan.jobs.is_empty() && plan.job_file.is_none() && plan.commands.is_empty() {
            true => Err(Failure::in_file(path, "it has no jobs and no commands")),
            false => Ok(plan),
        }
    }

    /// Plan of a kind of part.
    fn built_in(profile: Profile, args: &AcceptArgs) -> Self {
        let is_device = |path: &PathBuf| path.starts_with("/dev");
        let on_devices = args.sides.iter().all(is_device);
        // dd and iozone check their files on this machine.
        let is_remote = !args.on.on.is_empty();
        let (size, scale) = match (args.suite.quick, args.suite.thorough) {
            (true, _) => ("16M", 0.02),
            (_, true) => ("256M", 0.3),
            _ => ("64M", 0.05),
        };
        let mut commands = Vec::new();
        if !on_devices && !is_remote {
            commands.push(format!(
                "dd --ladder of=assay-accept.dd bs=1M count={}",
                size.trim_end_matches('M')
            ));
            commands.push(format!(
                "iozone -e -I -f assay-accept.iozone -s {} -r 4k -r 64k -r 1m -i 0 -i 1 -i 2",
                size.to_ascii_lowercase()
            ));
        }
        if !on_devices {
            commands.push(format!("androbench --size {size}"));
        }
        let scenarios = match on_devices {
            true => &Profile::ON_DEVICE[..],
            false => profile.in_folder(),
        };
        commands.extend(
            scenarios
                .iter()
                .map(|name| format!("scenario {name} --scale {scale}")),
        );
        commands.extend((profile == Profile::Emcp).then(|| "mem".to_owned()));
        Self {
            jobs: Vec::new(),
            job_file: None,
            commands,
            probe: true,
        }
    }

    /// Reads the commands for a side.
    fn commands(&self, args: &AcceptArgs, path: &Path) -> Result<Vec<RepeatedCommand>, Failure> {
        let mut commands = Vec::new();
        if let Some(file) = &self.job_file {
            commands.push(RepeatedCommand::Jobs(JobSource::File(from_file(file)?)));
        } else if !self.jobs.is_empty()
            || args
                .plan
                .as_deref()
                .is_none_or(|plan| Profile::from_str(plan, false).is_ok())
        {
            commands.push(RepeatedCommand::Jobs(JobSource::Suite));
        }
        for command in &self.commands {
            let words = shlex::split(command);
            let words = words
                .ok_or_else(|| Failure::usage(format!("{command}: a quotation mark is missing")))?;
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            commands.push(repeated::parse(&words, path)?);
        }
        Ok(commands)
    }
}

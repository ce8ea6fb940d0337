//! `assay accept A B`: may part B replace part A?
//!
//! A plan is a list of commands, such as those of dd, iozone, AndroBench and scenarios, and jobs of
//! `assay qualify`. Both sides carry out all of them in every turn, in blocks of A B B A
//! ([`crate::rounds::paired`]), and the verdict is that of `assay compare --replace`.

use crate::checks::admission::DestroyArgs;
use crate::checks::input::{self, parse_toml};
use crate::commands::resume::{self, Missing, Resumed};
use crate::commands::{Command, repeated};
use crate::driver::Host;
use crate::driver::runs::Done;
use crate::exit::{DONE, Failure, MISSED, USAGE};
use crate::jobs::SuiteArgs;
use crate::judging::requirements::Requirements;
use crate::judging::{self, Judged, NamedSide, VerdictArgs, wanted};
use crate::output::say;
use crate::rounds::paired::{Repeated, Request, Setup};
use crate::rounds::stopper::is_probe;
use crate::rounds::{JobSource, RepeatedCommand, RoundArgs, Trials, from_file};
use crate::scenarios::Profile;
use crate::stored::formats::Format;
use crate::stored::lookup::FigureSource;
use crate::stored::{AnnotationArgs, KeepArgs};
use crate::targets::{self, OnArgs};
use crate::ui::parse_time;
use crate::{config, stored};
use assay_lang::{in_english, tr};
use assay_model::act::Act;
use assay_model::figures::Side;
use assay_model::run::{Run, RunStatus, Stopping};
use assay_model::text::{clean, meant};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_model::wire::PathKind;
use assay_report::comparison::RequirementRow;
use assay_report::words::percent_points;
use assay_stats::verdict::judge::Qualification;
use assay_target::Target;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use std::convert::identity;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
A plan file has the commands that both sides repeat, without their path:
  jobs = [\"seq-*\", \"rand-write-4k\"]            jobs of assay qualify
  commands = [\"androbench\", \"scenario ota-ab --scale 0.1\"]
  probe = true                              check both capacities first

Examples:
  assay accept /mnt/old /mnt/new --plan emmc -o accept.html
  assay accept /dev/sdb /dev/sdc --plan sd --destroy-data
  assay accept /data /data --on ssh://board-a --on ssh://board-b --trials auto
  assay accept --resume last
  assay accept --a old1 --a old2 --a old3 --b new1 --b new2 --b new3

Exit codes: 0 B may replace A, 1 failed, 2 wrong usage or open, 3 B may not replace A, 5 device or
target lost, 130 or 143 stopped by Ctrl-C or SIGTERM. Finished trials are kept in every case.";

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
    /// Plan of the session: the jobs and scenarios of a product with an emcp, emmc, sd or usb part, or
    /// a plan file [default: emmc].
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
    /// Continue a session that was interrupted, or measure more trials where it left metrics open, by
    /// its own terms and limits: either of its runs.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["a", "b", "plan", "limits", "margin", "trust", "max_trials", "budget", "quick", "thorough", "size", "seed", "name", "tag", "note"])]
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
    args.shown.terms.replace = true;
    let session = match args.resume.clone() {
        Some(run) => Some(StoredSession::find(&run, args)?),
        None => None,
    };
    let limits = args.limits.as_deref().map(Requirements::read).transpose()?;
    let limits = limits.unwrap_or_default();
    if limits.has_class() {
        return Err(Failure::usage(
            "--limits: the sets of SD classes and uses are for runs of assay check; for accept there \
             are mpc-11, mpc-12 and files",
        ));
    }
    args.shown.terms.margins = limits.margins();
    if !args.a.is_empty() {
        let side = |words: &[String]| judging::units(&words.join(", "), words, &args.shown.store);
        let sides = [side(&args.a)?, side(&args.b)?];
        return conclude(args, sides, &limits, &|| String::new());
    }
    let mut targets = targets::pair(&args.on)?;
    let done = match (&session, &args.sides[..]) {
        (Some(session), _) => resume_session(args, session, &mut targets)?,
        (None, [a, b]) => begin(args, [a, b], &mut targets)?,
        (None, _) => return Err(Failure::usage("give two places: A and B")),
    };
    match (done, session) {
        (Some(done), _) => conclude_measured(args, done, &limits),
        // It was complete.
        (None, Some(session)) => {
            let side =
                |id: &String| judging::units(id, std::slice::from_ref(id), &args.shown.store);
            let [a, b] = &session.ids;
            conclude(args, [side(a)?, side(b)?], &limits, &|| String::new())
        }
        (None, None) => Err(Failure::usage(
            "the session was refused: nothing was measured",
        )),
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
    let each = [plan.commands(paths[0])?, plan.commands(paths[1])?];
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
    setup.replaces = Some(terms.margins.clone());
    let goes_on = args.trials == Some(Trials::Auto) || args.budget.is_some();
    let next = next_look(&setup.headers[0].stopping, 0);
    setup.pause = next.filter(|_| !goes_on);
    setup.measure(&args.annotation, targets)
}

/// Returns the next planned check after this number of rounds.
fn next_look(stopping: &Stopping, rounds: u32) -> Option<u32> {
    let looks = stopping.looks.as_ref()?;
    looks.at.iter().copied().find(|at| *at > rounds)
}

/// A stored session.
struct StoredSession {
    /// Ids of the runs of A and of B.
    ids: [String; 2],
}

impl StoredSession {
    /// Finds a session by either of its runs, and takes over the terms that it began with.
    fn find(name: &str, args: &mut AcceptArgs) -> Result<Self, Failure> {
        let stored = FigureSource::find(name, &args.shown.store)?;
        let not_of_accept = || Failure::usage(format!("{name} is no run of assay accept"));
        let run = stored.run.as_deref().ok_or_else(not_of_accept)?;
        let Some(Command::Accept(began)) = resume::began(run)? else {
            return Err(not_of_accept());
        };
        let paired = run.header.paired.as_ref().ok_or_else(not_of_accept)?;
        let mut ids = [run.header.id.clone(), paired.with.clone()];
        if paired.side == Side::B {
            ids.reverse();
        }
        args.limits.clone_from(&began.limits);
        args.shown.terms.margin = began.shown.terms.margin;
        args.shown.terms.trust.clone_from(&began.shown.terms.trust);
        Ok(Self { ids })
    }
}

/// Continues a session; `None` if nothing is missing.
fn resume_session(
    args: &AcceptArgs,
    session: &StoredSession,
    targets: &mut [Box<dyn Target>; 2],
) -> Result<Option<[Done; 2]>, Failure> {
    if !matches!(args.trials, None | Some(Trials::Auto)) {
        return Err(Failure::usage(
            "--resume continues the trials that were planned: --trials may only be auto",
        ));
    }
    let keep = KeepArgs {
        store: args.shown.store.clone(),
        ..KeepArgs::default()
    };
    let [on_a, on_b] = targets;
    let mut a = Resumed::find(&keep, &session.ids[0], on_a.as_mut())?;
    let mut b = Resumed::find(&keep, &session.ids[1], on_b.as_mut())?;
    let is_whole = |run: &Run| run.status == RunStatus::Finished;
    if is_whole(&a.run) && is_whole(&b.run) {
        say(&clean(&format!(
            "assay: nothing is missing of runs {} and {}",
            a.run.header.id, b.run.header.id
        )));
        return Ok(None);
    }
    // One may have ended just before the process was killed: both are looked at.
    let [done_a, done_b] = [slots_done(&mut a, args)?, slots_done(&mut b, args)?];
    let rounds = a.run.whole_rounds().min(b.run.whole_rounds());
    say(&clean(&tr!(
        "assay: resumes runs {a} and {b} after {rounds} trials of each",
        a = a.run.header.id,
        b = b.run.header.id,
        rounds
    )));
    let mut store = a.store;
    for run in [&a.run, &b.run] {
        store.reopen_run(&run.header.id, &stored::this_process(), run.trials.len())?;
    }
    let stopping = &a.run.header.stopping;
    let goes_on = args.trials == Some(Trials::Auto) || stopping.budget.is_some();
    let pause = next_look(stopping, rounds).filter(|_| !goes_on);
    let mut setup = Setup::resumed([a.host, b.host], [(a.run, done_a), (b.run, done_b)], store)?;
    setup.replaces = Some(args.shown.terms.margins.clone());
    setup.pause = pause;
    setup.execute(targets)
}

/// Returns the number of slots of a run that are done, and removes the trials of others from it. Checks
/// that the run can be continued where it began.
fn slots_done(resumed: &mut Resumed, args: &AcceptArgs) -> Result<usize, Failure> {
    let Resumed { run, host, .. } = resumed;
    let acts = run.header.acts.clone();
    let acts = acts.ok_or_else(|| Failure::failed(format!("run {} has no acts", run.header.id)))?;
    let missing = Missing::of_acts(run, &acts)?;
    resume::inspect_again(&args.destroy, run, host)?;
    avoid_remains(run, host);
    Ok(missing.done)
}

/// Gives another name to the output of a copy that removes it, if a file has that name: the agent may
/// have been killed in the copy, and nothing shows that the file is not another program's.
fn avoid_remains(run: &mut Run, host: &mut Host) {
    let suffix = format!("-{}-{}", run.header.id, run.trials.len());
    let acts = run.header.acts.as_deref_mut();
    for act in acts.into_iter().flat_map(|acts| &mut acts.acts) {
        let Act::Copy(copy) = act else { continue };
        let Some(output) = copy.output.clone().filter(|_| copy.remove_output) else {
            continue;
        };
        let found = host.inspect(&output);
        if !found.is_ok_and(|found| matches!(found.kind, PathKind::File { .. })) {
            continue;
        }
        let mut other = output.clone().into_os_string();
        other.push(&suffix);
        say(&clean(&format!(
            "assay: {} may be left of a copy that was killed: remove it if it is not yours",
            output.display()
        )));
        copy.output = Some(PathBuf::from(&other));
        for then in &mut copy.then {
            then.output = Some(PathBuf::from(&other));
        }
    }
}

/// Shows the verdict on measured runs. A session that was stopped between two checks has no answer yet:
/// each look at the trials is one that was planned.
fn conclude_measured(
    args: &AcceptArgs,
    [a, b]: [Done; 2],
    limits: &Requirements,
) -> Result<ExitCode, Failure> {
    let (id_a, id_b) = (a.run.header.id.clone(), b.run.header.id.clone());
    // Without planned checks the runs do not have the margin.
    let margin = args.shown.terms.margin;
    let margin = margin.map(|margin| format!(" --margin {}", percent_points(margin)));
    let limits_file = args.limits.as_deref();
    let limits_file = limits_file.map(|file| format!(" --limits {}", file.display()));
    let limited: String = margin.into_iter().chain(limits_file).collect();
    say(&clean(&tr!(
        "Stored as runs {id_a} and {id_b}: assay accept --a {id_a} --b {id_b}{limited}",
        id_a,
        id_b,
        limited
    )));
    let rounds = [&a, &b].map(|done| done.run.whole_rounds());
    let stopping = &a.run.header.stopping;
    let next = next_look(stopping, rounds[0].min(rounds[1]));
    let at_look = stopping
        .looks
        .as_ref()
        .is_some_and(|looks| looks.at.contains(&rounds[0]));
    let is_whole = |done: &Done| done.run.status == RunStatus::Finished;
    let is_checked = is_whole(&a) && is_whole(&b) || at_look && rounds[0] == rounds[1];
    let stopped = [&a, &b]
        .into_iter()
        .find_map(|done| done.ending.signal.filter(|_| !is_whole(done)));
    let measured = |done: &Done| done.run.trials.iter().any(TrialRecord::gives_figures);
    let more = match next {
        Some(next) if !is_whole(&a) || !is_whole(&b) => next - rounds[0].min(rounds[1]),
        _ => 0,
    };
    let remedy = || match more {
        0 => String::new(),
        more => tr!(
            "{more} more trials of each side: assay accept --resume {id_a}",
            more,
            id_a
        ),
    };
    let sides = [&a, &b].map(|done| NamedSide::of(FigureSource::of_run(done.run.clone())));
    let answer = match is_checked && measured(&a) && measured(&b) {
        true => conclude(args, sides, limits, &remedy),
        false => {
            say(&clean(&tr!(
                "Open: stopped after {rounds} trials of each; assay accept --resume {id_a} continues",
                rounds = rounds[0].min(rounds[1]),
                id_a
            )));
            Ok(ExitCode::from(USAGE))
        }
    };
    for done in [a, b] {
        if let Some(failure) = done.ending.failure {
            return Err(failure);
        }
    }
    match stopped {
        Some(code) => Ok(ExitCode::from(code)),
        None => answer,
    }
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
/// `remedy` describes how to decide what is open.
fn conclude(
    args: &AcceptArgs,
    sides: [NamedSide; 2],
    limits: &Requirements,
    remedy: &dyn Fn() -> String,
) -> Result<ExitCode, Failure> {
    let store = &args.shown.store;
    let [a, b] = sides.map(|side| NamedSide {
        units: side.units.into_iter().map(without_probe).collect(),
        ..side
    });
    let mut judged = Judged::of_stored((a, b), &args.shown.terms, store, identity)?;
    let alone = limits.without_margins();
    let checked = || -> Result<(Vec<RequirementRow>, String), Failure> {
        let compared = judged.compared();
        let lines = compared.comparison.lines.iter();
        let metrics: Vec<&str> = lines.map(|line| &*line.metric).collect();
        let mut rows = limits.unused_margins(&metrics);
        for unit in &judged.b.units {
            let mut of_unit = alone.check(unit, store, compared.options.alpha)?;
            if judged.b.units.len() > 1 {
                for row in &mut of_unit {
                    row.requirement = format!("{} ({})", row.requirement, unit.lasting_name);
                }
            }
            rows.extend(of_unit);
        }
        Ok((rows, remedy()))
    };
    // Output for programs is English.
    let (rows, remedy) = match wanted(&args.shown)? {
        None | Some(Format::Html | Format::Text | Format::Markdown | Format::Xlsx) => checked()?,
        Some(_) => in_english(checked)?,
    };
    (judged.requirements, judged.remedy) = (rows, remedy);
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
    /// Takes the default jobs of the suite.
    #[serde(skip)]
    usual_jobs: bool,
}

impl AcceptPlan {
    fn of(args: &AcceptArgs) -> Result<Self, Failure> {
        let word = args.plan.as_deref().unwrap_or("emmc");
        let path = Path::new(word);
        if let Ok(profile) = Profile::from_str(word, false)
            && !path.is_file()
        {
            return Self::built_in(profile, args);
        }
        if !path.exists() && path.components().count() == 1 && path.extension().is_none() {
            let known = Profile::value_variants().iter();
            let known = known.filter_map(Profile::to_possible_value);
            let known: Vec<String> = known.map(|one| one.get_name().to_owned()).collect();
            return Err(Failure::usage(format!(
                "no plan is called {word}{}; there is {}, and any FILE.toml",
                meant(word, known.iter().map(String::as_str)),
                known.join(", ")
            )));
        }
        let plan: Self = parse_toml(&input::text(path)?).map_err(|mistake| {
            Failure::in_file(path, format!("it is no plan of assay accept: {mistake}"))
        })?;
        match plan.jobs.is_empty() && plan.job_file.is_none() && plan.commands.is_empty() {
            true => Err(Failure::in_file(path, "it has no jobs and no commands")),
            false => Ok(plan),
        }
    }

    /// Plan of a kind of part.
    ///
    /// # Errors
    /// If one side is a folder and the other a device, or a side is simulated.
    fn built_in(profile: Profile, args: &AcceptArgs) -> Result<Self, Failure> {
        // dd and iozone check their files on this machine.
        let is_remote = !args.on.on.is_empty();
        let is_simulated = |path: &PathBuf| path.to_string_lossy().starts_with("sim:");
        if args.sides.iter().any(is_simulated) {
            return Err(Failure::usage(
                "a simulated part runs jobs only: give a plan file with jobs = [\"seq-*\", \"rand-*\"]",
            ));
        }
        let is_device = |path: &PathBuf| match is_remote {
            true => path.starts_with("/dev") && !path.starts_with("/dev/shm"),
            false => fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device()),
        };
        let on_devices = match args.sides.iter().filter(|path| is_device(path)).count() {
            0 => false,
            2 => true,
            _ => {
                return Err(Failure::usage(
                    "one side is a folder and the other a device: give two folders, or two devices",
                ));
            }
        };
        let (mebibytes, scale) = match (args.suite.quick, args.suite.thorough) {
            (true, _) => (16, 0.02),
            (_, true) => (256, 0.3),
            _ => (64, 0.05),
        };
        let mut commands = Vec::new();
        if !on_devices && !is_remote {
            commands.push(format!(
                "dd --ladder of=assay-accept.dd bs=1M count={mebibytes}"
            ));
            commands.push(format!(
                "iozone -e -I -f assay-accept.iozone -s {mebibytes}m -r 4k -r 64k -r 1m -i 0 -i 1 -i 2"
            ));
        }
        if !on_devices {
            commands.push(format!("androbench --size {mebibytes}M"));
        }
        let scenarios = match on_devices {
            true => &Profile::ON_DEVICE[..],
            false => profile.in_folder(),
        };
        let scenarios = scenarios.iter();
        commands.extend(scenarios.map(|name| format!("scenario {name} --scale {scale}")));
        commands.extend((profile == Profile::Emcp).then(|| "mem".to_owned()));
        Ok(Self {
            commands,
            probe: true,
            usual_jobs: true,
            ..Self::default()
        })
    }

    /// Reads the commands for a side.
    fn commands(&self, path: &Path) -> Result<Vec<RepeatedCommand>, Failure> {
        let mut commands = Vec::new();
        if let Some(file) = &self.job_file {
            commands.push(RepeatedCommand::Jobs(JobSource::File(from_file(file)?)));
        } else if self.usual_jobs || !self.jobs.is_empty() {
            commands.push(RepeatedCommand::Jobs(JobSource::Suite));
        }
        for command in &self.commands {
            let words = shlex::split(command)
                .ok_or_else(|| Failure::usage(format!("{command}: a quotation mark is missing")))?;
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            commands.push(repeated::parse(&words, path)?);
        }
        Ok(commands)
    }
}

//! `assay sweep PATH --vary …`: jobs under every combination of conditions.

use crate::checks::admission::Need;
use crate::checks::{admission, estimate};
use crate::commands::resume::{Resumed, resume_run};
use crate::driver::acts::{self, MeasureArgs, Request, Sweep};
use crate::driver::announce::{announce, announce_work, tell};
use crate::driver::plans::SoFarOfPlan;
use crate::driver::runs::Done;
use crate::driver::runs::{header, random, run_id};
use crate::driver::trials::SlotTalk;
use crate::driver::{Host, clear_leftovers, plans};
use crate::exit::{EXIT_CODES, Failure};
use crate::jobs::{self, Scale};
use crate::rounds::stopper::{
    LevelAndMargin, Rounds, Spread, alpha_of_pair, enough_rounds, execute_jobs,
};
use crate::rounds::variants::{recognize, with_nearest_option};
use crate::rounds::{
    ActPlace, Cost, JobSource, Jobs, MOST, ReadCommand, RepeatedAct, RepeatedCommand, RoundArgs,
    Schedule, Trials, Wish, check_place, plan,
};
use crate::ui::progress::Messages;
use crate::ui::{parse_margin, parse_time};
use crate::{config, rounds, stored};
use assay_lang::tr;
use assay_model::condition::{Commands, Condition, Offer, Subject, Vary, cross};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::{Looks, Run, RunHeader, RunStatus, Stopping};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, PathKind};
use assay_stats::verdict::Options;
use assay_store::Store;
use assay_target::Target;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Sweeps a path on a target, or resumes an earlier sweep; `read` parses a command to repeat.
pub fn run(
    args: &SweepArgs,
    read: ReadCommand,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    match (&args.resume, &args.path) {
        (Some(name), _) => {
            let mut resumed = Resumed::find(&args.shared.store, name, target)?;
            if let Some(more) = args.add {
                add_trials(&mut resumed.run, more)?;
                resumed.is_extended = true;
            }
            resume_run(
                resumed,
                &args.rounds.destroy,
                (args.shared.json, Done::present),
                target,
            )
        }
        (None, Some(path)) => begin(args, path, read, target),
        (None, None) => Err(Failure::usage("name a path to sweep")),
    }
}

/// Adds rounds to a finished sweep. Its trials were looked at before, so that verdicts are held to a
/// smaller level.
fn add_trials(run: &mut Run, more: u32) -> Result<(), Failure> {
    let id = &run.header.id;
    let refused = |why: String| Err(Failure::usage(format!("--add: run {id} {why}")));
    if run.header.plan.conditions.is_empty() || run.header.paired.is_some() {
        return refused("is no sweep".to_owned());
    }
    if run.header.acts.is_some() {
        return refused("repeats a command: begin again with more --trials".to_owned());
    }
    if run.status != RunStatus::Finished {
        return refused(format!(
            "is not finished: resume it first, with assay resume {id}"
        ));
    }
    let done = run.whole_rounds();
    if done.saturating_add(more) > MOST {
        return refused(format!("has {done} trials of each: {MOST} are the most"));
    }
    let plan = run.header.plan.extended(run.trials.len(), more);
    let looks = run.header.stopping.looks.as_ref();
    let margin = looks.map_or(Options::default().margin, |looks| looks.margin);
    let at = looks.map_or_else(Vec::new, |looks| looks.at.clone());
    let mut at: Vec<u32> = at.into_iter().filter(|look| *look < done).collect();
    at.extend([done, done + more]);
    run.header.stopping = Stopping {
        looks: Some(Looks {
            alpha: run.header.stopping.alpha_if_extended(),
            at,
            margin,
            runs_all: true,
        }),
        budget: None,
    };
    run.header.plan = plan;
    run.status = RunStatus::Interrupted;
    Ok(())
}

fn begin(
    args: &SweepArgs,
    path: &Path,
    read: ReadCommand,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    admission::can_be_stored(path)?;
    if args.margin.is_some() && args.rounds.trials != Some(Trials::Auto) {
        return Err(Failure::usage(
            "--margin is what --trials auto judges by: add that, or give it to assay rank",
        ));
    }
    let varied = parse_varied(args)?;
    let source = source(args, &varied, path, read)?;
    if let RepeatedCommand::Act(act) = &source {
        act.check_target(target)?;
    }
    let store_path = args.shared.store.path()?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(path)?;
    let agreed = args
        .rounds
        .destroy
        .allow(&inspection.path, |name| host.inspect(name))?;
    let place = admission::admit(&inspection, Need::anything(agreed))?;
    let made = make_file_systems(&varied);
    let bench = storage_for_jobs(made, &inspection)?;
    let conditions = expand_conditions(&varied, &mut host, &inspection.path)?;
    let source = match source {
        RepeatedCommand::Jobs(source) => source,
        RepeatedCommand::Act(tool) => {
            let bed = Bed {
                inspection,
                bench,
                place,
                conditions,
            };
            return repeat_command(args, &tool, &bed, host, target);
        }
    };
    let variants = |inspection: &Inspection| {
        let bench = storage_for_jobs(made, inspection)?;
        let under = match &bench.kind {
            PathKind::Directory { .. } => Place::Directory {
                path: bench.path.clone(),
            },
            _ => place.clone(),
        };
        let mut jobs = rounds::choose(&args.rounds, &source, &bench, &under)?;
        jobs.vary(&conditions, (inspection, &place), args.file.is_none())?;
        Ok::<_, Failure>(jobs)
    };
    // A refused sweep must leave no store behind, so the store is made after the checks.
    if conditions
        .iter()
        .any(|condition| condition.of_job().next().is_some())
    {
        variants(&inspection)?;
    }
    let mut store = args.shared.store.open(&store_path)?;
    clear_leftovers(&mut host, &mut store, &place)?;
    let inspection = host.inspect(path)?;

    let jobs = variants(&inspection)?;
    let cost = cost(args, &jobs, &conditions, &place);
    let schedule = schedule(args, conditions.len(), &cost)?;
    let seed = args.shared.seed.unwrap_or_else(random);
    let plan = plan(&args.rounds, seed, jobs, conditions, place, schedule.trials);
    let (plans, times) = ((&plan, &plan), estimate::of_plan(&plan));
    announce(plans, &inspection, host.target(), times, &store)?;
    let mut header = header(plan, inspection, host.origin());
    header.stopping = schedule.stopping;
    foretell(&header, schedule.trials, &store)?;
    store.begin_run(&header, &stored::this_process())?;
    let executed = execute_jobs(&mut host, &header, &mut store, Vec::new());
    plans::close(header, &mut store, executed, target)?.present(args.shared.json)
}

/// Returns the command to run under the conditions.
fn source(
    args: &SweepArgs,
    varied: &[Vary],
    path: &Path,
    read: ReadCommand,
) -> Result<RepeatedCommand, Failure> {
    let mut of_job = varied.iter().filter(|vary| vary.subject.is_of_job());
    let first = of_job.next();
    if !args.command.is_empty() {
        return match first {
            None => read(&args.command, path),
            Some(vary) => Err(Failure::usage(format!(
                "--vary {0}: {0} is an option of jobs; a command after -- has options of its own",
                vary.subject
            ))),
        };
    }
    Ok(RepeatedCommand::Jobs(match (&args.file, first) {
        (Some(file), _) => JobSource::File(rounds::from_file(file)?),
        (None, Some(_)) if args.rounds.only.is_empty() => {
            let suite = args.rounds.suite.clone();
            JobSource::Made(Box::new(move |inspection| {
                let scale = Scale::new(&suite, inspection)?.with_longer_trials();
                Ok((vec![jobs::to_vary(&scale)], scale.file))
            }))
        }
        _ => JobSource::Suite,
    }))
}

/// Plans the number of rounds.
fn schedule(args: &SweepArgs, conditions: usize, cost: &Cost) -> Result<Schedule, Failure> {
    if args.rounds.trials == Some(Trials::Auto) && conditions < 2 {
        return Err(Failure::usage(
            "--trials auto continues until the conditions are compared, and there is only one: \
             give a number",
        ));
    }
    let wish = Wish {
        trials: args.rounds.trials,
        max_trials: args.max_trials,
        budget: args.rounds.budget,
        margin: args.margin.unwrap_or_else(config::margin),
    };
    Schedule::of(&wish, cost)
}

/// Duration of the rounds of jobs.
fn cost(args: &SweepArgs, jobs: &Jobs, conditions: &[Condition], place: &Place) -> Cost {
    let made = conditions.iter().any(Condition::makes_file_system);
    let file = estimate::of_file(place, jobs.file, made);
    // In file systems that are made for a condition, the test file is written anew.
    let again = if made { file } else { Nanos(0) };
    let once = estimate::of_jobs(&jobs.all, true, &args.rounds.restore());
    let count = conditions.len() as u64;
    let variants = jobs
        .variant_of
        .iter()
        .max()
        .map_or(1, |last| *last as u64 + 1);
    // Each variant comes under as many conditions as the others.
    let trials = once.0.saturating_mul(count / variants);
    let round = Nanos(trials.saturating_add(again.0.saturating_mul(count)));
    Cost {
        before: Nanos(file.0 + round.0),
        round,
        step: 1,
    }
}

/// Announces when the sweep ends, and which differences it can detect.
fn foretell(header: &RunHeader, trials: u32, store: &Store) -> Result<(), Failure> {
    let mut facts = rounds::facts(&header.stopping, trials);
    if !facts.is_empty() {
        let jobs = header.plan.jobs.iter().map(|planned| planned.job.clone());
        let jobs: Vec<Job> = jobs.collect();
        let spread = Spread::known(store, &header.storage.words(), &jobs)?;
        facts.push((
            tr!("Detects"),
            spread.foretells(
                trials,
                LevelAndMargin::to(
                    alpha_of_pair(header.plan.conditions.len(), &header.stopping),
                    &header.stopping,
                ),
                &header.stopping,
            ),
        ));
    }
    tell(&facts);
    Ok(())
}

const EXAMPLES: &str = "\
Examples:
  assay sweep /data --vary scheduler=all --vary read_ahead_kb=128,512,2048
  assay sweep /data --vary bs=4k,16k,64k --vary iodepth=1,4,16
  assay sweep /data --vary rw=read,randread --vary numjobs=1,2,4 --budget 20m
  assay sweep /data --only 'rand-*' --vary governor=performance,schedutil
  assay sweep /data jobs.fio --vary vm.dirty_ratio=5,20 --idle 5s
  assay sweep /mnt/card --vary mount=noatime,relatime --trim
  assay sweep /data --vary cmd:turbo=on,off \\
      --apply 'turbo=set-turbo \"$1\"' --undo 'turbo=set-turbo on'
  assay sweep /data --vary scheduler=all --trials auto
  assay sweep /data --vary scheduler=none,bfq --budget 30m
  assay sweep /data --vary read_ahead_kb=64,512 -- iozone -i0 -i1 -s 64m -r 4k
  assay sweep /data --vary scheduler=all -- \\
      dd if=/dev/zero of=f bs=1M count=64 conv=fdatasync
  assay sweep /dev/sdb1 --destroy-data --vary mkfs=ext4:-b+1024,ext4:-b+4096,xfs
  assay sweep --resume last
  assay sweep --resume last --add 10

What can be varied: scheduler, a file of the device's queue folder (read_ahead_kb,
nr_requests, ...), governor, cpufreq_min, cpufreq_max, vm.NAME, mount (options of the
file system's mount, several put together with +), mkfs (KIND or KIND:OPTION+OPTION,
made on an unused block device), affinity (0, 0+2, 0-3), file:/PATH, and cmd:NAME with
a pair of commands. 'all': all that the kernel offers.

Also options of the job, as in a job file of fio: bs, iodepth, numjobs, rw, rwmixread,
rate_iops, fsync, ioengine, ... (+ joins a pair for reads and writes: bs=4k+64k).
";

/// `assay sweep`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct SweepArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Jobs from a job file of fio instead of those of assay qualify; each runs
    /// alone, in the test file.
    #[arg(value_name = "JOB-FILE", conflicts_with_all = ["quick", "thorough", "only"])]
    pub file: Option<PathBuf>,
    /// Command of dd, iozone, androbench, disks, mark, mem or scenario, written as after assay. File
    /// names without a leading / are in PATH.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["file", "quick", "thorough", "only", "size", "resume"])]
    pub command: Vec<OsString>,
    /// Setting of the system or option of the job, and its values: SUBJECT=VALUE,VALUE or
    /// SUBJECT=all. Several --vary make every combination.
    #[arg(
        long,
        value_name = "SUBJECT=VALUES",
        required_unless_present = "resume"
    )]
    pub vary: Vec<String>,
    /// Command that sets cmd:NAME to the value in $1.
    #[arg(long, value_name = "NAME=COMMAND")]
    pub apply: Vec<String>,
    /// Command that undoes the setting; it gets the value in $1, too.
    #[arg(long, value_name = "NAME=COMMAND")]
    pub undo: Vec<String>,
    /// Time limit of a command of --apply or --undo; after that it is killed and has failed.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    pub command_limit: Nanos,
    #[command(flatten)]
    pub rounds: RoundArgs,
    /// Maximum number of trials for --trials auto (12 or more) and --budget [default: 20 and
    /// 100].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_trials: Option<u32>,
    /// Largest difference that counts as equivalent, in percent, for --trials auto [default:
    /// 5].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Resume an interrupted sweep: run its missing trials.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["path", "file", "vary", "apply", "undo", "max_trials", "margin", "name", "tag", "note"], conflicts_with_all = RoundArgs::NAMES, conflicts_with = "seed")]
    pub resume: Option<String>,
    /// Extend a finished sweep, that of --resume, by so many trials of each job under each
    /// condition.
    #[arg(long, value_name = "N", requires = "resume", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub add: Option<u32>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

/// Parses the subjects to vary; the kernel is not queried yet.
fn parse_varied(args: &SweepArgs) -> Result<Vec<Vary>, Failure> {
    let commands = Commands::parse(&args.apply, &args.undo, args.command_limit);
    let commands = commands.map_err(Failure::usage)?;
    let varied = args.vary.iter().map(|text| Vary::parse(text, &commands));
    let varied: Result<Vec<Vary>, String> = varied.collect();
    let varied = varied.map_err(Failure::usage)?;
    let varied = varied.into_iter().map(recognize);
    let varied: Vec<Vary> = varied.collect::<Result<_, Failure>>()?;
    commands.all_used_by(&varied).map_err(Failure::usage)?;
    Ok(varied)
}

/// `true` if the conditions make file systems.
fn make_file_systems(varied: &[Vary]) -> bool {
    varied.iter().any(|vary| vary.subject == Subject::Mkfs)
}

/// Returns the storage as jobs see it: if file systems are made, a folder with most of the device's
/// space.
fn storage_for_jobs(made: bool, inspection: &Inspection) -> Result<Inspection, Failure> {
    let PathKind::Device { size } = inspection.kind else {
        let shown = inspection.path.display();
        return match made {
            true => Err(Failure::usage(format!(
                "--vary mkfs makes file systems on an unused block device: {shown} is none"
            ))),
            false => Ok(inspection.clone()),
        };
    };
    let mut bench = inspection.clone();
    if made {
        bench.kind = PathKind::Directory { writable: true };
        bench.storage.available = Some(Bytes(size.0 / 10 * 8));
    }
    Ok(bench)
}

/// Returns every combination of the values, with `all` replaced by those that the kernel offers.
fn expand_conditions(
    varied: &[Vary],
    host: &mut Host,
    path: &Path,
) -> Result<Vec<Condition>, Failure> {
    let subjects = varied.iter().map(|vary| vary.subject.clone());
    let subjects: Vec<Subject> = subjects.filter(|subject| !subject.is_of_job()).collect();
    let offered = match subjects.is_empty() {
        true => Vec::new(),
        false => host
            .offers(path, subjects)
            .map_err(|refused| with_nearest_option(refused, varied))?,
    };
    let values = varied.iter().map(|vary| {
        let mut offered = offered.iter();
        let offer = offered.find(|offered| offered.subject == vary.subject);
        // The job's options are checked when the jobs are made.
        let offer = offer.map_or(&Offer::Text, |offered| &offered.offer);
        Ok((vary.subject.clone(), vary.among(offer)?))
    });
    let values: Result<Vec<_>, String> = values.collect();
    cross(&values.map_err(Failure::usage)?).map_err(Failure::usage)
}

/// Message when the user asks to stop.
const STOPPING: &str = "stopping; finished steps are kept, and all settings are put back";

/// Place and conditions for the repetitions of an act.
struct Bed {
    /// The storage whose settings are varied.
    pub inspection: Inspection,
    /// Inspection that the act gets: with file systems that are made, a folder on the storage.
    pub bench: Inspection,
    /// Part of it that may be written.
    pub place: Place,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

impl Bed {
    fn act_place(&self) -> ActPlace<'_> {
        ActPlace {
            inspection: &self.inspection,
            bench: &self.bench,
            makes_file_systems: self.conditions.iter().any(Condition::makes_file_system),
        }
    }
}

/// Repeats an act under each condition.
fn repeat_command(
    args: &SweepArgs,
    tool: &RepeatedAct,
    bed: &Bed,
    mut host: Host,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let (work, _) = (tool.make)(&bed.bench)?;
    check_place(&mut host, &work, &bed.act_place())?;
    let store_path = args.shared.store.path()?;
    stored::keep_apart(&store_path, work.spec().writes())?;
    let (run_id, seed) = (run_id(), args.shared.seed.unwrap_or_else(random));
    let request = request(args, tool, bed, (run_id, seed), &mut host)?;
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    let acts = request.acts();
    let plan = request.plan(&acts);
    announce_work(
        &words.join(" "),
        &plan,
        acts.slots.len(),
        &bed.inspection,
        &store_path,
    );
    if let Some(sweep) = &request.sweep {
        tell(&rounds::facts(&sweep.ends, request.trials));
    }
    let mut talk = SlotTalk::new(0, acts.slots.len());
    let mut enough = enough_of_sweep(&request, talk.messages.clone());
    let (inspection, store) = (bed.inspection.clone(), &args.shared.store);
    let done = acts::execute(
        target,
        &mut host,
        inspection,
        &request,
        store,
        &mut talk,
        &mut enough,
    );
    talk.close();
    done?.present(args.shared.json)
}

/// Makes the request for the act; each condition was set once to check it.
fn request(
    args: &SweepArgs,
    tool: &RepeatedAct,
    bed: &Bed,
    (run_id, seed): (String, u64),
    host: &mut Host,
) -> Result<Request, Failure> {
    let path = &bed.inspection.path;
    let bench = Inspection {
        path: host.rehearse(&run_id, path, &bed.conditions, args.rounds.restore())?,
        ..bed.bench.clone()
    };
    let (work, steps) = (tool.make)(&bench)?;
    let schedule = schedule(args, bed.conditions.len(), &Cost::UNKNOWN)?;
    Ok(Request {
        work,
        steps,
        trials: schedule.trials,
        seed,
        destroy_data: args.rounds.destroy.destroy_data.is_some(),
        place: bed.place.clone(),
        stopping: STOPPING,
        must_be_stored: true,
        announced: None,
        sweep: Some(Sweep {
            run_id,
            conditions: bed.conditions.clone(),
            restore: args.rounds.restore(),
            job: Job::new(tool.name, Rw::Write, Bytes(0), Bytes(0)),
            ends: schedule.stopping,
        }),
    })
}

/// Returns a function that decides after each slot if the sweep may end.
fn enough_of_sweep<'a>(
    request: &'a Request,
    messages: Messages,
) -> impl FnMut(&RunHeader, SoFarOfPlan<'_>) -> bool + use<'a> {
    let sweep = request.sweep.as_ref();
    let conditions = sweep.map_or(1, |sweep| sweep.conditions.len());
    let rounds = Rounds {
        conditions,
        slots: conditions,
        planned: request.trials,
    };
    let stopping = sweep.map_or(&Stopping::NEVER, |sweep| &sweep.ends);
    let mut enough = enough_rounds(rounds, stopping, Nanos(0));
    move |header, so_far| enough(header, so_far, &messages)
}

//! Rounds of jobs and of acts: common parts of `assay sweep` and `assay compare --paired-on`.

pub mod paired;
pub mod stopper;
pub mod variants;

use crate::checks::admission::DestroyArgs;
use crate::checks::estimate::{file_size, minutes};
use crate::driver::Host;
use crate::driver::records::{ReportedJob, entries};
use crate::driver::runs::run_id;
use crate::exit::Failure;
use crate::jobs::{Machine, Scale, SuiteArgs, warn};
use crate::output::say;
use crate::ui::parse_time;
use crate::{config, jobs};
use assay_dialects::fio;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::condition::{Condition, Restore, TemperatureWindow};
use assay_model::job::Job;
use assay_model::load::blocks::{BlockSizes, Blocks, Region, RwPattern, TrimOptions};
use assay_model::load::{
    Durability, Engine, Extent, Length, Load, PaceLimits, PerDirection, Process, Stream,
    WriteContent,
};
use assay_model::plan::{Place, Plan, PlannedJob, rounds};
use assay_model::run::Stopping;
use assay_model::storage::folder_of;
use assay_model::units::{Bytes, Nanos, as_u32};
use assay_model::wire::{Feature, Inspection};
use assay_report::words::{enumerate, percent_points};
use assay_stats::verdict::Options;
use assay_stats::verdict::units::Plan as Sequential;
use assay_target::Target;
use clap::Args;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Makes a plan of jobs in rounds under conditions; without conditions, on the machine as it is.
pub fn plan(
    args: &RoundArgs,
    seed: u64,
    jobs: Jobs,
    conditions: Vec<Condition>,
    place: Place,
    trials: u32,
) -> Plan {
    let count = u32::try_from(conditions.len().max(1)).unwrap_or(u32::MAX);
    let each = (trials + 1).saturating_mul(count);
    let variants = jobs.variant_of.iter().max().map_or(1, |last| last + 1);
    let own = each / u32::try_from(variants).unwrap_or(u32::MAX);
    let planned = |job| PlannedJob { job, trials: own };
    let count = jobs.all.len() / variants;
    let mut order = rounds(count, conditions.len(), trials, seed);
    for slot in &mut order {
        let variant = slot.condition.and_then(|index| jobs.variant_of.get(index));
        slot.job += count * variant.copied().unwrap_or(0);
    }
    Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: jobs.file,
        order,
        jobs: jobs.all.into_iter().map(planned).collect(),
        conditions,
        restore: args.restore(),
    }
}

/// Jobs to repeat, number of repetitions, and actions around each trial.
#[derive(Args, Clone, Debug)]
pub struct RoundArgs {
    /// Trials of each job under each condition, or on each side, after a conditioning round
    /// that does not count. auto: until all comparisons have a verdict, checked after 6, 10 and
    /// 20 trials at a significance level that allows for repeated checks [default: 6, or as
    /// many as fit into --budget].
    #[arg(long, value_name = "N|auto", alias = "rounds", value_parser = Trials::parse)]
    pub trials: Option<Trials>,
    /// Limit the time, for example 30m, by making fewer trials if necessary. The number of
    /// trials and the difference that they can show are reported beforehand.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<Nanos>,
    /// Wait this long before each trial, for example 2s or 500ms.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub idle: Option<Nanos>,
    /// Empty the page cache of the whole system before each trial.
    #[arg(long)]
    pub drop_caches: bool,
    /// Discard the free blocks of the file system before each trial (fstrim).
    #[arg(long)]
    pub trim: bool,
    /// Wait before each trial until the temperature is within this many kelvin of that before
    /// the first one: the device's if it has a sensor, else the board's.
    #[arg(long, value_name = "K", value_parser = parse_kelvin)]
    pub temperature: Option<u32>,
    /// Time to wait for the temperature; after that the trial fails.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "5min")]
    pub temperature_limit: Nanos,
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Run these jobs of assay qualify, separated by commas; a name may end in *
    /// [default: read-buffered, seq-read-1m, seq-write-1m, rand-read-4k,
    /// rand-write-4k, append-4k-fsync].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub destroy: DestroyArgs,
}

impl RoundArgs {
    /// Names of all arguments that define the trials: they cannot be given when a run is resumed.
    pub const NAMES: [&str; 10] = [
        "trials",
        "budget",
        "idle",
        "drop_caches",
        "trim",
        "temperature",
        "quick",
        "thorough",
        "size",
        "only",
    ];

    /// Returns the actions before each trial.
    pub fn restore(&self) -> Restore {
        Restore {
            idle: self.idle.unwrap_or_default(),
            drop_caches: self.drop_caches,
            trim: self.trim,
            temperature: self.temperature.map(|width_mk| TemperatureWindow {
                width_mk,
                limit: self.temperature_limit,
                around: None,
            }),
        }
    }
}

/// Parses kelvin; returns thousandths of it.
fn parse_kelvin(text: &str) -> Result<u32, String> {
    let kelvin = text.parse::<f64>().ok();
    let kelvin = kelvin.filter(|kelvin| (0.1..=100.0).contains(kelvin));
    let wrong = || format!("{text} is not a number of kelvin from 0.1 to 100");
    kelvin
        .map(|kelvin| as_u32((kelvin * 1e3).round()))
        .ok_or_else(wrong)
}

/// Default number of trials.
pub const USUAL: u32 = 6;
/// Default maximum number of trials with a time budget.
const FILLED: u32 = 100;
/// Default maximum number of trials with `--trials auto`.
const LOOKED_AT: u32 = 20;
/// Maximum number of trials.
pub const MOST: u32 = 1000;

/// Value of `--trials`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// Fixed number.
    Number(u32),
    /// Until all comparisons have a verdict.
    Auto,
}

impl Trials {
    /// Reads a number or `auto`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(number) if (1..=MOST).contains(&number) => Ok(Self::Number(number)),
            _ => Err(format!("give a number from 1 to {MOST}, or auto")),
        }
    }
}

/// Requested number of trials and time.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Value of `--trials`.
    pub trials: Option<Trials>,
    /// Value of `--max-trials`.
    pub max_trials: Option<u32>,
    /// Value of `--budget`.
    pub budget: Option<Nanos>,
    /// Margin of the looks, as a share.
    pub margin: f64,
}

/// Duration of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Time before the first round that counts.
    pub before: Nanos,
    /// Time of a round.
    pub round: Nanos,
    /// Number of rounds in a block, which is never split.
    pub step: u32,
}

impl Cost {
    /// Duration that is known only after the first round: no budget is refused beforehand.
    pub const UNKNOWN: Self = Self {
        before: Nanos(0),
        round: Nanos(0),
        step: 1,
    };
}

/// Planned rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Maximum number of rounds.
    pub trials: u32,
    /// Conditions that may end the rounds early.
    pub stopping: Stopping,
}

impl Schedule {
    /// Plans rounds for a request, given their duration.
    pub fn of(wish: &Wish, cost: &Cost) -> Result<Self, Failure> {
        let fits = wish.budget.map(|budget| fit(budget, cost)).transpose()?;
        let room = fits.unwrap_or(MOST);
        let (trials, looks) = match wish.trials {
            Some(Trials::Auto) => {
                let most = room.min(wish.max_trials.unwrap_or(LOOKED_AT));
                match Sequential::within(most) {
                    Some(plan) => (plan.last(), Some(plan.looks(wish.margin))),
                    // Too few trials for more than one look.
                    None if fits == Some(most) => (most, None),
                    None => return Err(too_few_for_looks(most)),
                }
            }
            Some(Trials::Number(number)) => (number.min(room), None),
            None if fits.is_some() => (room.min(wish.max_trials.unwrap_or(FILLED)), None),
            None => (config::trials(None, USUAL), None),
        };
        if wish.max_trials.is_some() && wish.budget.is_none() && looks.is_none() {
            return Err(Failure::usage(
                "--max-trials limits --trials auto and --budget: give one of them",
            ));
        }
        let budget = wish.budget;
        Ok(Self {
            trials,
            stopping: Stopping { looks, budget },
        })
    }
}

/// Returns the number of rounds that fit into the budget.
fn fit(budget: Nanos, cost: &Cost) -> Result<u32, Failure> {
    let fewest = u32::try_from(Options::default().min_trials).unwrap_or(u32::MAX);
    let left = budget.0.saturating_sub(cost.before.0);
    let rounds = u32::try_from(left / cost.round.0.max(1)).unwrap_or(u32::MAX);
    let rounds = (rounds / cost.step * cost.step).min(MOST);
    if rounds >= fewest {
        return Ok(rounds);
    }
    let needed = cost.before.0 + u64::from(fewest) * cost.round.0;
    Err(Failure::usage(format!(
        "--budget {budget}: a verdict takes {fewest} trials, which need about {}: give more \
         time, fewer jobs (--only), or --quick",
        Nanos(needed)
    )))
}

/// Returns the facts to announce about the conditions that may end the run.
pub fn facts(stopping: &Stopping, trials: u32) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(looks) = &stopping.looks {
        let at: Vec<String> = looks.at.iter().map(u32::to_string).collect();
        let text = tr!(
            "checked after {looks} trials of each; ends when every comparison has a verdict \
             (margin {margin} %; level of each check {level} %)",
            looks = enumerate(&at),
            margin = percent_points(looks.margin),
            level = format_args!("{:.2}", 100.0 * looks.alpha)
        );
        facts.push((tr!("Ends"), text));
    }
    if let Some(budget) = stopping.budget {
        let text = tr!(
            "{budget}: enough for {trials} trials of each",
            budget = minutes(budget),
            trials
        );
        facts.push((tr!("Budget"), text));
    }
    facts
}

fn too_few_for_looks(most: u32) -> Failure {
    Failure::usage(format!(
        "--max-trials {most}: looking more than once takes room for 12 trials: give 12 or \
         more, or --trials {most} to look once"
    ))
}

/// Default jobs: few enough to compare all of them in one session.
const DEFAULT: [&str; 6] = [
    "read-buffered",
    "seq-read-1m",
    "seq-write-1m",
    "rand-read-4k",
    "rand-write-4k",
    "append-4k-fsync",
];

/// Function that makes jobs, and the size of the file that they share, for an inspected place.
pub type MakeJobs = Box<dyn Fn(&Inspection) -> Result<(Vec<Job>, Bytes), Failure>>;

/// Origin of the jobs.
pub enum JobSource {
    /// Jobs of a qualification.
    Suite,
    /// Jobs of a job file.
    File(Vec<Job>),
    /// Jobs that are made when the place is known.
    Made(MakeJobs),
}

/// Jobs, and the file that they share.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// The jobs.
    pub all: Vec<Job>,
    /// Size of the test file.
    pub file: Bytes,
    /// Variant of the jobs under each condition: `all` has the jobs of one variant after those of
    /// another. Empty if there is only one.
    pub variant_of: Vec<usize>,
}

impl Jobs {
    /// Makes jobs that are the same under all conditions.
    pub const fn new(all: Vec<Job>, file: Bytes) -> Self {
        Self {
            all,
            file,
            variant_of: Vec::new(),
        }
    }
}

/// Returns the jobs of the source; for a qualification those of `--only`, or the default ones.
pub fn choose(
    args: &RoundArgs,
    source: &JobSource,
    inspection: &Inspection,
    place: &Place,
) -> Result<Jobs, Failure> {
    let only_read = matches!(place, Place::File { .. });
    match source {
        JobSource::File(all) => return in_one_file(args, all.clone(), inspection, place),
        JobSource::Made(make) => {
            let (mut all, file) = make(inspection)?;
            all.retain(|job| !(only_read && job.rw.writes()));
            on_place(place, &mut all)?;
            return Ok(Jobs::new(all, file));
        }
        JobSource::Suite => {}
    }
    let mut only = args.only.clone();
    if only.is_empty() {
        let simulated = matches!(place, Place::Simulated { .. });
        let usual = DEFAULT.iter().map(|name| (*name).to_owned());
        only = usual
            .filter(|name| !only_read || name.contains("read"))
            .filter(|name| !simulated || name != "read-buffered")
            .collect();
    }
    let scale = Scale::new(&args.suite, inspection)?.with_longer_trials();
    // Plan each job once: the schedule determines the repetitions.
    let planned = jobs::jobs((&only, 1), inspection, place, &scale)?;
    let all = planned.into_iter().map(|planned| planned.job).collect();
    Ok(Jobs::new(all, scale.file))
}

/// Fits jobs into one test file: a job with a size uses the beginning of the file, others use all
/// of it.
fn in_one_file(
    args: &RoundArgs,
    mut all: Vec<Job>,
    inspection: &Inspection,
    place: &Place,
) -> Result<Jobs, Failure> {
    let end = all
        .iter()
        .map(|job| job.offset.0.saturating_add(job.size.0));
    let end = Bytes(end.max().unwrap_or(0));
    let unsized_job = all.iter().find(|job| job.size == Bytes(0));
    if let (Some(job), None) = (unsized_job, args.suite.size) {
        return Err(Failure::usage(format!(
            "job {}: it has no size: add size= to it, or --size",
            job.name
        )));
    }
    let file = file_size(args.suite.size.or(Some(end)), end, Bytes(0), inspection)?;
    for job in &mut all {
        if job.size == Bytes(0) {
            job.size = Bytes(file.0.saturating_sub(job.offset.0));
        }
        if job.offset.0.saturating_add(job.size.0) > file.0 {
            return Err(Failure::usage(format!(
                "job {}: it ends at {}, beyond the test file of {file}: give a --size that is \
                 larger",
                job.name,
                Bytes(job.offset.0.saturating_add(job.size.0))
            )));
        }
    }
    if let (Place::File { path }, Some(job)) = (place, all.iter().find(|job| job.rw.writes())) {
        return Err(Failure::usage(format!(
            "job {} writes, and {} is a file, which is only read: give the directory it is in",
            job.name,
            path.display()
        )));
    }
    on_place(place, &mut all)?;
    Ok(Jobs::new(all, file))
}

/// Converts jobs to simulated ones if the place is a simulated device.
pub fn on_place(place: &Place, jobs: &mut [Job]) -> Result<(), Failure> {
    if !matches!(place, Place::Simulated { .. }) {
        return Ok(());
    }
    for job in jobs {
        *job = job.simulated().ok_or_else(|| {
            Failure::usage(format!(
                "job {}: it is buffered, and a simulated device has no page cache: add direct=1",
                job.name
            ))
        })?;
    }
    Ok(())
}

/// Reads the jobs of a job file of fio.
pub fn from_file(path: &Path) -> Result<Vec<Job>, Failure> {
    let invocation = fio::parse_job_file(path, &Machine).map_err(Failure::usage)?;
    warn(&invocation.warnings, say);
    let load = invocation.load;
    let entries = entries(&load);
    if entries.is_empty() {
        let why = "no job reads or writes: there is nothing to measure";
        return Err(Failure::in_file(path, why));
    }
    let job = |entry: &ReportedJob| alone(&load, entry);
    let jobs: Result<Vec<Job>, Failure> = entries.iter().map(job).collect();
    let jobs = jobs?;
    say(
        "assay: each job runs alone, in a test file that is written before; its file names are not used",
    );
    Ok(jobs)
}

/// Converts an entry to a job that a plan can run: one stream, and only options that a plan supports.
fn alone(load: &Load, entry: &ReportedJob) -> Result<Job, Failure> {
    let name = &entry.job.name;
    let [index] = entry.streams[..] else {
        return Err(Failure::usage(format!(
            "job {name}: it has several copies; here single ones are run: numjobs must be 1"
        )));
    };
    let stream = &load.streams[index];
    if load
        .streams
        .iter()
        .filter(|other| other.wave == stream.wave)
        .count()
        > 1
    {
        return Err(Failure::usage(format!(
            "job {name}: it runs beside others; here each job runs alone: put stonewall between \
             them"
        )));
    }
    expressible(load, entry)
}

/// Converts an entry to a job if it has only options that a plan supports.
fn expressible(load: &Load, entry: &ReportedJob) -> Result<Job, Failure> {
    let name = &entry.job.name;
    let mut streams = entry.streams.iter().map(|&index| &load.streams[index]);
    match streams.all(|stream| *stream == plain(stream)) {
        true => Ok(entry.job.clone()),
        false => Err(Failure::usage(format!(
            "job {name}: it uses more than can be repeated in rounds: only rw, bs, ioengine, iodepth, \
             direct, sync, fsync, fdatasync, end_fsync, size, io_size, offset, runtime, \
             time_based, ramp_time, rate, rate_iops, rwmixread and zero_buffers"
        ))),
    }
}

/// Returns the properties of a stream that a job can express; the others have fio's defaults.
fn plain(stream: &Stream) -> Stream {
    let Stream {
        blocks,
        engine,
        length,
        durability,
        region,
        ..
    } = stream;
    let bytes = |extent: Extent| match extent {
        Extent::Bytes(_) => extent,
        Extent::Percent(_) => Extent::Bytes(0),
    };
    let sizes = if blocks.rw.read {
        &blocks.sizes.read
    } else {
        &blocks.sizes.write
    };
    let block = BlockSizes {
        min: sizes.min,
        max: sizes.min,
        ..BlockSizes::default()
    };
    Stream {
        number: stream.number,
        clone: stream.clone,
        group: stream.group,
        wave: stream.wave,
        report: stream.report,
        description: stream.description.clone(),
        // The plan determines the file, and the state of the cache.
        files: stream.files.clone(),
        process: Process {
            forked: stream.process.forked,
            ..Process::default()
        },
        region: Region {
            size: region.size.map(bytes),
            offset: bytes(region.offset),
            ..Region::default()
        },
        blocks: Blocks {
            rw: RwPattern {
                read: blocks.rw.read,
                write: blocks.rw.write,
                random: blocks.rw.random,
                ..RwPattern::default()
            },
            read_percent: blocks.read_percent,
            sizes: PerDirection::all(block),
            // Offsets follow from the plan's seed.
            repeat: blocks.repeat,
            seed: blocks.seed,
            ..Blocks::default()
        },
        length: Length {
            io_size: length.io_size.map(bytes),
            runtime: length.runtime,
            time_based: length.time_based,
            ramp_time: length.ramp_time,
            ..Length::default()
        },
        engine: Engine {
            kind: engine.kind,
            iodepth: engine.iodepth,
            // fio's notation for no such limit.
            iodepth_low: if engine.iodepth_low == engine.iodepth {
                engine.iodepth
            } else {
                0
            },
            ..Engine::default()
        },
        durability: Durability {
            direct: durability.direct,
            sync: durability.sync,
            fsync: durability.fsync,
            fdatasync: durability.fdatasync,
            at_end: durability.at_end,
            ..Durability::default()
        },
        pace: PaceLimits {
            rate: stream.pace.rate,
            rate_iops: stream.pace.rate_iops,
            ..PaceLimits::default()
        },
        content: WriteContent {
            zero: stream.content.zero,
            ..WriteContent::default()
        },
        trim: TrimOptions {
            percent: 0,
            ..stream.trim
        },
        // Statistics options do not change the I/O.
        stats: stream.stats.clone(),
        ..Stream::new(&stream.name)
    }
}

/// Command that is repeated in rounds.
pub enum RepeatedCommand {
    /// The jobs of a plan.
    Jobs(JobSource),
    /// An act.
    Act(RepeatedAct),
}

/// A command that is one act.
pub struct RepeatedAct {
    /// Name of the command.
    pub name: &'static str,
    /// Feature that its agent must have.
    pub needs: Feature,
    /// `true` if the files of the command are checked on this machine, so that it cannot be repeated
    /// on another one.
    pub is_local: bool,
    /// Makes the act for the inspected place, and its steps as far as they are known beforehand.
    pub make: MakeAct,
}

/// Makes an act and its steps for an inspected place.
pub type MakeAct = Box<dyn Fn(&Inspection) -> Result<(Act, Vec<Job>), Failure>>;

impl RepeatedAct {
    /// Checks that the act can be repeated on the target, and asks for an agent that can.
    ///
    /// # Errors
    /// If it is repeated on this machine only.
    pub fn check_target(&self, target: &mut dyn Target) -> Result<(), Failure> {
        target.needs(self.needs);
        match (target.name(), self.is_local) {
            (Some(name), true) => Err(Failure::usage(format!(
                "{} is repeated on this machine only, as its files are checked here: on {name} repeat \
                 jobs, androbench, disks, mark or scenario",
                self.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Reads the words of a command for a path; nothing is asked of the machine yet.
pub type ReadCommand = fn(&[OsString], &Path) -> Result<RepeatedCommand, Failure>;

/// Place of an act that is repeated.
pub struct ActPlace<'a> {
    /// Inspection of the path.
    pub inspection: &'a Inspection,
    /// Inspection that the act gets: a folder, where file systems are made on a device.
    pub bench: &'a Inspection,
    /// The conditions make file systems.
    pub makes_file_systems: bool,
}

/// Refuses an act that writes elsewhere, or that does not access the storage whose settings are
/// varied: its figures would not depend on them.
pub fn check_place(host: &mut Host, work: &Act, place: &ActPlace) -> Result<(), Failure> {
    refuse_own_streams(work, place)?;
    let is_made = place.makes_file_systems;
    let varied = &place.inspection.storage;
    let mut is_there = false;
    for path in touched(work).into_iter().filter(|path| !is_stream(path)) {
        let inside = match is_made {
            true => path.starts_with(&place.bench.path) && path != place.inspection.path,
            false => {
                let found = host.inspect(&path);
                let found = found.or_else(|_| host.inspect(folder_of(&path)))?;
                found.storage.backing == varied.backing
            }
        };
        is_there |= inside || is_made && path == place.bench.path;
        if !inside && work.spec().writes().contains(&path) {
            return Err(Failure::usage(format!(
                "{} is not on {}: name a file there; names without \
                 a / in front are in it",
                path.display(),
                place.inspection.path.display()
            )));
        }
    }
    match is_there || !work.spec().measures_storage() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "the command uses nothing on {}",
            place.inspection.path.display()
        ))),
    }
}

/// Refuses paths of standard streams: the agent has other ones.
fn refuse_own_streams(work: &Act, place: &ActPlace) -> Result<(), Failure> {
    let streams = [
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd",
        "/proc",
    ];
    let is_own = |path: &&PathBuf| streams.iter().any(|known| path.starts_with(known));
    match touched(work).iter().find(is_own) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!(
            "{} is a stream of this process, which a repeated command does not have: name a file on \
             {}",
            path.display(),
            place.inspection.path.display()
        ))),
    }
}

/// Returns the files, folders and devices that an act reads or writes, each once.
fn touched(work: &Act) -> Vec<PathBuf> {
    let mut touched = work.spec().touches();
    touched.sort();
    touched.dedup();
    touched
}

/// `true` for character devices such as `/dev/zero`, and for pipes: they are no storage.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| {
        let kind = meta.file_type();
        kind.is_char_device() || kind.is_fifo()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost {
        before: Nanos::secs(30),
        round: Nanos::secs(10),
        step: 2,
    };

    fn wish(trials: Option<Trials>, budget: Option<u64>) -> Wish {
        Wish {
            trials,
            max_trials: None,
            budget: budget.map(Nanos::secs),
            margin: 0.05,
        }
    }

    fn trials(wish: &Wish) -> (u32, Option<Vec<u32>>) {
        let schedule = Schedule::of(wish, &COST).unwrap();
        let looks = schedule.stopping.looks.map(|looks| looks.at);
        (schedule.trials, looks)
    }

    #[test]
    fn a_number_or_auto() {
        assert_eq!(Trials::parse("auto"), Ok(Trials::Auto));
        assert_eq!(Trials::parse("12"), Ok(Trials::Number(12)));
        for wrong in ["0", "1001", "-1", "many", ""] {
            assert!(Trials::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn without_a_budget_the_number_is_the_users() {
        assert_eq!(trials(&wish(None, None)), (6, None));
        let three = wish(Some(Trials::Number(3)), None);
        assert_eq!(trials(&three), (3, None));
        let auto = wish(Some(Trials::Auto), None);
        assert_eq!(trials(&auto), (20, Some(vec![6, 10, 20])));
    }

    #[test]
    fn a_budget_is_filled_or_caps() {
        // (175 - 30) / 10 is 14 and a half.
        assert_eq!(trials(&wish(None, Some(175))), (14, None));
        let few = wish(Some(Trials::Number(8)), Some(175));
        assert_eq!(trials(&few), (8, None));
        let many = wish(Some(Trials::Number(50)), Some(175));
        assert_eq!(trials(&many), (14, None));
        let auto = wish(Some(Trials::Auto), Some(175));
        assert_eq!(trials(&auto), (12, Some(vec![6, 12])));
        let short = wish(Some(Trials::Auto), Some(115));
        assert_eq!(trials(&short), (8, None), "one look");
    }

    #[test]
    fn too_little_is_refused() {
        let refused = |wish| Schedule::of(&wish, &COST).unwrap_err().to_string();
        assert!(refused(wish(None, Some(69))).contains("need about 70"));
        let few = Wish {
            max_trials: Some(8),
            ..wish(Some(Trials::Auto), None)
        };
        assert!(refused(few).contains("--trials 8"));
        let alone = Wish {
            max_trials: Some(8),
            ..wish(None, None)
        };
        assert!(refused(alone).contains("--trials auto and --budget"));
    }
}

//! `assay sweep PATH --vary …`: jobs under every combination of conditions.

pub mod args;
pub mod command;
mod conditions;
mod repeated;
mod resume;
mod talk;

use crate::checks::admission::{self, Need};
use crate::checks::estimate;
use crate::config;
use crate::driver::announce::{announce, tell};
use crate::driver::host::Host;
use crate::driver::runs::{header, random};
use crate::driver::{leftovers, plans};
use crate::exit::Failure;
use crate::rounds::jobs::{self, JobSource, Jobs};
use crate::rounds::outlook::{LevelAndMargin, Spread};
use crate::rounds::plan;
use crate::rounds::schedule::{self, Cost, Schedule, Trials, Wish};
use crate::rounds::stopper::{ComparisonsSoFar, Stopper};
use crate::stored::owner;
use crate::ui::progress::Voice;
use args::SweepArgs;
use assay_lang::tr;
use assay_model::condition::Condition;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_model::wire::PathKind;
use assay_stats::figures::of_trials;
use assay_stats::verdict::line::Options;
use assay_stats::verdict::power::spreads;
use assay_stats::verdict::ranking::rank_figures;
use assay_stats::verdict::sequential::Standing;
use assay_store::Store;
use assay_target::Target;
use command::{ReadCommand, Swept};
use repeated::Bed;
use std::path::Path;
use std::process::ExitCode;

/// Sweeps a path on a target, or resumes an earlier sweep; `read` parses a command to repeat.
pub fn run(
    args: &SweepArgs,
    read: ReadCommand,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    match (&args.resume, &args.path) {
        (Some(name), _) => resume::run(args, name, read, target),
        (None, Some(path)) => begin(args, path, read, target),
        (None, None) => Err(Failure::usage("name a path to sweep")),
    }
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
    let varied = conditions::parse(args)?;
    let source = source(args, path, read)?;
    let store_path = args.shared.store.path()?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(path)?;
    let agreed = args
        .rounds
        .destroy
        .allow(&inspection.path, |name| host.inspect(name))?;
    let place = admission::admit(&inspection, Need::anything(agreed))?;
    let made = conditions::make_file_systems(&varied);
    let bench = conditions::bench(made, &inspection)?;
    let conditions = conditions::expand(&varied, &mut host, &inspection.path)?;
    let source = match source {
        Swept::Jobs(source) => source,
        // The place of a work is checked through this machine's file system.
        Swept::Work(_) if host.target().is_some() => {
            return Err(Failure::usage(
                "a command is swept on this machine only: on a board sweep jobs, without --",
            ));
        }
        Swept::Work(tool) => {
            let bed = Bed {
                inspection,
                bench,
                place,
                conditions,
            };
            return repeated::run(args, &tool, &bed, host, target);
        }
    };
    // A refused sweep must leave no store behind, so the store is made after the checks.
    let mut store = args.shared.store.open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    let inspection = host.inspect(path)?;

    let bench = conditions::bench(made, &inspection)?;
    let jobs = match bench.kind {
        PathKind::Directory { .. } => {
            let path = bench.path.clone();
            jobs::choose(&args.rounds, &source, &bench, &Place::Directory { path })?
        }
        _ => jobs::choose(&args.rounds, &source, &bench, &place)?,
    };
    let schedule = schedule(args, &jobs, &conditions, &place)?;
    let seed = args.shared.seed.unwrap_or_else(random);
    let plan = plan(&args.rounds, seed, jobs, conditions, place, schedule.trials);
    let duration = (estimate::of_plan(&plan), None);
    announce(&plan, &inspection, host.target(), duration, store.path());
    let mut header = header(plan, inspection, host.origin());
    header.stopping = schedule.stopping;
    foretell(&header, schedule.trials, &store)?;
    store.begin_run(&header, &owner::this_process())?;
    execute(args, host, &header, store, Vec::new(), target)
}

/// Returns the command to run under the conditions.
fn source(args: &SweepArgs, path: &Path, read: ReadCommand) -> Result<Swept, Failure> {
    if !args.command.is_empty() {
        return read(&args.command, path);
    }
    let from_file = args.file.as_deref().map(jobs::from_file).transpose()?;
    Ok(Swept::Jobs(
        from_file.map_or(JobSource::Suite, JobSource::File),
    ))
}

/// Plans the number of rounds.
fn schedule(
    args: &SweepArgs,
    jobs: &Jobs,
    conditions: &[Condition],
    place: &Place,
) -> Result<Schedule, Failure> {
    if args.rounds.trials == Some(Trials::Auto) && conditions.len() < 2 {
        return Err(Failure::usage(
            "--trials auto goes on until the conditions are compared, and there is only one: \
             give a number",
        ));
    }
    let wish = Wish {
        trials: args.rounds.trials,
        max_trials: args.max_trials,
        budget: args.rounds.budget,
        margin: args.margin.unwrap_or_else(config::margin),
    };
    let made = conditions.iter().any(Condition::makes_file_system);
    let file = estimate::of_file(place, jobs.file, made);
    // In file systems that are made for a condition, the test file is written anew.
    let again = if made { file } else { Nanos(0) };
    let once = estimate::of_jobs(&jobs.all, true, &args.rounds.restore());
    let count = conditions.len() as u64;
    let round = Nanos((once.0 + again.0).saturating_mul(count));
    let cost = Cost {
        before: Nanos(file.0 + round.0),
        round,
        step: 1,
    };
    Schedule::of(&wish, &cost)
}

/// Announces when the sweep ends, and which differences it can detect.
fn foretell(header: &RunHeader, trials: u32, store: &Store) -> Result<(), Failure> {
    let mut facts = schedule::facts(&header.stopping, trials);
    if !facts.is_empty() {
        let jobs = header.plan.jobs.iter().map(|planned| planned.job.clone());
        let jobs: Vec<Job> = jobs.collect();
        let spread = Spread::known(store, &header.storage.words(), &jobs)?;
        facts.push((
            tr!("Shows"),
            spread.foretells(
                trials,
                LevelAndMargin::to(alpha_of_pair(header), &header.stopping),
                &header.stopping,
            ),
        ));
    }
    tell(&facts);
    Ok(())
}

/// Significance level of one pair of conditions: the level is divided by the number of pairs.
fn alpha_of_pair(header: &RunHeader) -> f64 {
    let k = header.plan.conditions.len();
    let pairs = (k * k.saturating_sub(1) / 2).max(1);
    let pairs = pairs as f64;
    header.stopping.alpha() / pairs
}

/// Runs the missing trials of a plan, and shows the whole run.
fn execute(
    args: &SweepArgs,
    mut host: Host,
    header: &RunHeader,
    mut store: Store,
    done: Vec<TrialRecord>,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let enough = enough(header, &done);
    let executed = plans::execute(&mut host, header, &mut store, done, enough);
    plans::close(header.clone(), &mut store, executed, target)?.present(args.shared.json)
}

/// Returns a function that decides if a sweep may end; called after each trial.
fn enough<'a>(
    header: &'a RunHeader,
    done: &[TrialRecord],
) -> impl FnMut(&[TrialRecord], &Voice) -> bool + 'a {
    let plan = &header.plan;
    let per_round = plan.jobs.len() * plan.conditions.len().max(1);
    let planned = plan.order.last().map_or(0, |last| last.trial);
    let used = done.last().map_or(0, |last| last.started_unix_ms);
    let used = Nanos::millis(used.saturating_sub(header.started_unix_ms));
    let alpha = alpha_of_pair(header);
    let mut stopper = Stopper::new(&header.stopping, alpha, planned, 1, used);
    move |trials, voice| {
        // The first round conditions the storage.
        let rounds = trials.len() / per_round.max(1);
        let Some(rounds) = u32::try_from(rounds)
            .ok()
            .and_then(|all| all.checked_sub(1))
        else {
            return false;
        };
        trials.len().is_multiple_of(per_round)
            && stopper.is_enough(rounds, voice, || found(header, trials))
    }
}

/// Compares the trials so far: all pairs of conditions, as `assay rank` judges them.
fn found(header: &RunHeader, trials: &[TrialRecord]) -> ComparisonsSoFar {
    let mut figures = of_trials(header, trials);
    figures.retain(|figure| figure.primary);
    let options = Options::of_run(&header.stopping);
    let ranking = rank_figures(&figures, None, &options);
    ComparisonsSoFar {
        standing: ranking.map_or(Standing::NOTHING, |found| Standing::of_ranking(&found)),
        spread: Spread::of(spreads(&figures)),
    }
}

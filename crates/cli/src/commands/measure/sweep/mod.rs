//! `assay sweep PATH --vary …`: jobs under every combination of conditions.

pub mod args;
mod conditions;
mod repeated;

use crate::checks::admission::{self, Need};
use crate::checks::estimate;
use crate::commands::resume::{Resumed, resume_run};
use crate::config;
use crate::driver::announce::{announce, tell};
use crate::driver::host::Host;
use crate::driver::runs::{header, random};
use crate::driver::{leftovers, plans};
use crate::exit::Failure;
use crate::rounds::acts::{ReadCommand, RepeatedCommand};
use crate::rounds::jobs::{self, JobSource, Jobs};
use crate::rounds::outlook::{LevelAndMargin, Spread};
use crate::rounds::plan;
use crate::rounds::schedule::{self, Cost, Schedule, Trials, Wish};
use crate::rounds::under_conditions::{alpha_of_pair, execute_jobs};
use crate::stored::owner;
use args::SweepArgs;
use assay_lang::tr;
use assay_model::condition::Condition;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::run::RunHeader;
use assay_model::units::Nanos;
use assay_model::wire::PathKind;
use assay_store::Store;
use assay_target::Target;
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
        (Some(name), _) => {
            let resumed = Resumed::find(&args.shared.store, name, target)?;
            resume_run(resumed, &args.rounds.destroy, args.shared.json, target)
        }
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
    let made = conditions::make_file_systems(&varied);
    let bench = conditions::bench(made, &inspection)?;
    let conditions = conditions::expand(&varied, &mut host, &inspection.path)?;
    let source = match source {
        RepeatedCommand::Jobs(source) => source,
        RepeatedCommand::Act(tool) => {
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
    let cost = cost(args, &jobs, &conditions, &place);
    let schedule = schedule(args, conditions.len(), &cost)?;
    let seed = args.shared.seed.unwrap_or_else(random);
    let plan = plan(&args.rounds, seed, jobs, conditions, place, schedule.trials);
    let duration = (estimate::of_plan(&plan), None);
    announce(&plan, &inspection, host.target(), duration, store.path());
    let mut header = header(plan, inspection, host.origin());
    header.stopping = schedule.stopping;
    foretell(&header, schedule.trials, &store)?;
    store.begin_run(&header, &owner::this_process())?;
    let executed = execute_jobs(&mut host, &header, &mut store, Vec::new());
    plans::close(header, &mut store, executed, target)?.present(args.shared.json)
}

/// Returns the command to run under the conditions.
fn source(args: &SweepArgs, path: &Path, read: ReadCommand) -> Result<RepeatedCommand, Failure> {
    if !args.command.is_empty() {
        return read(&args.command, path);
    }
    let from_file = args.file.as_deref().map(jobs::from_file).transpose()?;
    Ok(RepeatedCommand::Jobs(
        from_file.map_or(JobSource::Suite, JobSource::File),
    ))
}

/// Plans the number of rounds.
fn schedule(args: &SweepArgs, conditions: usize, cost: &Cost) -> Result<Schedule, Failure> {
    if args.rounds.trials == Some(Trials::Auto) && conditions < 2 {
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
    let round = Nanos((once.0 + again.0).saturating_mul(count));
    Cost {
        before: Nanos(file.0 + round.0),
        round,
        step: 1,
    }
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

//! `assay sweep PATH --vary …`: jobs under every combination of conditions.

pub mod args;
mod command;
mod conditions;
mod jobs;
mod repeated;
mod resume;
mod talk;

use crate::announce::announce;
use crate::exit::Failure;
use crate::host::Host;
use crate::plans::{self, Execution};
use crate::runs::{self, header, random, run_id};
use crate::stored::store_path;
use crate::{estimate, leftovers, owner, place};
use args::SweepArgs;
use assay_model::condition::{Condition, Restore, TemperatureWindow};
use assay_model::plan::{Place, Plan, PlannedJob, rounds};
use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use assay_model::wire::PathKind;
use assay_store::Store;
use assay_target::Target;
use command::Command;
use jobs::{Jobs, Source};
use repeated::Bed;
use std::path::Path;
use std::process::ExitCode;

/// Sweeps a path on a target, or goes on with an earlier sweep.
pub fn run(args: &SweepArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    match (&args.resume, &args.path) {
        (Some(name), _) => resume::run(args, name, target),
        (None, Some(path)) => begin(args, path, target),
        (None, None) => Err(Failure::usage("name a path to sweep")),
    }
}

fn begin(args: &SweepArgs, path: &Path, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    place::can_be_stored(path)?;
    let varied = conditions::parse(args)?;
    let source = source(args, path)?;
    let store_path = store_path(&args.store)?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(path)?;
    let place = place::admit(&inspection, args.destroy_data)?;
    let made = conditions::make_file_systems(&varied);
    let bench = conditions::bench(made, &inspection)?;
    let conditions = conditions::expand(&varied, &mut host, &inspection.path)?;
    let source = match source {
        Command::Jobs(source) => source,
        Command::Work(tool) => {
            let bed = Bed {
                inspection,
                bench,
                place,
                conditions,
            };
            return repeated::run(args, &tool, &bed, host, target);
        }
    };
    // Only now: a sweep that is refused leaves no store behind.
    let mut store = Store::open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    let inspection = host.inspect(path)?;

    let bench = conditions::bench(made, &inspection)?;
    let jobs = match bench.kind {
        PathKind::Directory { .. } => {
            let path = bench.path.clone();
            jobs::choose(args, source, &bench, &Place::Directory { path })?
        }
        _ => jobs::choose(args, source, &bench, &place)?,
    };
    let plan = plan(args, jobs, conditions, place);
    announce(&plan, &inspection, estimate::of_plan(&plan), store.path());
    let header = header(plan, inspection);
    store.begin_run(&header, &owner::this_process())?;
    execute(args, host, &header, store, Vec::new(), target)
}

/// What is run under the conditions.
fn source(args: &SweepArgs, path: &Path) -> Result<Command, Failure> {
    if !args.command.is_empty() {
        return command::parse(&args.command, path);
    }
    let from_file = args.file.as_deref().map(jobs::from_file).transpose()?;
    Ok(Command::Jobs(from_file.map_or(Source::Suite, Source::File)))
}

/// Runs what is missing of a plan, and shows all of it.
fn execute(
    args: &SweepArgs,
    mut host: Host,
    header: &RunHeader,
    mut store: Store,
    done: Vec<TrialRecord>,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let expected = estimate::of_trials(&header.plan);
    let nothing_yet = done.is_empty();
    let mut execution = Execution::new(&mut host, header, &expected, &mut store);
    execution.resume(done);
    let ended = execution.run_all();
    let trials = execution.finish();
    if let (Err(refused), true, true) = (&ended, nothing_yet, trials.is_empty())
        && refused.is_usage()
    {
        // Refused by the agent before anything ran: there is no such run.
        store.forget_run(&header.id)?;
        return ended.map(|_| ExitCode::SUCCESS);
    }
    let done = plans::close(header.clone(), store, trials, ended, target);
    runs::present(&done.run, args.json)?;
    done.conclude()
}

fn plan(args: &SweepArgs, jobs: Jobs, conditions: Vec<Condition>, place: Place) -> Plan {
    let seed = args.seed.unwrap_or_else(random);
    let count = u32::try_from(conditions.len()).unwrap_or(u32::MAX);
    let trials = (args.rounds + 1).saturating_mul(count);
    Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: jobs.file,
        order: rounds(jobs.all.len(), conditions.len(), args.rounds, seed),
        jobs: jobs
            .all
            .into_iter()
            .map(|job| PlannedJob { job, trials })
            .collect(),
        conditions,
        restore: restore(args),
    }
}

/// What is done before each trial.
fn restore(args: &SweepArgs) -> Restore {
    Restore {
        idle: args.idle.unwrap_or_default(),
        drop_caches: args.drop_caches,
        trim: args.trim,
        temperature: args.temperature.map(|width_mk| TemperatureWindow {
            width_mk,
            limit: args.temperature_limit,
            around: None,
        }),
    }
}

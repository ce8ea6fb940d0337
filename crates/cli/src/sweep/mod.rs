//! `assay sweep PATH --vary …`: jobs under every combination of conditions.

pub mod args;
mod conditions;
mod jobs;
mod resume;

use crate::announce::announce;
use crate::exit::Failure;
use crate::host::Host;
use crate::plans::{self, Execution};
use crate::runs::{self, header, random, run_id};
use crate::stored::store_path;
use crate::{leftovers, owner, place};
use args::SweepArgs;
use assay_model::condition::{Condition, Restore};
use assay_model::plan::{Place, Plan, PlannedJob, rounds};
use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, MIB, Nanos};
use assay_store::Store;
use assay_target::Target;
use jobs::Jobs;
use std::path::Path;
use std::process::ExitCode;

/// Setting a condition, opening, evicting, flushing and looking around a trial.
const AROUND_A_TRIAL: Nanos = Nanos::millis(300);
/// Speed of storage for the estimate of how long writing takes.
const ASSUMED_BYTES_PER_SEC: u64 = 200 * MIB;

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
    let from_file = args.file.as_deref().map(jobs::from_file).transpose()?;
    let store_path = store_path(&args.store)?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(path)?;
    let place = place::admit(&inspection, args.destroy_data)?;
    let conditions = conditions::expand(&varied, &mut host, &inspection.path)?;
    // Only now: a sweep that is refused leaves no store behind.
    let mut store = Store::open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    let inspection = host.inspect(path)?;

    let jobs = jobs::choose(args, from_file, &inspection, &place)?;
    let plan = plan(args, jobs, conditions, place);
    announce(
        &plan,
        &inspection,
        host.target(),
        duration(&plan),
        store.path(),
    );
    let header = header(plan, inspection, host.target());
    store.begin_run(&header, &owner::this_process())?;
    execute(args, host, &header, store, Vec::new(), target)
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
    let expected = expected(&header.plan);
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
        restore: Restore {
            idle: args.idle.unwrap_or_default(),
            drop_caches: args.drop_caches,
            trim: args.trim,
        },
    }
}

/// What each trial may take, in the plan's order.
fn expected(plan: &Plan) -> Vec<Nanos> {
    let jobs = plan.order.iter().map(|slot| &plan.jobs[slot.job].job);
    let around = AROUND_A_TRIAL.0 + plan.restore.idle.0;
    jobs.map(|job| {
        let bytes = job.max_written().unwrap_or(job.size);
        Nanos(job.runtime.map_or_else(|| writing(bytes), |limit| limit.0) + around)
    })
    .collect()
}

/// What the whole sweep may take.
fn duration(plan: &Plan) -> Nanos {
    let trials: u64 = expected(plan).iter().map(|span| span.0).sum();
    let prepare = match plan.place {
        Place::File { .. } => 0,
        _ => writing(plan.file_size),
    };
    Nanos(trials + prepare)
}

fn writing(bytes: Bytes) -> u64 {
    bytes.0 / (ASSUMED_BYTES_PER_SEC / 1_000) * 1_000_000
}

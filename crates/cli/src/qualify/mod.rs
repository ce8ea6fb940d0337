//! `assay qualify PATH`: what is this storage, how fast is it really, and can
//! I believe it?

mod claims;
pub mod profile;
pub mod suite;

use crate::announce::announce;
use crate::args::QualifyArgs;
use crate::exit::Failure;
use crate::host::Host;
use crate::plans;
use crate::runs::{self, header, random, run_id};
use crate::{estimate, leftovers, owner, place};
use assay_model::condition::Restore;
use assay_model::plan::{Place, Plan, interleave};
use assay_model::run::{RunHeader, RunStatus};
use assay_model::units::Nanos;
use assay_model::wire::Inspection;
use assay_store::Store;
use assay_target::Target;
use std::process::ExitCode;
use suite::Scale;

/// Qualifies a path on a target.
pub fn run(args: &QualifyArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    place::can_be_stored(&args.path)?;
    let claims = claims::of(args)?;
    let store_path = args.store.path()?;
    if args.profile.is_some() {
        target.needs_larger_agent();
    }
    let mut host = Host::start(target)?;
    let inspection = host.inspect(&args.path)?;
    let place = place::admit(&inspection, args.destroy_data)?;
    // Only now: a path that is refused leaves no store behind.
    let mut store = args.store.open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    // Leftovers took room that is free now.
    let inspection = host.inspect(&args.path)?;

    let scale = Scale::new(args, &inspection)?;
    let more = profile::more(args, &place, &mut host)?;
    let plan = plan(args, &inspection, place, &scale)?;
    let duration = Nanos(estimate::of_plan(&plan).0 + more.time().0);
    announce(&plan, &inspection, host.target(), duration, store.path());

    let mut header = header(plan, inspection, host.names());
    header.claims = claims;
    let whole = RunHeader {
        plan: with(&header.plan, &more),
        ..header.clone()
    };
    store.begin_run(&whole, &owner::this_process())?;
    let expected = estimate::of_trials(&header.plan);
    let all = |_: &[_], _: &_| false;
    let executed = plans::execute(&mut host, &header, &expected, &mut store, Vec::new(), all);
    let done = plans::close(whole, &mut store, executed, target);
    if more.is_empty() || done.run.status != RunStatus::Finished {
        runs::present(&done.run, args.json)?;
        return done.conclude();
    }
    drop(store);
    let done = more.carry_out(args, done.run, &store_path, (&mut host, target))?;
    runs::present(&done.run, args.json)?;
    done.conclude()
}

/// The plan of the whole run: the agent is asked for the suite alone.
fn with(suite: &Plan, more: &profile::More) -> Plan {
    let mut plan = suite.clone();
    plan.jobs.extend(more.jobs());
    plan
}

/// Which trials, in which order.
fn plan(
    args: &QualifyArgs,
    inspection: &Inspection,
    place: Place,
    scale: &Scale,
) -> Result<Plan, Failure> {
    let seed = args.seed.unwrap_or_else(random);
    let jobs = suite::jobs(args, inspection, &place, scale)?;
    let trials: Vec<u32> = jobs.iter().map(|planned| planned.trials).collect();
    Ok(Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: scale.file,
        conditions: Vec::new(),
        restore: Restore::default(),
        order: interleave(&trials, seed),
        jobs,
    })
}

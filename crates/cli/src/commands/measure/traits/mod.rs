//! `assay traits`: what flash shows of itself to patterns of I/O.

pub mod args;
mod draw;
pub mod found;
mod head;
mod show;
mod words;

use crate::checks::admission::Need;
use crate::checks::free_space::file_size;
use crate::checks::{admission, estimate};
use crate::driver::announce::announce;
use crate::driver::host::Host;
use crate::driver::runs::{header, random, run_id};
use crate::driver::{leftovers, plans};
use crate::exit::{DONE, Failure};
use crate::output::print;
use crate::stored::lookup::{Stored, load};
use crate::stored::owner;
use args::TraitsArgs;
use assay_flash::traits::Trait;
use assay_flash::traits::ask::{Scope, TraitJob};
use assay_model::condition::Restore;
use assay_model::job::EngineKind;
use assay_model::plan::{Place, Plan, PlannedJob, interleave};
use assay_model::run::Run;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, PathKind};
use assay_target::Target;
use found::Found;
use std::path::Path;
use std::process::ExitCode;

/// `assay traits`.
pub fn run(args: &TraitsArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.path {
        return measure(args, path, target);
    }
    let word = args.of.as_deref().unwrap_or("last");
    match load(&args.store.store, word)? {
        Stored::Run(run) => present(&run, args).map(|()| DONE),
        Stored::Import(_) => Err(Failure::usage(format!(
            "{word} is an import: traits are those of a run of assay traits"
        ))),
    }
}

fn measure(args: &TraitsArgs, path: &Path, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    admission::can_be_stored(path)?;
    target.needs_larger_agent();
    let store_path = args.store.path()?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(path)?;
    let place = admission::admit(&inspection, Need::anything(args.destroy_data))?;
    is_on_device(&inspection)?;
    let mut store = args.store.open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    let inspection = host.inspect(path)?;
    let plan = plan(args, &inspection, place)?;
    if plan.jobs.is_empty() {
        return Err(nothing_to_ask(args, &inspection));
    }
    let duration = estimate::of_plan(&plan);
    announce(&plan, &inspection, host.target(), duration, store.path());
    let header = header(plan, inspection, host.names());
    store.begin_run(&header, &owner::this_process())?;
    let all = |_: &[_], _: &_| false;
    let executed = plans::execute(&mut host, &header, &mut store, Vec::new(), all);
    let done = plans::close(header, &mut store, executed, target)?;
    if done.stored {
        present(&done.run, args)?;
    }
    done.conclude()
}

/// Refuses memory before anything is written to it: what judges the figures would say the same.
fn is_on_device(inspection: &Inspection) -> Result<(), Failure> {
    inspection.storage.memory().map_or(Ok(()), |memory| {
        Err(Failure::usage(format!(
            "{}: its figures are not the device's ({memory}: there is no device behind it)",
            inspection.path.display()
        )))
    })
}

fn present(run: &Run, args: &TraitsArgs) -> Result<(), Failure> {
    let jobs = run.header.plan.jobs.iter();
    if jobs
        .filter_map(|planned| TraitJob::of(&planned.job))
        .next()
        .is_none()
    {
        return Err(Failure::usage(format!(
            "run {} asked for no traits: name a run of assay traits",
            run.header.id
        )));
    }
    let found = Found::of(run);
    if let Some(folder) = &args.plots {
        draw::all(&found, folder)?;
    }
    match args.json {
        true => print(|out| writeln!(out, "{:#}", show::value(run, &found))),
        false => args.output.show(&show::document(run, &found)),
    }
}

/// Why nothing is left of what was to be asked.
fn nothing_to_ask(args: &TraitsArgs, inspection: &Inspection) -> Failure {
    let mut whys = args.only.iter().map(|what| {
        found::no_flash(*what, &inspection.storage)
            .unwrap_or_else(|| "it takes writes, or a larger region (--size)".to_owned())
    });
    let why = whys.next().unwrap_or_default();
    Failure::usage(format!(
        "--only leaves nothing to ask on {}: {why}",
        inspection.path.display()
    ))
}

/// Each point as a job, in rounds.
fn plan(args: &TraitsArgs, inspection: &Inspection, place: Place) -> Result<Plan, Failure> {
    let seed = args.seed.unwrap_or_else(random);
    let scope = scope(args, inspection, &place)?;
    let wanted = |asked: &TraitJob| {
        is_asked(asked.what, &args.only)
            && found::no_flash(asked.what, &inspection.storage).is_none()
    };
    let jobs: Vec<PlannedJob> = scope
        .jobs()
        .into_iter()
        .filter(wanted)
        .map(|asked| PlannedJob {
            // It is long, and wears.
            trials: if asked.what == Trait::Slc {
                1
            } else {
                args.trials
            },
            job: asked.job,
        })
        .collect();
    let trials: Vec<u32> = jobs.iter().map(|planned| planned.trials).collect();
    Ok(Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: scope.size,
        conditions: Vec::new(),
        restore: Restore::default(),
        order: interleave(&trials, seed),
        jobs,
    })
}

/// `true` if a trait is among these, or one of them is compared with it; an empty list means all.
fn is_asked(what: Trait, only: &[Trait]) -> bool {
    let compared = what == Trait::Break && only.contains(&Trait::Deferred);
    only.is_empty() || only.contains(&what) || compared
}

fn scope(args: &TraitsArgs, inspection: &Inspection, place: &Place) -> Result<Scope, Failure> {
    let simulated = matches!(inspection.kind, PathKind::Simulated { .. });
    let usual = if simulated {
        Bytes::gib(4)
    } else {
        Bytes::gib(1)
    };
    let size = file_size(args.size, usual, Bytes(0), inspection)?;
    let layers = inspection.storage.layers.iter();
    let sectors = layers.filter_map(|layer| layer.identity.logical_block);
    let least = if simulated { Bytes(512) } else { Bytes(4096) };
    Ok(Scope {
        size,
        sector: sectors.max().unwrap_or(least),
        trial: if simulated {
            Nanos::millis(500)
        } else {
            Nanos::millis(150)
        },
        fill: if simulated {
            Nanos::secs(60)
        } else {
            Nanos::secs(30)
        },
        writes: !args.read_only && !matches!(place, Place::File { .. }),
        engine: if simulated {
            EngineKind::Sim
        } else {
            EngineKind::Psync
        },
        deep: inspection.async_engines.first().copied(),
    })
}

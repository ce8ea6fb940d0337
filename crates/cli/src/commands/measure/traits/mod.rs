//! `assay traits`: infers properties of flash from the timing of I/O patterns.

pub mod args;
mod draw;
pub mod found;
mod show;
mod words;

use crate::checks::admission::{self, Need};
use crate::checks::free_space::file_size;
use crate::driver::plans::{Prepared, interleaved, never_enough};
use crate::driver::runs::random;
use crate::exit::{DONE, Failure};
use crate::stored::lookup::{Stored, load};
use args::TraitsArgs;
use assay_flash::traits::Trait;
use assay_flash::traits::ask::{Scope, TraitJob};
use assay_model::job::EngineKind;
use assay_model::plan::{Place, Plan, PlannedJob};
use assay_model::run::Run;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_target::Target;
use found::Found;
pub use show::in_brief;
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
    target.needs(Feature::Sqlite);
    let prepared = Prepared::new(path, &args.store, target, |found| {
        let place = admission::admit(found, Need::anything(args.destroy_data))?;
        is_on_device(found).map(|()| place)
    })?;
    let plan = plan(args, &prepared)?;
    if plan.jobs.is_empty() {
        return Err(nothing_to_ask(args, &prepared.inspection));
    }
    let done = prepared.run(plan, target, never_enough)?;
    if done.stored {
        present(&done.run, args)?;
    }
    done.conclude()
}

/// Refuses memory before anything is written to it: the evaluation would refuse its figures.
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
    args.output
        .present(|| show::value(run, &found), || show::document(run, &found))
}

/// Failure for `--only` with traits that cannot be measured here.
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

/// Plans a job for each point, in rounds.
fn plan(args: &TraitsArgs, prepared: &Prepared) -> Result<Plan, Failure> {
    let (inspection, place) = (&prepared.inspection, &prepared.place);
    let seed = args.seed.unwrap_or_else(random);
    let scope = scope(args, inspection, place)?;
    let wanted = |asked: &TraitJob| {
        is_asked(asked.what, &args.only)
            && found::no_flash(asked.what, &inspection.storage).is_none()
    };
    let jobs: Vec<PlannedJob> = scope
        .jobs()
        .into_iter()
        .filter(wanted)
        .map(|asked| PlannedJob {
            // The long write takes time and wears the device, so it runs once.
            trials: if asked.what == Trait::Slc {
                1
            } else {
                args.trials
            },
            job: asked.job,
        })
        .collect();
    Ok(interleaved(seed, place.clone(), scope.size, jobs))
}

/// `true` if a trait is listed, or is needed for the comparison with a listed one; an empty list
/// means all.
fn is_asked(what: Trait, only: &[Trait]) -> bool {
    let compared = what == Trait::Break && only.contains(&Trait::Deferred);
    only.is_empty() || only.contains(&what) || compared
}

fn scope(args: &TraitsArgs, inspection: &Inspection, place: &Place) -> Result<Scope, Failure> {
    let layers = inspection.storage.layers.iter();
    let sectors = layers.filter_map(|layer| layer.identity.logical_block);
    let sector = sectors.max();
    let size = |usual| file_size(args.size, usual, Bytes(0), inspection);
    let scope = Scope {
        size: Bytes(0),
        sector: sector.unwrap_or(Bytes(4096)),
        trial: Nanos::millis(150),
        fill: Nanos::secs(30),
        writes: !args.read_only && !matches!(place, Place::File { .. }),
        engine: EngineKind::Psync,
        deep: inspection.async_engines.first().copied(),
    };
    Ok(match inspection.kind {
        PathKind::Simulated { .. } => Scope {
            size: size(Bytes::gib(4))?,
            sector: sector.unwrap_or(Bytes(512)),
            trial: Nanos::millis(500),
            fill: Nanos::secs(60),
            engine: EngineKind::Sim,
            ..scope
        },
        _ => Scope {
            size: size(Bytes::gib(1))?,
            ..scope
        },
    })
}

//! `assay androbench [DIR]`: the figures of AndroBench and Mobibench, each with its label.

pub mod args;
mod screen;

use crate::checks::admission::{self, Need};
use crate::driver::measuring::{Bench, MeasuringCommand};
use crate::exit::Failure;
use crate::output::{say, show};
use args::AndroBenchArgs;
use assay_dialects::androbench::phases;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::wire::{Feature, Inspection};
use assay_model::work::Work;
use assay_model::work::androbench::{AndroBench, Phase};
use assay_target::Target;
use std::path::Path;
use std::process::ExitCode;

/// Measures a folder on a target.
pub fn run(args: &AndroBenchArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    // Report a mistake before anything is started.
    work(args, &args.folder)?;
    let command = MeasuringCommand {
        needs: Feature::Sqlite,
        path: &args.folder,
        trials: args.trials(),
        destroy_data: false,
        shared: &args.shared,
        stopping: "stopping; finished steps are kept",
    };
    let done = command.carry_out(target, |bench| {
        let place = folder(&bench.inspection)?;
        let (work, steps) = work(args, place.path())?;
        announce(args, &work, steps.len(), bench);
        Ok((place, work, steps))
    })?;
    if args.shared.json || done.run.trials.is_empty() {
        return done.present(args.shared.json);
    }
    show(&screen::document(args.like, &done))?;
    done.conclude()
}

/// Builds the work that the arguments ask for in this folder, and its steps.
pub fn work(args: &AndroBenchArgs, folder: &Path) -> Result<(Work, Vec<Job>), Failure> {
    let phases = phases(&args.wanted()).map_err(Failure::usage)?;
    let steps = phases.iter().flat_map(Phase::jobs).collect();
    let folder = folder.to_owned();
    let work = Work::AndroBench(Box::new(AndroBench { folder, phases }));
    Ok((work, steps))
}

/// Returns the folder for the test files.
fn folder(inspection: &Inspection) -> Result<Place, Failure> {
    let need = Need {
        simulated: false,
        ..Need::anything(false)
    };
    match admission::admit(inspection, need)? {
        folder @ Place::Directory { .. } => Ok(folder),
        other => Err(Failure::usage(format!(
            "{} is not a folder: give one; test files are made in it and removed",
            other.path().display()
        ))),
    }
}

/// Announces the steps, and the paths that they write.
fn announce(args: &AndroBenchArgs, work: &Work, steps: usize, bench: &Bench) {
    let path = bench.inspection.path.display();
    let trials = match args.trials() {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    let files = match work {
        Work::AndroBench(work) if work.room().0 > 0 => format!("files of {} and ", work.room()),
        _ => String::new(),
    };
    say(&clean(&format!(
        "assay: {}: {steps} steps, {trials}, on {} in {path}; {files}databases are made in a \
         folder of their own there and removed at the end; seed {}",
        args.like.words(),
        bench.inspection.storage.words(),
        bench.seed
    )));
}

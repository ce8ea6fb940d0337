//! `assay androbench [DIR]`: the figures that AndroBench and Mobibench give,
//! each with what it measured.

pub mod args;
mod screen;

use crate::checks::admission;
use crate::driver::host::Host;
use crate::driver::loads::in_words;
use crate::driver::runs::{self, random};
use crate::driver::works::{Done, Listener, Request, execute};
use crate::exit::Failure;
use crate::output::{print, say};
use crate::ui::progress::{Voice, in_brief};
use args::AndroBenchArgs;
use assay_dialects::androbench::phases;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_model::wire::{Inspection, LoadNote};
use assay_model::work::androbench::{AndroBench, Phase};
use assay_model::work::{Work, WorkProgress};
use assay_target::Target;
use std::path::Path;
use std::process::ExitCode;

/// Measures a folder on a target.
pub fn run(args: &AndroBenchArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    admission::can_be_stored(&args.folder)?;
    // A mistake is told before anything is started.
    work(args, &args.folder)?;
    target.needs_larger_agent();
    let mut host = Host::start(target)?;
    let inspection = host.inspect(&args.folder)?;
    let place = folder(&inspection)?;
    let request = request(args, place)?;
    announce(args, &request, &inspection);
    let of = request.steps.len() * args.trials as usize;
    let mut listener = Teller::new(of);
    let done = execute(
        target,
        &mut host,
        inspection,
        &request,
        &args.store,
        &mut listener,
    );
    listener.voice.clear();
    let done = done?;
    present(args, &done)?;
    done.conclude()
}

fn request(args: &AndroBenchArgs, place: Place) -> Result<Request, Failure> {
    let (work, steps) = work(args, place.path())?;
    Ok(Request {
        steps,
        work: Work::AndroBench(Box::new(work)),
        trials: args.trials,
        seed: args.seed.unwrap_or_else(random),
        destroy_data: false,
        place,
        stopping: "stopping; finished steps are kept",
        must_be_stored: true,
        sweep: None,
    })
}

/// What the words ask for, in this folder, and its steps.
pub fn work(args: &AndroBenchArgs, folder: &Path) -> Result<(AndroBench, Vec<Job>), Failure> {
    let phases = phases(&args.wanted()).map_err(|problem| Failure::usage(problem.to_string()))?;
    let steps = phases.iter().flat_map(Phase::jobs).collect();
    let folder = folder.to_owned();
    Ok((AndroBench { folder, phases }, steps))
}

/// The folder to make test files in.
fn folder(inspection: &Inspection) -> Result<Place, Failure> {
    match admission::admit(inspection, false)? {
        folder @ Place::Directory { .. } => Ok(folder),
        Place::Simulated { path } => Err(admission::not_simulated(&path)),
        other => Err(Failure::usage(format!(
            "{} is no folder: give one, test files are made in it and removed",
            other.path().display()
        ))),
    }
}

/// What will be done, and what it writes.
fn announce(args: &AndroBenchArgs, request: &Request, inspection: &Inspection) {
    let path = request.place.path().display();
    let (steps, trials) = (request.steps.len(), args.trials);
    let files = match &request.work {
        Work::AndroBench(work) if work.room().0 > 0 => format!("files of {} and ", work.room()),
        _ => String::new(),
    };
    say(&clean(&format!(
        "assay: {}: {steps} steps, {trials} times, on {} in {path}; {files}databases are made in a \
         folder of their own there and removed at the end; seed {}",
        args.like.words(),
        inspection.storage.words(),
        request.seed
    )));
}

fn present(args: &AndroBenchArgs, done: &Done) -> Result<(), Failure> {
    if done.run.trials.is_empty() {
        return Ok(());
    }
    if args.json {
        return runs::present(&done.run, true);
    }
    print(|out| screen::write(args.like, done, out))
}

/// Tells how it goes: one live line on a terminal, a line for each step
/// elsewhere.
struct Teller {
    voice: Voice,
    done: usize,
    of: usize,
}

impl Teller {
    fn new(of: usize) -> Self {
        Self {
            voice: Voice::new(),
            done: 0,
            of,
        }
    }
}

impl Listener for Teller {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        self.voice.say(&in_words(note));
        Ok(())
    }

    fn started(&mut self, job: &Job) -> Result<(), Failure> {
        self.voice.show(self.done, self.of, &job.name);
        Ok(())
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        self.done += 1;
        self.voice.say(&format!(
            "[{}/{}] {} #{}: {}",
            self.done,
            self.of,
            trial.job.name,
            trial.trial,
            in_brief(trial)
        ));
        Ok(())
    }

    fn progress(&mut self, progress: &WorkProgress) -> Result<(), Failure> {
        let elapsed = Nanos(progress.elapsed_ns);
        let percent = progress.total.filter(|&total| total > 0).map(|total| {
            let percent = u128::from(progress.done) * 100 / u128::from(total);
            format!(", {percent} %")
        });
        let text = format!(
            "{}, {elapsed}{}",
            progress.step,
            percent.unwrap_or_default()
        );
        self.voice.show(self.done, self.of, &text);
        Ok(())
    }
}

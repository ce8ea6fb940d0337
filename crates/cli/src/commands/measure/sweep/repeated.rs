//! Repetition of a work under each condition.

use super::args::SweepArgs;
use super::command::SweptWork;
use super::talk::Talk;
use crate::driver::announce::announce_work;
use crate::driver::host::Host;
use crate::driver::runs::{Done, random, run_id};
use crate::driver::works::{self, Request, Sweep};
use crate::exit::Failure;
use crate::output::say;
use crate::stored::guard;
use assay_model::condition::Condition;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::Run;
use assay_model::storage::folder_of;
use assay_model::trial::TrialRecord;
use assay_model::units::Bytes;
use assay_model::wire::Inspection;
use assay_model::work::Work;
use assay_store::Store;
use assay_target::Target;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Message when the user asks to stop.
const STOPPING: &str = "stopping; finished steps are kept, and all settings are put back";

/// Place and conditions for the repetitions of a work.
pub struct Bed {
    /// The storage whose settings are varied.
    pub inspection: Inspection,
    /// Inspection that the work gets: with file systems that are made, a folder on the storage.
    pub bench: Inspection,
    /// Part of it that may be written.
    pub place: Place,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// Repeats a work under each condition.
pub fn run(
    args: &SweepArgs,
    tool: &SweptWork,
    bed: &Bed,
    mut host: Host,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let (work, _) = (tool.make)(&bed.bench)?;
    check_place(&mut host, &work, bed)?;
    let store_path = args.shared.store.path()?;
    guard::keep_apart(&store_path, work.spec().writes())?;
    let (run_id, seed) = (run_id(), args.shared.seed.unwrap_or_else(random));
    let request = request(args, tool, bed, (run_id, seed), &mut host)?;
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    announce_work(&words.join(" "), &request, &bed.inspection, &store_path);
    let mut talk = Talk::new(0, request.count());
    let inspection = bed.inspection.clone();
    let done = works::execute(
        target,
        &mut host,
        inspection,
        &request,
        &args.shared.store,
        &mut talk,
    );
    talk.close();
    done?.present(args.shared.json)
}

/// Makes the request for the work; each condition was set once to check it.
fn request(
    args: &SweepArgs,
    tool: &SweptWork,
    bed: &Bed,
    (run_id, seed): (String, u64),
    host: &mut Host,
) -> Result<Request, Failure> {
    let path = &bed.inspection.path;
    let bench = Inspection {
        path: host.rehearse(&run_id, path, &bed.conditions, args.rounds.restore())?,
        ..bed.bench.clone()
    };
    let (work, steps) = (tool.make)(&bench)?;
    Ok(Request {
        work,
        steps,
        trials: args.rounds.number()?,
        seed,
        destroy_data: args.rounds.destroy.destroy_data.is_some(),
        place: bed.place.clone(),
        stopping: STOPPING,
        must_be_stored: true,
        sweep: Some(Sweep {
            run_id,
            path: path.clone(),
            conditions: bed.conditions.clone(),
            restore: args.rounds.restore(),
            job: Job::new(tool.name, Rw::Write, Bytes(0), Bytes(0)),
        }),
    })
}

/// Resumes an interrupted run; `args` are those that it was begun with. The interrupted repetition
/// is done again.
pub fn go_on(
    args: &SweepArgs,
    tool: &SweptWork,
    bed: &Bed,
    (mut run, store): (Run, Store),
    mut host: Host,
    target: &mut dyn Target,
) -> Result<Done, Failure> {
    let plan = &run.header.plan;
    let named = (run.header.id.clone(), plan.seed);
    let request = request(args, tool, bed, named, &mut host)?;
    let (finished, trials) = finished(&run.trials);
    if !request.begins_with(&finished) {
        return Err(Failure::failed(format!(
            "run {} has gaps between its trials: it cannot be resumed",
            run.header.id
        )));
    }
    run.trials.truncate(trials);
    say(&format!(
        "assay: resumes run {}: {} of {} repetitions are missing",
        run.header.id,
        request.count() - finished.len(),
        request.count()
    ));
    let mut talk = Talk::new(finished.len(), request.count());
    let run = (run, finished.len());
    let done = works::go_on(target, &mut host, run, &request, store, &mut talk);
    talk.close();
    done
}

/// Returns number and condition of each finished repetition, and the number of their trials. The
/// last repetition may be incomplete, and does not count.
fn finished(trials: &[TrialRecord]) -> (Vec<(u32, Option<String>)>, usize) {
    let of = |trial: &TrialRecord| (trial.trial, trial.condition.clone());
    let mut parts: Vec<&[TrialRecord]> = trials.chunk_by(|a, b| of(a) == of(b)).collect();
    parts.pop();
    let names = parts.iter().map(|part| of(&part[0])).collect();
    (names, parts.iter().map(|part| part.len()).sum())
}

/// Refuses a work that writes elsewhere, or that does not access the storage whose settings are
/// varied: its figures would not depend on them.
fn check_place(host: &mut Host, work: &Work, bed: &Bed) -> Result<(), Failure> {
    refuse_own_streams(work, bed)?;
    let is_made = bed.conditions.iter().any(Condition::makes_file_system);
    let varied = &bed.inspection.storage;
    let mut is_there = false;
    for path in touched(work).into_iter().filter(|path| !is_stream(path)) {
        let inside = match is_made {
            true => path.starts_with(&bed.bench.path) && path != bed.inspection.path,
            false => {
                let found = host.inspect(&path);
                let found = found.or_else(|_| host.inspect(folder_of(&path)))?;
                found.storage.backing == varied.backing
            }
        };
        is_there |= inside || is_made && path == bed.bench.path;
        if !inside && work.spec().writes().contains(&path) {
            return Err(Failure::usage(format!(
                "{} is not on {}, whose settings are varied: name a file there; names without \
                 a / in front are in it",
                path.display(),
                bed.inspection.path.display()
            )));
        }
    }
    match is_there {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "the command uses nothing on {}, whose settings are varied",
            bed.inspection.path.display()
        ))),
    }
}

/// Refuses paths of standard streams: the agent has other ones.
fn refuse_own_streams(work: &Work, bed: &Bed) -> Result<(), Failure> {
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
            "{} is a stream of this process, which a swept command does not have: name a file on \
             {}, whose settings are varied",
            path.display(),
            bed.inspection.path.display()
        ))),
    }
}

/// Returns the files, folders and devices that a work reads or writes, each once.
fn touched(work: &Work) -> Vec<PathBuf> {
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

//! A work that is repeated under each condition.

use super::args::SweepArgs;
use super::command::Tool;
use super::restore;
use super::talk::Talk;
use crate::announce::announce_work;
use crate::exit::Failure;
use crate::host::Host;
use crate::runs::{self, random, run_id};
use crate::works::{self, Request, Sweep};
use crate::{iozone, store_guard, stored};
use assay_model::condition::Condition;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::storage::folder_of;
use assay_model::units::Bytes;
use assay_model::wire::Inspection;
use assay_model::work::Work;
use assay_target::Target;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Said when the user asks to stop.
const STOPPING: &str = "stopping; finished steps are kept, and all settings are put back";

/// Where a work is repeated, and under what.
pub struct Bed {
    /// The storage whose settings are varied.
    pub inspection: Inspection,
    /// The same as the work finds it.
    pub bench: Inspection,
    /// What of it may be written.
    pub place: Place,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// Repeats a work under each condition.
pub fn run(
    args: &SweepArgs,
    tool: &Tool,
    bed: Bed,
    mut host: Host,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let (work, _) = tool.work(&bed.bench)?;
    check_place(&mut host, &work, &bed)?;
    let store_path = stored::store_path(&args.store)?;
    store_guard::keep_apart(&store_path, work.written())?;
    let run_id = run_id();
    let path = &bed.inspection.path;
    let bench = Inspection {
        path: host.rehearse(&run_id, path, &bed.conditions)?,
        ..bed.bench.clone()
    };
    let (work, steps) = tool.work(&bench)?;
    let request = Request {
        work,
        steps,
        trials: args.rounds,
        seed: args.seed.unwrap_or_else(random),
        destroy_data: args.destroy_data,
        place: bed.place.clone(),
        stopping: STOPPING,
        must_be_stored: true,
        sweep: Some(Sweep {
            run_id,
            path: path.clone(),
            conditions: bed.conditions,
            restore: restore(args),
            job: Job::new(tool.name(), Rw::Write, Bytes(0), Bytes(0)),
        }),
    };
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    announce_work(&words.join(" "), &request, &bed.inspection, &store_path);
    let mut talk = Talk::new(request.count());
    let inspection = bed.inspection;
    let done = works::execute(
        target,
        &mut host,
        inspection,
        &request,
        &args.store,
        &mut talk,
    );
    talk.close();
    let done = done?;
    if done.stored {
        runs::present(&done.run, args.json)?;
    }
    iozone::conclude(done)
}

/// Refuses a work that writes elsewhere, or that does nothing on the storage whose
/// settings are varied: its figures would say nothing of them.
fn check_place(host: &mut Host, work: &Work, bed: &Bed) -> Result<(), Failure> {
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
        if !inside && work.written().contains(&path) {
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

/// All files, folders and devices that a work reads or writes.
fn touched(work: &Work) -> Vec<PathBuf> {
    let mut touched = work.written();
    match work {
        Work::Copy(copy) => touched.extend(copy.input.clone()),
        Work::Iozone(iozone) => touched.extend(iozone.files.clone()),
        Work::Extent(extent) => touched.push(extent.path.clone()),
        Work::AndroBench(work) => touched.push(work.folder.clone()),
        Work::Capacity(_) | Work::Watch(_) => {}
    }
    touched.sort();
    touched.dedup();
    touched
}

/// `/dev/zero` and the like: no storage.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| {
        let kind = meta.file_type();
        kind.is_char_device() || kind.is_fifo()
    })
}

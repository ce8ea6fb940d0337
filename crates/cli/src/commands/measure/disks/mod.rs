//! `assay disks PATH`: the benchmark of GNOME Disks, with evidence.

mod args;

use crate::checks::admission;
use crate::checks::admission::Need;
use crate::driver::measuring::MeasuringCommand;
use crate::driver::step_progress::Counted;
use crate::exit::Failure;
pub use args::DisksArgs;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use assay_model::work::Work;
use assay_model::work::extent::Extent;
use assay_target::Target;
use std::process::ExitCode;

/// Space that a file system needs besides the file itself.
const HEADROOM: u64 = 16 << 20;
/// Samples are whole pages, of whatever size the target has them.
const LARGEST_PAGE: u64 = 64 << 10;

/// Takes the samples of a path on a target.
///
/// # Errors
/// When they cannot be taken.
pub fn run(args: &DisksArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let command = MeasuringCommand {
        path: &args.path,
        trials: args.trials,
        destroy_data: args.destroy_data,
        shared: &args.shared,
        stopping: "stopping after this sample; finished samples are kept",
        counted: Counted::Items,
    };
    let done = command.carry_out(target, |bench| {
        let place = admit(args, &bench.inspection)?;
        let (work, steps) = work(args, &bench.inspection)?;
        Ok((place, work, steps))
    })?;
    done.present(args.shared.json)
}

/// Builds the work that the arguments ask for on the inspected storage, and its steps.
pub fn work(args: &DisksArgs, inspection: &Inspection) -> Result<(Work, Vec<Job>), Failure> {
    let work = extent(args, inspection)?;
    let steps = steps(&work);
    Ok((Work::Extent(Box::new(work)), steps))
}

/// The place to work on, or why not. Reading a device disturbs nobody but the figures.
fn admit(args: &DisksArgs, inspection: &Inspection) -> Result<Place, Failure> {
    let need = Need {
        writes_device: args.write,
        simulated: false,
        no_files: match args.write {
            true => {
                " of yours, which is only read: for --write give a folder, or an unused block \
                 device"
            }
            false => "",
        },
        risk: "--write puts back what it reads, but a failure in between loses it; if that is \
               what you want, add --destroy-data",
        ..Need::anything(args.destroy_data)
    };
    admission::admit(inspection, need)
}

fn extent(args: &DisksArgs, inspection: &Inspection) -> Result<Extent, Failure> {
    let sample_bytes = args.sample_size.0;
    if sample_bytes == 0 || !sample_bytes.is_multiple_of(LARGEST_PAGE) {
        return Err(Failure::usage(format!(
            "--sample-size {} is not a multiple of {}",
            args.sample_size,
            Bytes(LARGEST_PAGE)
        )));
    }
    let in_folder = matches!(inspection.kind, PathKind::Directory { .. });
    if args.size.is_some() && !in_folder {
        return Err(Failure::usage(format!(
            "{} is not a folder: --size is for the file that is made in one",
            inspection.path.display()
        )));
    }
    let file_bytes = args
        .size
        .map_or(Extent::default().file_bytes, |size| size.0);
    let free = inspection.storage.available.map(|free| free.0);
    if in_folder && free.is_some_and(|free| free < file_bytes.saturating_add(HEADROOM)) {
        return Err(Failure::usage(format!(
            "not enough space for a test file of {} in {}: choose a smaller --size",
            Bytes(file_bytes),
            inspection.path.display()
        )));
    }
    Ok(Extent {
        path: inspection.path.clone(),
        in_folder,
        samples: args.samples,
        sample_bytes,
        write: args.write,
        access_samples: args.access_samples,
        file_bytes,
    })
}

/// Returns the steps by name, for the plan; the agent fills in the rest.
fn steps(work: &Extent) -> Vec<Job> {
    let step = |name, rw, bs| Job::new(name, rw, Bytes(bs), Bytes(work.file_bytes));
    [
        Some(step("read", Rw::Read, work.sample_bytes)),
        work.write
            .then(|| step("write", Rw::Write, work.sample_bytes)),
        (work.access_samples > 1).then(|| step("access", Rw::RandRead, 4096)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

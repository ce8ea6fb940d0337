//! `assay soak`: writing and checking for hours to weeks.

mod args;
mod outlook;
mod resume;

use crate::checks::admission;
use crate::driver::host::Host;
use crate::driver::runs;
use crate::driver::works::{self, Done, Request};
use crate::exit::{DATA_MISMATCH, Failure};
use crate::ui::step_progress::{Counted, StepTalk};
use args::SoakArgs as Args;
pub use args::SoakArgs;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, PathKind};
use assay_model::work::soak::{SECTOR, Soak};
use assay_model::work::{StepDetail, Work};
use assay_target::Target;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Said when the user asks to stop.
const STOPPING: &str = "stopping: how it stands is kept, and assay soak --resume goes on";
/// Without any other end.
const DURATION: Nanos = Nanos::secs(3600);
/// What a file system needs besides the file itself.
const HEADROOM: u64 = 16 << 20;

/// Soaks a path on a target.
///
/// # Errors
/// When it cannot be carried out.
pub fn run(args: &SoakArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    // The small agent of boards has no room for it.
    target.needs_larger_agent();
    if let Some(name) = &args.resume {
        return resume::run(args, name, target);
    }
    let Some(path) = &args.path else {
        return Err(Failure::usage("give a folder or a device, or --resume"));
    };
    admission::can_be_stored(path)?;
    let mut host = Host::start(target)?;
    let inspection = host.inspect(path)?;
    let place = admit(args, &inspection)?;
    let work = work(args, &place, &inspection)?;
    outlook::tell(args, &work, &inspection);
    let request = request(work, place, args.destroy_data);
    let mut talk = StepTalk::new(Counted::Bytes, 2);
    let done = works::execute(
        target,
        &mut host,
        inspection,
        &request,
        &args.store,
        &mut talk,
    );
    conclude(talk.present(done, args.json)?)
}

/// A soak as a request.
fn request(work: Soak, place: Place, destroy_data: bool) -> Request {
    let area = Bytes(work.blocks.saturating_mul(work.block_bytes));
    let step = |name, rw| Job::new(name, rw, Bytes(work.block_bytes), area);
    Request {
        steps: vec![step("soak", Rw::Rw), step("check", Rw::Read)],
        trials: 1,
        seed: work.seed,
        destroy_data,
        place,
        stopping: STOPPING,
        must_be_stored: true,
        sweep: None,
        work: Work::Soak(Box::new(work)),
    }
}

/// The place to write to, or why not.
fn admit(args: &Args, inspection: &Inspection) -> Result<Place, Failure> {
    match admission::admit(inspection, args.destroy_data)? {
        Place::File { path } => Err(Failure::usage(format!(
            "{} is a file: give the folder it is in, or a block device",
            path.display()
        ))),
        place => Ok(place),
    }
}

fn work(args: &Args, place: &Place, inspection: &Inspection) -> Result<Soak, Failure> {
    let block_bytes = args.block.0;
    let smallest = inspection.system.page_size.0.max(SECTOR as u64);
    if block_bytes == 0 || !block_bytes.is_multiple_of(smallest) || block_bytes > 1 << 30 {
        return Err(Failure::usage(format!(
            "--block {} is no multiple of {} up to 1 GiB",
            args.block,
            Bytes(smallest)
        )));
    }
    if args.checkpoint.0 == 0 {
        return Err(Failure::usage("--checkpoint is a time above 0"));
    }
    let area = area(args, inspection)?;
    let blocks = area / block_bytes;
    if blocks == 0 {
        return Err(Failure::usage(format!(
            "an area of {} has no block of {}",
            Bytes(area),
            args.block
        )));
    }
    let seed = args.seed.unwrap_or_else(runs::random);
    let endless = args.passes.is_none() && args.duration.is_none();
    Ok(Soak {
        path: data_of(place, seed),
        own_file: matches!(place, Place::Directory { .. }),
        block_bytes,
        blocks,
        seed,
        last: args.passes.map(|passes| passes.saturating_mul(blocks)),
        limit_ns: args.duration.or(endless.then_some(DURATION)).map(|d| d.0),
        checkpoint_ns: args.checkpoint.0,
        memory_bytes: args.memory.map(|bytes| bytes.0),
        keep: args.keep,
        from: None,
    })
}

/// What is written: a file in a folder, or the device.
fn data_of(place: &Place, seed: u64) -> PathBuf {
    match place {
        Place::Directory { path } => path.join(format!("assay-soak-{seed:016x}.area")),
        other => Path::new(other.path()).to_owned(),
    }
}

/// Bytes that are written again and again.
fn area(args: &Args, inspection: &Inspection) -> Result<u64, Failure> {
    let (all, usual) = match &inspection.kind {
        PathKind::Device { size } => (size.0, size.0),
        _ => {
            let free = inspection.storage.available.map_or(0, |free| free.0);
            (free.saturating_sub(HEADROOM), free / 2)
        }
    };
    let area = args.size.map_or(usual, |size| size.0);
    if area > all {
        return Err(Failure::usage(format!(
            "there is room for {} on {}, not for {}: choose a smaller --size",
            Bytes(all),
            inspection.path.display(),
            Bytes(area)
        )));
    }
    Ok(area)
}

/// Data that differs is an end of its own.
fn conclude(done: Done) -> Result<ExitCode, Failure> {
    let details = done
        .run
        .trials
        .iter()
        .filter_map(|trial| trial.detail.as_deref());
    let last = details.filter_map(StepDetail::soak).next_back();
    let wrong = last.is_some_and(|step| step.checkpoint.faults + step.checkpoint.memory_flips > 0);
    if wrong && done.ending.failure.is_none() {
        return Ok(ExitCode::from(DATA_MISMATCH));
    }
    done.conclude()
}

//! `assay soak`: writes and verifies data for hours to weeks.

mod args;
mod outlook;
mod resume;

use crate::checks::admission::{self, Need};
use crate::checks::free_space::HEADROOM;
use crate::driver::measuring::{MeasuringCommand, Planned};
use crate::exit::Failure;
use args::SoakArgs as Args;
pub use args::SoakArgs;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_model::work::Work;
use assay_model::work::soak::{SECTOR, Soak};
use assay_target::Target;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Default duration, if there is no other limit.
const DURATION: Nanos = Nanos::secs(3600);

/// Soaks a path on a target.
pub fn run(args: &SoakArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    // The small agent for boards does not include the soak.
    target.needs(Feature::Sqlite);
    if let Some(name) = &args.resume {
        return resume::run(args, name, target);
    }
    let Some(path) = &args.path else {
        return Err(Failure::usage("give a folder or a device, or --resume"));
    };
    let done = command(args, path).carry_out(target, |bench| {
        let look = |name: &Path| bench.host.inspect(name);
        let agreed = args.destroy.allow(&bench.inspection.path, look)?;
        let place = admission::admit(&bench.inspection, Need::written(agreed))?;
        let work = work(args, &place, &bench.inspection, bench.seed)?;
        outlook::tell(args, &work, &bench.inspection);
        Ok(planned(place, work))
    })?;
    done.present(args.shared.json)
}

fn command<'a>(args: &'a Args, path: &'a Path) -> MeasuringCommand<'a> {
    MeasuringCommand {
        needs: Feature::Sqlite,
        path,
        trials: 1,
        destroy_data: args.destroy.destroy_data.is_some(),
        shared: &args.shared,
        stopping: "stopping: progress is stored, and assay soak --resume continues",
    }
}

fn planned(place: Place, work: Soak) -> Planned {
    let area = Bytes(work.blocks.saturating_mul(work.block_bytes));
    let step = |name, rw| Job::new(name, rw, Bytes(work.block_bytes), area);
    let steps = vec![step("soak", Rw::Rw), step("check", Rw::Read)];
    (place, Work::Soak(Box::new(work)), steps)
}

fn work(args: &Args, place: &Place, inspection: &Inspection, seed: u64) -> Result<Soak, Failure> {
    let block_bytes = args.block.0;
    let smallest = inspection.system.page_size.0.max(SECTOR as u64);
    if block_bytes == 0 || !block_bytes.is_multiple_of(smallest) || block_bytes > 1 << 30 {
        return Err(Failure::usage(format!(
            "--block {} is not a multiple of {} up to 1 GiB",
            args.block,
            Bytes(smallest)
        )));
    }
    if args.checkpoint.0 == 0 {
        return Err(Failure::usage("--checkpoint is a time above 0"));
    }
    let area = area(args, inspection)?;
    if area < block_bytes {
        return Err(Failure::usage(format!(
            "an area of {} has no block of {}",
            Bytes(area),
            args.block
        )));
    }
    Ok(soak(args, place, area, seed))
}

/// Makes the work: a soak of an area, from its beginning.
fn soak(args: &Args, place: &Place, area: u64, seed: u64) -> Soak {
    let block_bytes = args.block.0.max(1);
    let blocks = area / block_bytes;
    let endless = args.passes.is_none() && args.duration.is_none();
    Soak {
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
    }
}

/// Returns the path that is written: a file in a folder, or the device.
fn data_of(place: &Place, seed: u64) -> PathBuf {
    match place {
        Place::Directory { path } => path.join(format!("assay-soak-{seed:016x}.area")),
        other => Path::new(other.path()).to_owned(),
    }
}

/// Returns the size of the area that is written repeatedly, in bytes.
fn area(args: &Args, inspection: &Inspection) -> Result<u64, Failure> {
    let (all, usual) = match &inspection.kind {
        PathKind::Device { size } => (size.0, size.0),
        _ => {
            let free = inspection.storage.available.map_or(0, |free| free.0);
            (free.saturating_sub(HEADROOM.0), free / 2)
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

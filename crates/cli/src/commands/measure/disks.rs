//! `assay disks PATH`: the benchmark of GNOME Disks, with evidence.

use crate::checks::admission::{self, Need};
use crate::checks::estimate::{HEADROOM, SPEEDS};
use crate::driver::acts::{MeasureArgs, MeasuringCommand, Planned};
use crate::driver::announce::Announcement;
use crate::exit::{EXIT_CODES, Failure};
use assay_lang::tr;
use assay_model::act::{Act, Extent};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_target::Target;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay disks /dev/sda
  assay disks /dev/sdb --write --destroy-data
";

/// `assay disks`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct DisksArgs {
    /// Block device or file (only read), or folder (a test file is made in it and removed).
    pub path: PathBuf,
    /// Number of samples of the rate, spread evenly over the extent.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub samples: u32,
    /// Size of each sample, at most 1G.
    #[arg(long, value_name = "SIZE", default_value = "10M")]
    pub sample_size: Bytes,
    /// Number of single pages read for the access time, the first of which does
    /// not count; 0: none.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub access_samples: u32,
    /// Write too: each sample is written back as it was read. A block device has
    /// to be unused, and needs --destroy-data.
    #[arg(long)]
    pub write: bool,
    /// Size of the test file in a folder [default: 1G].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Number of repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Allow --write on a block device. Data is lost if it fails in between.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

/// Largest page size of a target: samples are multiples of it, and so of every page size.
const LARGEST_PAGE: u64 = 64 << 10;

/// Takes the samples of a path on a target.
pub fn run(args: &DisksArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let command = MeasuringCommand {
        needs: Feature::Works,
        path: &args.path,
        trials: args.trials,
        destroy_data: args.destroy_data,
        shared: &args.shared,
        stopping: "stopping after this sample; finished samples are kept",
    };
    let done = command.carry_out(target, |bench| {
        let place = admit(args, &bench.inspection)?;
        let (act, steps) = work(args, &bench.inspection)?;
        let announced = Some(announcement(args, &place, &act, steps.len()));
        Ok(Planned {
            place,
            act,
            steps,
            announced,
        })
    })?;
    done.present(args.shared.json)
}

/// Builds the act on the inspected storage, and its steps.
pub fn work(args: &DisksArgs, inspection: &Inspection) -> Result<(Act, Vec<Job>), Failure> {
    let work = extent(args, inspection)?;
    let steps = steps(&work);
    Ok((Act::Extent(Box::new(work)), steps))
}

/// Describes the writes and their duration: a test file, and with `--write` the samples.
fn announcement(args: &DisksArgs, place: &Place, act: &Act, steps: usize) -> Announcement {
    let made = match (place, act) {
        (Place::Directory { .. }, Act::Extent(work)) => work.file_bytes,
        _ => 0,
    };
    let sampled = Bytes(args.sample_size.0.saturating_mul(args.samples.into()));
    let accesses = u64::from(args.access_samples);
    let path = place.path().display();
    let writes = match (made, args.write) {
        (0, false) => tr!("nothing").to_owned(),
        (0, true) => tr!("the same data again, {sampled} of {path}", sampled, path),
        _ => tr!(
            "{bytes}, to a file in {path} that is removed at the end",
            bytes = Bytes(made.saturating_add(if args.write { sampled.0 } else { 0 })),
            path
        ),
    };
    let passes = 1 + u64::from(args.write);
    let moved = Bytes(made.saturating_add(sampled.0.saturating_mul(passes)));
    Announcement {
        first: Vec::new(),
        writes,
        steps,
        times: SPEEDS.map(|speed| {
            Nanos(
                speed
                    .time(moved, 0)
                    .0
                    .saturating_add(speed.small_ios(accesses).0),
            )
        }),
    }
}

/// Admits the place. A device in use is accepted for reading: only the figures suffer.
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
    if in_folder && free.is_some_and(|free| free < file_bytes.saturating_add(HEADROOM.0)) {
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

/// Returns the named steps for the plan; the agent completes them.
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

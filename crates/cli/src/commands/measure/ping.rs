//! `assay ping PATH`: latency of single random reads with pauses between them.

use crate::checks::admission::{self, Need};
use crate::checks::estimate::file_size;
use crate::config;
use crate::driver::acts::MeasureArgs;
use crate::driver::plans::{Prepared, interleaved, never_enough};
use crate::driver::runs::random;
use crate::exit::{EXIT_CODES, Failure};
use crate::output::{say, show};
use crate::rounds::on_place;
use crate::ui::parse_time;
use assay_lang::tr;
use assay_model::job::{Job, Pause, Rw};
use assay_model::plan::{Place, Plan, PlannedJob};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, PathKind};
use assay_report::views;
use assay_target::Target;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay ping /mnt/sd
  assay ping /dev/nvme0n1 --count 100 --interval 10ms
";

/// Smallest logical block size of devices, in bytes; direct reads are multiples of it.
const SECTOR: u64 = 512;

/// `assay ping`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct PingArgs {
    /// A directory (a test file is made in it and removed), a file or a block device (only
    /// read, even if mounted), or a simulated device.
    pub path: PathBuf,
    /// Number of requests in a trial.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// Time from the end of a request to the start of the next.
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = parse_time)]
    pub interval: Nanos,
    /// Size of a request.
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    pub bs: Bytes,
    /// Size of the test file, or of the region that is read [default: 64M in a directory, else
    /// the whole file or device].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Number of trials [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

/// Measures the latency of single reads, stores the run and shows it.
pub fn run(args: &PingArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let prepared = Prepared::new(&args.path, &args.shared.store, target, |found| {
        // A size that does not fit is refused before a store is made.
        plan(args, found, admit(found)?).map(|plan| plan.place)
    })?;
    let plan = plan(args, &prepared.inspection, prepared.place.clone())?;
    let done = prepared.run(plan, target, never_enough)?;
    if args.shared.json || !done.stored {
        return done.present(args.shared.json);
    }
    show(&views::run::ping(&done.run))?;
    let id = &done.run.header.id;
    say(&tr!("Stored as run {id}: assay report {id}", id));
    done.conclude()
}

/// Admits the place to read. The agent never writes to a [`Place::File`], and does not require that
/// the device is unused.
fn admit(inspection: &Inspection) -> Result<Place, Failure> {
    let need = Need {
        writes_device: false,
        ..Need::anything(false)
    };
    Ok(match admission::admit(inspection, need)? {
        Place::Device { path } => Place::File { path },
        place => place,
    })
}

fn plan(args: &PingArgs, inspection: &Inspection, place: Place) -> Result<Plan, Failure> {
    let whole = match inspection.kind {
        PathKind::Directory { .. } => Bytes::mib(64),
        PathKind::File { length: size, .. }
        | PathKind::Device { size }
        | PathKind::Simulated { size } => size,
    };
    let size = file_size(args.size, whole, Bytes(0), inspection)?;
    let mut jobs = [job(args, size)?];
    on_place(&place, &mut jobs)?;
    let seed = args.shared.seed.unwrap_or_else(random);
    let trials = config::trials(args.trials, config::TRIALS);
    let jobs = jobs.map(|job| PlannedJob { job, trials });
    Ok(interleaved(seed, place, size, jobs.into()))
}

/// Returns the job of one trial: direct reads at random offsets, one at a time.
fn job(args: &PingArgs, size: Bytes) -> Result<Job, Failure> {
    let bs = args.bs;
    if bs.0 == 0 || !bs.0.is_multiple_of(SECTOR) || bs > size {
        return Err(Failure::usage(format!(
            "--bs {bs}: a request is a multiple of {SECTOR} bytes, and at most {size}"
        )));
    }
    let mut job = Job::new("ping", Rw::RandRead, bs, size);
    job.direct = true;
    job.io_size = Some(Bytes(bs.0.saturating_mul(args.count.into())));
    job.pause = Some(Pause {
        after: 1,
        time: args.interval,
    });
    Ok(job)
}

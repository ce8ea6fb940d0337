//! `assay lab soak`: writes and verifies data for hours to weeks. Before it begins, it announces the
//! amount of writes, and the share of the device's life that they use.

use crate::checks::admission;
use crate::checks::admission::{DestroyArgs, Need};
use crate::checks::estimate::{ASSUMED_BYTES_PER_SEC, HEADROOM};
use crate::commands::resume::{self, Resumed};
use crate::commands::{Command, LabGroup};
use crate::driver::acts;
use crate::driver::acts::{MeasureArgs, MeasuringCommand, Planned};
use crate::driver::trials::StepTalk;
use crate::exit::Failure;
use crate::output::say;
use crate::ui::parse_time;
use assay_model::act::soak::{Checkpoint, SECTOR, Soak};
use assay_model::act::{Act, StepDetail};
use assay_model::device::register::{NVME_SMART, SmartLog, from_hex};
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::run::{Run, RunStatus};
use assay_model::storage::DeviceIdentity;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_report::registers;
use assay_target::Target;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Default duration, if there is no other limit.
const DURATION: Nanos = Nanos::secs(3600);

/// Soaks a path on a target.
pub fn run(args: &SoakArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    // The small agent for boards does not include the soak.
    target.needs(Feature::Sqlite);
    if let Some(name) = &args.resume {
        return resume_soak(args, name, target);
    }
    let Some(path) = &args.path else {
        return Err(Failure::usage("give a folder or a device, or --resume"));
    };
    let done = command(args, path).carry_out(target, |bench| {
        let look = |name: &Path| bench.host.inspect(name);
        let agreed = args.destroy.allow(&bench.inspection.path, look)?;
        let place = admission::admit(&bench.inspection, Need::written(agreed))?;
        let work = work(args, &place, &bench.inspection, bench.seed)?;
        announce(args, &work, &bench.inspection);
        Ok(planned(place, work))
    })?;
    done.present(args.shared.json)
}

fn command<'a>(args: &'a SoakArgs, path: &'a Path) -> MeasuringCommand<'a> {
    MeasuringCommand {
        needs: Feature::Sqlite,
        path,
        trials: 1,
        destroy_data: args.destroy.destroy_data.is_some(),
        shared: &args.shared,
        stopping: "stopping: progress is stored, and assay lab soak --resume continues",
    }
}

fn planned(place: Place, work: Soak) -> Planned {
    let area = Bytes(work.blocks.saturating_mul(work.block_bytes));
    let step = |name, rw| Job::new(name, rw, Bytes(work.block_bytes), area);
    let steps = vec![step("soak", Rw::Rw), step("check", Rw::Read)];
    Planned {
        place,
        act: Act::Soak(Box::new(work)),
        steps,
        announced: None,
    }
}

fn work(
    args: &SoakArgs,
    place: &Place,
    inspection: &Inspection,
    seed: u64,
) -> Result<Soak, Failure> {
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

/// Makes the act: a soak of an area, from its beginning.
fn soak(args: &SoakArgs, place: &Place, area: u64, seed: u64) -> Soak {
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
fn area(args: &SoakArgs, inspection: &Inspection) -> Result<u64, Failure> {
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

const AFTER: &str = "\
Examples:
  assay lab soak /mnt/data --for 24h --size 8G
  assay lab soak /dev/mmcblk1 --passes 3 --endurance 3000 --destroy-data
  assay lab soak --resume last   after a kill, a lost board or Ctrl-C

docs/soak.md says what is written, checked and kept.

Exit codes: 0 every block held what was written to it, 1 failed, 2 wrong usage, 4 a block did
not, 5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.";

/// `assay lab soak`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct SoakArgs {
    /// Folder in which a file is made, or block device (needs --destroy-data).
    #[arg(required_unless_present = "resume")]
    pub path: Option<PathBuf>,
    /// Size of the area that is written repeatedly [default: half of the free space of a
    /// folder, all of a device].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Duration, for example 30m or 168h [default: until --passes are done, else 1h].
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub duration: Option<Nanos>,
    /// Number of passes over the area.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub passes: Option<u64>,
    /// Size of a block.
    #[arg(long, value_name = "SIZE", default_value = "64K")]
    pub block: Bytes,
    /// Time between checkpoints, at which data is flushed and progress is stored.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub checkpoint: Nanos,
    /// Rated program and erase cycles of the device, to estimate the share of its life that the
    /// soak uses.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub endurance: Option<u32>,
    /// Rated bytes written over the device's life (TBW), for the same estimate.
    #[arg(long, value_name = "SIZE", conflicts_with = "endurance")]
    pub tbw: Option<Bytes>,
    /// Also write and check this much memory.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
    /// Keep the file.
    #[arg(long)]
    pub keep: bool,
    /// Resume a run that was stopped or killed: last, or the first letters of its id.
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "last",
        conflicts_with_all = ["path", "size", "duration", "passes", "block", "checkpoint", "memory", "keep", "seed", "name", "tag", "note"]
    )]
    pub resume: Option<String>,
    #[command(flatten)]
    pub destroy: DestroyArgs,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

/// Prints the announcement.
fn announce(args: &SoakArgs, work: &Soak, inspection: &Inspection) {
    let area = Bytes(work.blocks.saturating_mul(work.block_bytes));
    say(&format!(
        "assay: soak of {}: an area of {area} in blocks of {}, checkpoints every {}",
        work.path.display(),
        Bytes(work.block_bytes),
        Nanos(work.checkpoint_ns)
    ));
    let (written, how) = written(work);
    say(&format!("assay: writes {how}"));
    let device = inspection.storage.device().map(|layer| &layer.identity);
    let size = inspection.storage.device().and_then(|layer| layer.size);
    say(&format!("assay: {}", life(args, written, size, device)));
}

/// Returns the bytes that will be written, as a number and in words.
fn written(work: &Soak) -> (u64, String) {
    let area = work.blocks.saturating_mul(work.block_bytes);
    let by_passes = work.last.map(|last| last.saturating_mul(work.block_bytes));
    let in_time = |limit: u64| {
        u64::try_from(u128::from(limit) * u128::from(ASSUMED_BYTES_PER_SEC) / 1_000_000_000)
            .unwrap_or(u64::MAX)
    };
    // Half of the time is spent on reading.
    let by_time = work.limit_ns.map(|limit| (limit, in_time(limit) / 2));
    match (by_passes, by_time) {
        (Some(bytes), None) => (
            bytes,
            format!("{}: {} passes", Bytes(bytes), bytes / area.max(1)),
        ),
        (Some(bytes), Some((limit, _))) => (
            bytes,
            format!(
                "at most {}, and ends after {} at the latest",
                Bytes(bytes),
                Nanos(limit)
            ),
        ),
        (None, Some((limit, bytes))) => (
            bytes,
            format!(
                "for {}: {} if each block takes as long to read as to write, at an assumed {} \
                 a second; a faster device is written more",
                Nanos(limit),
                Bytes(bytes),
                Bytes(ASSUMED_BYTES_PER_SEC)
            ),
        ),
        (None, None) => (u64::MAX, "until it is stopped".to_owned()),
    }
}

/// Describes the share of the device's life that the writes use.
fn life(
    args: &SoakArgs,
    written: u64,
    size: Option<Bytes>,
    device: Option<&DeviceIdentity>,
) -> String {
    let says = device.and_then(registers::wear_in_words);
    let says = says.map_or_else(
        || "the device does not report its wear".to_owned(),
        |words| format!("the device says: {words}"),
    );
    let by_cycles = args.endurance.zip(size).map(|(cycles, size)| {
        let total = size.0.saturating_mul(cycles.into());
        (total, format!("{cycles} cycles of {size}"))
    });
    let by_tbw = args.tbw.map(|tbw| (tbw.0, format!("{tbw} in its life")));
    let by_itself = device.and_then(so_far);
    match by_cycles.or(by_tbw).or(by_itself) {
        Some((total, why)) => format!(
            "these writes are {} of its life ({why}), and the device writes more by itself; \
             {says}",
            share(written, total)
        ),
        None => format!(
            "the share of the device's life that this takes is unknown: give --endurance CYCLES or --tbw SIZE; {says}"
        ),
    }
}

/// Estimates the total writes of a device's life, from the life that an NVMe drive reports as used
/// and the bytes written.
fn so_far(device: &DeviceIdentity) -> Option<(u64, String)> {
    let bytes = from_hex(device.raw.get(NVME_SMART)?)?;
    let log = SmartLog::parse(&bytes)?;
    let (used, written) = (u64::from(log.used_percent()), log.written());
    let total = (written.0.checked_div(used)?).checked_mul(100)?;
    Some((total, format!("{used} % were used by {written}")))
}

fn share(part: u64, of: u64) -> String {
    let percent = 100.0 * part as f64 / of.max(1) as f64;
    match percent {
        small if small < 0.01 => "less than 0.01 %".to_owned(),
        small if small < 1.0 => format!("{small:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// Resumes a run from its last checkpoint.
fn resume_soak(args: &SoakArgs, name: &str, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let Resumed {
        store,
        mut host,
        run,
        ..
    } = Resumed::find(&args.shared.store, name, target)?;
    let began = began(&run)?;
    if run.status == RunStatus::Finished {
        return resume::nothing_missing(&run, args.shared.json);
    }
    resume::inspect(&run, &args.destroy, Some(&began.destroy), &mut host)?;
    let work = remaining_work(&began, &run);
    announce_resumed(&run.header.id, &work);
    let place = run.header.plan.place.clone();
    let seed = work.seed;
    let request = command(&began, place.path()).request(planned(place.clone(), work), seed);
    let mut talk = StepTalk::new(request.steps.len());
    let done = acts::resume(
        target,
        &mut host,
        (run, 0),
        &request,
        store,
        &mut talk,
        &mut acts::all_slots,
    );
    talk.close();
    done?.present(args.shared.json)
}

/// Returns the arguments that the run was begun with.
fn began(run: &Run) -> Result<SoakArgs, Failure> {
    match resume::began(run)? {
        Some(Command::Lab(LabGroup::Soak(began))) => Ok(*began),
        _ => Err(Failure::usage(format!(
            "run {} is not a soak: assay list shows the runs",
            run.header.id
        ))),
    }
}

/// Returns the remaining work, from the last stored checkpoint.
fn remaining_work(began: &SoakArgs, run: &Run) -> Soak {
    let plan = &run.header.plan;
    let details = run
        .trials
        .iter()
        .filter_map(|trial| trial.detail.as_deref());
    let last = details.filter_map(StepDetail::soak).next_back();
    Soak {
        from: Some(last.map_or_else(Checkpoint::default, |step| step.checkpoint.clone())),
        ..soak(began, &plan.place, plan.file_size.0, plan.seed)
    }
}

fn announce_resumed(id: &str, work: &Soak) {
    let from = work.from.clone().unwrap_or_default();
    say(&format!(
        "assay: resumes run {id} after {} written and {} checked; first the whole area of \
         {} is read",
        Bytes(from.written_bytes),
        Bytes(from.verified_bytes),
        Bytes(work.blocks.saturating_mul(work.block_bytes))
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_life_is_never_nothing() {
        assert_eq!(share(1, u64::MAX), "less than 0.01 %");
        assert_eq!(share(5, 1000), "0.50 %");
        assert_eq!(share(30, 1000), "3.0 %");
        assert_eq!(share(2000, 1000), "200.0 %");
    }
}

//! `assay replay TRACE PATH`: repeats recorded I/O.

use crate::checks::admission::{can_be_stored, in_use, is_storage, not_simulated};
use crate::checks::input;
use crate::driver::acts::permit_devices;
use crate::driver::records::{RepeatedLoad, entries};
use crate::driver::{Host, runs};
use crate::exit::{DONE, EXIT_CODES, Failure};
use crate::output::{print_json, say, show, style};
use crate::stored::{KeepArgs, keep_apart};
use crate::targets::OnArgs;
use assay_lang::tr;
use assay_model::act::ReplayStep;
use assay_model::job::EngineKind;
use assay_model::load::blocks::{BlockSizes, RwPattern};
use assay_model::load::{Ddir, Extent, Load, PerDirection, Stream, Trace};
use assay_model::storage::folder_of;
use assay_model::units::{Bytes, as_u32};
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_report::{json, views};
use assay_target::Target;
use assay_trace::Action;
use assay_trace::recording::{
    Description, DirectionUse, Fitted, Recording, Shrink, describe, extent, fit, iolog,
};
use clap::{Args, ValueEnum};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Replays or describes a trace.
///
/// # Errors
/// If the trace cannot be read, or may not be replayed there.
pub fn run(args: &ReplayArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let mut recording = read(&args.trace)?;
    let path = match (&args.path, args.describe) {
        (second, true) => return describe_all(args, &recording, second.as_deref()),
        (Some(path), false) => path,
        (None, false) => return Err(Failure::usage("name a file, folder or device to replay on")),
    };
    can_be_stored(path)?;
    can_be_stored(&args.trace)?;
    let store_path = args.store.path()?;
    target.needs(Feature::Loads);
    let mut host = Host::start(target)?;
    let found = find(&mut host, path)?;
    let trims = found.leave_out_trims(&mut recording);
    let described = describe(&recording);
    found.admit(&described, args.destroy_data)?;
    // Paths on another machine have no meaning here.
    if host.target().is_none() {
        let file = Some(found.file.clone()).filter(|_| !found.is_made());
        keep_apart(&store_path, file.into_iter().chain(args.log.clone()))?;
    }
    let recorded_extent = extent(&recording);
    let size = found
        .size
        .or(args.size)
        .map_or(recorded_extent, |size| size.0);
    let shrink = match args.shrink {
        ShrinkBy::Wrap => Shrink::Wrap,
        ShrinkBy::Scale => Shrink::Scale,
    };
    let fitted =
        fit(&recording, size, shrink).map_err(|error| Failure::in_file(&args.trace, error))?;
    let replay = replay_step(args, &described, &fitted, recorded_extent, trims);
    if replay.shrunk.is_some() {
        say(&tr!(
            "assay: the trace spans {recorded}, the storage has {size}: {moved} I/Os were moved to other offsets",
            recorded = Bytes(recorded_extent),
            size = Bytes(size),
            moved = replay.moved
        ));
    }
    let load = replay_load(args, &described, &fitted, &found)?;
    let entries = entries(&load);
    if entries.is_empty() {
        let why = "it only trims: a run keeps no figures of trims";
        return Err(Failure::in_file(&args.trace, why));
    }
    let asked = RepeatedLoad {
        load,
        entries,
        replay: Some(replay),
        is_private: found.is_made(),
        inspection: found.inspection,
        trials: args.trials,
        json: args.json,
    };
    asked.carry_out(target, &mut host, args.store.open(&store_path)?)
}

/// Reads a trace, which is a file on this machine.
fn read(path: &Path) -> Result<Recording, Failure> {
    let file = input::open(path).map(BufReader::new);
    let read = file.and_then(Recording::read);
    read.map_err(|error| Failure::in_file(path, error))
}

/// Describes a recording, or two recordings side by side.
fn describe_all(
    args: &ReplayArgs,
    first: &Recording,
    second: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let name = |path: &Path| path.display().to_string();
    let mut all: Vec<(String, Description)> = vec![(name(&args.trace), describe(first))];
    if let Some(path) = second {
        all.push((name(path), describe(&read(path)?)));
    }
    match args.json {
        true => print_json(&json::recordings(&all))?,
        false => show(&views::import::recordings(&all, style().ascii))?,
    }
    Ok(DONE)
}

/// Counts the I/Os of each direction.
fn counts(recording: &Recording) -> PerDirection<u64> {
    let mut counts = PerDirection::default();
    for step in &recording.steps {
        if let Action::Io(io) = step.action {
            counts[io.ddir] += 1;
        }
    }
    counts
}

const EXAMPLES: &str = "\
Examples:
  assay replay boot.iolog --describe
  assay replay boot.iolog /mnt/emmc --speed max
  assay replay trace.txt /dev/sdb --destroy-data --trials 5
";

/// `assay replay`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct ReplayArgs {
    /// An iolog of fio (version 2 or 3), a trace of blktrace, or text of blkparse,
    /// trace-cmd report, perf script or /sys/kernel/tracing/trace with block events.
    pub trace: PathBuf,
    /// Storage to replay on: a block device or a file with data (both need
    /// --destroy-data if the trace writes), or a new file or a folder (a test file is
    /// made and removed). With --describe: another trace, to compare with.
    #[arg(required_unless_present = "describe")]
    pub path: Option<PathBuf>,
    /// Describe the trace and replay nothing.
    #[arg(long, conflicts_with_all = ["on", "speed", "shrink", "size", "buffered", "log", "destroy_data"])]
    pub describe: bool,
    /// Speed: 1 as recorded, 2 in half the time, max as fast as possible.
    #[arg(long, value_name = "FACTOR|max", default_value = "1", value_parser = parse_speed)]
    pub speed: Speed,
    /// Treatment of I/O beyond the end of smaller storage: wrap it around (sequential I/O stays
    /// sequential), or scale all offsets down.
    #[arg(long, value_enum, default_value_t = ShrinkBy::Wrap)]
    pub shrink: ShrinkBy,
    /// Size of a new file [default: the extent of the trace].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Maximum number of I/Os in flight; an I/O that is due while N are in flight starts late.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub iodepth: u32,
    /// Use the page cache [default: direct I/O (O_DIRECT), if the trace's offsets and lengths
    /// allow it].
    #[arg(long)]
    pub buffered: bool,
    /// Write the executed I/Os with their times as an iolog to this file, on the machine that
    /// replays; of the last repetition.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Number of repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Overwrite the block device or file. The data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    /// Print the run, or the description, as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// Replay speed of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Percentage of the recorded speed.
    Percent(u32),
    /// As fast as possible.
    Max,
}

/// Treatment of offsets beyond the end of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShrinkBy {
    /// Continues at the start.
    Wrap,
    /// Scales all offsets down by the same factor.
    Scale,
}

fn parse_speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let factor: f64 = text
        .parse()
        .map_err(|_| "a factor such as 0.5 or 2, or max".to_owned())?;
    if !(0.01..=1_000.0).contains(&factor) {
        return Err("from 0.01 to 1000, or max".to_owned());
    }
    Ok(Speed::Percent(as_u32((factor * 100.0).round())))
}

/// Storage that a trace is replayed on.
struct ReplayTarget {
    /// File or device; for a file that will be made, its folder.
    pub file: PathBuf,
    /// Size in bytes; `None` if the file will be made.
    pub size: Option<Bytes>,
    /// Inspection of the file or device, or of the folder in which the file is made.
    pub inspection: Inspection,
}

/// Inspects a path, or the folder of a file that does not exist yet.
fn find(host: &mut Host, path: &Path) -> Result<ReplayTarget, Failure> {
    let inspection = match host.inspect(path) {
        Err(failure) if !failure.is_lost() => host.inspect(folder_of(path)).map_err(|_| failure)?,
        inspected => inspected?,
    };
    is_storage(&inspection)?;
    let found = inspection.path.clone();
    let size = match inspection.kind {
        PathKind::Directory { writable: false } => {
            return Err(Failure::usage(format!(
                "no permission to create files in {}",
                found.display()
            )));
        }
        PathKind::Directory { .. } => None,
        PathKind::File { length, .. } => Some(length).filter(|length| length.0 > 0),
        PathKind::Device { size } => Some(size),
        PathKind::Simulated { .. } => return Err(not_simulated(&found)),
    };
    Ok(ReplayTarget {
        file: found,
        size,
        inspection,
    })
}

impl ReplayTarget {
    /// `true` if assay makes the file, and removes it.
    pub fn is_made(&self) -> bool {
        self.size.is_none() && !matches!(self.inspection.kind, PathKind::File { .. })
    }

    /// Checks that the trace may be replayed there.
    pub fn admit(&self, trace: &Description, destroy_data: bool) -> Result<(), Failure> {
        let directions = &trace.directions;
        let writes = directions.write.ios + directions.trim.ios > 0;
        let shown = self.file.display();
        if !writes {
            return Ok(());
        }
        if !self.inspection.in_use.is_empty() {
            return Err(in_use(&self.inspection));
        }
        match self.size {
            Some(_) if !destroy_data => Err(Failure::usage(format!(
                "the trace writes, and what is in {shown} would be lost; if that is what you \
                 want, add --destroy-data"
            ))),
            _ => Ok(()),
        }
    }

    /// Removes trims if the target is a file, and returns their number.
    pub fn leave_out_trims(&self, recording: &mut Recording) -> u64 {
        if matches!(self.inspection.kind, PathKind::Device { .. }) {
            return 0;
        }
        let trims = counts(recording).trim;
        let is_trim = |action| matches!(action, Action::Io(io) if io.ddir == Ddir::Trim);
        recording.steps.retain(|step| !is_trim(step.action));
        trims
    }
}

/// Limit on the bytes of an iolog, which leaves room in a message to an agent.
const LONGEST_LOG: usize = 48 << 20;

/// Engines that keep several I/Os in flight, the best first.
const ENGINES: [EngineKind; 2] = [EngineKind::IoUring, EngineKind::Libaio];

/// Returns the run's record of the trace.
fn replay_step(
    args: &ReplayArgs,
    described: &Description,
    fitted: &Fitted,
    recorded_extent: u64,
    trims_left_out: u64,
) -> ReplayStep {
    let directions = &described.directions;
    let shrunk = fitted.extent < recorded_extent && fitted.moved > 0;
    ReplayStep {
        trace: args.trace.display().to_string(),
        format: described.format.to_owned(),
        speed: match args.speed {
            Speed::Percent(percent) => Some(f64::from(percent) / 100.0),
            Speed::Max => None,
        },
        recorded_ns: described.span_ns,
        ios: PerDirection::from_fn(|ddir| directions[ddir].ios),
        flushes: described.flushes,
        trims_left_out,
        recorded_extent,
        extent: fitted.extent,
        shrunk: shrunk.then(|| format!("{:?}", args.shrink).to_lowercase()),
        moved: fitted.moved,
        lateness: None,
    }
}

/// Returns a load with one stream that replays the trace.
fn replay_load(
    args: &ReplayArgs,
    described: &Description,
    fitted: &Fitted,
    found: &ReplayTarget,
) -> Result<Load, Failure> {
    let log = iolog(&fitted.steps);
    if log.len() > LONGEST_LOG {
        return Err(Failure::usage(format!(
            "{}: too long: {} of {} that can be sent to an agent; cut it into parts",
            args.trace.display(),
            Bytes(log.len() as u64),
            Bytes(LONGEST_LOG as u64)
        )));
    }
    let directions = &described.directions;
    let mut stream = Stream::new("replay");
    let known = &found.inspection.async_engines;
    let engine = ENGINES.into_iter().find(|engine| known.contains(engine));
    stream.engine.kind = engine.unwrap_or(EngineKind::Psync);
    stream.engine.iodepth = args.iodepth;
    stream.durability.direct = !args.buffered && is_aligned(described, found);
    stream.files.unlink = found.is_made();
    stream.region.size = Some(Extent::Bytes(fitted.extent));
    stream.blocks.rw = RwPattern {
        read: directions.read.ios > 0,
        write: directions.write.ios > 0,
        trim: directions.trim.ios > 0,
        random: is_random(directions),
        ..RwPattern::default()
    };
    stream.blocks.read_percent = read_percent(directions);
    stream.blocks.sizes = PerDirection::from_fn(|ddir| {
        let length = directions[ddir]
            .sizes
            .first()
            .map_or(4096, |(length, _)| *length);
        BlockSizes {
            min: length,
            max: length,
            ..BlockSizes::default()
        }
    });
    let (no_stall, time_scale_percent) = match args.speed {
        Speed::Percent(percent) => (false, percent),
        Speed::Max => (true, 100),
    };
    stream.trace = Trace {
        write: args.log.clone(),
        read: Some(args.trace.clone()),
        recorded: Some(log.into()),
        read_chunked: true,
        redirect: Some(found.file.clone()),
        no_stall,
        time_scale_percent,
        ..Trace::default()
    };
    Ok(permit_devices(Load {
        streams: vec![stream],
        entropy: runs::random(),
        ..Load::default()
    }))
}

/// `true` if the I/O is aligned enough to bypass the page cache.
fn is_aligned(described: &Description, found: &ReplayTarget) -> bool {
    let top = found.inspection.storage.top();
    let sector = top.and_then(|layer| layer.identity.logical_block);
    described.alignment_bytes >= sector.map_or(4096, |bytes| bytes.0)
}

/// `true` if less than half of the I/Os begin where the previous one ended.
fn is_random(directions: &PerDirection<DirectionUse>) -> bool {
    let sum =
        |of: fn(&DirectionUse) -> u64| directions.iter().map(|(_, usage)| of(usage)).sum::<u64>();
    sum(|usage| usage.sequential_ios) * 2 < sum(|usage| usage.ios)
}

fn read_percent(directions: &PerDirection<DirectionUse>) -> u8 {
    let (reads, writes) = (directions.read.ios, directions.write.ios);
    u8::try_from(reads * 100 / (reads + writes).max(1)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_or_max() {
        assert_eq!(parse_speed("1"), Ok(Speed::Percent(100)));
        assert_eq!(parse_speed("0.5"), Ok(Speed::Percent(50)));
        assert_eq!(parse_speed("max"), Ok(Speed::Max));
        for bad in ["", "0", "-1", "nan", "inf", "fast", "1e9"] {
            assert!(parse_speed(bad).is_err(), "{bad}");
        }
    }
}

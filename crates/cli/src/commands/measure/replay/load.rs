//! Conversion of a recording to a load.

use super::{ReplayArgs, ReplayTarget, Speed};
use crate::driver::acts::permit_devices;
use crate::driver::runs;
use crate::exit::Failure;
use assay_model::act::ReplayStep;
use assay_model::job::EngineKind;
use assay_model::load::blocks::{BlockSizes, RwPattern};
use assay_model::load::{Extent, Load, PerDirection, Stream, Trace};
use assay_model::units::Bytes;
use assay_trace::recording::{Description, DirectionUse, Fitted, iolog};

/// Limit on the bytes of an iolog, which leaves room in a message to an agent.
const LONGEST_LOG: usize = 48 << 20;

/// Engines that keep several I/Os in flight, the best first.
const ENGINES: [EngineKind; 2] = [EngineKind::IoUring, EngineKind::Libaio];

/// Returns the run's record of the trace.
pub fn step(
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
pub fn load(
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

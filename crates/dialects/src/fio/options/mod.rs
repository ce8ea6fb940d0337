//! Table of options: each row gives the name, the kind of value, the default,
//! the help text, the level of support and the setter of an option.
//!
//! The table drives the parser, `--cmdhelp`, `--enghelp`, the search for the
//! nearest name and `docs/compat/fio.md`.
//!
//! To add an option: add a row of `options!` in the module of its kind; [`resolve`] settles what
//! depends on other options. Add its field in `assay_model::load` and its code in
//! `assay_engine::load`: behind `hindered` if it can delay an I/O, behind `attentive` if it needs
//! completions. Then run `UPDATE_COMPAT=1 cargo test -p assay-dialects`.

mod blocks;
mod engines;
mod schedule;
mod stats;
mod table;

pub(super) use blocks::HEADER_BYTES;
pub(super) use engines::{ENGINES, engine};
pub use table::{OptionDef, Support};
pub(super) use table::{OptionReader, OptionType};

use crate::fio::JobDraft;
use crate::fio::value::pattern;
use assay_model::job::EngineKind;
use assay_model::load::blocks::{BlockSizes, Distribution, VerifyKind};
use assay_model::load::report::SteadyState;
use assay_model::load::{DedupeMode, Extent, PerDirection};
use assay_model::units::Nanos;
use std::collections::HashMap;
use std::sync::OnceLock;
use table::{not_one_of, options};

#[cfg(test)]
pub(super) use table::Set;

/// Every option, in groups with headings.
pub static GROUPS: &[(&str, &[&[OptionDef]])] = &[
    ("Jobs and their order", &[schedule::ORDER]),
    ("Files", &[blocks::FILES]),
    ("Pattern, sizes and offsets", &[blocks::BLOCKS]),
    ("Engine, depth, caches and flushes", &[engines::SUBMISSION]),
    ("How much and how long", &[schedule::LENGTH]),
    ("Pace", &[schedule::PACE]),
    ("Verification and trims", &[blocks::VERIFY]),
    ("Buffers", &[OPTIONS]),
    ("Recording and replaying", &[schedule::TRACE]),
    ("Logs", &[stats::LOGS]),
    ("Statistics and errors", &[stats::STATS]),
    (
        "Processes, processors and zoned devices",
        &[schedule::PROCESSES],
    ),
    ("Options of newer versions", &[schedule::LATER]),
    (
        "Options of single engines",
        &[engines::OPTIONS, engines::ABSENT],
    ),
];

/// Returns every option.
pub fn all() -> impl Iterator<Item = &'static OptionDef> {
    let parts = GROUPS.iter().flat_map(|(_, parts)| *parts);
    parts.flat_map(|options| *options)
}

/// Returns every name and alias.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(OptionDef::names)
}

/// Finds an option by name or alias.
pub(super) fn find(name: &str) -> Option<&'static OptionDef> {
    static INDEX: OnceLock<HashMap<&'static str, &'static OptionDef>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        all()
            .flat_map(|option| option.names().map(move |name| (name, option)))
            .collect()
    });
    index.get(name).copied()
}

options! {
    static OPTIONS:

    switch("zero_buffers", "Write zeroes") [stream.content.zero];
    switch("refill_buffers", "New content for each write") [stream.content.refill];
    flag("scramble_buffers", "1", "Change the content a little for each write")
        [stream.content.scramble];
    text("buffer_pattern", "bytes as 0xdeadbeef, \"text\", 42, 'file', one after another", "",
        "Fill buffers with this")
        [buffer_pattern = |reader, value| pattern(value, false, reader.env)];
    count("buffer_compress_percentage", (0, 100), "", "How far a block can be compressed")
        [stream.content.compress_percent];
    bytes("buffer_compress_chunk", "512", "In pieces of that size")
        [stream.content.compress_chunk = |n| u32::try_from(n).unwrap_or(0)];
    count("dedupe_percentage", (0, 100), "", "Share of blocks that came before")
        [stream.content.dedupe_percent];
    choice("dedupe_mode", "repeat", "Which block comes again") [stream.content.dedupe_mode] {
        "repeat": "the block before" => DedupeMode::Repeat,
        "working_set": "any of a set" => DedupeMode::WorkingSet,
    };
    count("dedupe_working_set_percentage", (0, 100), "5", "Size of the set, in percent of size")
        [stream.content.dedupe_set_percent];
    flag("dedupe_global", "0", "Blocks of other jobs count too") [stream.content.dedupe_global];
    text("mem", "malloc, shm, mmap or mmapshared", "malloc", "What memory buffers are in", memory)
        .alias(&["iomem"]).differs("all of them are private memory that begins at a page");
    no_effect("iomem_align", "bytes", "Alignment of buffers", "buffers always begin at a page")
        .alias(&["mem_align"]);
    no_effect("hugepage-size", "bytes", "Size of a huge page", "buffers are not in huge pages");
    refused("gpu_dev_id", "number", "0", "GPU for mem=cudamalloc", "it needs a GPU's library");
}

fn memory(_: &mut JobDraft, _: &mut OptionReader<'_>, value: &str) -> Result<(), String> {
    match value.split(':').next().unwrap_or("") {
        "malloc" | "shm" | "mmap" | "mmapshared" => Ok(()),
        huge @ ("shmhuge" | "mmaphuge" | "mmaphugefile") => Err(format!(
            "'{huge}' is not supported: huge pages need to be set up by the administrator"
        )),
        "cudamalloc" => Err("'cudamalloc' is not supported: it needs a GPU's library".to_owned()),
        other => {
            let known = ["malloc", "shm", "mmap", "mmapshared"];
            Err(not_one_of(other, known.into_iter()))
        }
    }
}

/// Resolves the options of a job. Returns notes for the user.
///
/// # Errors
///
/// If options contradict each other.
pub(super) fn resolve(job: &mut JobDraft, readonly: bool) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    if job.stream.name.is_empty() {
        job.stream.name.clone_from(&job.section);
    }
    resolve_sizes(job)?;
    resolve_mix(job, &mut notes);
    resolve_offsets(job, &mut notes);
    resolve_engine(job, &mut notes);
    job.stream.engine.priorities = job.priorities.shares(job.stream.engine.kind)?;
    resolve_verify(job, &mut notes)?;
    resolve_content(job)?;
    resolve_zones(job)?;
    resolve_pace(job, &mut notes)?;
    resolve_steady_state(job, &mut notes);
    resolve_logs(job)?;
    resolve_length(job, &mut notes)?;
    let rw = &job.stream.blocks.rw;
    if readonly && rw.changes() {
        return Err("it writes or trims, which --readonly forbids".to_owned());
    }
    Ok(notes)
}

fn resolve_sizes(job: &mut JobDraft) -> Result<(), String> {
    let sizes = &job.sizes;
    let mut read = Vec::new();
    for direction in 0..3 {
        let fixed = sizes.fixed[direction];
        let (min, max) = sizes.range[direction].unwrap_or((fixed, fixed));
        read.push(BlockSizes {
            min: block_size(min)?,
            max: block_size(max)?,
            split: sizes.split[direction].clone(),
            align: u32::try_from(sizes.align[direction]).map_err(|_| "blockalign is too large")?,
        });
    }
    let mut read = read.into_iter();
    let mut next = || read.next().unwrap_or_default();
    job.stream.blocks.sizes = PerDirection {
        read: next(),
        write: next(),
        trim: next(),
    };
    Ok(())
}

/// Largest block, in bytes. Each I/O in flight needs a buffer of this size.
const LARGEST_BLOCK: u64 = 1 << 30;

fn block_size(bytes: u64) -> Result<u32, String> {
    match u32::try_from(bytes) {
        Ok(size) if size > 0 && bytes <= LARGEST_BLOCK => Ok(size),
        _ => Err(format!(
            "a block of {bytes} bytes is not possible: use 1 byte to 1 GiB"
        )),
    }
}

/// Notes read and write shares that do not add up to 100. Each of the two
/// options sets both shares, as in fio.
fn resolve_mix(job: &JobDraft, notes: &mut Vec<String>) {
    let share = |name: &str| {
        let mut texts = job.texts.iter().rev();
        let (_, value) = texts.find(|(option, _)| option == name)?;
        value.as_ref()?.trim().parse::<u64>().ok()
    };
    if let (Some(read), Some(write)) = (share("rwmixread"), share("rwmixwrite"))
        && read.saturating_add(write) != 100
    {
        notes.push(format!(
            "rwmixread={read} and rwmixwrite={write} are not 100 together: the last one counts"
        ));
    }
}

fn resolve_offsets(job: &mut JobDraft, notes: &mut Vec<String>) {
    let blocks = &mut job.stream.blocks;
    let random = blocks.rw.random;
    let mut aligned = false;
    for sizes in [
        &mut blocks.sizes.read,
        &mut blocks.sizes.write,
        &mut blocks.sizes.trim,
    ] {
        if !random || sizes.align == sizes.min {
            sizes.align = 0;
        }
        aligned |= sizes.align != 0;
    }
    if aligned && !blocks.no_map {
        notes.push("blockalign lets blocks come twice in a pass, as norandommap does".to_owned());
        blocks.no_map = true;
    }
    if blocks
        .distribution
        .iter()
        .any(|(_, how)| *how != Distribution::Uniform)
    {
        blocks.no_map = true;
    }
    if blocks.seed.is_some() {
        blocks.repeat = false;
    }
    if blocks.unaligned && job.stream.durability.direct {
        notes.push("bs_unaligned may not work with direct=1".to_owned());
    }
}

fn resolve_engine(job: &mut JobDraft, notes: &mut Vec<String>) {
    let engine = &job.stream.engine;
    let depth = engine.iodepth;
    // fio's null engine accepts any depth, and measures no storage.
    let waits = engine.kind != EngineKind::Null && !engine.kind.is_asynchronous();
    if depth > 1 && waits && job.is_given("iodepth") {
        notes.push(format!(
            "iodepth={depth} does nothing with the synchronous engine {}, whose I/Os are done one by one; use libaio or io_uring",
            engine.kind
        ));
    }
    let engine = &mut job.stream.engine;
    if engine.batch == 0 || engine.batch > depth {
        engine.batch = depth;
    }
    let low_given = job.given.contains(&"iodepth_low");
    if !low_given || engine.iodepth_low == 0 || engine.iodepth_low > depth {
        engine.iodepth_low = depth;
    }
    let rw = &job.stream.blocks.rw;
    if job.stream.trace.read.is_none() && (!rw.changes() || depth == 1) {
        engine.serialize_overlap = false;
    }
}

fn resolve_verify(job: &mut JobDraft, notes: &mut Vec<String>) -> Result<(), String> {
    let patterned = !job.verify.pattern.bytes.is_empty();
    let kind = match job.verify_kind {
        None if patterned && !job.is_given("verify") => Some(VerifyKind::PatternHeader),
        kind => kind,
    };
    let Some(kind) = kind else {
        return Ok(());
    };
    let rw = job.stream.blocks.rw.clone();
    let sizes = &job.stream.blocks.sizes;
    let (low, high) = (sizes.write.min, sizes.write.max);
    let fixed = sizes
        .iter()
        .all(|(_, size)| size.min == size.max && size.min == low);
    job.verify.interval = verify_interval(
        job.verify.interval,
        low,
        high,
        rw.read.then_some(sizes.read.min),
    );
    let headers = !matches!(kind, VerifyKind::Pattern | VerifyKind::Null);
    if headers && (rw.read || rw.write) && job.verify.interval < HEADER_BYTES {
        return Err(format!(
            "verify needs blocks of more than {HEADER_BYTES} bytes, the length of its header"
        ));
    }
    if !job.is_given("refill_buffers") {
        job.stream.content.refill = true;
    }
    if job.stream.blocks.no_map && !fixed {
        notes.push("with norandommap and several block sizes, blocks that were overwritten are not checked".to_owned());
    }
    let engine = &job.stream.engine;
    let several = engine.iodepth > 1 && engine.kind.is_asynchronous();
    if rw.write && job.stream.blocks.no_map && several && !engine.serialize_overlap {
        notes.push("with norandommap and a depth above 1, writes that overlap may not verify; use serialize_overlap=1".to_owned());
    }
    let checks = rw.write && job.verify.read_back;
    if checks && job.copies > 1 && !job.names.named.is_empty() {
        notes.push("several copies write the same files: they may overwrite each other's blocks, which then do not verify".to_owned());
    }
    // The order of two overlapping writes in flight is unknown.
    let overlaps = job.stream.blocks.no_map && several && !engine.serialize_overlap;
    if overlaps && !job.is_given("verify_write_sequence") {
        job.verify.check_number = false;
    }
    if overlaps && !job.is_given("verify_header_seed") {
        job.verify.check_seed = false;
    }
    job.verify.pattern.interval = job.verify_pattern_interval;
    job.verify.kind = kind;
    job.stream.verify = Some(job.verify.clone());
    Ok(())
}

/// Returns the interval of verification headers: the requested one if it
/// divides every block, otherwise the greatest common divisor of the block
/// sizes, as in fio.
fn verify_interval(asked: u32, low: u32, high: u32, read: Option<u32>) -> u32 {
    let asked = match asked {
        0 if low != high => low,
        asked => asked,
    };
    let asked = asked.min(low);
    let asked = read.map_or(asked, |read| asked.min(read));
    match asked > 0 && low.is_multiple_of(asked) && high.is_multiple_of(asked) {
        true => asked,
        false => greatest_divisor(low, high),
    }
}

fn greatest_divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => greatest_divisor(b, a % b),
    }
}

fn resolve_content(job: &mut JobDraft) -> Result<(), String> {
    let reads = job.stream.blocks.rw.read;
    let refill_given = job.is_given("refill_buffers");
    let content = &mut job.stream.content;
    if !job.buffer_pattern.bytes.is_empty() {
        content.pattern.clone_from(&job.buffer_pattern);
        content.zero = false;
        content.scramble = false;
        if !refill_given {
            content.refill = content.compress_percent.is_some() || reads;
        }
    }
    match content.compress_percent {
        Some(100) => {
            content.zero = true;
            content.compress_percent = None;
        }
        Some(0) => content.compress_percent = None,
        Some(_) if !refill_given => content.refill = true,
        _ => {}
    }
    if content.dedupe_percent > 0 {
        content.refill = true;
    }
    let working_set = content.dedupe_mode == DedupeMode::WorkingSet;
    if content.dedupe_percent > 0 && working_set {
        if u32::from(content.dedupe_percent) + u32::from(content.dedupe_set_percent) > 100 {
            return Err(
                "dedupe_percentage and dedupe_working_set_percentage are above 100 together"
                    .to_owned(),
            );
        }
        if job.stream.region.size.is_none() {
            return Err("dedupe_mode=working_set needs size".to_owned());
        }
    }
    Ok(())
}

fn resolve_zones(job: &mut JobDraft) -> Result<(), String> {
    let strided = job.strided.unwrap_or(job.zones.size > 0);
    if !strided {
        return match job.zones.size > 0 {
            true => Err("zonesize and zonemode=none contradict each other".to_owned()),
            false => Ok(()),
        };
    }
    if job.zones.size == 0 {
        return Err("zonemode=strided needs zonesize".to_owned());
    }
    if job.zones.range == 0 {
        job.zones.range = job.zones.size;
    }
    let files = job.names.named.len();
    if files <= 1 && job.names.count <= 1 {
        job.stream.region.zones = Some(job.zones);
    }
    Ok(())
}

fn resolve_pace(job: &mut JobDraft, notes: &mut Vec<String>) -> Result<(), String> {
    let pace = &mut job.stream.pace;
    let any = |rates: &PerDirection<u64>| rates.iter().any(|(_, rate)| *rate > 0);
    if (any(&pace.rate) && any(&pace.rate_iops))
        || (any(&pace.rate_min) && any(&pace.rate_iops_min))
    {
        return Err("a rate in bytes and one in I/Os cannot be given together".to_owned());
    }
    for (direction, rate) in pace.rate.iter() {
        let (iops, least_iops) = (pace.rate_iops[direction], pace.rate_iops_min[direction]);
        if (*rate > 0 && *rate < pace.rate_min[direction]) || (iops > 0 && iops < least_iops) {
            return Err(format!(
                "the least rate of {}s is above the most",
                direction.name()
            ));
        }
    }
    job.think.spin = job.think.spin.min(job.think.pause);
    if job.think.pause > Nanos(0) {
        pace.think = Some(job.think);
    } else if job.given.iter().any(|name| name.starts_with("thinktime_")) {
        notes.push("options of thinktime do nothing without thinktime".to_owned());
    }
    pace.latency_target = (job.latency.target > Nanos(0)).then_some(job.latency);
    pace.flow = (job.flow.weight > 0).then_some(job.flow);
    Ok(())
}

fn resolve_steady_state(job: &mut JobDraft, notes: &mut Vec<String>) {
    use assay_model::load::report::SteadyCriterion;
    const DEFAULT: (SteadyCriterion, f64, bool) = (SteadyCriterion::IopsSlope, 0.01, true);
    if job.steady_duration == Nanos(0) {
        if job.steady.is_some() {
            notes.push("steadystate does nothing without steadystate_duration".to_owned());
        }
        return;
    }
    let (criterion, limit, percent) = job.steady.unwrap_or(DEFAULT);
    job.stream.steady_state = Some(SteadyState {
        criterion,
        limit,
        percent,
        duration: job.steady_duration,
        ramp: job.steady_ramp,
        interval: Nanos::millis(1000),
    });
}

/// Names logs without a name after the job.
fn resolve_logs(job: &mut JobDraft) -> Result<(), String> {
    let name = &job.stream.name;
    let logs = &mut job.stream.logs;
    if logs.issue_time && (logs.latency.is_none() || !logs.offset) {
        return Err("log_issue_time needs write_lat_log and log_offset=1".to_owned());
    }
    for prefix in [
        &mut logs.bandwidth,
        &mut logs.latency,
        &mut logs.iops,
        &mut logs.histogram,
    ] {
        if let Some(prefix) = prefix.as_mut().filter(|prefix| prefix.is_empty()) {
            prefix.clone_from(name);
        }
    }
    if job.alternate_epoch && logs.epoch_clock.is_none() {
        logs.epoch_clock = Some(0);
    }
    let stats = &mut job.stream.stats;
    stats.lat_percentiles &= stats.lat;
    stats.clat_percentiles &= stats.clat;
    stats.slat_percentiles &= stats.slat;
    Ok(())
}

fn resolve_length(job: &mut JobDraft, notes: &mut Vec<String>) -> Result<(), String> {
    if job.stream.length.time_based && job.stream.length.runtime.is_none() {
        notes.push("time_based does nothing without runtime".to_owned());
        job.stream.length.time_based = false;
    }
    if job.stream.region.size == Some(Extent::Bytes(0)) {
        job.stream.region.size = None;
    }
    let smallest = job
        .stream
        .blocks
        .sizes
        .iter()
        .map(|(_, size)| size.min)
        .min();
    if let (Some(Extent::Bytes(size)), Some(smallest)) = (job.stream.region.size, smallest)
        && size < u64::from(smallest)
    {
        return Err(format!(
            "size is {size} bytes, less than one block of {smallest}"
        ));
    }
    if job.stream.trace.read.is_some() && job.stream.trace.write.take().is_some() {
        notes.push("write_iolog does nothing beside read_iolog".to_owned());
    }
    // Files to read must exist before.
    job.stream.files.overwrite |= job.stream.blocks.rw.read;
    if job.stream.files.pre_read {
        job.stream.files.invalidate = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::text::nearest;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for name in names() {
            assert!(seen.insert(name), "{name} is there twice");
        }
    }

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("iodpeth", names()), Some("iodepth"));
        assert_eq!(nearest("ioengin", names()), Some("ioengine"));
        assert_eq!(nearest("qqqqqqqq", names()), None);
    }

    #[test]
    fn every_name_leads_to_its_option() {
        for option in all() {
            for name in option.names() {
                assert!(find(name).is_some_and(|found| found.name == option.name));
            }
        }
    }
}

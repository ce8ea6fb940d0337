//! Labels for each stream of a load.
//!
//! The streams of a wave run in one process, so the kernel's counters cover all of them together:
//! streams on one storage are a [`StorageGroup`], judged as one trial. The meaning of the group's
//! share for one stream depends on whether the streams do the same: copies of one job have the
//! same share. Any other stream gets the range between two extremes: all unknown bytes count for
//! it, or all count against it.

mod group;

use super::share::Share;
use super::witness::{Touched, part_in_one_pass};
use super::{
    CallEnd, Case, DataLocation, DirectionEvidence, Judgement, Measured, figures, uncounted,
};
use assay_lang::{key, tr};
use assay_model::evidence::{DeviceCounters, Evidence};
use assay_model::job::{DataPath, Direction, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::load::blocks::Sequencer;
use assay_model::load::report::{BetweenPasses, ClockStop, LoadReport, StreamReport, WaveRecord};
use assay_model::load::{Ddir, Extent, Load, Stream};
use assay_model::units::{Bytes, MIB};
use group::StorageGroup;
use std::collections::BTreeMap;
use std::path::Path;

/// Judges the streams of a load, in the order of the load; `None` for a stream that moved nothing.
pub fn judge_load(load: &Load, report: &LoadReport) -> Vec<Option<Judgement>> {
    let mut judged: Vec<Option<Judgement>> = load
        .streams
        .iter()
        .zip(&report.streams)
        .map(|(stream, came)| without_evidence(stream, came))
        .collect();
    for wave in &report.evidence {
        let group = StorageGroup::new(load, report, wave);
        for (index, judgement) in group.judge() {
            if let Some(place) = judged.get_mut(index) {
                *place = judgement;
            }
        }
    }
    judged
}

/// Returns the judgement of a stream around which no counters were taken.
fn without_evidence(stream: &Stream, came: &StreamReport) -> Option<Judgement> {
    let engine = stream.engine.kind;
    let why = uncounted(engine);
    let why = why.unwrap_or_else(|| tr!("no counters were read before and after it").to_owned());
    let unknown = |direction: Ddir| {
        let bytes = came.directions[direction].bytes;
        if engine.properties().data == DataPath::Simulated {
            return figures::direction(bytes);
        }
        (bytes > 0)
            .then(|| DirectionEvidence::saying(Measured::unknown(why.clone()), why.clone(), bytes))
    };
    let judgement = Judgement {
        read: unknown(Ddir::Read),
        write: unknown(Ddir::Write),
        trim: unknown(Ddir::Trim),
        ..Judgement::default()
    };
    judgement.moved_something().then_some(judgement)
}

/// Judges together the streams of a wave that make up one trial.
pub(super) fn judge_members(wave: &WaveRecord) -> Option<Judgement> {
    let all = judge_load(&wave.load, &wave.report);
    let members = wave.members.iter();
    let judged: Vec<&Judgement> = members
        .filter_map(|&index| all.get(usize::try_from(index).ok()?)?.as_ref())
        .collect();
    Some(Judgement {
        read: as_one(judged.iter().filter_map(|j| j.read.as_ref())),
        write: as_one(judged.iter().filter_map(|j| j.write.as_ref())),
        trim: as_one(judged.iter().filter_map(|j| j.trim.as_ref())),
        foreign: judged.first()?.foreign.clone(),
        hindrances: judged.first()?.hindrances.clone(),
    })
}

/// Merges the evidence of several streams in one direction. The label is `unknown` if theirs
/// differ.
fn as_one<'a>(mut parts: impl Iterator<Item = &'a DirectionEvidence>) -> Option<DirectionEvidence> {
    let mut one = parts.next()?.clone();
    for part in parts {
        one.job_bytes = one.job_bytes.saturating_add(part.job_bytes);
        if part.measured != one.measured {
            let why = tr!("the copies of this job did not all measure the same");
            one.measured = Measured::unknown(why);
            one.because = why.to_owned();
            one.device_share = None;
        }
        if part.calls != one.calls {
            one.calls = CallEnd::Unclear;
        }
    }
    Some(one)
}

/// Regions of files as pairs of begin and end, sorted and disjoint.
type Regions<'a> = BTreeMap<&'a Path, Vec<(u64, u64)>>;

/// Returns the bounds for the reads of all members. The kernel reads at most `ahead` bytes ahead of
/// a sequential read. Each member began `passes` passes for which the cached bytes are known.
fn of_all(members: &[Member<'_>], ahead: Option<u64>, passes: u64) -> Touched {
    let readers: Vec<&Member<'_>> = members
        .iter()
        .filter(|member| member.moved(Direction::Read) > 0)
        .collect();
    if readers.iter().all(|member| member.is_direct()) {
        let bytes = readers.iter().map(|member| member.moved(Direction::Read));
        return Touched::directly(bytes.sum());
    }
    Touched {
        first: first_touched(members, &readers, passes),
        unasked: unasked(&readers, ahead, passes),
        apart: apart(&readers),
    }
}

/// Returns the bytes that no earlier read had asked for. A member that reads or writes the same
/// parts of a file as another one may find its pages in the page cache.
fn first_touched(members: &[Member<'_>], readers: &[&Member<'_>], passes: u64) -> u64 {
    let mut covered = Regions::new();
    for member in members.iter().filter(|member| !member.is_direct()) {
        let writes_only = member.moved(Direction::Read) == 0;
        if writes_only && member.moved(Direction::Write) > 0 {
            cover(&mut covered, member);
        }
    }
    let (mut sum, mut largest, mut random) = (0_u64, 0, true);
    for member in readers {
        let own = first_of(member, passes);
        if member.is_direct() {
            sum = sum.saturating_add(own);
            continue;
        }
        // Shared pages of random readers show in the number of requests they need.
        let in_random_order = member.stream.blocks.rw.random;
        random &= in_random_order;
        let before = length(&covered);
        cover(&mut covered, member);
        let new = length(&covered) - before;
        let shared = match in_random_order {
            true => 0,
            false => length_of(member).saturating_sub(new).saturating_mul(passes),
        };
        sum = sum.saturating_add(own.saturating_sub(shared));
        largest = largest.max(own);
    }
    let all = length(&covered).saturating_mul(passes);
    match random && all > 0 {
        true => sum.min(all),
        false => sum.max(largest),
    }
}

/// Returns the bytes that a member alone read for the first time.
fn first_of(member: &Member<'_>, passes: u64) -> u64 {
    let read = member.moved(Direction::Read);
    if member.is_direct() {
        return read;
    }
    let region = distinct(member);
    let written = match member.stream.blocks.rw.random {
        true => 0,
        false => member.moved(Direction::Write),
    };
    let passed = read.saturating_add(written);
    part_in_one_pass(read, passed, region.saturating_mul(passes))
}

/// Returns the bytes of its region that a member touches in one pass, without those that it skips.
fn distinct(member: &Member<'_>) -> u64 {
    let region = match length_of(member) {
        0 => member.pass_bytes(),
        region => region,
    };
    let skip = member.stream.blocks.rw.skip_bytes;
    let Some(block) = member.mean_read().filter(|_| skip != 0) else {
        return region.max(1);
    };
    let step = i128::from(block) + i128::from(skip);
    let step = step.unsigned_abs();
    if step == 0 {
        return block;
    }
    let part = u128::from(region) * u128::from(block) / step.max(u128::from(block));
    u64::try_from(part).unwrap_or(region).max(1)
}

/// Returns the most bytes that the kernel fetched although no read asked for them.
fn unasked(readers: &[&Member<'_>], ahead: Option<u64>, passes: u64) -> u64 {
    let buffered = || readers.iter().filter(|member| !member.is_direct());
    let in_order = |member: &Member<'_>| {
        let blocks = &member.stream.blocks;
        !blocks.rw.random && blocks.rw.skip_bytes == 0 && member.stream.region.zones.is_none()
    };
    let known = buffered().all(|member| in_order(member) && !member.came.regions.is_empty());
    let (Some(ahead), true) = (ahead, known) else {
        return u64::MAX;
    };
    let mut covered = Regions::new();
    let mut sizes: BTreeMap<&Path, u64> = BTreeMap::new();
    let mut windows = 0_u64;
    for member in buffered() {
        cover(&mut covered, member);
        for (path, size) in &member.came.files {
            sizes.insert(path, size.0);
        }
        let region = length_of(member).max(1);
        let moved = member.moved(Direction::Read) + member.moved(Direction::Write);
        let runs = moved.div_ceil(region).max(passes);
        let files = member.came.regions.len() as u64;
        windows = windows.saturating_add(ahead.saturating_mul(runs.saturating_mul(files)));
    }
    let files: u64 = sizes.values().sum();
    let beyond = files.saturating_sub(length(&covered));
    windows.min(beyond.saturating_mul(passes.max(1)))
}

/// Returns the size of the reads if it is the same for all and no read starts where the previous
/// one ended.
fn apart(readers: &[&Member<'_>]) -> Option<u64> {
    let buffered = || readers.iter().filter(|member| !member.is_direct());
    let sizes = buffered().map(|member| {
        let blocks = &member.stream.blocks;
        let skips = !blocks.rw.random && blocks.rw.skip_bytes != 0;
        let random = blocks.rw.random && member.requests_needed() == member.reads();
        (random || skips).then(|| member.mean_read()).flatten()
    });
    let sizes: Option<Vec<u64>> = sizes.collect();
    let sizes = sizes?;
    let first = *sizes.first()?;
    sizes.iter().all(|size| *size == first).then_some(first)
}

fn cover<'a>(covered: &mut Regions<'a>, member: &Member<'a>) {
    for ((path, _), region) in member.came.files.iter().zip(&member.came.regions) {
        let parts = covered.entry(path).or_default();
        parts.push((region.offset, region.offset.saturating_add(region.length)));
        parts.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::with_capacity(parts.len());
        for &(begin, end) in parts.iter() {
            match apart.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => apart.push((begin, end)),
            }
        }
        *parts = apart;
    }
}

fn length(covered: &Regions<'_>) -> u64 {
    let parts = covered.values().flatten();
    parts.map(|(begin, end)| end - begin).sum()
}

fn length_of(member: &Member<'_>) -> u64 {
    member.came.regions.iter().map(|region| region.length).sum()
}

const UNEVEN: &str = key!(
    "jobs of this wave read or wrote their files several times and stopped at different times: I/O between their passes is not counted separately"
);

/// Returns the evidence at the moment when these clocks stopped, without the counts between the
/// passes; `None` where those are not known. Other streams continue at that moment, or the same
/// streams begin other work.
fn evidence_at(evidence: &Evidence, stop: &ClockStop) -> Option<Evidence> {
    let mut evidence = Evidence {
        after: stop.after.clone(),
        ..evidence.clone()
    };
    match &stop.between {
        None => Some(evidence),
        Some(between) => leave_out(&mut evidence, between).map(|()| evidence),
    }
}

fn leave_out(evidence: &mut Evidence, between: &BetweenPasses) -> Option<()> {
    let after = &mut evidence.after;
    after.at_ns = after.at_ns.saturating_sub(between.elapsed_ns);
    for device in &mut after.devices {
        let passed = between.devices.iter().find(|d| d.name == device.name)?;
        *device = DeviceCounters {
            in_flight: device.in_flight,
            ..device.combined(passed, u64::saturating_sub)
        };
    }
    if let Some(own) = &mut after.own_io {
        *own = own.combined(between.own_io?, u64::saturating_sub);
    }
    for cache in [&mut after.file_cache, &mut after.region_cache]
        .into_iter()
        .flatten()
    {
        // Pages that an earlier pass left dirty had not reached the device either.
        cache.dirty_bytes = cache
            .dirty_bytes
            .zip(between.dirty_bytes)
            .map(|(a, b)| a + b);
    }
    let before = &mut evidence.before;
    for cache in [&mut before.file_cache, &mut before.region_cache]
        .into_iter()
        .flatten()
    {
        // Each pass may find the pages that were cached when it began.
        cache.cached_bytes = cache.cached_bytes.saturating_add(between.cached_bytes?);
    }
    Some(())
}

/// Bytes trimmed by all members of a wave on one storage, and by one of them. The kernel counts
/// what a device discards.
struct Trims {
    /// Bytes of all members, ramps included.
    of_all: u64,
    /// Bytes of the member, ramp included.
    of_member: u64,
    /// Measured bytes of the member.
    measured: u64,
    /// Reason why the counters do not show the result.
    not_judged: Option<String>,
}

impl Case<'_> {
    /// Judges the trims of one member. The label is `device` only if the device discarded as much
    /// as the wave trimmed, and no other discards account for it.
    fn judge_trims(&self, trims: &Trims) -> DirectionEvidence {
        let (measured, because, share) = match self.trim_share(trims) {
            Err(why) => (Measured::unknown(why.clone()), why, None),
            Ok(None) => (Measured::PageCache, self.said(String::new()), Some(0.0)),
            Ok(Some(share)) => self.judge_discarded(share),
        };
        DirectionEvidence {
            device_share: share,
            layers: self.discards(),
            ..DirectionEvidence::saying(measured, because, trims.measured)
        }
    }

    fn judge_discarded(&self, share: Share) -> (Measured, String, Option<f64>) {
        let top = self.top_name();
        let so_far = tr!("{share} of the bytes were discarded on {top}", share, top);
        if share.place() == DataLocation::Device {
            return (Measured::Device, so_far, Some(share.least));
        }
        let kept = match &self.evidence.storage.mount {
            Some(mount) => tr!(
                "{so_far}: {file_system} may keep or delay them",
                so_far,
                file_system = mount.fs_type
            ),
            None => so_far,
        };
        (Measured::unknown(kept.clone()), kept, None)
    }

    /// Returns the part of a member's trims that the device discarded; `None` if there is no
    /// device.
    fn trim_share(&self, trims: &Trims) -> Result<Option<Share>, String> {
        if self.is_memory()? {
            return Ok(None);
        }
        if let Some(why) = &trims.not_judged {
            return Err(why.clone());
        }
        let top = self.top_name();
        let discarded = self
            .discarded(&top)
            .ok_or_else(|| tr!("the kernel does not count what {top} discards", top))?;
        let off = self.evidence.storage.top().filter(|t| self.switched_off(t));
        if let Some(layer) = off.filter(|_| discarded < trims.of_all) {
            return Err(self.not_counted(&layer.name));
        }
        if discarded > trims.of_all.saturating_add(trims.of_all / 20 + MIB) {
            return Err(tr!(
                "{top} discarded {bytes}, more than the {asked} of this wave: others discarded too",
                top,
                bytes = Bytes(discarded),
                asked = Bytes(trims.of_all)
            ));
        }
        Ok(Some(
            Share::exactly(discarded, trims.of_all).of_part(trims.of_member, trims.of_all),
        ))
    }

    fn discards(&self) -> Vec<(String, u64)> {
        let layers = self.evidence.storage.layers.iter();
        layers
            .filter_map(|layer| Some((layer.name.clone(), self.discarded(&layer.name)?)))
            .collect()
    }
}

/// A stream of a wave with its report.
#[derive(Clone, Copy)]
struct Member<'a> {
    index: usize,
    stream: &'a Stream,
    came: &'a StreamReport,
    /// `true` if the report is the final one.
    ended: bool,
    /// Sync mode in force for the writes.
    sync: OpenSync,
}

impl Member<'_> {
    /// Bytes moved, ramp and checks included.
    fn moved(&self, direction: Direction) -> u64 {
        self.came.moved_bytes[ddir(direction)]
    }

    /// Bytes read and written.
    fn moved_both_ways(&self) -> u64 {
        self.moved(Direction::Read)
            .saturating_add(self.moved(Direction::Write))
    }

    /// `true` if the stream uses direct I/O. Memory maps do not support `O_DIRECT`.
    fn is_direct(&self) -> bool {
        self.stream.durability.direct && !self.stream.engine.kind.maps_memory()
    }

    /// `true` if `msync(2)` follows each store into a map.
    fn syncs_map(&self) -> bool {
        self.stream.durability.direct && self.stream.engine.kind.maps_memory()
    }

    /// `true` if the stream ended without an error.
    fn completed(&self) -> bool {
        self.ended && self.came.errno == 0 && self.came.total_errors == 0
    }

    /// Returns the flushes that the report shows; an interrupted stream may have skipped the last.
    fn flush(&self) -> Flush {
        let durability = &self.stream.durability;
        if let Some(left) = self.came.unflushed_bytes {
            let call = match durability.fdatasync > 0 {
                true => FlushCall::Fdatasync,
                false => FlushCall::Fsync,
            };
            return Flush {
                every: None,
                at_end: (left == 0).then_some(call),
            };
        }
        let made = self.came.sync.count.saturating_sub(self.came.range_syncs);
        let writes = self.came.directions.write.ios;
        let (every, call) = match (durability.fsync, durability.fdatasync) {
            (0, every) => (every, FlushCall::Fdatasync),
            (every, _) => (every, FlushCall::Fsync),
        };
        let on_the_way = writes.checked_div(u64::from(every)).unwrap_or(0);
        let on_close = durability.fsync_on_close.then_some(FlushCall::Fsync);
        Flush {
            every: (every > 0 && made >= on_the_way && self.flushes_cover_writes())
                .then_some((every, call)),
            at_end: (on_close.or(durability.at_end)).filter(|_| self.came.flushed_at_end),
        }
    }

    /// `true` if a flush between writes covers all writes before it: none of them is still in
    /// flight.
    fn flushes_cover_writes(&self) -> bool {
        let engine = &self.stream.engine;
        let one_at_a_time = !engine.kind.is_asynchronous() || engine.iodepth <= 1;
        one_at_a_time || self.stream.durability.drained
    }

    /// `true` if everything that the stream wrote was flushed, or written through, before it ended.
    fn is_durable(&self) -> bool {
        let job = self.job();
        job.sync != OpenSync::None || (self.completed() && job.ends_durable())
    }

    /// `true` if written data may still be in the page cache when the stream ends.
    fn leaves_pages(&self) -> bool {
        self.moved(Direction::Write) > 0 && !self.is_direct() && !self.is_durable()
    }

    /// Returns the number of flush calls, plus the writes that are durable when they return.
    fn flush_calls(&self) -> u64 {
        let synced = match self.sync {
            OpenSync::None => 0,
            _ => self.came.directions.write.ios,
        };
        self.came.sync.count + synced
    }

    /// Returns the stream's own properties as a job. The group fills in sizes and counts.
    fn job(&self) -> Job {
        Job {
            ioengine: self.stream.engine.kind,
            direct: self.is_direct(),
            sync: self.sync,
            flush: self.flush(),
            ..Job::new(&self.stream.name, Rw::Rw, Bytes(4096), Bytes(0))
        }
    }

    /// Returns the bytes that are requested from the block layer if nothing is cached: whole pages,
    /// a separate one for each small random read.
    fn pages_asked(&self) -> u64 {
        const PAGE_BYTES: u64 = 4096;
        let moved = self.moved(Direction::Read);
        let reads = &self.came.directions.read;
        let mean = reads.bytes.checked_div(reads.ios);
        match mean {
            Some(mean @ 1..PAGE_BYTES) if self.stream.blocks.rw.random && !self.is_direct() => {
                moved.div_ceil(mean).saturating_mul(PAGE_BYTES)
            }
            _ => moved,
        }
    }

    /// Returns the number of reads, including those of the ramp.
    fn reads(&self) -> u64 {
        let reads = &self.came.directions.read;
        let mean = reads.bytes.checked_div(reads.ios).unwrap_or(0);
        self.moved(Direction::Read).checked_div(mean).unwrap_or(0)
    }

    /// Returns a lower bound of the device requests that the reads need if nothing is cached:
    /// buffered reads at random offsets do not share a request. Reads that follow such a read
    /// sequentially may.
    fn requests_needed(&self) -> u64 {
        let blocks = &self.stream.blocks;
        if !blocks.rw.random || self.is_direct() {
            return 0;
        }
        let in_a_row = match blocks.rw.sequencer {
            Sequencer::Sequential => u64::from(blocks.rw.every.max(1)),
            Sequencer::Identical => 1,
        };
        let percent = u128::from(blocks.percentage_random.read);
        let random = u128::from(self.reads() / in_a_row) * percent / 100;
        u64::try_from(random).unwrap_or(u64::MAX)
    }

    /// Returns the most requests that the reads are likely to have made beyond
    /// [`Self::requests_needed`]; another job must not count them as its own.
    fn other_requests(&self) -> u64 {
        /// Size that every device accepts as one request.
        const REQUEST_BYTES: u64 = 64 << 10;
        let moved = self.moved(Direction::Read);
        let all = self.reads().max(moved.div_ceil(REQUEST_BYTES));
        all.saturating_sub(self.requests_needed())
    }

    /// Returns the reason why the writes are not judged: a write or a flush failed. Uses the
    /// counters, because only the first errors are stored in detail.
    fn write_failure(&self) -> Option<String> {
        let (stream, came) = (self.stream, self.came);
        let filled = stream.length.fill_device && came.total_errors == 0;
        let dropped = came.directions.write.dropped_ios > 0 && !filled;
        // Errors without an I/O: of a flush, or of the engine itself.
        let flush = stream.blocks.rw.write && came.total_errors > came.errors.count;
        (dropped || flush).then(|| self.error_in_words(Some(Direction::Write)))
    }

    /// Returns the error of a trim.
    fn trim_failure(&self) -> Option<String> {
        (self.came.directions.trim.dropped_ios > 0).then(|| self.error_in_words(None))
    }

    fn error_in_words(&self, direction: Option<Direction>) -> String {
        let mut located = self.came.errors.first.iter();
        let located = located.find(|error| error.direction == direction);
        let words = located.map(|error| error.message.clone());
        let words = words.or_else(|| self.came.problem.clone());
        let words = words.unwrap_or_else(|| tr!("it was to be ignored").to_owned());
        tr!("job {name}: {words}", name = self.stream.name, words)
    }

    /// Returns the bytes of one pass over the region, where the parts of the files are not known.
    fn pass_bytes(&self) -> u64 {
        let files: u64 = self.came.files.iter().map(|(_, size)| size.0).sum();
        let region = match self.stream.region.size {
            Some(Extent::Bytes(size)) => size,
            _ => files,
        };
        if files > 0 { region.min(files) } else { region }
    }

    /// Returns the mean size of the reads.
    fn mean_read(&self) -> Option<u64> {
        let reads = &self.came.directions.read;
        reads.bytes.checked_div(reads.ios)
    }

    /// Returns the times of the first I/O and of the last, on the load's clock.
    fn span_ns(&self) -> (u64, u64) {
        let took = self
            .came
            .runtime_ns
            .saturating_add(self.stream.length.ramp_time.0);
        let ended = self.came.elapsed_ns;
        let stopped = self.came.stopped_ns.unwrap_or(ended);
        // The run time includes the reading back.
        let until = if self.reads_back() { ended } else { stopped };
        (until.saturating_sub(took), stopped)
    }

    /// `true` if the stream read its data back after its clock had stopped.
    fn reads_back(&self) -> bool {
        let verify = self.stream.verify.as_ref();
        self.stream.blocks.rw.write && verify.is_some_and(|verify| verify.read_back)
    }
}

const fn ddir(direction: Direction) -> Ddir {
    match direction {
        Direction::Read => Ddir::Read,
        Direction::Write => Ddir::Write,
    }
}

#[cfg(test)]
mod tests;

//! Writing and checking storage for hours to weeks.
//!
//! Every block is read and compared before it is overwritten, so each write is checked
//! after a whole pass over the area, and all of them once more at the end. After every
//! stretch the area is flushed, and the state is stored as a checkpoint.

use crate::capacity::{BlockStore, DirectFile, Use};
use crate::memory::{no_room, stress};
use crate::observer::{Meter, ProgressReporter};
use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_engine::buffer::IoBuf;
use assay_engine::held::{self, shown};
use assay_model::act::soak::{
    Checkpoint, Fault, Health, HeldContent, SECTOR, Soak, SoakOrder, SoakStep, Stretch,
};
use assay_model::act::{ActReport, StepDetail};
use assay_model::job::{Flush, FlushCall, Job, Rw};
use assay_model::rng::SplitMix64;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::NoteWeight;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

/// Width of an interval of the series.
const INTERVAL: Nanos = Nanos::secs(1);
/// Blocks that may be unwritable before the soak ends, at most.
const MOST_SUSPECTS: usize = 64;

/// Device information that only the agent can look up.
pub trait DeviceHealth {
    /// Returns the device's current health.
    fn health(&self) -> Option<Health>;
}

/// Carries out a soak.
///
/// # Errors
/// If it cannot begin or continue, or was stopped. Its file then remains, so that the
/// soak can be resumed.
pub fn run(
    work: &Soak,
    around: &dyn DeviceHealth,
    context: &mut Context<'_>,
) -> Result<ActReport, ActError> {
    let mut soaker = Soaker {
        work,
        around,
        area: Area::open(work)?,
        checkpoint: work.from.clone().unwrap_or_default(),
        steps_done: 0,
    };
    let beside = Beside::new(work.memory_bytes)?;
    if work.from.is_some() {
        soaker.stretch(StretchKind::Resuming, &beside, context)?;
    }
    while !soaker.is_over() {
        soaker.stretch(StretchKind::Writing, &beside, context)?;
    }
    soaker.stretch(StretchKind::Checking, &beside, context)?;
    drop(beside);
    if work.own_file && !work.keep {
        held::remove_file(&work.path)
            .map_err(|error| ActError::io("remove", &work.path, &error))?;
    }
    Ok(ActReport::Steps)
}

/// Kind of stretch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StretchKind {
    Resuming,
    Writing,
    Checking,
}

/// A soak in progress.
struct Soaker<'a> {
    work: &'a Soak,
    around: &'a dyn DeviceHealth,
    area: Area,
    checkpoint: Checkpoint,
    steps_done: u32,
}

impl Soaker<'_> {
    fn is_over(&self) -> bool {
        let Checkpoint {
            next, elapsed_ns, ..
        } = self.checkpoint;
        let limit = self.work.limit_ns;
        self.work.last.is_some_and(|last| next >= last)
            || limit.is_some_and(|limit| elapsed_ns >= limit)
    }

    /// Runs one step, which is stored before the next one begins.
    fn stretch(
        &mut self,
        kind: StretchKind,
        beside: &Beside,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let job = self.job(kind);
        let paths = [self.work.path.as_path()];
        let step = ObservedStep {
            job: &job,
            paths: &paths,
        };
        context.observer.begins(step);
        context.observer.clock_starts(step);
        let mut meter = Meter::start(job.interval.0);
        let mut came = StretchResult::default();
        let done = match kind {
            StretchKind::Writing => self.write(&mut meter, &mut came, context),
            StretchKind::Resuming | StretchKind::Checking => {
                self.check(kind, &mut meter, &mut came, context)
            }
        };
        let measured = meter.stop();
        context.observer.clock_stopped();
        self.checkpoint.elapsed_ns += measured.elapsed_ns;
        self.checkpoint.faults += came.faults_seen;
        (self.checkpoint.memory_flips, self.checkpoint.memory_bytes) =
            beside.since(self.work.from.as_ref());
        let outcome = ActError::outcome_of(&done);
        let detail = self.step(kind, came);
        let came = StepOutcome {
            measured: Some(measured),
            detail: Some(StepDetail::Soak(Box::new(detail))),
        };
        context.observer.ended(outcome, came);
        context.observer.keep();
        self.steps_done += 1;
        done
    }

    /// Builds the step of a stretch from its result.
    fn step(&self, kind: StretchKind, came: StretchResult) -> SoakStep {
        let block = self.work.block_bytes;
        SoakStep {
            of: match kind {
                StretchKind::Writing => Stretch::Writing,
                StretchKind::Checking => Stretch::Checking,
                StretchKind::Resuming => Stretch::Resuming {
                    newer_writes: came.newer_writes,
                    interrupted_blocks: came.interrupted_blocks,
                },
            },
            checkpoint: self.checkpoint.clone(),
            area_bytes: self.work.blocks.saturating_mul(block),
            filled_bytes: self.checkpoint.next.min(self.work.blocks) * block,
            faults: came.faults,
            health: self.around.health(),
        }
    }

    /// Checks and writes until the next checkpoint is due. Returns early after a fault,
    /// so that it is stored at once.
    fn write(
        &mut self,
        meter: &mut Meter,
        came: &mut StretchResult,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let began = self.checkpoint.clone();
        let mut progress = ProgressReporter::new(
            "soak",
            self.steps_done,
            self.work
                .last
                .map(|last| last.saturating_sub(began.next) * self.work.block_bytes),
        );
        let due = |meter: &Meter| {
            let limit = self.work.limit_ns.unwrap_or(u64::MAX);
            let left = limit.saturating_sub(began.elapsed_ns);
            meter.now_ns() >= self.work.checkpoint_ns.min(left)
        };
        let last = self.work.last.unwrap_or(u64::MAX);
        let mut ended = Ok(());
        while self.checkpoint.next < last && !due(meter) && came.faults_seen == 0 {
            if context.stopped() {
                ended = Err(ActError::Stopped);
                break;
            }
            let around = (&mut *meter, &*context);
            ended = self.area.renew(&mut self.checkpoint, around, came);
            if ended.is_err() {
                break;
            }
            if self.checkpoint.suspects.len() > MOST_SUSPECTS {
                ended = Err(self.worn_out());
                break;
            }
            let written = self.checkpoint.written_bytes - began.written_bytes;
            progress.report(context, written);
        }
        let is_gone = |ended: &Result<(), ActError>| matches!(ended, Err(ActError::Gone { .. }));
        if !is_gone(&ended) {
            let flushed = self.area.flush(meter, &mut self.checkpoint, context);
            ended = flushed.and(ended);
        }
        if is_gone(&ended) {
            // Unflushed writes are made again, as after a kill.
            self.checkpoint = began;
        }
        ended
    }

    fn worn_out(&self) -> ActError {
        ActError::Failed {
            message: format!(
                "{} blocks of {} cannot be written: the soak ends",
                self.checkpoint.suspects.len(),
                shown(&self.work.path)
            ),
            errno: Some(rustix::io::Errno::IO.raw_os_error()),
        }
    }

    /// Reads the whole area.
    fn check(
        &mut self,
        kind: StretchKind,
        meter: &mut Meter,
        came: &mut StretchResult,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let name = if kind == StretchKind::Resuming {
            "resume"
        } else {
            "check"
        };
        let total = self.work.blocks * self.work.block_bytes;
        let mut progress = ProgressReporter::new(name, self.steps_done, Some(total));
        for block in 0..self.work.blocks {
            if context.stopped() {
                return Err(ActError::Stopped);
            }
            let newer = kind == StretchKind::Resuming;
            let around = (&mut *meter, &*context);
            (self.area).check(block, newer, &mut self.checkpoint, around, came)?;
            progress.report(context, (block + 1) * self.work.block_bytes);
        }
        self.checkpoint.written_bytes += came.newer_writes * self.work.block_bytes;
        if came.newer_writes + came.interrupted_blocks > 0 {
            let text = format!(
                "{} writes were made after the last checkpoint, and {} was under way: they count, \
                 and are made again",
                came.newer_writes, came.interrupted_blocks
            );
            context.observer.note(NoteWeight::Info, text);
        }
        Ok(())
    }

    fn job(&self, kind: StretchKind) -> Job {
        let (name, rw, description) = match kind {
            StretchKind::Writing => (
                "soak",
                Rw::Rw,
                "each block is checked, then written anew; every other pass far from block to block",
            ),
            StretchKind::Resuming => ("resume", Rw::Read, "the whole area, against the checkpoint"),
            StretchKind::Checking => (
                "check",
                Rw::Read,
                "the whole area, against what was written",
            ),
        };
        let size = Bytes(self.work.blocks.saturating_mul(self.work.block_bytes));
        let writes = kind == StretchKind::Writing;
        Job {
            direct: self.area.is_direct(),
            interval: INTERVAL,
            flush: Flush {
                every: None,
                at_end: writes.then_some(FlushCall::Fdatasync),
            },
            description: Some(description.to_owned()),
            ..Job::new(name, rw, Bytes(self.work.block_bytes), size)
        }
    }
}

/// A thread that writes and checks memory until it is dropped.
struct Beside {
    counts: Arc<MemoryCounts>,
    thread: Option<JoinHandle<()>>,
}

/// Counters of the thread.
#[derive(Default)]
struct MemoryCounts {
    stop: AtomicBool,
    flips: AtomicU64,
    bytes: AtomicU64,
}

impl Beside {
    /// Starts the test of `bytes` of memory; does nothing for `None`.
    fn new(bytes: Option<u64>) -> Result<Self, ActError> {
        let counts = Arc::new(MemoryCounts::default());
        let thread = match bytes {
            None => None,
            Some(bytes) => {
                let mut part = stress::part(bytes).map_err(|error| no_room(bytes, &error))?;
                let counts = Arc::clone(&counts);
                let run = move || {
                    let mut seed = 0;
                    while !counts.stop.load(Ordering::Relaxed) {
                        seed += 1;
                        let (flips, bytes) = stress::random(&mut part, seed, &counts.stop);
                        counts.flips.fetch_add(flips, Ordering::Relaxed);
                        counts.bytes.fetch_add(bytes, Ordering::Relaxed);
                    }
                };
                Some(Builder::new().spawn(run).map_err(ActError::no_thread)?)
            }
        };
        Ok(Self { counts, thread })
    }

    /// Returns flips and bytes so far, including those before the run was resumed.
    fn since(&self, from: Option<&Checkpoint>) -> (u64, u64) {
        let (flips, bytes) = from.map_or((0, 0), |from| (from.memory_flips, from.memory_bytes));
        (
            flips + self.counts.flips.load(Ordering::Relaxed),
            bytes + self.counts.bytes.load(Ordering::Relaxed),
        )
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.counts.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The panic handler has printed the message of a panic.
            let _ = thread.join();
        }
    }
}

/// Faults of a stretch listed in detail, at most; all are counted.
const FAULTS_KEPT: usize = 64;

/// Result of a stretch.
#[derive(Default)]
struct StretchResult {
    faults_seen: u64,
    faults: Vec<Fault>,
    /// Writes after the checkpoint, up to the last one that is complete.
    newer_writes: u64,
    interrupted_blocks: u64,
}

/// Storage that a soak writes and checks.
struct Area {
    store: DirectFile,
    order: SoakOrder,
    seed: u64,
    blocks: u64,
    block_bytes: u64,
    found: IoBuf,
    expected: IoBuf,
    /// First write that is compared again. Blocks of earlier writes may contain them already,
    /// because they were made before a kill.
    tolerant_until: u64,
}

impl Area {
    /// Opens the device, or the file, which is created at the begin of a run.
    fn open(work: &Soak) -> Result<Self, ActError> {
        if work.own_file && work.from.is_none() {
            make(&work.path, work.blocks.saturating_mul(work.block_bytes))?;
        }
        let store = DirectFile::open(&work.path, Use::Write)?;
        let wanted = work.blocks.saturating_mul(work.block_bytes);
        if store.bytes() < wanted {
            return Err(ActError::Refused(format!(
                "{} has {} bytes instead of {wanted}: it has changed since the run began",
                shown(&work.path),
                store.bytes()
            )));
        }
        Ok(Self {
            store,
            order: SoakOrder::new(work.blocks, work.seed),
            seed: work.seed,
            blocks: work.blocks,
            block_bytes: work.block_bytes,
            found: IoBuf::of(work.block_bytes)?,
            expected: IoBuf::of(work.block_bytes)?,
            tolerant_until: 0,
        })
    }

    const fn is_direct(&self) -> bool {
        self.store.is_direct()
    }

    /// Makes the next write, after its block was compared with the previous one.
    fn renew(
        &mut self,
        checkpoint: &mut Checkpoint,
        (meter, context): (&mut Meter, &Context<'_>),
        came: &mut StretchResult,
    ) -> Result<(), ActError> {
        let number = checkpoint.next;
        let block = self.order.block_of(number);
        if number >= self.tolerant_until && !checkpoint.suspects.contains(&block) {
            self.check(block, false, checkpoint, (meter, context), came)?;
        }
        fill_block(self.expected.block_mut(), self.seed, number, block);
        let offset = block * self.block_bytes;
        match (self.store).write_counted(meter, offset, self.expected.block()) {
            Ok(()) => {
                checkpoint.written_bytes += self.block_bytes;
                checkpoint.suspects.retain(|suspect| *suspect != block);
            }
            Err(_) => {
                meter.is_there(context, checkpoint.written_bytes)?;
                checkpoint.errors += 1;
                if !checkpoint.suspects.contains(&block) {
                    checkpoint.suspects.push(block);
                }
            }
        }
        checkpoint.next += 1;
        Ok(())
    }

    /// Flushes the area; on return, everything written is durable.
    fn flush(
        &mut self,
        meter: &mut Meter,
        checkpoint: &mut Checkpoint,
        context: &Context<'_>,
    ) -> Result<(), ActError> {
        let Err(error) = self.store.flush_counted(meter, 0) else {
            return Ok(());
        };
        meter.is_there(context, checkpoint.written_bytes)?;
        checkpoint.errors += 1;
        Err(ActError::Failed {
            message: format!("cannot flush the written blocks: {error}"),
            errno: error.raw_os_error(),
        })
    }

    /// Compares a block with its last write; with `newer`, it may also contain a write after the
    /// checkpoint.
    fn check(
        &mut self,
        block: u64,
        newer: bool,
        checkpoint: &mut Checkpoint,
        (meter, context): (&mut Meter, &Context<'_>),
        came: &mut StretchResult,
    ) -> Result<(), ActError> {
        let last = self.order.last_before(checkpoint.next, block);
        if (last.is_none() && !newer) || checkpoint.suspects.contains(&block) {
            return Ok(());
        }
        let offset = block * self.block_bytes;
        let read = (self.store).read_counted(meter, offset, self.found.block_mut());
        if let Err(error) = read {
            meter.is_there(context, checkpoint.written_bytes)?;
            checkpoint.errors += 1;
            if let Some(number) = last {
                came.fault(self.unreadable(block, number, &error));
            }
            return Ok(());
        }
        checkpoint.verified_bytes += self.block_bytes;
        if last.is_some_and(|number| self.holds(number, block)) {
            return Ok(());
        }
        if newer && self.is_newer(block, checkpoint, came) {
            return Ok(());
        }
        if let Some(number) = last {
            came.fault(self.fault(block, number));
        }
        Ok(())
    }

    /// Returns true if the block read has the content of a certain write.
    fn holds(&mut self, number: u64, block: u64) -> bool {
        fill_block(self.expected.block_mut(), self.seed, number, block);
        self.found.block() == self.expected.block()
    }

    /// Returns true if the block read belongs, at least in part, to a write after the checkpoint,
    /// which was not flushed and may or may not have completed.
    fn is_newer(&mut self, block: u64, checkpoint: &Checkpoint, came: &mut StretchResult) -> bool {
        let newest = newest_write(self.found.block(), self.seed, block);
        // A number far beyond the checkpoint is not a write of this run.
        let latest = checkpoint
            .next
            .saturating_add(self.blocks.saturating_mul(1 << 16));
        let possible = |number: &u64| {
            (checkpoint.next..latest).contains(number) && self.order.block_of(*number) == block
        };
        let Some(number) = newest.filter(possible) else {
            return false;
        };
        self.tolerant_until = self.tolerant_until.max(number + 1);
        if self.holds(number, block) {
            // Writes are sequential, so all before this one were made too.
            came.newer_writes = came.newer_writes.max(number + 1 - checkpoint.next);
        } else if is_interrupted_write(self.found.block(), self.seed, block) {
            came.interrupted_blocks += 1;
        } else {
            came.fault(self.fault(block, number));
        }
        true
    }

    /// Describes the fault found in place of a write; `expected` receives the content of that
    /// write.
    fn fault(&mut self, block: u64, number: u64) -> Fault {
        fill_block(self.expected.block_mut(), self.seed, number, block);
        let (found, expected) = (self.found.block(), self.expected.block());
        let differ = || {
            found
                .iter()
                .zip(expected)
                .enumerate()
                .filter(|(_, (a, b))| a != b)
        };
        let offset = block * self.block_bytes;
        Fault {
            block,
            offset,
            first_byte: offset + differ().next().map_or(0, |(at, _)| at as u64),
            differing_bytes: differ().count() as u64,
            expected: number,
            found: held_content(found, expected, self.seed, number, block),
        }
    }

    fn unreadable(&self, block: u64, number: u64, error: &io::Error) -> Fault {
        let offset = block * self.block_bytes;
        Fault {
            block,
            offset,
            first_byte: offset,
            differing_bytes: self.block_bytes,
            expected: number,
            found: HeldContent::Unreadable {
                errno: error.raw_os_error(),
            },
        }
    }
}

impl StretchResult {
    fn fault(&mut self, fault: Fault) {
        self.faults_seen += 1;
        if self.faults.len() < FAULTS_KEPT {
            self.faults.push(fault);
        }
    }
}

/// Creates a file of that length.
fn make(path: &Path, bytes: u64) -> Result<(), ActError> {
    let made = held::create_new(path).map_err(io::Error::from);
    let made = made.and_then(|file| file.set_len(bytes));
    made.map_err(|error| ActError::io("make", path, &error))
}

/// Words of a sector.
const SECTOR_WORDS: usize = SECTOR / 8;
/// First word of every sector, mixed with the seed.
const MAGIC: u64 = 0x4153_5341_5953_4f4b;

/// Fills a block: the first words of each sector are the mark, the number of the write, the block
/// and the position in it; the others are random, derived from all of these.
fn fill_block(bytes: &mut [u8], seed: u64, number: u64, block: u64) {
    for (place, sector) in (0_u64..).zip(bytes.chunks_exact_mut(SECTOR)) {
        fill_sector(sector, seed, number, block, place);
    }
}

fn fill_sector(sector: &mut [u8], seed: u64, number: u64, block: u64, place: u64) {
    let (words, _) = sector.as_chunks_mut::<8>();
    let mix = SplitMix64::mix;
    let mut rng = SplitMix64::new(mix(seed ^ mix(number) ^ mix(block ^ place << 48)));
    for (index, word) in words.iter_mut().enumerate() {
        let value = match index {
            0 => MAGIC ^ seed,
            1 => number,
            2 => block,
            3 => place,
            _ => rng.next_u64(),
        };
        *word = value.to_le_bytes();
    }
}

/// Identity stored in a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SectorHead {
    number: u64,
    block: u64,
    place: u64,
    /// True if all bytes of the sector are intact.
    whole: bool,
}

fn sector_head(sector: &[u8], seed: u64) -> Option<SectorHead> {
    let (words, _) = sector.as_chunks::<8>();
    let word = |index: usize| words.get(index).map(|bytes| u64::from_le_bytes(*bytes));
    if word(0)? != MAGIC ^ seed {
        return None;
    }
    let (number, block, place) = (word(1)?, word(2)?, word(3)?);
    let mut same = [0; 8 * SECTOR_WORDS];
    fill_sector(&mut same, seed, number, block, place);
    Some(SectorHead {
        number,
        block,
        place,
        whole: same == sector,
    })
}

/// Classifies the content of a block that differs from its last write.
fn held_content(found: &[u8], expected: &[u8], seed: u64, number: u64, block: u64) -> HeldContent {
    if found.iter().all(|byte| *byte == 0) {
        return HeldContent::Zeros;
    }
    let sectors = found.chunks_exact(SECTOR);
    let all: Vec<Option<SectorHead>> = sectors.map(|sector| sector_head(sector, seed)).collect();
    let is_new = |said: &&Option<SectorHead>| {
        said.is_some_and(|s| s.whole && s.number == number && s.block == block)
    };
    let new_sectors = all.iter().filter(is_new).count() as u64;
    let whole = |said: &Option<SectorHead>| said.is_some_and(|said| said.whole);
    let Some(first) = all
        .first()
        .copied()
        .flatten()
        .filter(|_| all.iter().all(whole))
    else {
        return flipped_content(found, expected, &all, number, block);
    };
    let same_block = |said: &Option<SectorHead>| said.is_some_and(|said| said.block == first.block);
    let same_write =
        |said: &Option<SectorHead>| said.is_some_and(|said| said.number == first.number);
    if first.block != block && all.iter().all(same_block) {
        HeldContent::Misplaced { block: first.block }
    } else if all.iter().all(same_write) && first.block == block && new_sectors == 0 {
        HeldContent::Stale {
            number: first.number,
        }
    } else {
        HeldContent::Torn {
            new_sectors,
            sectors: all.len() as u64,
        }
    }
}

/// Classifies a block that does not consist of intact sectors of assay: bits of the expected write
/// differ, other writes overwrote parts, or everything is foreign.
fn flipped_content(
    found: &[u8],
    expected: &[u8],
    all: &[Option<SectorHead>],
    number: u64,
    block: u64,
) -> HeldContent {
    let own =
        |said: &&Option<SectorHead>| said.is_some_and(|s| s.number == number && s.block == block);
    let known = all.iter().flatten().count();
    let bits: u64 = (found.iter().zip(expected))
        .map(|(a, b)| u64::from((a ^ b).count_ones()))
        .sum();
    // Unrelated random data differs in half of its bits.
    let differing = found.iter().zip(expected).filter(|(a, b)| a != b).count() as u64;
    if known == 0 && bits * 4 > found.len() as u64 * 8 {
        return HeldContent::Foreign;
    }
    if differing < SECTOR as u64 && bits < 8 * SECTOR as u64 / 4 {
        return HeldContent::Flipped { bits };
    }
    HeldContent::Torn {
        new_sectors: all.iter().filter(own).count() as u64,
        sectors: all.len() as u64,
    }
}

/// Returns true if every sector is an intact sector of a write to this block, or was never written,
/// as after an interrupted write. Any other sector means damage.
fn is_interrupted_write(found: &[u8], seed: u64, block: u64) -> bool {
    let mut sectors = found.chunks_exact(SECTOR);
    sectors.all(|sector| {
        let own = sector_head(sector, seed).is_some_and(|said| said.whole && said.block == block);
        own || sector.iter().all(|byte| *byte == 0)
    })
}

/// Returns the highest number of a write of which the block contains an intact sector.
fn newest_write(found: &[u8], seed: u64, block: u64) -> Option<u64> {
    let sectors = found.chunks_exact(SECTOR);
    let whole = sectors.filter_map(|sector| sector_head(sector, seed));
    let own = whole.filter(|said| said.whole && said.block == block);
    own.map(|said| said.number).max()
}

#[cfg(test)]
mod tests;

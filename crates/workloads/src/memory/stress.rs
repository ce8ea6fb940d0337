//! Memory test: patterns over as much memory as is safe, on all CPUs at once.
//!
//! A phase of a pattern covers all of the memory. If a phase finds a flip, the step ends with it
//! and is stored before the next phase begins.
//!
//! A `Team` of threads tests: each has a part of the memory, and waits for requests.

use super::{Steps, lost_threads, no_room};
use crate::observer::{ProgressReporter, nanos};
use crate::{ActError, Context};
use assay_engine::memory::{Cells, bind_to};
use assay_model::act::memory::{
    Bit, BitFlip, Machine, MemoryPattern, MemoryStepResult, Stress, StressStep, Untested,
    stress_job,
};
use assay_model::rng::SplitMix64;
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Available memory that is left to other processes, in bytes; at most a quarter of it.
const LEFT: u64 = 512 << 20;
/// Memory to test, at least, in bytes.
const LEAST: u64 = 1 << 20;
/// Flips listed in detail for each step, at most.
const FLIPS_KEPT: usize = 64;

/// Writes and checks the patterns until the passes are done or the time limit is reached.
pub(super) fn run(
    work: &Stress,
    steps: &mut Steps<'_>,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let machine = steps.around.machine();
    let bytes = bytes_to_test(work, &machine)?;
    let threads = machine.cpus.len().max(1);
    let words = usize::try_from(bytes / 8 / threads as u64).unwrap_or(usize::MAX);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (say, received) = channel();
        let mut orders = Vec::new();
        for (thread, number) in (0_u32..).zip(0..threads) {
            let (order, to_do) = channel();
            orders.push(order);
            let cpu = machine.cpus.get(number).copied();
            let (say, stop, done) = (say.clone(), &stop, &done);
            let life = move || match ThreadMemory::new(words, cpu, thread) {
                Ok(part) => serve(part, &to_do, &say, stop, done),
                Err(error) => drop(say.send(StressReply::Failed(error))),
            };
            let started = Builder::new().spawn_scoped(scope, life);
            started.map_err(ActError::no_thread)?;
        }
        drop(say);
        let team = Team {
            orders,
            received,
            stop: &stop,
            done: &done,
        };
        let parts = team.parts(bytes)?;
        warn(&parts, &machine, context);
        let mut tester = Tester {
            work,
            team,
            parts,
            machine,
            began: Instant::now(),
            flipped: false,
        };
        tester.test(steps, context)
    })
}

/// Allocates memory for [`random`], without binding it to a CPU.
pub(crate) fn part(bytes: u64) -> io::Result<ThreadMemory> {
    let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
    ThreadMemory::new(words, None, 0)
}

/// Writes random words and checks them; returns the flips found, and the bytes transferred.
pub(crate) fn random(part: &mut ThreadMemory, seed: u64, stop: &AtomicBool) -> (u64, u64) {
    let done = AtomicU64::new(0);
    let phases = 0..MemoryPattern::Random.phases();
    let swept = phases.map(|phase| {
        let sweep = sweep_of(MemoryPattern::Random, phase);
        part.sweep(sweep, phase, seed, stop, &done)
    });
    swept.fold((0, 0), |(flips, bytes), one| {
        (flips + one.flips, bytes + one.moved_bytes)
    })
}

/// Returns the requested number of bytes, or the safe maximum.
fn bytes_to_test(work: &Stress, machine: &Machine) -> Result<u64, ActError> {
    let room = machine.room_bytes();
    let safe = room.map(|room| room - LEFT.min(room / 4));
    let bytes = match (work.bytes, safe) {
        (Some(wanted), Some(safe)) if wanted > safe => {
            return Err(ActError::Refused(format!(
                "{} are more than the {} that can be used without starving other processes: choose a \
                 smaller --stress-size",
                Bytes(wanted),
                Bytes(safe)
            )));
        }
        (Some(wanted), _) => wanted,
        (None, Some(safe)) => safe,
        (None, None) => {
            return Err(ActError::Refused(
                "the kernel does not report the available memory: give the amount to test \
                 with --stress-size"
                    .to_owned(),
            ));
        }
    };
    if bytes < LEAST {
        return Err(ActError::Refused(format!(
            "{} is too little to test: give {} or more",
            Bytes(bytes),
            Bytes(LEAST)
        )));
    }
    Ok(bytes)
}

/// Warns the user before the test begins.
fn warn(parts: &[MemoryPlacement], machine: &Machine, context: &mut Context<'_>) {
    let mut note = |text| context.observer.note(NoteWeight::Warning, text);
    if parts.iter().any(|part| !part.locked) {
        note(
            "the memory could not be locked (limit of this user): pages may be swapped out, and are then \
             tested in part (ulimit -l)"
                .to_owned(),
        );
    }
    let tested: u64 = parts.iter().map(|part| part.bytes).sum();
    if let Some(last) = machine.last_level_bytes().filter(|last| tested <= *last) {
        let (tested, last) = (Bytes(tested), Bytes(last));
        note(format!(
            "the tested {tested} fit into the CPU caches ({last}): main memory itself is hardly tested"
        ));
    }
}

/// A test in progress.
struct Tester<'a> {
    work: &'a Stress,
    team: Team<'a>,
    parts: Vec<MemoryPlacement>,
    machine: Machine,
    began: Instant,
    /// Set after a bit was flipped on purpose, in a test of assay.
    flipped: bool,
}

impl Tester<'_> {
    fn test(&mut self, steps: &mut Steps<'_>, context: &mut Context<'_>) -> Result<(), ActError> {
        for pass in 1.. {
            if self.work.passes > 0 && pass > self.work.passes {
                break;
            }
            for pattern in MemoryPattern::ALL {
                if self.is_over() {
                    return Ok(());
                }
                self.pattern(pattern, pass, steps, context)?;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let limit = self.work.limit_ns.map(Duration::from_nanos);
        limit.is_some_and(|limit| self.began.elapsed() >= limit)
    }

    /// Runs all phases of a pattern. Each phase that finds a flip ends a step, which is stored.
    fn pattern(
        &mut self,
        pattern: MemoryPattern,
        pass: u32,
        steps: &mut Steps<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let job = stress_job(pattern);
        let mut phase = 0;
        while phase < pattern.phases() && !self.is_over() {
            let around = steps.around;
            let mut ended = Ok(());
            steps.take(&job, context, |context, done| {
                let mut step = self.step(pattern, pass, phase);
                ended = self.phases(&mut step, done, context);
                for flip in &mut step.first {
                    flip.physical = around.physical(flip.address);
                }
                phase = step.end_phase;
                let outcome = ActError::outcome_of(&ended);
                Ok((MemoryStepResult::Stress(step), outcome))
            })?;
            ended?;
        }
        Ok(())
    }

    /// Runs the phases from `step.end_phase` on, up to the first that finds a flip.
    fn phases(
        &mut self,
        step: &mut StressStep,
        steps_done: u32,
        context: &mut Context<'_>,
    ) -> Result<(), ActError> {
        let pattern = step.pattern;
        let words = step.tested_bytes / 8;
        let name = format!("{} (pass {})", pattern.name(), step.pass);
        let total = 8 * words * u64::from(pattern.phases());
        let mut progress = ProgressReporter::new(name, steps_done, Some(total));
        let began = Instant::now();
        // Each pass has different random words, which are the same for all phases of a pattern.
        let seed = context.seed ^ u64::from(step.pass);
        while step.end_phase < pattern.phases() && step.flips == 0 && !self.is_over() {
            let phase = step.end_phase;
            let before = 8 * words * u64::from(phase);
            let swept = self.team.sweep((pattern, phase, seed), |done| {
                progress.report(context, before + 8 * done);
                !context.stopped()
            })?;
            take(step, &swept);
            step.elapsed_ns = nanos(began.elapsed());
            if !swept.iter().all(|swept| swept.whole) {
                return Err(ActError::Stopped);
            }
            step.end_phase += 1;
            self.flip_once(step)?;
        }
        Ok(())
    }

    /// Flips a bit after the very first phase, if a test of assay requests it.
    fn flip_once(&mut self, step: &mut StressStep) -> Result<(), ActError> {
        if let (Some(bit), false) = (self.work.flip, self.flipped) {
            self.flipped = true;
            step.flipped_on_purpose = Some(bit);
            self.team.flip(bit)?;
        }
        Ok(())
    }

    /// Creates a step that begins with a phase.
    fn step(&self, pattern: MemoryPattern, pass: u32, phase: u32) -> StressStep {
        let tested_bytes = self.parts.iter().map(|part| part.bytes).sum();
        let locked = self.parts.iter().filter(|part| part.locked);
        let total = self.machine.total_bytes;
        StressStep {
            pattern,
            pass,
            first_phase: phase,
            end_phase: phase,
            tested_bytes,
            parts: self.parts.iter().map(|p| (p.address, p.bytes)).collect(),
            cpus: self.parts.iter().map(|part| part.cpu).collect(),
            locked_bytes: locked.map(|part| part.bytes).sum(),
            moved_bytes: 0,
            elapsed_ns: 0,
            flips: 0,
            first: Vec::new(),
            untested: Untested {
                bytes: total.map(|total| total.saturating_sub(tested_bytes)),
            },
            flipped_on_purpose: None,
        }
    }
}

/// Adds the findings of all threads in a phase.
fn take(step: &mut StressStep, swept: &[Swept]) {
    for one in swept {
        step.moved_bytes += one.moved_bytes;
        step.flips += one.flips;
        let room = FLIPS_KEPT.saturating_sub(step.first.len());
        step.first.extend(one.first.iter().take(room));
    }
}

/// Request to a thread.
#[derive(Clone, Copy)]
enum StressRequest {
    /// Phase of a pattern with a seed.
    Sweep(MemoryPattern, u32, u64),
    /// Bit to flip in a test of assay.
    Flip(Bit),
}

/// Message from a thread.
enum StressReply {
    Failed(io::Error),
    Ready(MemoryPlacement),
    Swept(Swept),
    Flipped,
}

/// Location of a thread's memory.
struct MemoryPlacement {
    thread: u32,
    cpu: Option<u32>,
    address: u64,
    bytes: u64,
    locked: bool,
}

/// Body of a thread, which ends with the channel of requests.
fn serve(
    mut part: ThreadMemory,
    orders: &Receiver<StressRequest>,
    say: &Sender<StressReply>,
    stop: &AtomicBool,
    done: &AtomicU64,
) {
    let (address, bytes) = part.place();
    let ready = StressReply::Ready(MemoryPlacement {
        thread: part.thread,
        cpu: part.cpu,
        address,
        bytes,
        locked: part.locked,
    });
    // Without a receiver, no requests follow either.
    let _ = say.send(ready);
    for order in orders {
        let word = match order {
            StressRequest::Sweep(pattern, phase, seed) => {
                let seed = seed ^ u64::from(part.thread) << 32;
                StressReply::Swept(part.sweep(sweep_of(pattern, phase), phase, seed, stop, done))
            }
            StressRequest::Flip(bit) => {
                part.flip(bit);
                StressReply::Flipped
            }
        };
        let _ = say.send(word);
    }
}

/// Threads that wait for requests.
struct Team<'a> {
    orders: Vec<Sender<StressRequest>>,
    received: Receiver<StressReply>,
    stop: &'a AtomicBool,
    /// Words of the current sweep that are done.
    done: &'a AtomicU64,
}

impl Team<'_> {
    /// Waits until all threads have their memory.
    fn parts(&self, bytes: u64) -> Result<Vec<MemoryPlacement>, ActError> {
        let mut parts = Vec::new();
        for _ in &self.orders {
            match self.received.recv() {
                Ok(StressReply::Ready(place)) => parts.push(place),
                Ok(StressReply::Failed(error)) => return Err(no_room(bytes, &error)),
                _ => return Err(lost_threads()),
            }
        }
        parts.sort_by_key(|part| part.thread);
        Ok(parts)
    }

    /// Runs a sweep on all threads; `alive` is called a few times a second, and returns true to
    /// continue.
    fn sweep(
        &self,
        (pattern, phase, seed): (MemoryPattern, u32, u64),
        mut alive: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Swept>, ActError> {
        self.done.store(0, Ordering::Relaxed);
        for thread in &self.orders {
            let order = StressRequest::Sweep(pattern, phase, seed);
            thread.send(order).map_err(|_| lost_threads())?;
        }
        let mut all = Vec::new();
        while all.len() < self.orders.len() {
            match self.received.recv_timeout(Duration::from_millis(100)) {
                Ok(StressReply::Swept(swept)) => all.push(swept),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(lost_threads()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !alive(self.done.load(Ordering::Relaxed)) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(all)
    }

    fn flip(&self, bit: Bit) -> Result<(), ActError> {
        let first = self.orders.first().ok_or_else(lost_threads)?;
        first
            .send(StressRequest::Flip(bit))
            .map_err(|_| lost_threads())?;
        match self.received.recv() {
            Ok(StressReply::Flipped) => Ok(()),
            _ => Err(lost_threads()),
        }
    }
}

/// Words between two checks of the stop flag.
const PIECE: usize = 512;
/// Flips listed in detail for each sweep and thread, at most; all are counted.
const FLIPS_KEPT_PER_SWEEP: usize = 32;
/// Number of times that a wrong word is read again.
const READS_AGAIN: u32 = 8;

/// Part of the memory that a thread tests.
pub(crate) struct ThreadMemory {
    cells: Cells,
    cpu: Option<u32>,
    thread: u32,
    locked: bool,
}

/// Result of a sweep.
#[derive(Default)]
struct Swept {
    /// Bytes written and read.
    moved_bytes: u64,
    flips: u64,
    first: Vec<BitFlip>,
    /// It was not stopped before the end.
    whole: bool,
}

impl ThreadMemory {
    /// Allocates memory on a CPU; locks it if this user may.
    fn new(words: usize, cpu: Option<u32>, thread: u32) -> io::Result<Self> {
        let cpu = cpu.filter(|&cpu| bind_to(cpu));
        let mut cells = Cells::new(words)?;
        let locked = cells.region_mut().lock().is_ok();
        Ok(Self {
            cells,
            cpu,
            thread,
            locked,
        })
    }

    /// Returns the first address and the size in bytes.
    fn place(&self) -> (u64, u64) {
        (self.address(), 8 * self.cells.len() as u64)
    }

    fn address(&self) -> u64 {
        match self.cells.is_empty() {
            true => 0,
            false => self.cells.address(0),
        }
    }

    fn ground(&self, seed: u64) -> Ground {
        Ground {
            address: self.address(),
            words: self.cells.len(),
            seed,
        }
    }

    /// Runs one sweep; `done` counts its words for the progress.
    fn sweep(
        &mut self,
        sweep: Sweep,
        phase: u32,
        seed: u64,
        stop: &AtomicBool,
        done: &AtomicU64,
    ) -> Swept {
        let ground = self.ground(seed);
        let mut swept = Swept::default();
        let pieces = ground.words.div_ceil(PIECE);
        let buffers = &mut ([0; PIECE], [0; PIECE]);
        if sweep.moves {
            return self.move_blocks(ground, stop, done);
        }
        for number in 0..pieces {
            if stop.load(Ordering::Relaxed) {
                return swept;
            }
            let piece = match sweep.downwards {
                true => pieces - 1 - number,
                false => number,
            };
            let from = piece * PIECE;
            let words = PIECE.min(ground.words - from);
            self.piece(
                ground,
                sweep,
                phase,
                from..from + words,
                buffers,
                &mut swept,
            );
            done.fetch_add(words as u64, Ordering::Relaxed);
        }
        swept.whole = true;
        swept
    }

    /// Checks and writes each word of a piece before the next word.
    fn piece(
        &mut self,
        ground: Ground,
        sweep: Sweep,
        phase: u32,
        words: std::ops::Range<usize>,
        (expected, written): &mut ([u64; PIECE], [u64; PIECE]),
        swept: &mut Swept,
    ) {
        let (from, count) = (words.start, words.len());
        if let Some(value) = sweep.expected {
            value.fill(ground, from, &mut expected[..count]);
        }
        if let Some(value) = sweep.written {
            value.fill(ground, from, &mut written[..count]);
        }
        for step in 0..count {
            let at = match sweep.downwards {
                true => count - 1 - step,
                false => step,
            };
            if sweep.expected.is_some() {
                let found = self.cells.read(from + at);
                if found != expected[at] {
                    self.wrong(from + at, expected[at], found, phase, swept);
                }
            }
            if sweep.written.is_some() {
                self.cells.write(from + at, written[at]);
            }
        }
        let ways = u64::from(sweep.expected.is_some()) + u64::from(sweep.written.is_some());
        swept.moved_bytes += ways * 8 * count as u64;
    }

    /// Records a wrong word, and reads it again to find out if the error is permanent.
    #[cold]
    fn wrong(&self, index: usize, expected: u64, found: u64, phase: u32, swept: &mut Swept) {
        swept.flips += 1;
        if swept.first.len() >= FLIPS_KEPT_PER_SWEEP {
            return;
        }
        let again = (0..READS_AGAIN).map(|_| u32::from(self.cells.read_again(index) != expected));
        swept.first.push(BitFlip {
            address: self.cells.address(index),
            physical: None,
            offset: 8 * index as u64,
            thread: self.thread,
            expected,
            found,
            reads: READS_AGAIN,
            wrong_reads: again.sum(),
            phase,
        });
    }

    /// Copies each block to the position of the next one, the last block first.
    fn move_blocks(&mut self, ground: Ground, stop: &AtomicBool, done: &AtomicU64) -> Swept {
        let mut swept = Swept::default();
        for block in (1..ground.blocks()).rev() {
            if stop.load(Ordering::Relaxed) {
                return swept;
            }
            for word in block * BLOCK..(block + 1) * BLOCK {
                let moved = self.cells.read(word - BLOCK);
                self.cells.write(word, moved);
            }
            done.fetch_add(BLOCK as u64, Ordering::Relaxed);
            swept.moved_bytes += 16 * BLOCK as u64;
        }
        swept.whole = true;
        swept
    }

    /// Flips a bit unnoticed by the check, in tests of assay.
    fn flip(&mut self, bit: Bit) {
        let index = usize::try_from(bit.offset / 8).unwrap_or(usize::MAX);
        if index < self.cells.len() {
            let mut bytes = self.cells.read(index).to_ne_bytes();
            bytes[(bit.offset % 8) as usize] ^= 1 << (bit.bit % 8);
            self.cells.write(index, u64::from_ne_bytes(bytes));
        }
    }
}

/// Alternating bits.
const CHECKERED: u64 = 0x5555_5555_5555_5555;
/// Words of a block that is moved.
const BLOCK: usize = 4096;

/// Value of a word, given its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FillValue {
    /// Address of the word.
    Address,
    /// Complement of the address.
    NotAddress,
    /// One value for all words.
    Same(u64),
    /// Random value from the seed and the position; `not` for the complement.
    Random { not: bool },
    /// Only bit `(place + shift) mod 64`; `not` for all other bits.
    Walking { shift: u32, not: bool },
    /// Alternating bits, inverted in every other word; `not` for the complement.
    Checkered { not: bool },
    /// Random values after all blocks were moved by one block.
    Moved,
}

/// One pass over all of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sweep {
    /// Value expected before the sweep.
    expected: Option<FillValue>,
    /// Value that is written.
    written: Option<FillValue>,
    /// Descending order of addresses.
    downwards: bool,
    /// Moves blocks instead of checking and writing words.
    moves: bool,
}

/// Returns the sweep of a phase; phases are counted from 0.
const fn sweep_of(pattern: MemoryPattern, phase: u32) -> Sweep {
    const NOTHING: Sweep = Sweep {
        expected: None,
        written: None,
        downwards: false,
        moves: false,
    };
    if matches!(pattern, MemoryPattern::BlockMove) && phase == 1 {
        return Sweep {
            moves: true,
            ..NOTHING
        };
    }
    let last = pattern.phases() - 1;
    let downwards = phase == 2
        && matches!(
            pattern,
            MemoryPattern::MovingInversions | MemoryPattern::MovingInversionsRandom
        );
    Sweep {
        expected: match phase {
            0 => None,
            phase => Some(value_of(pattern, phase - 1)),
        },
        written: if phase == last {
            None
        } else {
            Some(value_of(pattern, phase))
        },
        downwards,
        moves: false,
    }
}

/// Returns the value in memory after a phase.
const fn value_of(pattern: MemoryPattern, phase: u32) -> FillValue {
    let odd = phase % 2 == 1;
    match pattern {
        MemoryPattern::Address if odd => FillValue::NotAddress,
        MemoryPattern::Address => FillValue::Address,
        MemoryPattern::MovingInversions => FillValue::Same(if odd { u64::MAX } else { 0 }),
        MemoryPattern::MovingInversionsRandom => FillValue::Random { not: odd },
        MemoryPattern::WalkingOnes => FillValue::Walking {
            shift: phase,
            not: false,
        },
        MemoryPattern::WalkingZeros => FillValue::Walking {
            shift: phase,
            not: true,
        },
        MemoryPattern::Checkerboard => FillValue::Checkered { not: odd },
        MemoryPattern::BlockMove if odd => FillValue::Moved,
        MemoryPattern::Random | MemoryPattern::BlockMove => FillValue::Random { not: false },
    }
}

/// Memory region whose words have positions from 0 to `words`.
#[derive(Clone, Copy)]
struct Ground {
    /// Address of the first word.
    address: u64,
    words: usize,
    /// Seed of random words.
    seed: u64,
}

impl FillValue {
    /// Fills words with their values, from a position on.
    fn fill(self, ground: Ground, from: usize, words: &mut [u64]) {
        let places = (from as u64..).zip(words.iter_mut());
        match self {
            Self::Address => places.for_each(|(place, word)| *word = ground.address + 8 * place),
            Self::NotAddress => {
                places.for_each(|(place, word)| *word = !(ground.address + 8 * place));
            }
            Self::Same(value) => words.fill(value),
            Self::Random { not } => {
                let flip = if not { u64::MAX } else { 0 };
                places.for_each(|(place, word)| *word = random_word(ground.seed, place) ^ flip);
            }
            Self::Walking { shift, not } => {
                let flip = if not { u64::MAX } else { 0 };
                places.for_each(|(place, word)| {
                    *word = 1_u64.rotate_left(shift).rotate_left(rotation(place)) ^ flip;
                });
            }
            Self::Checkered { not } => {
                let flip = if not { u64::MAX } else { 0 };
                places.for_each(|(place, word)| {
                    *word = CHECKERED.rotate_left(rotation(place) % 2) ^ flip;
                });
            }
            Self::Moved => {
                places.for_each(|(place, word)| {
                    *word = random_word(ground.seed, ground.moved_from(place));
                });
            }
        }
    }
}

impl Ground {
    /// Returns the number of whole blocks.
    const fn blocks(self) -> usize {
        self.words / BLOCK
    }

    /// Returns the position from which a word was moved: the first block was not moved,
    /// and neither were words after the last block.
    const fn moved_from(self, place: u64) -> u64 {
        let block = BLOCK as u64;
        if place >= block && place < self.blocks() as u64 * block {
            place - block
        } else {
            place
        }
    }
}

/// Returns the number of bits by which the word at a position is rotated.
const fn rotation(place: u64) -> u32 {
    (place % 64) as u32
}

/// Returns the random word of a position, so that positions can be visited in any order.
const fn random_word(seed: u64, place: u64) -> u64 {
    let steps = place.wrapping_add(1).wrapping_mul(SplitMix64::STEP);
    SplitMix64::mix(seed.wrapping_add(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_expects_what_the_one_before_left() {
        for pattern in MemoryPattern::ALL {
            let phases = pattern.phases();
            assert_eq!(sweep_of(pattern, 0).expected, None, "{pattern:?}");
            let last = sweep_of(pattern, phases - 1);
            assert!(last.written.is_none() && last.expected.is_some());
            for phase in 1..phases {
                let (before, now) = (sweep_of(pattern, phase - 1), sweep_of(pattern, phase));
                if !before.moves && !now.moves {
                    assert_eq!(now.expected, before.written, "{pattern:?} {phase}");
                }
            }
        }
    }

    #[test]
    fn walking_bits_stand_at_every_place_of_a_word_once() {
        let ground = Ground {
            address: 0,
            words: 1,
            seed: 0,
        };
        let mut seen = 0;
        for phase in 0..64 {
            let mut word = [0];
            value_of(MemoryPattern::WalkingOnes, phase).fill(ground, 0, &mut word);
            assert_eq!(word[0].count_ones(), 1);
            seen |= word[0];
        }
        assert_eq!(seen, u64::MAX);
    }

    #[test]
    fn checkered_words_differ_from_their_neighbours_and_from_the_complement() {
        let ground = Ground {
            address: 0,
            words: 2,
            seed: 0,
        };
        let (mut plain, mut not) = ([0; 2], [0; 2]);
        FillValue::Checkered { not: false }.fill(ground, 0, &mut plain);
        FillValue::Checkered { not: true }.fill(ground, 0, &mut not);
        assert_eq!(plain[0], !plain[1]);
        assert_eq!(plain[0], !not[0]);
    }
}

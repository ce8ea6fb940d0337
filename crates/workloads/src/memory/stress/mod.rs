//! Memory test: patterns over as much memory as is safe, on all CPUs at once.
//!
//! A phase of a pattern covers all of the memory. If a phase finds a flip, the step ends with it
//! and is stored before the next phase begins.
//!
//! A `Team` of threads tests: each has a part of the memory, and waits for requests.

mod part;
mod sweep;

use super::Steps;
use crate::memory::{lost_threads, no_room};
use crate::observer::{ProgressReporter, nanos};
use crate::{ActError, Context};
use assay_model::act::memory::{
    Bit, Machine, MemoryPattern, MemoryStepResult, Stress, StressStep, Untested, stress_job,
};
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use part::{Swept, ThreadMemory};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use sweep::sweep_of;

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

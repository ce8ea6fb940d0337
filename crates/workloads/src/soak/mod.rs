//! Writing and checking storage for hours to weeks.
//!
//! Every block is read and compared before it is overwritten, so each write is checked
//! after a whole pass over the area, and all of them once more at the end. After every
//! stretch the area is flushed, and the state is stored as a checkpoint.

mod area;
mod content;

use crate::memory::{no_room, stress};
use crate::meter::Meter;
use crate::progress::ProgressReporter;
use crate::{Context, ObservedStep, StepOutcome, WorkError};
use area::{Area, Came};
use assay_engine::held::{self, shown};
use assay_model::job::{Flush, FlushCall, Job, Rw};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::NoteWeight;
use assay_model::work::soak::{Checkpoint, Health, Soak, SoakStep, Stretch};
use assay_model::work::{StepDetail, WorkReport};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

/// Width of an interval of the series.
const INTERVAL: Nanos = Nanos::secs(1);
/// Blocks that may be unwritable before the soak ends, at most.
const MOST_SUSPECTS: usize = 64;

/// Device information that only the agent can look up.
pub trait Surroundings {
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
    around: &dyn Surroundings,
    context: &mut Context<'_>,
) -> Result<WorkReport, WorkError> {
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
            .map_err(|error| WorkError::io("remove", &work.path, &error))?;
    }
    Ok(WorkReport::Steps)
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
    around: &'a dyn Surroundings,
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
    ) -> Result<(), WorkError> {
        let job = self.job(kind);
        let paths = [self.work.path.as_path()];
        let step = ObservedStep {
            job: &job,
            paths: &paths,
        };
        context.observer.begins(step);
        context.observer.clock_starts(step);
        let mut meter = Meter::start(job.interval.0);
        let mut came = Came::default();
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
        let outcome = WorkError::outcome_of(&done);
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
    fn step(&self, kind: StretchKind, came: Came) -> SoakStep {
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
        came: &mut Came,
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
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
                ended = Err(WorkError::Stopped);
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
        let is_gone = |ended: &Result<(), WorkError>| matches!(ended, Err(WorkError::Gone { .. }));
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

    fn worn_out(&self) -> WorkError {
        WorkError::Failed {
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
        came: &mut Came,
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
        let name = if kind == StretchKind::Resuming {
            "resume"
        } else {
            "check"
        };
        let total = self.work.blocks * self.work.block_bytes;
        let mut progress = ProgressReporter::new(name, self.steps_done, Some(total));
        for block in 0..self.work.blocks {
            if context.stopped() {
                return Err(WorkError::Stopped);
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
    fn new(bytes: Option<u64>) -> Result<Self, WorkError> {
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
                Some(Builder::new().spawn(run).map_err(WorkError::no_thread)?)
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

#[cfg(test)]
mod tests;

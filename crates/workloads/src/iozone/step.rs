//! One step: a test on one file size with one record size, by all children.

use super::access::{Method, Wanted, is_buffered_twice};
use super::buffers::Buffers;
use super::child::{Came, Child, Shared};
use super::files::TestFile;
use super::gate::Gate;
use super::latencies;
use super::remount::remount;
use crate::meter::nanos;
use crate::{Context, StepOutcome, WorkError};
use assay_engine::own_file_table;
use assay_model::job::{CacheState, EngineKind, FileState, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::trial::{DirectionTotals, IoErrors, Measurement, Outcome};
use assay_model::units::Bytes;
use assay_model::work::iozone::{Iozone, IozoneStep, Row, Test};
use assay_model::work::{StepDetail, WorkProgress};
use assay_stats::histogram::Histogram;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// How often is said how far a step is.
const PROGRESS: Duration = Duration::from_millis(250);
/// I/O errors told one by one.
const ERRORS_KEPT: usize = 16;

/// What is to be done.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) work: &'a Iozone,
    pub(super) row: Row,
    pub(super) test: Test,
    /// A file for each child.
    pub(super) files: &'a [TestFile],
    /// Steps done before.
    pub(super) steps_done: u32,
}

/// What the children came to, and the time from start to the end of the last.
struct Together {
    children: Vec<Came>,
    parent: Duration,
}

impl Together {
    fn mismatch(&self) -> Option<&str> {
        self.children
            .iter()
            .find_map(|came| came.mismatch.as_deref())
    }

    /// The first failed call, as what the step ends with.
    fn failure(&mut self) -> Option<WorkError> {
        let mut failures = self.children.iter_mut();
        failures.find_map(|came| Some(came.failure.take()?.error))
    }

    fn errors(&self) -> IoErrors {
        let failures = self.children.iter();
        let failures = failures.filter_map(|came| came.failure.as_ref());
        let all: Vec<_> = failures.map(|failure| failure.record.clone()).collect();
        IoErrors {
            count: all.len() as u64,
            first: all.into_iter().take(ERRORS_KEPT).collect(),
        }
    }
}

/// Where children wait.
#[derive(Default)]
struct Gates {
    /// Until all are ready; then the clock runs.
    start: Gate,
    /// Until the clock has stopped.
    settle: Gate,
}

impl Gates {
    /// Sends all home, also those that are still to come.
    fn cancel(&self) {
        self.start.open(false);
        self.settle.open(false);
    }
}

/// What a child says.
type Word<T> = (usize, T);

impl Step<'_> {
    /// Measures, and tells the observer what came of it.
    pub(super) fn run(
        self,
        buffers: &mut [Buffers],
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
        if context.stopped() {
            return Err(WorkError::Stopped);
        }
        let job = self.job();
        let paths: Vec<&Path> = self.files.iter().map(|file| file.path.as_path()).collect();
        let step = crate::Step {
            job: &job,
            paths: &paths,
        };
        context.observer.begins(step);
        let came = self
            .prepare()
            .and_then(|()| self.measure(step, buffers, context));
        let (outcome, told, came) = match came {
            Ok(together) => self.end(together),
            Err(error) => (error.outcome(), StepOutcome::default(), Err(error)),
        };
        context.observer.ended(outcome, told);
        came
    }

    /// What is told of a step that was measured, and what the work makes of it.
    fn end(&self, mut together: Together) -> (Outcome, StepOutcome, Result<(), WorkError>) {
        let told = self.outcome(&together);
        if let Some(error) = together.failure() {
            // No cell: its figure would be taken for that of the whole file.
            let told = StepOutcome {
                detail: None,
                ..told
            };
            return (error.outcome(), told, Err(error));
        }
        if let Some(message) = together.mismatch() {
            let error = WorkError::Failed {
                message: message.to_owned(),
                errno: None,
            };
            return (error.outcome(), told, Err(error));
        }
        // With a stonewall only the first child does all.
        if !together.children.iter().any(|came| came.whole) {
            return (Outcome::Interrupted, told, Err(WorkError::Stopped));
        }
        (Outcome::Completed, told, self.log(&together))
    }

    /// Describes it for whoever judges what it measured.
    pub(super) fn job(&self) -> Job {
        let Self {
            work, row, test, ..
        } = *self;
        let random = matches!(
            test,
            Test::RandomRead | Test::RandomWrite | Test::StrideRead
        );
        let rw = match (test, random) {
            (Test::Mixed, _) if work.mix.sequential => Rw::Rw,
            (Test::Mixed, _) => Rw::RandRw,
            (test, true) if test.writes() => Rw::RandWrite,
            (_, true) => Rw::RandRead,
            (test, false) if test.writes() => Rw::Write,
            (_, false) => Rw::Read,
        };
        let name = format!("{test}-{}-{}", row.file_kib, row.record_kib);
        let children = self.files.len();
        let name = if work.children.is_empty() {
            name
        } else {
            format!("{name}-x{children}")
        };
        let stdio = is_buffered_twice(test);
        let mapped = work.mapped.is_some() && !stdio;
        let mut job = Job::new(&name, rw, kib(row.record_kib), kib(row.file_kib));
        job.numjobs = u32::try_from(children).unwrap_or(u32::MAX);
        job.ioengine = match Method::of(test, work.mix.sequential) {
            _ if mapped => EngineKind::Mmap,
            Method::Next | Method::Seek => EngineKind::Sync,
            Method::At => EngineKind::Psync,
            Method::Vector => EngineKind::Pvsync,
        };
        job.direct = work.direct && !stdio && !mapped;
        job.sync = match work.sync {
            _ if stdio || mapped => OpenSync::None,
            _ if work.rsync => OpenSync::Sync,
            sync => sync,
        };
        job.flush = Flush {
            every: None,
            at_end: (work.flush && test.writes()).then_some(FlushCall::Fsync),
        };
        if test.creates() {
            job.file_state = FileState::Fresh;
        }
        job.cache_state = CacheState::AsIs;
        if test == Test::RecordRewrite {
            job.io_size = Some(job.size);
            job.size = job.bs;
        }
        job.description = Some(format!(
            "iozone {test}, {} KiB file, {} KiB records",
            row.file_kib, row.record_kib
        ));
        job
    }

    fn prepare(&self) -> Result<(), WorkError> {
        if let Some(place) = &self.work.remount {
            remount(place)?;
        }
        if self.work.purge {
            purge(self.work.cache_kib);
        }
        Ok(())
    }

    fn measure(
        &self,
        step: crate::Step<'_>,
        buffers: &mut [Buffers],
        context: &mut Context<'_>,
    ) -> Result<Together, WorkError> {
        let count = self.files.len();
        let shared = Shared {
            stop: context.stop,
            halt: AtomicBool::new(false),
            moved: (0..count).map(|_| AtomicU64::new(0)).collect(),
        };
        let gates = Gates::default();
        let (ready, is_ready) = sync_channel(count);
        let (done, is_done) = sync_channel(count);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, buffers) in buffers.iter_mut().take(count).enumerate() {
                let (ready, done) = (ready.clone(), done.clone());
                let (shared, gates) = (&shared, &gates);
                let life = move || self.live(number, buffers, shared, gates, ready, done);
                match std::thread::Builder::new().spawn_scoped(scope, life) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        gates.cancel();
                        return Err(no_child(number, count, &error));
                    }
                }
            }
            // A channel whose children are all gone must say so.
            drop((ready, done));
            let came = self.conduct(step, &shared, &gates, &is_ready, &is_done, context);
            gates.cancel();
            let settled = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(lost())));
            let settled: Result<Vec<()>, WorkError> = settled.collect();
            let came = came?;
            settled.map(|_| came)
        })
    }

    /// The life of a child.
    fn live(
        &self,
        number: usize,
        buffers: &mut Buffers,
        shared: &Shared<'_>,
        gates: &Gates,
        ready: SyncSender<Word<Result<(), WorkError>>>,
        done: SyncSender<Word<Came>>,
    ) -> Result<(), WorkError> {
        own_file_table();
        let wanted = Wanted {
            work: self.work,
            row: self.row,
            test: self.test,
            writes: self.child_writes(number),
            file: &self.files[number],
        };
        let (mut child, told) = match Child::ready(wanted, buffers, shared, number) {
            Ok(child) => (Some(child), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _ = ready.send((number, told));
        drop(ready);
        let goes = gates.start.pass();
        if let Some(child) = child.as_mut().filter(|_| goes) {
            let _ = done.send((number, child.measure()));
        }
        drop(done);
        let settles = gates.settle.pass();
        child.filter(|_| settles).map_or(Ok(()), Child::settle)
    }

    /// Whether a child writes; in mixed tests every second one does, or as many
    /// as `-+p` leaves.
    fn child_writes(&self, number: usize) -> bool {
        if self.test != Test::Mixed {
            return self.test.writes();
        }
        match self.work.mix.read_percent {
            None => number % 2 == 1,
            Some(percent) => number * 100 >= self.files.len() * usize::from(percent),
        }
    }

    /// Starts the children together, follows them, and sees them end.
    fn conduct(
        &self,
        step: crate::Step<'_>,
        shared: &Shared<'_>,
        gates: &Gates,
        is_ready: &Receiver<Word<Result<(), WorkError>>>,
        is_done: &Receiver<Word<Came>>,
        context: &mut Context<'_>,
    ) -> Result<Together, WorkError> {
        let ready = is_ready.iter().take(self.files.len());
        let ready: Result<Vec<()>, WorkError> = ready.map(|(_, word)| word).collect();
        if ready?.len() < self.files.len() {
            return Err(lost());
        }
        context.observer.clock_starts(step);
        let start = Instant::now();
        gates.start.open(true);
        let words = self.follow(start, shared, is_done, context);
        let parent = start.elapsed();
        context.observer.clock_stopped();
        gates.settle.open(true);
        if words.len() < self.files.len() {
            return Err(lost());
        }
        let children = words.into_iter().map(|(_, came)| came).collect();
        Ok(Together { children, parent })
    }

    /// What the children came to, in their order.
    fn follow(
        &self,
        start: Instant,
        shared: &Shared<'_>,
        is_done: &Receiver<Word<Came>>,
        context: &mut Context<'_>,
    ) -> Vec<Word<Came>> {
        let mut words: Vec<Word<Came>> = Vec::new();
        while words.len() < self.files.len() {
            match is_done.recv_timeout(PROGRESS) {
                Ok(word) => {
                    // One that failed will not be waited for by the others.
                    if word.1.failure.is_some() {
                        shared.halt.store(true, Ordering::Relaxed);
                    }
                    words.push(word);
                }
                Err(RecvTimeoutError::Timeout) => self.tell(start, shared, context),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        words.sort_by_key(|(number, _)| *number);
        words
    }

    fn tell(&self, start: Instant, shared: &Shared<'_>, context: &mut Context<'_>) {
        let moved = shared
            .moved
            .iter()
            .map(|moved| moved.load(Ordering::Relaxed));
        let of_child = self.row.file_kib.saturating_mul(1024);
        let total = of_child.saturating_mul(self.files.len() as u64);
        context.observer.progress(&WorkProgress {
            step: self.test.to_string(),
            steps_done: self.steps_done,
            done: moved.sum(),
            total: Some(total),
            elapsed_ns: nanos(start.elapsed()),
        });
    }

    /// What is stored.
    fn outcome(&self, together: &Together) -> StepOutcome {
        let single = self.work.children.is_empty();
        let children: Vec<_> = together.children.iter().map(|came| came.figures).collect();
        let elapsed_ns = match children.as_slice() {
            [child] if single => child.elapsed_ns,
            _ => nanos(together.parent),
        };
        let mut flush = Histogram::new();
        for came in &together.children {
            flush.merge(&came.flush);
        }
        StepOutcome {
            measured: Some(Measurement {
                elapsed_ns,
                read: totals(&together.children, false, self.row),
                write: totals(&together.children, true, self.row),
                flush: flush.to_record(),
                errors: together.errors(),
                cpu: together.children.iter().map(|came| came.cpu).sum(),
                ..Measurement::default()
            }),
            detail: Some(StepDetail::Iozone(IozoneStep {
                test: self.test,
                file_kib: self.row.file_kib,
                record_kib: self.row.record_kib,
                children,
                mismatch: together.mismatch().is_some(),
                parent_ns: (!single).then(|| nanos(together.parent)),
            })),
        }
    }

    fn log(&self, together: &Together) -> Result<(), WorkError> {
        for (number, came) in together.children.iter().enumerate() {
            if let Some(path) = self.work.latency_path(self.test, number) {
                latencies::write(&path, &came.entries)?;
            }
        }
        Ok(())
    }
}

fn totals(children: &[Came], writes: bool, row: Row) -> DirectionTotals {
    let mut latency = Histogram::new();
    let mut ios = 0;
    for came in children.iter().filter(|came| came.writes == writes) {
        latency.merge(&came.latency);
        ios += came.ios;
    }
    DirectionTotals {
        ios,
        bytes: ios * (row.record_kib << 10),
        latency: latency.to_record(),
        ..DirectionTotals::default()
    }
}

#[cold]
fn no_child(number: usize, count: usize, error: &io::Error) -> WorkError {
    WorkError::Failed {
        message: format!(
            "cannot start child {} of {count}: {error}; give a smaller -t or -u",
            number + 1
        ),
        errno: error.raw_os_error(),
    }
}

#[cold]
fn lost() -> WorkError {
    WorkError::Failed {
        message: "a child ended before it was done: this is a bug in assay, please report it"
            .to_owned(),
        errno: None,
    }
}

/// Walks over as much memory as the processor's caches hold.
fn purge(cache_kib: u64) {
    let length = usize::try_from(cache_kib << 10).unwrap_or(0);
    let mut memory = vec![1_u8; length];
    for byte in memory.iter_mut().step_by(32) {
        *byte = byte.wrapping_add(1);
    }
    std::hint::black_box(memory);
}

const fn kib(kib: u64) -> Bytes {
    Bytes(kib << 10)
}

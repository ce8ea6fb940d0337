//! One step: a test on one file size with one record size, by all children.

use super::access::{AccessRequest, Method, is_buffered_twice};
use super::buffers::Buffers;
use super::child::{Came, Child, ChildrenState};
use super::files::TestFile;
use super::latencies;
use super::remount::remount;
use crate::meter::nanos;
use crate::progress::ProgressReporter;
use crate::{Context, StepOutcome, WorkError};
use assay_model::job::{CacheState, EngineKind, FileState, Flush, FlushCall, Job, OpenSync, Rw};
use assay_model::trial::{DirectionTotals, IoErrors, Measurement, Outcome};
use assay_model::units::Bytes;
use assay_model::work::StepDetail;
use assay_model::work::iozone::{Iozone, IozoneRow, IozoneStep, MapSync, Test};
use assay_stats::histogram::Histogram;
use std::path::Path;
use std::time::{Duration, Instant};

/// I/O errors listed in detail, at most.
const ERRORS_KEPT: usize = 16;

/// Description of a step.
#[derive(Clone, Copy)]
pub(super) struct StepSetup<'a> {
    pub(super) work: &'a Iozone,
    pub(super) row: IozoneRow,
    pub(super) test: Test,
    /// One file for each child.
    pub(super) files: &'a [TestFile],
    /// Number of steps done before.
    pub(super) steps_done: u32,
}

/// Results of the children, and the time from the start to the last end.
pub(super) struct Together {
    pub(super) children: Vec<Came>,
    pub(super) parent: Duration,
}

impl Together {
    fn mismatch(&self) -> Option<&str> {
        self.children
            .iter()
            .find_map(|came| came.mismatch.as_deref())
    }

    /// Returns the first failed call, with which the step ends.
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

impl StepSetup<'_> {
    /// Measures, and reports the outcome to the observer.
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
        let step = crate::ObservedStep {
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

    /// Builds the outcome of a measured step, and its result for the work.
    fn end(&self, mut together: Together) -> (Outcome, StepOutcome, Result<(), WorkError>) {
        let told = self.outcome(&together);
        if let Some(error) = together.failure() {
            // Without details, because a partial result would look like that of the whole file.
            let told = StepOutcome {
                detail: None,
                ..told
            };
            return (error.outcome(), told, Err(error));
        }
        if let Some(message) = together.mismatch() {
            let error = WorkError::failed(message);
            return (error.outcome(), told, Err(error));
        }
        // With a stonewall, only the first child completes its file.
        if !together.children.iter().any(|came| came.whole) {
            return (Outcome::Interrupted, told, Err(WorkError::Stopped));
        }
        (Outcome::Completed, told, self.log(&together))
    }

    /// Returns the job for the evaluation of the measurement.
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
        let synced = mapped && work.mapped == Some(MapSync::Sync) && job.rw.writes();
        job.flush = Flush {
            // `msync(2)` after each record.
            every: synced.then_some((1, FlushCall::Fsync)),
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
        step: crate::ObservedStep<'_>,
        buffers: &mut [Buffers],
        context: &mut Context<'_>,
    ) -> Result<Together, WorkError> {
        let shared = ChildrenState::new(self.files.len(), context.stop);
        match buffers {
            [buffers, ..] if self.files.len() == 1 => self.alone(step, buffers, &shared, context),
            _ => self.measure_threads(step, buffers, &shared, context),
        }
    }

    /// Runs a single child on this thread: a small step would be over before a sleeping thread
    /// wakes up.
    fn alone(
        &self,
        step: crate::ObservedStep<'_>,
        buffers: &mut Buffers,
        shared: &ChildrenState<'_>,
        context: &mut Context<'_>,
    ) -> Result<Together, WorkError> {
        let mut child = Child::ready(self.wanted(0), buffers, shared, 0)?;
        context.observer.clock_starts(step);
        let progress = self.progress();
        let start = Instant::now();
        let came = child.measure(&mut |done| progress.tell(context, done));
        let parent = start.elapsed();
        context.observer.clock_stopped();
        child.settle()?;
        Ok(Together {
            children: vec![came],
            parent,
        })
    }

    /// Returns the parameters for opening a child's file.
    pub(super) fn wanted(&self, number: usize) -> AccessRequest<'_> {
        AccessRequest {
            work: self.work,
            row: self.row,
            test: self.test,
            writes: self.child_writes(number),
            file: &self.files[number],
        }
    }

    /// Returns true if a child writes; in mixed tests every second child does, or the number that
    /// `-+p` leaves.
    fn child_writes(&self, number: usize) -> bool {
        if self.test != Test::Mixed {
            return self.test.writes();
        }
        match self.work.mix.read_percent {
            None => number % 2 == 1,
            Some(percent) => number * 100 >= self.files.len() * usize::from(percent),
        }
    }

    /// Creates the progress reporter of the step.
    pub(super) fn progress(&self) -> ProgressReporter {
        let of_child = self.row.file_kib.saturating_mul(1024);
        let total = of_child.saturating_mul(self.files.len() as u64);
        ProgressReporter::new(self.test.to_string(), self.steps_done, Some(total))
    }

    /// Builds the outcome to be stored.
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

fn totals(children: &[Came], writes: bool, row: IozoneRow) -> DirectionTotals {
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

/// Touches as much memory as the processor's caches hold, which evicts their content.
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

//! One step: a test on one file size with one record size, by all children.
//!
//! A `Child` opens its file, measures, and closes the file. `wol.dat` and similar files (`-Q`)
//! contain the offset and latency of each record.

use super::access::{Access, AccessRequest, Buffers, Method, is_buffered_twice};
use super::{RecordOrder, TestFile, remount};
use crate::observer::{EVERY, ProgressReporter, nanos};
use crate::{ActError, Context, StepOutcome};
use assay_engine::held::shown;
use assay_engine::{held, thread_cpu_use};
use assay_model::act::StepDetail;
use assay_model::act::iozone::{Child as Figures, Iozone, IozoneRow, IozoneStep, MapSync, Test};
use assay_model::job::{
    CacheState, Direction, EngineKind, FileState, Flush, FlushCall, Job, OpenSync, Rw,
};
use assay_model::trial::{CpuUse, DirectionTotals, IoErrorRecord, IoErrors, Measurement, Outcome};
use assay_model::units::Bytes;
use assay_stats::histogram::Histogram;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

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
    pub(super) children: Vec<ChildResult>,
    pub(super) parent: Duration,
}

impl Together {
    fn mismatch(&self) -> Option<&str> {
        self.children
            .iter()
            .find_map(|came| came.mismatch.as_deref())
    }

    /// Returns the first failed call, with which the step ends.
    fn failure(&mut self) -> Option<ActError> {
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
    ) -> Result<(), ActError> {
        if context.stopped() {
            return Err(ActError::Stopped);
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

    /// Builds the outcome of a measured step, and its result for the act.
    fn end(&self, mut together: Together) -> (Outcome, StepOutcome, Result<(), ActError>) {
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
            let error = ActError::failed(message);
            return (error.outcome(), told, Err(error));
        }
        // With a stonewall, only the first child completes its file.
        if !together.children.iter().any(|came| came.whole) {
            return (Outcome::Interrupted, told, Err(ActError::Stopped));
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
        let children = self.files.len();
        let name = work.name_of(test, row, children);
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

    fn prepare(&self) -> Result<(), ActError> {
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
    ) -> Result<Together, ActError> {
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
    ) -> Result<Together, ActError> {
        let mut child = Child::ready(self.wanted(0), buffers, shared, 0)?;
        context.observer.clock_starts(step);
        let progress = self.progress();
        let start = Instant::now();
        let came = child.measure(&mut |done| progress.report_now(context, done));
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

    fn log(&self, together: &Together) -> Result<(), ActError> {
        for (number, came) in together.children.iter().enumerate() {
            if let Some(path) = self.work.latency_path(self.test, number) {
                write(&path, &came.entries)?;
            }
        }
        Ok(())
    }
}

fn totals(children: &[ChildResult], writes: bool, row: IozoneRow) -> DirectionTotals {
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

/// State shared by the children of a step.
pub(super) struct ChildrenState<'a> {
    /// A stop was requested.
    pub(super) stop: &'a AtomicBool,
    /// A child is done, and the others must stop.
    pub(super) halt: AtomicBool,
    /// Bytes transferred by each child.
    moved: Vec<AtomicU64>,
}

impl<'a> ChildrenState<'a> {
    pub(super) fn new(children: usize, stop: &'a AtomicBool) -> Self {
        Self {
            stop,
            halt: AtomicBool::new(false),
            moved: (0..children).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Returns the bytes transferred by all children.
    pub(super) fn moved(&self) -> u64 {
        let each = self.moved.iter().map(|moved| moved.load(Ordering::Relaxed));
        each.sum()
    }
}

/// Results of a child.
#[derive(Debug, Default)]
pub(super) struct ChildResult {
    pub(super) figures: Figures,
    pub(super) writes: bool,
    pub(super) ios: u64,
    pub(super) latency: Histogram,
    pub(super) flush: Histogram,
    pub(super) cpu: CpuUse,
    pub(super) entries: Vec<RecordLatency>,
    /// Mismatch between the data read and the data written.
    pub(super) mismatch: Option<String>,
    /// It transferred all of its records.
    pub(super) whole: bool,
    /// Failure that ended the child early.
    pub(super) failure: Option<ChildFailure>,
}

/// A call that failed while the clock ran.
#[derive(Debug)]
pub(super) struct ChildFailure {
    pub(super) error: ActError,
    pub(super) record: IoErrorRecord,
}

/// A child that is ready to start.
pub(super) struct Child<'a> {
    wanted: AccessRequest<'a>,
    /// `None` after the file was closed.
    access: Option<Access<'a>>,
    order: RecordOrder,
    records: u64,
    /// Number of records measured.
    done: u64,
    buffers: &'a mut Buffers,
    shared: &'a ChildrenState<'a>,
    number: usize,
}

impl<'a> Child<'a> {
    pub(super) fn ready(
        wanted: AccessRequest<'a>,
        buffers: &'a mut Buffers,
        shared: &'a ChildrenState<'a>,
        number: usize,
    ) -> Result<Self, ActError> {
        let work = wanted.work;
        let records = wanted.row.file_kib / wanted.row.record_kib;
        let access = Access::open(wanted)?;
        access.warm_up(work.children.is_empty(), buffers)?;
        Ok(Self {
            order: RecordOrder::of(wanted.test, records, work.stride, work.mix.sequential),
            access: Some(access),
            wanted,
            records,
            done: 0,
            buffers,
            shared,
            number,
        })
    }

    /// Runs the measured part. After a failure, the result covers the part before it. `tell` is
    /// called a few times a second with the bytes done; its time is not counted.
    pub(super) fn measure(&mut self, tell: &mut dyn FnMut(u64)) -> ChildResult {
        let work = self.wanted.work;
        let mut came = ChildResult {
            writes: self.wanted.writes,
            ..ChildResult::default()
        };
        let cpu = thread_cpu_use();
        let start = Instant::now();
        let idle = self.pass(start, tell, &mut came);
        if work.stonewall {
            self.shared.halt.store(true, Ordering::Relaxed);
        }
        if came.failure.is_none() {
            self.finish(start, &mut came);
        }
        self.done = came.ios;
        let elapsed = start.elapsed().saturating_sub(idle);
        came.cpu = thread_cpu_use().since(cpu);
        came.figures = Figures {
            bytes: came.ios * (self.wanted.row.record_kib << 10),
            elapsed_ns: nanos(elapsed).max(1),
            cpu_ns: came.cpu.user_ns + came.cpu.system_ns,
            idle_ns: nanos(idle),
        };
        if came.failure.is_some() {
            // A failed file is not used any more.
            self.access = None;
        }
        came
    }

    /// Carries out the flush and the close that count as part of the measurement.
    fn finish(&mut self, start: Instant, came: &mut ChildResult) {
        let work = self.wanted.work;
        if work.flush
            && let Some(access) = &mut self.access
        {
            let before = Instant::now();
            if let Err(error) = access.flush() {
                came.failure = Some(self.failure(error, None, start));
                return;
            }
            if self.wanted.writes {
                came.flush.record(nanos(before.elapsed()));
            }
        }
        // If other children ended first, this file is incomplete and is completed below.
        if work.close
            && came.whole
            && let Some(access) = self.access.take()
            && let Err(error) = access.close()
        {
            came.failure = Some(self.failure(error, None, start));
        }
    }

    /// Creates the failure for the record at `offset`; `None` for a failed flush.
    #[cold]
    fn failure(&self, error: ActError, offset: Option<u64>, start: Instant) -> ChildFailure {
        let direction = if self.wanted.writes {
            Direction::Write
        } else {
            Direction::Read
        };
        let record = IoErrorRecord {
            direction: offset.map(|_| direction),
            offset: offset.unwrap_or(0),
            length: offset.map_or(0, |_| self.wanted.row.record_kib << 10),
            errno: error.errno(),
            message: error.to_string(),
            at_ns: nanos(start.elapsed()),
        };
        ChildFailure { error, record }
    }

    /// Processes all records with one clock reading each, and returns the time spent on other work.
    fn pass(
        &mut self,
        start: Instant,
        tell: &mut dyn FnMut(u64),
        came: &mut ChildResult,
    ) -> Duration {
        let work = self.wanted.work;
        let Some(access) = &mut self.access else {
            return Duration::ZERO;
        };
        let think = Duration::from_millis(work.think_ms);
        let check = work.verify.is_some() && !self.wanted.writes;
        let attentive = !think.is_zero() || check || work.latency_files.is_some();
        let record = self.wanted.row.record_kib << 10;
        let shared = self.shared;
        let moved = &shared.moved[self.number];
        let mut walk = self.order.records();
        let mut idle = Duration::ZERO;
        let mut last = start;
        let mut next_word = start + EVERY;
        for index in 0..self.records {
            if shared.stop.load(Ordering::Relaxed) || shared.halt.load(Ordering::Relaxed) {
                return idle;
            }
            if attentive && !think.is_zero() {
                idle += compute(think);
                last = Instant::now();
            }
            let offset = access.offset(walk.next());
            if let Err(error) = access.transfer(index, offset, self.buffers) {
                came.failure = Some(self.failure(error, Some(offset), start));
                return idle;
            }
            let now = Instant::now();
            let latency_ns = nanos(now - last);
            came.latency.record(latency_ns);
            last = now;
            came.ios += 1;
            moved.store(came.ios * record, Ordering::Relaxed);
            if now >= next_word {
                tell(came.ios * record);
                next_word = now + EVERY;
                last = Instant::now();
                idle += last - now;
            }
            if attentive {
                if check {
                    came.mismatch = self.buffers.check(index, offset, &self.wanted.file.path);
                    if came.mismatch.is_some() {
                        return idle;
                    }
                }
                if work.latency_files.is_some() {
                    came.entries.push(RecordLatency {
                        offset,
                        latency_ns,
                        bytes: record,
                    });
                }
                let resumed = Instant::now();
                idle += resumed - last;
                last = resumed;
            }
        }
        came.whole = true;
        idle
    }

    /// Finishes after the clock has stopped: writes the rest of a file cut short because another
    /// child was done, flushes and closes the file.
    pub(super) fn settle(mut self) -> Result<(), ActError> {
        let Some(mut access) = self.access.take() else {
            return Ok(());
        };
        let writes = self.wanted.writes;
        if writes && matches!(self.order, RecordOrder::Forward) {
            for index in self.done..self.records {
                if self.shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                access.transfer(index, access.offset(index), self.buffers)?;
            }
        }
        let flushed = self.wanted.work.flush || (is_buffered_twice(self.wanted.test) && !writes);
        if !flushed {
            access.flush()?;
        }
        access.close()
    }
}

/// Keeps the processor busy; returns the actual time.
fn compute(time: Duration) -> Duration {
    let start = Instant::now();
    loop {
        let elapsed = start.elapsed();
        if elapsed >= time {
            return elapsed;
        }
        std::hint::spin_loop();
    }
}

/// Latency of one record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordLatency {
    pub(super) offset: u64,
    pub(super) latency_ns: u64,
    pub(super) bytes: u64,
}

/// First line. Its begin distinguishes such a file from one with other data; files of
/// iozone's children have one space less in the rest.
const HEAD: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n";
const HEAD_BEGINS: &str = "Offset in kBytes   Latency in microseconds ";

/// Checks the files that will be written.
///
/// # Errors
/// If one of them contains other data.
pub(super) fn admit(work: &Iozone) -> Result<(), ActError> {
    for path in work.latency_paths() {
        match is_free(&path) {
            Ok(true) => {}
            Ok(false) => {
                return Err(ActError::Refused(format!(
                    "{} is not a file of latencies, so it is not overwritten: move it away, or start -Q in another folder",
                    shown(&path)
                )));
            }
            Err(error) => {
                return Err(ActError::Refused(format!(
                    "cannot look at {}: {error}",
                    shown(&path)
                )));
            }
        }
    }
    Ok(())
}

/// Returns `true` if the file does not exist, or may be overwritten.
fn is_free(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        found => found?,
    };
    if !found.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    let most = HEAD_BEGINS.len() as u64;
    held::open_to_read(path)?
        .take(most)
        .read_to_end(&mut start)?;
    Ok(start.is_empty() || start == HEAD_BEGINS.as_bytes())
}

/// Writes the file of a test.
pub(super) fn write(path: &Path, entries: &[RecordLatency]) -> Result<(), ActError> {
    let mut text = HEAD.to_owned();
    for entry in entries {
        let (offset, micros) = (entry.offset >> 10, entry.latency_ns / 1000);
        text.push_str(&format!("{offset:10} {micros:10} {:10}\n", entry.bytes));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Does not follow a link that was created meanwhile.
    let opened = held::open(path, flags, Mode::from_raw_mode(0o666));
    let file = opened.map(File::from).map_err(io::Error::from);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| ActError::io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::act::iozone::Test;

    #[test]
    fn only_files_of_latencies_are_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let work = Iozone {
            tests: vec![Test::Write, Test::Read],
            latency_files: Some(folder.path().to_owned()),
            ..Iozone::default()
        };
        admit(&work).unwrap();
        let path = folder.path().join("rol.dat");
        let entry = RecordLatency {
            offset: 8192,
            latency_ns: 7000,
            bytes: 4096,
        };
        write(&path, &[entry]).unwrap();
        admit(&work).unwrap();
        fs::write(&path, "mine\n").unwrap();
        let error = admit(&work).unwrap_err().to_string();
        assert!(error.contains("rol.dat is not a file of"), "{error}");
        fs::remove_file(&path).unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(admit(&work).is_err());
        assert!(write(&path, &[]).is_err());
        assert_eq!(fs::read(&other).unwrap(), b"");
    }
}

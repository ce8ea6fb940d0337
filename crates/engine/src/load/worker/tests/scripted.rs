//! An engine that follows a script, a clock that it moves, and a worker between
//! them.

use super::super::*;
use super::START;
use crate::engines::{Completion, OpenFile, QueueStatus};
use crate::load::sequence::Sequence;
use crate::measure::load_of;
use crate::recorder::SharedGaps;
use assay_model::job::{FlushCall, Job};
use assay_model::load::Ddir;
use assay_model::trial::{Gap, Measurement};
use assay_stats::streams::measurement;
use rustix::io::Errno;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Time that passes only when the engine works or the worker sleeps.
#[derive(Clone, Copy)]
struct Virtual<'a>(&'a AtomicU64);

impl Clock for Virtual<'_> {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

/// What the script lets happen to one attempt.
#[derive(Clone, Copy)]
pub(super) struct Act {
    pub(super) latency_ns: u64,
    pub(super) result: Result<u32, i32>,
}

/// Attempt by number -> what happens.
pub(super) type Script<'s> = dyn Fn(u64) -> Act + 's;

/// What an engine went through.
#[derive(Default)]
pub(super) struct Log {
    /// (time, offset, direction) of each attempt.
    pub(super) attempts: Vec<(u64, u64, Ddir)>,
    /// Times of flushes.
    pub(super) flushes: Vec<u64>,
    pub(super) deepest: usize,
    /// Number of I/Os that were still in flight after each reap.
    pub(super) left: Vec<usize>,
}

/// An engine whose I/Os run side by side for as long as the script says.
/// `ASYNC` false: each is done when `queue` returns.
struct Scripted<'s, const ASYNC: bool> {
    clock: Virtual<'s>,
    script: &'s Script<'s>,
    log: &'s Cell<Log>,
    /// (done at, what came of it).
    under_way: Vec<(u64, Completion)>,
    /// Takes no more at a time.
    room: usize,
    /// Not yet handed over, and how many are at a time.
    queued: usize,
    takes: usize,
    flush: Result<(), Errno>,
}

impl<const ASYNC: bool> Scripted<'_, ASYNC> {
    /// When it is done, and what came of it.
    fn attempt(&mut self, unit: &mut IoUnit) -> (u64, Result<u32, i32>) {
        let now_ns = self.clock.now();
        let mut log = self.log.take();
        let (offset, _) = unit.remainder();
        let act = (self.script)(log.attempts.len() as u64);
        log.attempts.push((now_ns, offset, unit.ddir));
        self.log.set(log);
        let result = act.result.map(|bytes| bytes.min(unit.left()));
        (now_ns + act.latency_ns, result)
    }
}

impl<const ASYNC: bool> IoEngine for Scripted<'_, ASYNC> {
    fn is_asynchronous(&self) -> bool {
        ASYNC
    }

    fn queue(&mut self, file: &OpenFile, mut unit: IoUnit) -> QueueStatus {
        if ASYNC && self.under_way.len() >= self.room {
            return QueueStatus::Busy(unit);
        }
        if !ASYNC {
            let result = self.transfer(file, &mut unit);
            return QueueStatus::Completed(Completion { unit, result });
        }
        let (done_ns, result) = self.attempt(&mut unit);
        self.under_way.push((done_ns, Completion { unit, result }));
        self.queued += 1;
        let mut log = self.log.take();
        log.deepest = log.deepest.max(self.under_way.len());
        self.log.set(log);
        QueueStatus::Queued
    }

    fn transfer(&mut self, _file: &OpenFile, unit: &mut IoUnit) -> Result<u32, i32> {
        let (done_ns, result) = self.attempt(unit);
        self.clock.0.store(done_ns, Ordering::Relaxed);
        result
    }

    fn flush(&mut self, _file: &OpenFile, _call: FlushCall) -> Result<(), Errno> {
        let mut log = self.log.take();
        log.flushes.push(self.clock.now());
        self.log.set(log);
        self.clock.sleep(FLUSH_NS);
        self.flush
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        let taken = self.queued.min(self.takes);
        self.queued -= taken;
        Ok(taken)
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        assert_eq!(min, 1);
        let now_ns = self.clock.now();
        let first = self.under_way.iter().map(|&(at, _)| at).min();
        let first = first.expect("waiting for nothing");
        let until = timeout_ns.map_or(first, |timeout| first.min(now_ns + timeout));
        self.clock.0.fetch_max(until, Ordering::Relaxed);
        let now_ns = self.clock.now();
        let mut room = max;
        let ready = self.under_way.extract_if(.., |&mut (at, _)| {
            let takes = at <= now_ns && room > 0;
            room -= u32::from(takes);
            takes
        });
        done.extend(ready.map(|(_, completion)| completion));
        let mut log = self.log.take();
        log.left.push(self.under_way.len());
        self.log.set(log);
        Ok(())
    }
}

/// Each flush takes that long.
pub(super) const FLUSH_NS: u64 = 2_000_000;

/// A job and how the world treats it.
pub(super) struct Play<'s> {
    pub(super) job: Job,
    pub(super) script: &'s Script<'s>,
    pub(super) room: usize,
    /// Handed over in one go.
    pub(super) takes: usize,
    /// Taken back in one go, at most (`iodepth_batch_complete_max`).
    pub(super) takes_back: u32,
    /// Trims each block before it is written (`trimwrite`).
    pub(super) trims: bool,
    /// Number of I/Os (`number_ios`).
    pub(super) number_ios: Option<u64>,
    /// Gaps of all workers, and which of them this one is.
    pub(super) gaps: (Arc<SharedGaps>, usize),
    /// What comes of flushes.
    pub(super) flush: Result<(), Errno>,
    /// What the script can stop it with.
    /// How long after the start the thread gets a processor.
    pub(super) late_ns: u64,
    pub(super) shared: Arc<StreamShared>,
}

/// What came of it.
pub(super) struct Played {
    pub(super) report: StreamReport,
    /// The same as that of a job with one worker.
    pub(super) measured: Measurement,
    pub(super) still_ramping: bool,
    /// As told to those who watch.
    pub(super) ios_told: u64,
    pub(super) log: Log,
}

impl<'s> Play<'s> {
    pub(super) fn new(job: Job, script: &'s Script<'s>) -> Self {
        Self {
            job,
            script,
            room: usize::MAX,
            takes: usize::MAX,
            takes_back: 0,
            trims: false,
            number_ios: None,
            gaps: (SharedGaps::new(1), 0),
            flush: Ok(()),
            shared: Arc::default(),
            late_ns: 0,
        }
    }

    /// On the kind of engine that the depth calls for.
    pub(super) fn run(self) -> Played {
        if self.job.iodepth == 1 {
            self.synchronous()
        } else {
            self.asynchronous()
        }
    }

    pub(super) fn synchronous(self) -> Played {
        self.on::<false>()
    }

    pub(super) fn asynchronous(self) -> Played {
        self.on::<true>()
    }

    fn on<const ASYNC: bool>(self) -> Played {
        let time = AtomicU64::new(START);
        let clock = Virtual(&time);
        let log = Cell::default();
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut load = load_of(&self.job, file.path(), 1);
        load.streams[0].engine.batch_complete_max = self.takes_back;
        let rw = &mut load.streams[0].blocks.rw;
        (rw.trim, rw.trim_then_write) = (self.trims, self.trims);
        load.streams[0].length.number_ios = self.number_ios;
        let stream = &load.streams[0];
        let plan = FilePlan::resolve(stream, &load).unwrap();
        let shared_files = SharedFiles::default();
        let (gaps, number) = self.gaps;
        let depth = stream.engine.iodepth;
        let parts = Parts {
            clock,
            stream,
            plan: &plan,
            shared_files: &shared_files,
            shared: &self.shared,
            files: FileTable::new(stream, &plan, &shared_files),
            source: IoSource::order(Sequence::new(stream, &plan.parts(), 1).unwrap()),
            pass_bytes: plan.total_bytes,
            buffers: (0..depth).map(|_| IoBuf::zeroed(4096)).collect(),
            filler: Some(Filler::new(&stream.content, 4096, 1)),
            checks: Extra::new(|| None),
            pacing: Pacing::new(&stream.pace, START, 1),
            flow: Extra::new(|| None),
            priorities: Extra::new(|| None),
            logs: Extra::new(|| None),
            trace: Extra::new(|| None),
            gaps: gaps.of_worker(number),
            turns: Extra::new(|| None),
        };
        let engine = Scripted::<ASYNC> {
            clock,
            script: self.script,
            log: &log,
            under_way: Vec::new(),
            room: self.room,
            queued: 0,
            takes: self.takes,
            flush: self.flush,
        };
        let mut worker = Worker::new(engine, parts);
        worker.open_files(&AtomicBool::new(false)).unwrap();
        time.fetch_add(self.late_ns, Ordering::Relaxed);
        let finished = worker.run(START);
        assert!(finished.error.is_none(), "{:?}", finished.error);
        let mut report = finished.report;
        report.longest_gap = gaps.longest().map(|gap| Gap {
            start_ns: gap.from_ns - finished.start_ns,
            length_ns: gap.length_ns(),
        });
        let told = self.shared.progress().ios;
        Played {
            measured: measurement(&[&report]),
            report,
            still_ramping: finished.still_ramping,
            ios_told: told.iter().map(|(_, ios)| *ios).sum(),
            log: log.take(),
        }
    }
}

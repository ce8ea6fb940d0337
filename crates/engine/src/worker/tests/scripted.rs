//! An engine that follows a script, a clock that it moves, and a worker between
//! them.

use super::super::*;
use super::START;
use crate::gaps::SharedGaps;
use crate::recorder::{Merged, merge};
use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

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
    pub(super) attempts: Vec<(u64, u64, Direction)>,
    pub(super) deepest: usize,
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
}

impl<const ASYNC: bool> Scripted<'_, ASYNC> {
    fn attempt(&mut self, mut unit: IoUnit) -> (u64, Completion) {
        let now_ns = self.clock.now();
        let mut log = self.log.take();
        let (offset, _) = unit.remainder();
        let act = (self.script)(log.attempts.len() as u64);
        log.attempts.push((now_ns, offset, direction_of(&unit)));
        self.log.set(log);
        let result = act.result.map(|bytes| bytes.min(unit.left()));
        (now_ns + act.latency_ns, Completion { unit, result })
    }
}

impl<const ASYNC: bool> IoEngine for Scripted<'_, ASYNC> {
    const ASYNCHRONOUS: bool = ASYNC;

    fn queue(&mut self, _file: &OpenFile, unit: IoUnit) -> QueueStatus {
        if ASYNC && self.under_way.len() >= self.room {
            return QueueStatus::Busy(unit);
        }
        let (done_ns, completion) = self.attempt(unit);
        if !ASYNC {
            self.clock.0.store(done_ns, Ordering::Relaxed);
            return QueueStatus::Completed(completion);
        }
        self.under_way.push((done_ns, completion));
        self.queued += 1;
        let mut log = self.log.take();
        log.deepest = log.deepest.max(self.under_way.len());
        self.log.set(log);
        QueueStatus::Queued
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        let taken = self.queued.min(self.takes);
        self.queued -= taken;
        Ok(taken)
    }

    fn reap(
        &mut self,
        min: u32,
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
        let (ready, rest) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition(|&(at, _)| at <= now_ns);
        self.under_way = rest;
        done.extend(ready.into_iter().map(|(_, completion)| completion));
        Ok(())
    }
}

/// A job and how the world treats it.
pub(super) struct Play<'s> {
    pub(super) job: Job,
    pub(super) script: &'s Script<'s>,
    pub(super) room: usize,
    /// Handed over in one go.
    pub(super) takes: usize,
    /// Gaps of all workers, and which of them this one is.
    pub(super) gaps: (Arc<SharedGaps>, usize),
    /// What is flushed; a plain file unless a test wants flushes to fail.
    pub(super) file: Option<File>,
    pub(super) stop: &'s AtomicBool,
}

/// What came of it.
pub(super) struct Played {
    pub(super) merged: Merged,
    /// From clock start.
    pub(super) elapsed_ns: u64,
    pub(super) still_ramping: bool,
    pub(super) halted: bool,
    /// As told to those who watch.
    pub(super) ios_told: u64,
    pub(super) log: Log,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl<'s> Play<'s> {
    pub(super) fn new(job: Job, script: &'s Script<'s>) -> Self {
        Self {
            job,
            script,
            room: usize::MAX,
            takes: usize::MAX,
            gaps: (SharedGaps::new(1), 0),
            file: None,
            stop: &NEVER,
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
        self.on::<false, _>(Played::new)
    }

    pub(super) fn asynchronous(self) -> Played {
        self.on::<true, _>(Played::new)
    }

    /// Plays it and looks at what is left behind.
    pub(super) fn on<const ASYNC: bool, T>(
        self,
        look: impl FnOnce(Finished, &Shared<'_>, &SharedGaps, Log) -> T,
    ) -> T {
        let time = AtomicU64::new(START);
        let clock = Virtual(&time);
        let log = Cell::default();
        let shared = Shared {
            stop: self.stop,
            halted: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            ios: AtomicU64::new(0),
        };
        let (shared_gaps, number) = self.gaps;
        let file = self.file.unwrap_or_else(|| tempfile::tempfile().unwrap());
        let parts = Parts {
            clock,
            job: &self.job,
            shared: &shared,
            file: OpenFile::new(file, 0, Path::new("scripted"), true).unwrap(),
            pattern: Pattern::new(&self.job, 1).unwrap(),
            buffers: buffers(&self.job, 1),
            seed: 1,
            gaps: shared_gaps.of_worker(number),
        };
        let engine = Scripted::<ASYNC> {
            clock,
            script: self.script,
            log: &log,
            under_way: Vec::new(),
            room: self.room,
            queued: 0,
            takes: self.takes,
        };
        let finished = Worker::new(engine, parts, START).run().unwrap();
        look(finished, &shared, &shared_gaps, log.take())
    }
}

impl Played {
    fn new(finished: Finished, shared: &Shared<'_>, gaps: &SharedGaps, log: Log) -> Self {
        Self {
            elapsed_ns: finished.end_ns - START,
            still_ramping: finished.still_ramping,
            merged: merge(vec![finished.recorder], gaps).unwrap(),
            halted: shared.halted.load(Ordering::Relaxed),
            ios_told: shared.ios.load(Ordering::Relaxed),
            log,
        }
    }
}

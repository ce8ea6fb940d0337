//! The thread of a stream: phases of I/O and of verification, run by one loop.
//!
//! The loop is generic over the engine. Features that most jobs do not use (pacing, flushes,
//! verification, replays, ...) are behind two flags: `hindered` before an I/O is issued,
//! `attentive` after it completed. Periodic work is behind one comparison with `next_tick_ns`.
//!
//! Properties that keep the loop cheap; `cargo xtask bench overhead` compares it with a plain
//! `pread` loop and with fio:
//!
//! - The compiler makes one loop per engine. For a synchronous engine it sees that an I/O completes
//!   at once.
//! - With neither flag, a synchronous engine and no handling of completions except counting,
//!   `go_straight` reuses one unit for all I/Os, which halves the instructions of a cached read.
//! - An I/O costs one pair of clock readings in user space. An asynchronous engine reads the clock
//!   when an I/O is queued, once per submission call and once per batch of completions.
//! - Latencies go into a log-linear histogram of fixed size (`assay_stats::histogram`).
//! - A stream has a separate table of open files, so that the kernel does not count references to a
//!   file on each call: about 5 % of a cached 4 KiB read.
//! - `io_uring` polls before it sleeps, because a wake-up delays the completions of a fast device.
//! - An I/O owns its buffer until its completion is taken back, and no I/O allocates one. Only the
//!   series and the lists of errors and gaps grow.
//!
//! Errors are data: they are counted and located. A bad spot (`EIO`, `EILSEQ`, `ENODATA`) of a job
//! does not end its trial until there are 64; a stream of a job file ends as its `ErrorPolicy`
//! requests.

mod checking;
mod complete;
mod flushing;
mod issue;

pub(super) use checking::Checks;

use super::files::{FilePlan, FileTable, HeldLock, SharedFiles};
use super::logs::LogSet;
use super::pace::{DepthSearch, FlowShare, Pacing};
use super::source::{Goal, IoSource};
use super::trace::TraceWriter;
use super::{Depths, Note, Priorities, RunTimes, StreamShared, Turn, Turns};
use crate::buffer::{Filler, IoBuf};
use crate::engines::{Completion, IoEngine, IoUnit};
use crate::extra::Extra;
use crate::load::files::Room;
use crate::recorder::{Recorder, WorkerGaps};
use crate::sys::Clock;
use crate::{EngineError, sys};
use assay_model::job::FlushCall;
use assay_model::load::report::{StreamReport, StreamState};
use assay_model::load::{Ddir, PerDirection, Stream};
use assay_model::trial::CpuUse;
use flushing::Flushes;
use issue::{Next, Tags};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;

#[cfg(feature = "loads")]
pub(super) use checking::state_path;

/// Maximum interval of checks of the stop flag.
const MAX_TICK_NS: u64 = 100_000_000;

/// Parts of a worker, except its engine.
pub(super) struct Parts<'a, C> {
    pub(super) clock: C,
    pub(super) stream: &'a Stream,
    pub(super) plan: &'a FilePlan,
    pub(super) shared_files: &'a SharedFiles,
    pub(super) shared: &'a StreamShared,
    pub(super) files: FileTable<'a>,
    pub(super) source: IoSource,
    /// Bytes of one pass.
    pub(super) pass_bytes: u64,
    pub(super) buffers: Vec<IoBuf>,
    /// Source of written data; `None` if the engine moves no data.
    pub(super) filler: Option<Filler>,
    pub(super) checks: Extra<Checks>,
    pub(super) pacing: Option<Pacing>,
    pub(super) flow: Extra<FlowShare>,
    pub(super) priorities: Extra<Priorities>,
    pub(super) logs: Extra<LogSet>,
    pub(super) trace: Extra<TraceWriter>,
    pub(super) gaps: WorkerGaps,
    pub(super) turns: Extra<Turns>,
}

/// Results of a worker.
pub(super) struct Finished {
    pub(super) report: StreamReport,
    /// Start of the measured time.
    pub(super) start_ns: u64,
    /// True if the stream ended before its ramp, so that nothing was measured.
    pub(super) still_ramping: bool,
    /// Error that ended the worker, if it was not a failed I/O.
    pub(super) error: Option<EngineError>,
    pub(super) logs: Extra<LogSet>,
    pub(super) notes: Vec<Note>,
}

/// Current phase of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// I/O of the job.
    Act,
    /// Reading back and verifying all written blocks.
    Check,
}

/// Reason why the stream ends early.
#[derive(Clone, Debug)]
struct Failure {
    errno: i32,
    problem: String,
}

/// A stream on its engine.
pub(super) struct Worker<'a, E, C> {
    engine: E,
    clock: C,
    stream: &'a Stream,
    plan: &'a FilePlan,
    shared_files: &'a SharedFiles,
    shared: &'a StreamShared,
    files: FileTable<'a>,
    /// True if not all files are open at the same time.
    few_open: bool,
    /// Lock of the file of the next I/O.
    next_lock: Option<HeldLock>,
    source: IoSource,
    pass_bytes: u64,
    phase: Phase,
    goal: Goal,
    /// Number of I/Os that may be in flight now.
    depth: u32,
    in_flight: u32,
    free: Vec<IoBuf>,
    tags: Tags,
    /// Units to be queued again: refused by a full queue, or cut short.
    again: Vec<IoUnit>,
    /// Tags of units that were queued but not submitted, in order.
    uncommitted: Vec<u32>,
    /// True if something may delay the next I/O.
    hindered: bool,
    /// True if completions need more handling than counting.
    attentive: bool,
    filler: Option<Filler>,
    checks: Extra<Checks>,
    flushes: Flushes,
    pacing: Option<Pacing>,
    flow: Extra<FlowShare>,
    priorities: Extra<Priorities>,
    search: Option<DepthSearch>,
    /// True if the depth changes as soon as nothing is in flight.
    changes_depth: bool,
    logs: Extra<LogSet>,
    trace: Extra<TraceWriter>,
    turns: Extra<Turns>,
    /// Time at which the clock stopped; `None` while it runs.
    stopped_ns: Option<u64>,
    recorder: Recorder,
    depths: Depths,
    times: RunTimes,
    /// Start of the measured time.
    start_ns: u64,
    ramp_end_ns: Option<u64>,
    deadline_ns: u64,
    next_tick_ns: u64,
    /// End of the current interval of the steady-state detection.
    steady_ns: Option<u64>,
    /// True if no more I/O is issued.
    stopping: bool,
    /// True if `runtime` ended the work.
    timed_out: bool,
    failure: Option<Failure>,
    error: Option<EngineError>,
    total_errors: u64,
    mismatches: u64,
    /// Number of calls of `sync_file_range(2)`.
    range_syncs: u64,
    flushed_at_end: bool,
    dropped: PerDirection<u64>,
    /// Bytes transferred before the recorder was last restarted.
    moved_before: PerDirection<u64>,
    cpu_before: CpuUse,
    faults_before: sys::Faults,
    started_unix_ms: u64,
    notes: Vec<Note>,
}

impl<'a, E: IoEngine, C: Clock> Worker<'a, E, C> {
    /// Creates a worker whose clock does not run yet.
    pub(super) fn new(engine: E, parts: Parts<'a, C>) -> Self {
        let stream = parts.stream;
        let start_ns = parts.clock.now();
        let interval_ns = stream.stats.bw_interval.min(stream.stats.iops_interval).0;
        let depth = stream.engine.iodepth;
        let asynchronous = engine.is_asynchronous();
        let search = (stream.pace.latency_target.as_ref())
            .map(|target| DepthSearch::new(target, depth, start_ns));
        let mut worker = Self {
            engine,
            clock: parts.clock,
            stream,
            plan: parts.plan,
            shared_files: parts.shared_files,
            shared: parts.shared,
            few_open: parts.files.is_limited(),
            files: parts.files,
            next_lock: None,
            source: parts.source,
            pass_bytes: parts.pass_bytes,
            phase: Phase::Act,
            goal: Goal::default(),
            depth: search.as_ref().map_or(depth, DepthSearch::depth),
            in_flight: 0,
            tags: Tags::new(parts.buffers.len()),
            free: parts.buffers,
            again: Vec::new(),
            uncommitted: Vec::with_capacity(depth as usize),
            hindered: false,
            attentive: false,
            filler: parts.filler,
            checks: parts.checks,
            flushes: Flushes::new(&stream.durability),
            pacing: parts.pacing,
            flow: parts.flow,
            priorities: parts.priorities,
            search,
            changes_depth: false,
            logs: parts.logs,
            trace: parts.trace,
            turns: parts.turns,
            stopped_ns: None,
            recorder: Recorder::new(start_ns, interval_ns, asynchronous, parts.gaps),
            depths: Depths::default(),
            times: RunTimes::new(start_ns),
            start_ns,
            ramp_end_ns: None,
            deadline_ns: u64::MAX,
            next_tick_ns: 0,
            steady_ns: None,
            stopping: false,
            timed_out: false,
            failure: None,
            error: None,
            total_errors: 0,
            mismatches: 0,
            range_syncs: 0,
            flushed_at_end: false,
            dropped: PerDirection::default(),
            moved_before: PerDirection::default(),
            cpu_before: sys::thread_cpu_use(),
            faults_before: sys::thread_faults(),
            started_unix_ms: 0,
            notes: Vec::new(),
        };
        worker.hindered = worker.can_be_hindered();
        worker.attentive = worker.must_attend();
        worker
    }

    /// Runs the job. Its clock starts at `start_ns`, which is a moment ago.
    pub(super) fn run(mut self, start_ns: u64) -> Finished {
        if self.pacing.is_some() || self.flow.is_some() || self.source.is_replay() {
            sys::exact_timers();
        }
        self.start_clock(start_ns);
        self.trace_open_files();
        let outcome = self.loops(start_ns);
        if let Err(error) = outcome {
            self.fail_with(error);
        }
        self.conclude()
    }

    /// Runs all loops of the job. The first counts from the start of the clock, as the runtime
    /// does, even if this thread was scheduled late.
    fn loops(&mut self, start_ns: u64) -> Result<(), EngineError> {
        let mut number = 0;
        let mut since_ns = start_ns;
        loop {
            if number > 0 {
                self.reopen_files()?;
                self.turn(Turn::GoesOn);
                since_ns = self.clock.now();
            }
            number += 1;
            let only_checks = self.checks.as_ref().is_some_and(Checks::only);
            let more = !only_checks
                && (self.stream.length.time_based || number < self.stream.length.loops);
            self.work(more, since_ns)?;
            self.turn(Turn::Stops);
            self.check()?;
            if !more || self.stopping || self.timed_out {
                return Ok(());
            }
            self.source.begin_again()?;
        }
    }

    /// Lets the observer read the counters before any further bytes move.
    fn turn(&mut self, turn: Turn) {
        self.stopped_ns = (turn == Turn::Stops).then(|| self.clock.now());
        if let Some(turns) = self.turns.as_ref() {
            turns.send(turn);
        }
    }

    /// Runs one pass of the job's I/O and the flush at its end. `more` is true if another pass
    /// may follow.
    fn work(&mut self, more: bool, since_ns: u64) -> Result<(), EngineError> {
        self.phase = Phase::Act;
        self.flushed_at_end = false;
        self.goal = Goal::of_pass(self.stream, self.pass_bytes, &self.source);
        if let Some(checks) = self.checks.as_mut() {
            checks.begin_pass();
            if checks.only() && self.stream.blocks.rw.write {
                self.pretend_to_write();
                return Ok(());
            }
        }
        let state = if self.ramp_end_ns.is_some() {
            StreamState::Ramp
        } else {
            StreamState::Running
        };
        self.enter(state, since_ns);
        self.drive()?;
        if (!more || self.timed_out) && self.checks.is_none() {
            self.end_series();
        }
        self.flush_at_end();
        self.leave();
        Ok(())
    }

    /// Ends the series after the last I/O. A flush that follows counts in its latency and in the
    /// run time, but is not a stall.
    fn end_series(&mut self) {
        self.recorder.end_series(self.clock.now());
        self.next_tick_ns = u64::MAX;
    }

    fn start_clock(&mut self, start_ns: u64) {
        let since_ms = self.clock.now().saturating_sub(start_ns) / 1_000_000;
        self.started_unix_ms = self.start_time_ms().saturating_sub(since_ms);
        let ramp_ns = self.stream.length.ramp_time.0;
        self.ramp_end_ns = (ramp_ns > 0).then(|| start_ns.saturating_add(ramp_ns));
        self.stopping = self.shared.is_stopped();
        if let Some(pacing) = &mut self.pacing {
            pacing.restart(start_ns);
        }
        if let Some(search) = &mut self.search {
            search.restart(start_ns);
        }
        if let Some(logs) = self.logs.as_mut() {
            logs.begin();
        }
        self.begin_anew(start_ns);
        self.begin_measuring(start_ns);
    }

    /// Returns the start time by the requested clock, in milliseconds. If this system lacks that
    /// clock, it is the time since 1970.
    fn start_time_ms(&self) -> u64 {
        let clock = ClockId::try_from(self.stream.schedule.start_clock);
        let now = clock_gettime(clock.unwrap_or(ClockId::Realtime));
        // Both values are positive for every clock that counts from an epoch.
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
        seconds * 1_000 + nanos / 1_000_000
    }

    fn enter(&mut self, state: StreamState, since_ns: u64) {
        self.times.begin_phase(since_ns, self.recorder.ios());
        self.shared.set_state(state);
    }

    fn leave(&mut self) {
        let now_ns = self.clock.now();
        self.times.end_phase(now_ns, self.recorder.ios());
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Returns true if I/Os may take this path.
    #[inline]
    fn goes_straight(&self) -> bool {
        !self.engine.is_asynchronous() && !self.hindered && !self.attentive
    }

    /// Performs the I/O of the new `unit` and all that follow. Returns when
    /// there are no more, after an I/O that failed or was cut short, and when a
    /// tick is due; the normal path then continues.
    fn go_straight(&mut self, mut unit: IoUnit) -> Result<(), EngineError> {
        loop {
            let Some(file) = self.files.get(unit.file) else {
                return Err(self.lost_file(unit.file));
            };
            unit.submitted_ns = self.clock.now();
            let result = self.engine.transfer(file, &mut unit);
            let now_ns = self.clock.now();
            if now_ns >= self.next_tick_ns || result != Ok(unit.length) {
                self.tags.moved_on(&unit);
                self.complete(Completion { unit, result }, now_ns);
                return Ok(());
            }
            let latency_ns = now_ns.saturating_sub(unit.submitted_ns);
            self.recorder
                .completed(now_ns, unit.ddir, unit.length, latency_ns);
            if !self.aim_at_next(&mut unit) {
                self.tags.give_back(unit.tag);
                self.free.push(unit.buf);
                return Ok(());
            }
        }
    }

    /// Changes the unit to the next I/O; returns false at the end of the pass.
    #[inline]
    fn aim_at_next(&mut self, unit: &mut IoUnit) -> bool {
        if self.goal.is_reached() {
            return false;
        }
        let Some(step) = self.source.next(&self.goal) else {
            return false;
        };
        self.goal.take(step.length);
        if step.ddir == Ddir::Write {
            self.fill_buffer(&mut unit.buf, &step, unit.tag);
        }
        unit.ddir = step.ddir;
        unit.file = step.file;
        unit.offset = step.offset;
        unit.length = step.length;
        true
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Opens as many files as may be open at once.
    pub(super) fn open_files(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        self.files.open_first(stop)?;
        self.notes.append(&mut self.files.take_notes());
        let numbers: Vec<u32> = self.files.open_numbers().collect();
        for number in numbers {
            if let Some(file) = self.files.get(number) {
                self.engine.opened(file)?;
            }
        }
        Ok(())
    }

    /// Prepares the files for each loop but the first: fresh files if they were removed, and pages
    /// evicted from the page cache if requested.
    fn reopen_files(&mut self) -> Result<(), EngineError> {
        let files = &self.stream.files;
        let opens = self.stream.engine.kind.properties().paths.opens();
        if !opens && !files.unlink_each_loop {
            return Ok(());
        }
        self.close_files();
        if self.stream.files.unlink_each_loop {
            self.files.remove_files()?;
            let mut notes = Vec::new();
            let mut plan = self.plan.clone();
            let stop = AtomicBool::new(false);
            plan.lay_out(self.stream, self.shared_files, &stop, &mut |note| {
                notes.push(note);
            })?;
        }
        self.open_files(&AtomicBool::new(false))?;
        self.trace_open_files();
        Ok(())
    }

    /// Records in the trace that the currently open files were opened.
    fn trace_open_files(&mut self) {
        let at_ns = self.clock.now().saturating_sub(self.start_ns);
        if let Some(trace) = self.trace.as_mut() {
            for number in self.files.open_numbers() {
                trace.opened(at_ns, number);
            }
        }
    }

    /// Opens the file of the next I/O if necessary. Returns what prevents it, if anything.
    fn want_file(&mut self, number: u32) -> Option<Next> {
        if self.files.get(number).is_some() {
            return None;
        }
        match self.files.room() {
            Room::Busy => return Some(Next::Blocked),
            Room::Close(other) => self.close_file(other),
            Room::Free => {}
        }
        let opened = match self.files.open(number) {
            Ok(file) => self.engine.opened(file),
            Err(error) => Err(error),
        };
        self.notes.append(&mut self.files.take_notes());
        if let Err(error) = opened {
            self.fail_with(error);
            return Some(Next::Over);
        }
        let at_ns = self.clock.now().saturating_sub(self.start_ns);
        if let Some(trace) = self.trace.as_mut() {
            trace.opened(at_ns, number);
        }
        None
    }

    fn close_file(&mut self, number: u32) {
        let wrote = self.recorder.ios().write > 0;
        if wrote && self.stream.durability.fsync_on_close {
            self.flush(number, FlushCall::Fsync);
        }
        self.let_go_of(number);
    }

    fn let_go_of(&mut self, number: u32) {
        if let Some(file) = self.files.close(number) {
            self.engine.closes(&file);
        }
        let at_ns = self.clock.now().saturating_sub(self.start_ns);
        if let Some(trace) = self.trace.as_mut() {
            trace.closed(at_ns, number);
        }
    }

    /// Closes all files.
    fn close_files(&mut self) {
        let numbers: Vec<u32> = self.files.open_numbers().collect();
        for number in numbers {
            self.let_go_of(number);
        }
    }
}

#[cfg(test)]
mod tests;

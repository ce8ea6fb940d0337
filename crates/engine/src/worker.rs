//! The loop that drives an engine: the hot path of assay.
//!
//! One loop serves all engines. It is generic over the engine, so for a
//! synchronous one the compiler sees `queue` complete at once and leaves a
//! plain read-record loop: two clock reads, a histogram update and a handful
//! of compares per I/O. Whatever happens rarely (interval ends, the deadline,
//! the stop flag, progress) hides behind one compare with `next_tick_ns`.

use crate::buffer::IoBuf;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::gaps::WorkerGaps;
use crate::io::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use crate::pacing::Pacer;
use crate::pattern::Pattern;
use crate::recorder::Recorder;
use crate::sys;
use assay_model::job::{Content, Direction, Flush, FlushCall, Job};
use assay_model::load::Ddir;
use assay_model::load::priority::IoPriority;
use assay_model::rng::SplitMix64;
use assay_model::trial::{CpuUse, IoErrorRecord};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The stop flag is looked at least this often while I/O completes.
const MAX_TICK_NS: u64 = 100_000_000;
/// A worker gives up after that many failed I/Os.
const MAX_ERRORS: u64 = 64;

/// What workers share with each other and with the thread that waits for them.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    /// Set from outside to end the trial.
    pub(crate) stop: &'a AtomicBool,
    /// Set by a worker that cannot go on.
    pub(crate) halted: AtomicBool,
    pub(crate) bytes: AtomicU64,
    pub(crate) ios: AtomicU64,
}

/// What a worker leaves behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) recorder: Recorder,
    /// When it had nothing more to do.
    pub(crate) end_ns: u64,
    pub(crate) cpu: CpuUse,
    /// The job was over before its ramp was: nothing was measured.
    pub(crate) still_ramping: bool,
}

/// One worker: a job's I/O on one engine.
pub(crate) struct Worker<'a, E, C> {
    engine: E,
    clock: C,
    job: &'a Job,
    shared: &'a Shared<'a>,
    file: OpenFile,
    pattern: Pattern,
    free: Vec<IoBuf>,
    /// Units to be queued again: given back by a full queue, or cut short.
    again: Vec<IoUnit>,
    in_flight: u32,
    /// When units were queued that were not handed over yet, in that order.
    uncommitted: Vec<(Ddir, u64)>,
    blocks_left: u64,
    /// Writes handed over since the last flush.
    writes_unflushed: u32,
    /// When the pace allows the next I/O, if that is what it waits for.
    due_ns: Option<u64>,
    pacer: Option<Pacer>,
    /// Numbers the written blocks, to make each unlike all others.
    serial: u64,
    ramp_end_ns: Option<u64>,
    deadline_ns: u64,
    next_tick_ns: u64,
    stopping: bool,
    published: (u64, u64),
    recorder: Recorder,
    cpu_before: CpuUse,
}

/// Everything a worker is made of but its engine.
pub(crate) struct Parts<'a, C> {
    pub(crate) clock: C,
    pub(crate) job: &'a Job,
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) file: OpenFile,
    pub(crate) pattern: Pattern,
    pub(crate) buffers: Vec<IoBuf>,
    /// Seed of this worker.
    pub(crate) seed: u64,
    pub(crate) gaps: WorkerGaps,
}

/// Buffers for one worker, as many as it keeps I/Os in flight.
pub(crate) fn buffers(job: &Job, seed: u64) -> Vec<IoBuf> {
    let block = usize::try_from(job.bs.0).unwrap_or(usize::MAX);
    let depth = job.iodepth as usize;
    let mut rng = SplitMix64::new(seed);
    let one = |rng: &mut SplitMix64| match (job.rw.writes(), job.content) {
        (true, Content::Random) => IoBuf::random(block, depth, rng),
        _ => IoBuf::zeroed(block),
    };
    (0..depth).map(|_| one(&mut rng)).collect()
}

impl<'a, E: IoEngine, C: Clock> Worker<'a, E, C> {
    /// A worker whose clock starts at `start_ns`.
    pub(crate) fn new(engine: E, parts: Parts<'a, C>, start_ns: u64) -> Self {
        let job = parts.job;
        let asynchronous = E::ASYNCHRONOUS;
        let ramp_end_ns = (job.ramp_time.0 > 0).then(|| start_ns + job.ramp_time.0);
        let mut gaps = parts.gaps;
        if ramp_end_ns.is_none() {
            gaps.begin(start_ns);
        }
        let recorder = Recorder::new(start_ns, job.interval.0, asynchronous, gaps);
        let mut worker = Self {
            engine,
            clock: parts.clock,
            job,
            shared: parts.shared,
            file: parts.file,
            pattern: parts.pattern,
            free: parts.buffers,
            again: Vec::new(),
            in_flight: 0,
            uncommitted: Vec::with_capacity(job.iodepth as usize),
            blocks_left: blocks_allowed(job),
            writes_unflushed: 0,
            due_ns: None,
            pacer: job.rate.map(|rate| Pacer::new(rate, job.bs.0, start_ns)),
            serial: SplitMix64::new(parts.seed).next_u64(),
            ramp_end_ns,
            deadline_ns: 0,
            next_tick_ns: 0,
            stopping: false,
            published: (0, 0),
            recorder,
            cpu_before: sys::thread_cpu_use(),
        };
        worker.set_deadline(ramp_end_ns.unwrap_or(start_ns));
        worker.plan_tick(start_ns);
        worker
    }

    /// Does the job.
    pub(crate) fn run(mut self) -> Result<Finished, EngineError> {
        if self.pacer.is_some() {
            sys::exact_timers();
        }
        let mut done = Vec::with_capacity(self.job.iodepth as usize);
        loop {
            self.submit()?;
            if self.in_flight == 0 {
                break;
            }
            self.commit()?;
            let timeout_ns = self.until_next_due_ns();
            self.engine.reap(1, timeout_ns, &mut done)?;
            let now_ns = self.clock.now();
            for completion in done.drain(..) {
                self.in_flight -= 1;
                self.complete(completion, now_ns);
            }
        }
        Ok(self.finish())
    }

    /// Queues I/Os until the depth is reached or there is nothing to queue.
    #[inline]
    fn submit(&mut self) -> Result<(), EngineError> {
        while self.in_flight < self.job.iodepth {
            let Some(mut unit) = self.next_unit() else {
                break;
            };
            let now_ns = self.clock.now();
            if unit.moved == 0 {
                unit.submitted_ns = now_ns;
            }
            let ddir = unit.ddir;
            match self.engine.queue(&self.file, unit) {
                QueueStatus::Completed(completion) => {
                    let now_ns = self.clock.now();
                    self.complete(completion, now_ns);
                }
                QueueStatus::Queued => {
                    self.in_flight += 1;
                    self.uncommitted.push((ddir, now_ns));
                    // One by one, as programs do: the device starts on it while
                    // the next one is made ready.
                    self.commit()?;
                }
                QueueStatus::Busy(unit) => {
                    self.again.push(unit);
                    break;
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        let taken = self.engine.commit()?;
        if taken == 0 {
            return Ok(());
        }
        let now_ns = self.clock.now();
        // What the kernel did not take goes on waiting.
        let taken = taken.min(self.uncommitted.len());
        for (ddir, queued_ns) in self.uncommitted.drain(..taken) {
            self.recorder
                .submitted(ddir, now_ns.saturating_sub(queued_ns));
        }
        Ok(())
    }

    /// The next I/O to queue; `None` when there is none now (something must
    /// come back first) or none at all.
    #[inline]
    fn next_unit(&mut self) -> Option<IoUnit> {
        if self.stopping {
            return None;
        }
        if let Some(unit) = self.again.pop() {
            return Some(unit);
        }
        if self.blocks_left == 0 || !self.flush_if_due() || !self.wait_for_pace() {
            return None;
        }
        let (direction, offset) = self.pattern.next()?;
        let mut buf = self.free.pop()?;
        self.blocks_left -= 1;
        self.writes_unflushed += u32::from(direction == Direction::Write);
        if direction == Direction::Write && self.job.content == Content::Random {
            self.serial = self.serial.wrapping_add(1);
            buf.renew(self.serial);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "measure() refuses blocks of 4 GiB"
        )]
        let length = self.job.bs.0 as u32;
        Some(IoUnit {
            ddir: match direction {
                Direction::Read => Ddir::Read,
                Direction::Write => Ddir::Write,
            },
            file: self.file.number,
            offset,
            length,
            moved: 0,
            buf,
            submitted_ns: 0,
            priority: IoPriority::NONE,
            tag: 0,
        })
    }

    /// An I/O came back.
    #[inline]
    fn complete(&mut self, completion: Completion, now_ns: u64) {
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
        let Completion { mut unit, result } = completion;
        match result {
            Ok(bytes) if bytes == unit.left() => {
                let latency_ns = now_ns.saturating_sub(unit.submitted_ns);
                self.recorder
                    .completed(now_ns, unit.ddir, unit.length, latency_ns);
                self.free.push(unit.buf);
            }
            Ok(bytes) if bytes > 0 => {
                self.recorder.short(unit.ddir);
                unit.moved += bytes;
                self.again.push(unit);
            }
            Ok(_) => self.fail(unit, None, now_ns),
            Err(errno) => self.fail(unit, Some(errno), now_ns),
        }
    }

    /// An I/O failed: counted, located, and the end of the job unless only
    /// that spot of the medium is bad.
    #[cold]
    fn fail(&mut self, unit: IoUnit, errno: Option<i32>, now_ns: u64) {
        let message = errno.map_or_else(
            || "unexpected end of file".to_owned(),
            |errno| std::io::Error::from_raw_os_error(errno).to_string(),
        );
        self.record_error(Some(&unit), errno, message, now_ns);
        let bad_spot = matches!(errno, Some(libc::EIO | libc::EILSEQ | libc::ENODATA));
        if !bad_spot || self.recorder.error_count() >= MAX_ERRORS {
            self.halt();
        }
        self.free.push(unit.buf);
    }

    fn record_error(
        &mut self,
        unit: Option<&IoUnit>,
        errno: Option<i32>,
        message: String,
        now_ns: u64,
    ) {
        let record = IoErrorRecord {
            direction: unit.map(direction_of),
            offset: unit.map_or(0, |unit| unit.offset + u64::from(unit.moved)),
            length: unit.map_or(0, |unit| u64::from(unit.left())),
            errno,
            message,
            at_ns: 0,
        };
        self.recorder.error(record, now_ns);
    }

    fn halt(&mut self) {
        self.stopping = true;
        self.shared.halted.store(true, Ordering::Relaxed);
    }

    /// Whatever is due at certain times only.
    #[cold]
    fn tick(&mut self, now_ns: u64) {
        if let Some(ramp_end_ns) = self.ramp_end_ns.filter(|&end| now_ns >= end) {
            self.end_ramp(ramp_end_ns);
        }
        self.recorder.roll(now_ns);
        self.recorder.tell_gaps();
        let stopped =
            self.shared.stop.load(Ordering::Relaxed) || self.shared.halted.load(Ordering::Relaxed);
        self.stopping |= stopped || now_ns >= self.deadline_ns;
        self.publish();
        self.plan_tick(now_ns);
    }

    /// The measured time begins. What the ramp consumed is given back, but for
    /// I/Os under way: they count when they complete.
    fn end_ramp(&mut self, ramp_end_ns: u64) {
        self.ramp_end_ns = None;
        self.recorder.restart(ramp_end_ns);
        self.pattern.end_ramp();
        let under_way = self.job.iodepth as usize - self.free.len();
        self.blocks_left = blocks_allowed(self.job).saturating_sub(under_way as u64);
        self.cpu_before = sys::thread_cpu_use();
        self.published = (0, 0);
    }

    fn set_deadline(&mut self, measured_from_ns: u64) {
        self.deadline_ns = self.job.runtime.map_or(u64::MAX, |runtime| {
            measured_from_ns.saturating_add(runtime.0)
        });
    }

    fn plan_tick(&mut self, now_ns: u64) {
        self.next_tick_ns = self
            .recorder
            .interval_end_ns()
            .min(self.deadline_ns)
            .min(self.ramp_end_ns.unwrap_or(u64::MAX))
            .min(now_ns + MAX_TICK_NS);
    }

    fn publish(&mut self) {
        let (bytes, ios) = self.recorder.so_far();
        let (bytes_before, ios_before) = self.published;
        self.shared
            .bytes
            .fetch_add(bytes - bytes_before, Ordering::Relaxed);
        self.shared
            .ios
            .fetch_add(ios - ios_before, Ordering::Relaxed);
        self.published = (bytes, ios);
    }

    /// Flushes when the job asks for it after so many writes; false while
    /// writes that it must cover are still under way.
    #[inline]
    fn flush_if_due(&mut self) -> bool {
        match self.job.flush.every {
            Some((every, call)) if self.writes_unflushed >= every => {
                if self.in_flight > 0 {
                    return false;
                }
                self.flush(call);
                !self.stopping
            }
            _ => true,
        }
    }

    fn flush(&mut self, call: FlushCall) {
        let before_ns = self.clock.now();
        let answer = self.engine.flush(&self.file, call);
        let now_ns = self.clock.now();
        match answer {
            Ok(()) => self
                .recorder
                .flushed(now_ns, now_ns.saturating_sub(before_ns)),
            Err(errno) => {
                let message = format!("flush: {}", std::io::Error::from(errno));
                self.record_error(None, Some(errno.raw_os_error()), message, now_ns);
                self.halt();
            }
        }
        self.writes_unflushed = 0;
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
    }

    /// Waits until the pace allows an I/O; false when others are under way,
    /// which can be reaped meanwhile.
    #[inline]
    fn wait_for_pace(&mut self) -> bool {
        let Some(mut pacer) = self.pacer else {
            return true;
        };
        loop {
            let now_ns = self.clock.now();
            if now_ns >= self.next_tick_ns {
                self.tick(now_ns);
            }
            if self.stopping {
                return false;
            }
            let wait_ns = pacer.wait_ns(now_ns);
            if wait_ns == 0 {
                pacer.step(now_ns);
                self.pacer = Some(pacer);
                return true;
            }
            if self.in_flight > 0 {
                self.due_ns = Some(now_ns.saturating_add(wait_ns));
                return false;
            }
            let until_tick_ns = self.next_tick_ns.saturating_sub(now_ns);
            self.clock.sleep(wait_ns.min(until_tick_ns));
        }
    }

    /// How long to wait for completions before the pace allows another I/O;
    /// `None`: only a completion makes room for one.
    fn until_next_due_ns(&mut self) -> Option<u64> {
        let due_ns = self.due_ns.take()?;
        Some(due_ns.saturating_sub(self.clock.now()))
    }

    /// Ends the job: the last flush, and the clock stops.
    fn finish(mut self) -> Finished {
        self.recorder.end_series(self.clock.now());
        let unharmed = !self.shared.stop.load(Ordering::Relaxed)
            && !self.shared.halted.load(Ordering::Relaxed);
        if unharmed {
            self.flush_at_end();
        }
        let end_ns = self.clock.now();
        self.recorder.end(end_ns);
        self.publish();
        Finished {
            recorder: self.recorder,
            end_ns,
            cpu: sys::thread_cpu_use().since(self.cpu_before),
            still_ramping: self.ramp_end_ns.is_some(),
        }
    }

    /// The flush that has come due with the last write, and the one that the
    /// job asks for at its end.
    fn flush_at_end(&mut self) {
        // The series ends with the last I/O: the time of the flush is in its
        // latency and in the elapsed time, it is not a stall.
        self.next_tick_ns = u64::MAX;
        let Flush { every, at_end } = self.job.flush;
        let due = every.filter(|&(n, _)| self.writes_unflushed >= n);
        for call in due.map(|(_, call)| call).into_iter().chain(at_end) {
            self.flush(call);
        }
    }
}

/// A job only reads and writes.
#[inline]
fn direction_of(unit: &IoUnit) -> Direction {
    match unit.ddir {
        Ddir::Write => Direction::Write,
        Ddir::Read | Ddir::Trim => Direction::Read,
    }
}

/// How many blocks a worker may do. A single pass has its end in the pattern;
/// its length stands here too, so that I/Os under way when a ramp ends are part
/// of it. (With reads and writes each in order, only the pattern knows.)
fn blocks_allowed(job: &Job) -> u64 {
    let mixed_in_order = job.rw.reads() && job.rw.writes() && !job.rw.is_random();
    let limit = match job.io_size {
        Some(limit) => limit,
        None if job.time_based || mixed_in_order => return u64::MAX,
        None => job.size,
    };
    limit.0 / job.bs.0.max(1)
}

#[cfg(test)]
mod tests;

//! The worker loop: queues I/Os and waits for completions. Each turn prepares the next I/O.

use super::{Phase, Worker};
use crate::EngineError;
use crate::buffer::IoBuf;
use crate::engines::{Completion, IoEngine, IoUnit, QueueStatus};
use crate::load::files::{HeldLock, LockBusy};
use crate::load::pace::Pause;
use crate::load::sequence::Step;
use crate::load::source::Given;
use crate::sys::Clock;
use assay_model::load::blocks::FileLock;
use assay_model::load::{Ddir, IoPriority};

/// Interval of attempts to take a lock that another stream holds.
const LOOK_AT_LOCK_EVERY_NS: u64 = 20_000;

/// Next action of the worker.
pub(super) enum Next {
    /// An I/O to issue.
    Unit(IoUnit),
    /// The end of the phase.
    Over,
    /// No action before this time.
    NotBefore(u64),
    /// Some I/O must complete first.
    Blocked,
}

/// Purpose of a unit in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// I/O of the job.
    #[default]
    Act,
    /// Read-back for verification.
    Check,
}

/// Information about the units in flight, by their tags.
#[derive(Debug)]
pub(super) struct Tags {
    marks: Vec<UnitInFlight>,
    /// Locks of the files that the units work on.
    locks: Vec<Option<HeldLock>>,
    free: Vec<u32>,
}

/// Information about a unit in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnitInFlight {
    /// Time at which the kernel accepted the unit; 0 before that, and for synchronous engines.
    pub(super) issued_ns: u64,
    pub(super) role: Role,
    /// Number of the write in the stream.
    pub(super) number: u64,
    /// True if the block was trimmed since.
    pub(super) trimmed: bool,
    in_use: bool,
    ddir: Option<Ddir>,
    file: u32,
    from: u64,
    to: u64,
}

impl Tags {
    pub(super) fn new(depth: usize) -> Self {
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        Self {
            marks: vec![UnitInFlight::default(); depth as usize],
            locks: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
        }
    }

    #[inline]
    fn take(&mut self, step: &Step, role: Role) -> Option<u32> {
        let tag = self.free.pop()?;
        self.marks[tag as usize] = UnitInFlight {
            issued_ns: 0,
            role,
            number: 0,
            trimmed: false,
            in_use: true,
            ddir: Some(step.ddir),
            file: step.file,
            from: step.offset,
            to: step.offset + u64::from(step.length),
        };
        Some(tag)
    }

    #[inline]
    pub(super) fn give_back(&mut self, tag: u32) -> UnitInFlight {
        self.free.push(tag);
        self.locks[tag as usize] = None;
        let mark = &mut self.marks[tag as usize];
        mark.in_use = false;
        *mark
    }

    /// Updates the record of a unit that was reused for another block.
    pub(super) fn moved_on(&mut self, unit: &IoUnit) {
        let mark = &mut self.marks[unit.tag as usize];
        mark.ddir = Some(unit.ddir);
        mark.file = unit.file;
        mark.from = unit.offset;
        mark.to = unit.offset + u64::from(unit.length);
    }

    #[inline]
    pub(super) fn issued(&mut self, tag: u32, now_ns: u64) {
        let mark = &mut self.marks[tag as usize];
        if mark.issued_ns == 0 {
            mark.issued_ns = now_ns;
        }
    }

    pub(super) fn mark(&mut self, tag: u32) -> &mut UnitInFlight {
        &mut self.marks[tag as usize]
    }

    /// Returns the number and the bytes of the units in flight.
    pub(super) fn in_use(&self) -> (u64, u64) {
        let marks = self.marks.iter().filter(|mark| mark.in_use);
        marks.fold((0, 0), |(ios, bytes), mark| {
            (ios + 1, bytes + mark.to - mark.from)
        })
    }

    /// Returns true if a unit in flight overlaps the range of `step`, so that the order of the two
    /// matters.
    pub(super) fn conflicts(&self, step: &Step) -> bool {
        let end = step.offset + u64::from(step.length);
        self.marks.iter().any(|mark| {
            mark.in_use
                && mark.file == step.file
                && mark.from < end
                && step.offset < mark.to
                && !(mark.ddir == Some(Ddir::Read) && step.ddir == Ddir::Read)
        })
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Returns true if anything can ever delay an I/O.
    pub(super) fn can_be_hindered(&self) -> bool {
        self.checks.is_some()
            || self.flushes.any()
            || self.pacing.is_some()
            || self.flow.is_some()
            || self.source.is_replay()
            || self.stream.engine.serialize_overlap
            || self.stream.trim.percent > 0
            || self.trace.is_some()
            || self.few_open
            || self.search.is_some()
            || self.stream.files.lock != FileLock::None
    }

    /// Returns the next I/O to queue.
    #[inline]
    pub(super) fn next_unit(&mut self) -> Next {
        if self.stopping {
            return self.over();
        }
        if let Some(unit) = self.again.pop() {
            return Next::Unit(unit);
        }
        if self.hindered {
            return self.next_hindered();
        }
        if self.goal.is_reached() {
            return self.over();
        }
        match self.source.next(&self.goal) {
            Some(step) => self.unit(&step, Role::Act),
            None => Next::Over,
        }
    }

    /// Ends the phase, after the write that belongs to the last trim: without it, a limit or a
    /// signal between the two would lose the block's data.
    #[cold]
    fn over(&mut self) -> Next {
        let pairs = self.stream.blocks.rw.trim_then_write && self.failure.is_none();
        if !pairs || self.phase == Phase::Check {
            return Next::Over;
        }
        if let Some(unit) = self.again.pop() {
            return Next::Unit(unit);
        }
        if self.free.is_empty() {
            return Next::Blocked;
        }
        let Some(write) = self.source.take_owed_write() else {
            return Next::Over;
        };
        if self.hindered {
            self.count_issued(&write);
        }
        self.unit(&write, Role::Act)
    }

    /// Returns the next action when something may delay an I/O.
    fn next_hindered(&mut self) -> Next {
        loop {
            if let Some(next) = self.try_next() {
                return next;
            }
        }
    }

    /// Returns the next action; `None` after a flush, when the caller must retry.
    fn try_next(&mut self) -> Option<Next> {
        self.tick_if_due();
        if self.stopping {
            return Some(self.over());
        }
        if let Some(next) = self.next_check() {
            return Some(next);
        }
        if self.phase == Phase::Check {
            return Some(Next::Over);
        }
        if self.must_drain() {
            return Some(Next::Blocked);
        }
        self.flush_if_due();
        if let Some(wait) = self.standstill() {
            return Some(wait);
        }
        if self.stopping {
            return Some(self.over());
        }
        if self.free.is_empty() {
            return Some(Next::Blocked);
        }
        let now_ns = self.clock.now();
        let given = match self.source.peek(&self.goal, self.pacing.as_ref(), now_ns) {
            Given::Step(step) => step,
            Given::NotBefore(due_ns) => return Some(Next::NotBefore(due_ns)),
            Given::Flush(file, call) => {
                if let Some(wait) = self.want_file(file) {
                    return Some(wait);
                }
                self.source.taken();
                self.flush(file, call);
                return None;
            }
            Given::Over => return Some(self.over()),
            Given::Failed(error) => {
                self.fail_with(error);
                return Some(Next::Over);
            }
        };
        if let Some(wait) = self.obstacle(&given) {
            return Some(wait);
        }
        let mut next = self.unit(&given, Role::Act);
        if let Next::Unit(unit) = &mut next {
            let pacing = self.pacing.as_ref();
            if let Some(due_ns) = pacing.and_then(|pacing| pacing.due_ns(given.ddir)) {
                unit.submitted_ns = due_ns;
            }
            self.source.taken();
            self.count_issued(&given);
        }
        // Without a unit no file stays locked.
        self.next_lock = None;
        Some(next)
    }

    /// Returns the obstacle that delays this I/O, if any.
    fn obstacle(&mut self, step: &Step) -> Option<Next> {
        if self.few_open
            && let Some(wait) = self.want_file(step.file)
        {
            return Some(wait);
        }
        let orders_overlaps = self.checks.is_some() || self.stream.engine.serialize_overlap;
        if orders_overlaps && self.tags.conflicts(step) {
            return Some(Next::Blocked);
        }
        if let Some(flow) = self.flow.as_ref()
            && !flow.may_go()
        {
            return Some(Next::NotBefore(self.clock.now() + flow.sleep_ns()));
        }
        self.lock_file(step)
    }

    /// Takes the lock of the step's file, if files are locked.
    fn lock_file(&mut self, step: &Step) -> Option<Next> {
        match self.files.try_lock(step.file, step.ddir) {
            Ok(lock) => {
                self.next_lock = lock;
                None
            }
            // This stream itself may hold it.
            Err(LockBusy) if self.in_flight > 0 => Some(Next::Blocked),
            Err(LockBusy) => Some(Next::NotBefore(self.clock.now() + LOOK_AT_LOCK_EVERY_NS)),
        }
    }

    /// Makes pauses and changes of the depth, which need an empty queue.
    fn standstill(&mut self) -> Option<Next> {
        if self.changes_depth {
            if self.in_flight > 0 {
                return Some(Next::Blocked);
            }
            self.changes_depth = false;
            let now_ns = self.clock.now();
            if let Some(search) = &mut self.search {
                search.restart(now_ns);
                self.depth = search.depth();
            }
        }
        let now_ns = self.clock.now();
        let pause = self.pacing.as_ref()?.pause_due(now_ns)?;
        if self.in_flight > 0 {
            return Some(Next::Blocked);
        }
        self.pause(pause);
        None
    }

    fn pause(&mut self, pause: Pause) {
        let begin_ns = self.clock.now();
        let mut now_ns = begin_ns;
        while now_ns < begin_ns + pause.total_ns && !self.stopping && !self.goal.is_reached() {
            if now_ns >= begin_ns + pause.spin_ns {
                self.rest(begin_ns + pause.total_ns);
            } else {
                self.clock.spin();
            }
            now_ns = self.clock.now();
            if now_ns >= self.next_tick_ns {
                self.tick(now_ns);
            }
        }
        if let Some(pacing) = &mut self.pacing {
            pacing.paused(begin_ns, now_ns);
        }
    }

    fn count_issued(&mut self, step: &Step) {
        let now_ns = self.clock.now();
        if let Some(pacing) = &mut self.pacing {
            pacing.issued(step.ddir, step.length, now_ns);
        }
        if let Some(flow) = self.flow.as_mut() {
            flow.issued();
        }
        self.flushes.count(step, now_ns);
        if let Some(trace) = self.trace.as_mut() {
            trace.io(
                now_ns.saturating_sub(self.start_ns),
                step.file,
                step.ddir,
                step.offset,
                step.length,
            );
        }
    }

    /// Fills the buffer with the data of a write.
    #[inline]
    pub(super) fn fill_buffer(&mut self, buf: &mut IoBuf, step: &Step, tag: u32) {
        let Some(filler) = &mut self.filler else {
            return;
        };
        buf.next_window();
        let block = &mut buf.block_mut()[..step.length as usize];
        match self.checks.as_mut() {
            Some(checks) => checks.stamp(block, step, self.tags.mark(tag), filler),
            None => filler.fill(block, step.offset),
        }
    }

    /// Creates the I/O of a step, with a filled buffer if it writes.
    #[inline]
    pub(super) fn unit(&mut self, step: &Step, role: Role) -> Next {
        let Some(mut buf) = self.free.pop() else {
            return Next::Blocked;
        };
        let Some(tag) = self.tags.take(step, role) else {
            self.free.push(buf);
            return Next::Blocked;
        };
        if role == Role::Act {
            self.goal.take(step.length);
        }
        if self.few_open {
            self.files.began(step.file);
        }
        if let Some(lock) = self.next_lock.take() {
            self.tags.locks[tag as usize] = Some(lock);
        }
        if step.ddir == Ddir::Write {
            self.fill_buffer(&mut buf, step, tag);
        }
        if let Some(checks) = self.checks.as_mut()
            && (role, step.ddir) == (Role::Act, Ddir::Read)
        {
            self.tags.mark(tag).number = checks.number_read();
        }
        Next::Unit(IoUnit {
            ddir: step.ddir,
            file: step.file,
            offset: step.offset,
            length: step.length,
            moved: 0,
            buf,
            submitted_ns: 0,
            priority: match self.priorities.as_mut() {
                Some(priorities) => priorities.draw(step.ddir, step.length),
                None => IoPriority::NONE,
            },
            tag,
        })
    }
}

/// Reason why no more I/O was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Starved {
    /// The phase has no more I/O.
    Over,
    /// The pace allows no I/O before this time.
    Until(u64),
    /// Some I/O must complete first.
    Blocked,
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Runs until the phase has no more I/O and nothing is in flight.
    pub(super) fn drive(&mut self) -> Result<(), EngineError> {
        let mut done = Vec::with_capacity(self.depth as usize);
        loop {
            let next = self.fill()?;
            if self.in_flight == 0 {
                match next {
                    Starved::Over => return Ok(()),
                    Starved::Until(due_ns) => self.rest(due_ns),
                    // Only the pool of verification threads holds buffers.
                    Starved::Blocked => self.await_checks(),
                }
                continue;
            }
            self.take_back(next, &mut done)?;
        }
    }

    /// Waits for the configured number of completions and handles them.
    fn take_back(&mut self, next: Starved, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let options = &self.stream.engine;
        // A full queue is drained to its low mark before more I/Os are queued.
        let low = options.iodepth_low;
        let enough = match low > 0 && self.in_flight >= self.depth {
            true => low.min(self.depth),
            false => self.depth,
        };
        // By default one completion is taken and one I/O queued, as in fio, so that the queue
        // stays full while completions are handled.
        let least = options.batch_complete_min.max(1);
        let most = options.batch_complete_max.max(least);
        loop {
            let timeout_ns = match next {
                Starved::Until(due_ns) => Some(due_ns.saturating_sub(self.clock.now())),
                Starved::Over | Starved::Blocked => None,
            };
            self.engine
                .reap(least.min(self.in_flight), most, timeout_ns, done)?;
            let now_ns = self.clock.now();
            self.depths.completed(done.len());
            let timed_out = done.is_empty();
            for completion in done.drain(..) {
                self.in_flight -= 1;
                self.complete(completion, now_ns);
            }
            if self.in_flight <= enough || timed_out {
                return Ok(());
            }
        }
    }

    /// Queues I/Os until the depth is reached or there is nothing to queue now.
    #[inline]
    fn fill(&mut self) -> Result<Starved, EngineError> {
        let mut starved = Starved::Blocked;
        while self.in_flight < self.depth {
            let mut unit = match self.next_unit() {
                Next::Unit(unit) => unit,
                Next::Over => {
                    starved = Starved::Over;
                    break;
                }
                Next::NotBefore(due_ns) => {
                    starved = Starved::Until(due_ns);
                    break;
                }
                Next::Blocked => break,
            };
            if self.goes_straight() && unit.moved == 0 {
                self.go_straight(unit)?;
                continue;
            }
            let now_ns = self.clock.now();
            if unit.moved == 0 && !self.stream.pace.from_due {
                unit.submitted_ns = now_ns;
            }
            if !self.queue(unit)? {
                break;
            }
        }
        self.commit()?;
        Ok(starved)
    }

    /// Submits an I/O to the engine; returns false if the queue is full.
    #[inline]
    fn queue(&mut self, unit: IoUnit) -> Result<bool, EngineError> {
        let (tag, number) = (unit.tag, unit.file);
        let Some(file) = self.files.get(number) else {
            return Err(self.lost_file(number));
        };
        match self.engine.queue(file, unit) {
            QueueStatus::Completed(completion) => {
                let now_ns = self.clock.now();
                self.complete(completion, now_ns);
            }
            QueueStatus::Queued => {
                self.in_flight += 1;
                self.depths.queued(self.in_flight);
                self.uncommitted.push(tag);
                if self.uncommitted.len() >= self.stream.engine.batch as usize {
                    self.commit()?;
                }
            }
            QueueStatus::Busy(unit) => {
                self.again.push(unit);
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn commit(&mut self) -> Result<(), EngineError> {
        if self.uncommitted.is_empty() {
            return Ok(());
        }
        let taken = self.engine.commit()?.min(self.uncommitted.len());
        if taken == 0 {
            return Ok(());
        }
        let now_ns = self.clock.now();
        self.depths.submitted(taken);
        // I/Os that the kernel did not accept stay queued.
        for tag in self.uncommitted.drain(..taken) {
            self.tags.issued(tag, now_ns);
        }
        Ok(())
    }

    /// Waits until `due_ns` or the next tick, while nothing is in flight.
    pub(super) fn rest(&mut self, due_ns: u64) {
        let now_ns = self.clock.now();
        let until_ns = due_ns.min(self.next_tick_ns);
        if until_ns > now_ns {
            self.clock.sleep(until_ns - now_ns);
        } else {
            std::thread::yield_now();
        }
        self.tick_if_due();
    }

    #[cold]
    pub(super) fn lost_file(&self, number: u32) -> EngineError {
        EngineError::Job {
            job: self.stream.name.clone(),
            problem: format!("file number {number} is not open"),
        }
    }
}

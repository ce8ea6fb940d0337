//! Handling of completed I/Os.

use super::issue::{Role, UnitInFlight};
use super::{Failure, Finished, Goal, MAX_TICK_NS, RunTimes, Worker};
use crate::engines::{Completion, IoEngine, IoUnit};
use crate::extra::Loads;
use crate::held::shown;
use crate::load::pace::DepthDecision;
use crate::load::{Depths, Note, SteadyTotals};
use crate::sys::Clock;
use crate::{EngineError, sys};
use assay_model::job::Direction;
use assay_model::load::report::{
    DepthUse, DirectionReport, LatencyTargetReached, StreamProgress, StreamReport, StreamState,
};
use assay_model::load::{Ddir, PerDirection};
use assay_model::trial::{CpuUse, IoErrorRecord};

/// Time after the deadline in which overdue arrivals are issued; a longer backlog is dropped, so that
/// a rate far above the device's ends as well.
const OVERDUE_NS: u64 = 1_000_000_000;

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Returns true if some part of the worker needs to see each completion.
    pub(super) fn must_attend(&self) -> bool {
        let limits = &self.stream.pace.max_latency;
        self.checks.is_some()
            || self.logs.is_some()
            || self.pacing.is_some()
            || self.search.is_some()
            || self.flushes.any_durable()
            || self.priorities.is_some()
            || self.stream.trim.percent > 0
            || limits.iter().any(|(_, limit)| limit.0 > 0)
    }

    /// Handles a completed I/O.
    #[inline]
    pub(super) fn complete(&mut self, completion: Completion, now_ns: u64) {
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
        let Completion { mut unit, result } = completion;
        match result {
            Ok(bytes) if bytes == unit.left() => self.succeed(unit, now_ns),
            Ok(bytes) if bytes > 0 => {
                self.recorder.short(unit.ddir);
                unit.moved += bytes;
                self.again.push(unit);
            }
            Ok(_) => self.fail(unit, None, now_ns),
            Err(errno) => self.fail(unit, Some(errno), now_ns),
        }
    }

    #[inline]
    fn succeed(&mut self, unit: IoUnit, now_ns: u64) {
        let mark = self.tags.give_back(unit.tag);
        if self.few_open {
            self.files.ended(unit.file);
        }
        let total_ns = now_ns.saturating_sub(unit.submitted_ns);
        let completion_ns = if self.engine.is_asynchronous() && mark.issued_ns > 0 {
            let submission_ns = mark.issued_ns.saturating_sub(unit.submitted_ns);
            self.recorder.submitted(unit.ddir, submission_ns);
            match self.stream.pace.from_due {
                true => total_ns,
                false => now_ns.saturating_sub(mark.issued_ns),
            }
        } else {
            total_ns
        };
        if self.engine.is_asynchronous() {
            self.recorder.in_total(unit.ddir, total_ns);
        }
        self.recorder
            .completed(now_ns, unit.ddir, unit.length, completion_ns);
        if self.attentive {
            self.attend(unit, mark, now_ns, completion_ns, total_ns);
        } else {
            self.free.push(unit.buf);
        }
    }

    /// Updates logs, statistics, pacing and verification for a completed I/O.
    fn attend(
        &mut self,
        unit: IoUnit,
        mark: UnitInFlight,
        now_ns: u64,
        completion_ns: u64,
        total_ns: u64,
    ) {
        if let Some(logs) = self.logs.as_mut()
            && self.ramp_end_ns.is_none()
        {
            let slat_ns = self
                .engine
                .is_asynchronous()
                .then(|| total_ns - completion_ns);
            let at_ns = now_ns.saturating_sub(self.start_ns);
            logs.completed(
                at_ns,
                unit.ddir,
                unit.length,
                unit.offset,
                unit.priority,
                slat_ns,
                completion_ns,
                total_ns,
            );
        }
        if let Some(priorities) = self.priorities.as_ref() {
            let latency_ns = match self.stream.stats.lat_percentiles {
                true => total_ns,
                false => completion_ns,
            };
            let priority = priorities.in_force(unit.priority);
            self.recorder.prioritized(unit.ddir, priority, latency_ns);
        }
        self.flushes.ended(&unit, true);
        if let Some(pacing) = &mut self.pacing {
            pacing.completed(unit.ddir, unit.length);
        }
        if let Some(search) = &mut self.search {
            let finding = search.completed(completion_ns, now_ns);
            self.follow(finding, now_ns);
        }
        let limit = self.stream.pace.max_latency[unit.ddir].0;
        if limit > 0 && total_ns > limit {
            self.too_late(&unit, total_ns, limit);
        }
        self.attend_checked(unit, mark, now_ns);
    }

    /// Applies the result of the search for a depth.
    fn follow(&mut self, finding: DepthDecision, now_ns: u64) {
        match finding {
            DepthDecision::GoOn => {}
            DepthDecision::Changed => self.changes_depth = true,
            DepthDecision::Found => self.begin_anew(now_ns),
            DepthDecision::Done => {
                self.timed_out = true;
                self.goal.give_up();
            }
            DepthDecision::Missed => self.fail_stream(
                libc::ETIMEDOUT,
                "not even one I/O at a time keeps the latency_target".to_owned(),
            ),
        }
    }

    #[cold]
    fn too_late(&mut self, unit: &IoUnit, total_ns: u64, limit_ns: u64) {
        self.fail_stream(
            libc::ETIMEDOUT,
            format!(
                "{} at offset {} took {} us, more than max_latency ({} us)",
                unit.ddir.name(),
                unit.offset,
                total_ns / 1000,
                limit_ns / 1000
            ),
        );
    }

    /// Handles a failed I/O: records the error, and ends the stream unless its options continue
    /// after errors.
    #[cold]
    fn fail(&mut self, unit: IoUnit, errno: Option<i32>, now_ns: u64) {
        let mark = self.tags.give_back(unit.tag);
        if self.few_open {
            self.files.ended(unit.file);
        }
        let errors = &self.stream.errors;
        let number = errno.unwrap_or(libc::EIO);
        let (ignored, go_on) = match unit.ddir {
            _ if mark.role == Role::Check => (&errors.ignore_verify, errors.continue_on_verify),
            Ddir::Read => (&errors.ignore_read, errors.continue_on_read),
            Ddir::Write | Ddir::Trim => (&errors.ignore_write, errors.continue_on_write),
        };
        let is_full = number == libc::ENOSPC && self.stream.length.fill_device;
        if is_full {
            self.goal.give_up();
        } else if !ignored.contains(&number) {
            self.record_error(&unit, errno, now_ns);
            self.total_errors += 1;
            let text = self.describe(&unit, errno);
            if !go_on && !self.passes_bad_spot(errno) {
                self.fail_stream(number, text);
            }
        } else if errors.say_ignored {
            let text = self.describe(&unit, errno);
            let note = format!("{}: ignored: {text}", self.stream.name);
            self.notes.push(Note::Info(note));
        }
        if let Some(checks) = self.checks.as_mut()
            && unit.ddir == Ddir::Write
        {
            checks.lost(&unit, mark.number);
        }
        self.flushes.ended(&unit, false);
        self.dropped[unit.ddir] += 1;
        self.free.push(unit.buf);
    }

    /// Returns true if the error concerns only one spot of the medium, and the number of bad
    /// spots is within the limit.
    fn passes_bad_spot(&self, errno: Option<i32>) -> bool {
        matches!(errno, Some(libc::EIO | libc::EILSEQ | libc::ENODATA))
            && self.recorder.errors().count <= u64::from(self.stream.errors.bad_spots)
    }

    fn describe(&self, unit: &IoUnit, errno: Option<i32>) -> String {
        let path = self
            .files
            .get(unit.file)
            .map_or_else(String::new, |file| shown(&file.path));
        format!(
            "{} of {} bytes at offset {} of {path}: {}",
            unit.ddir.name(),
            unit.left(),
            unit.offset + u64::from(unit.moved),
            errno_in_words(errno),
        )
    }

    fn record_error(&mut self, unit: &IoUnit, errno: Option<i32>, now_ns: u64) {
        let record = IoErrorRecord {
            direction: match unit.ddir {
                Ddir::Read => Some(Direction::Read),
                Ddir::Write => Some(Direction::Write),
                Ddir::Trim => None,
            },
            offset: unit.offset + u64::from(unit.moved),
            length: u64::from(unit.left()),
            errno,
            message: errno_in_words(errno),
            at_ns: 0,
        };
        self.recorder.error(record, now_ns);
    }

    /// Ends the stream with this error, unless it already has one.
    pub(super) fn fail_stream(&mut self, errno: i32, problem: String) {
        self.stopping = true;
        if self.failure.is_none() {
            self.failure = Some(Failure { errno, problem });
        }
    }

    #[cold]
    pub(super) fn fail_with(&mut self, error: EngineError) {
        self.total_errors += 1;
        self.fail_stream(error.errno().unwrap_or(libc::EIO), error.to_string());
        self.error.get_or_insert(error);
    }
}

/// Returns the kernel's error of an I/O as text. Without one, the I/O reached the end of the
/// file.
fn errno_in_words(errno: Option<i32>) -> String {
    errno.map_or_else(
        || "unexpected end of file".to_owned(),
        |errno| std::io::Error::from_raw_os_error(errno).to_string(),
    )
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Sets the times that depend on the start of the measured time.
    pub(super) fn begin_measuring(&mut self, now_ns: u64) {
        self.start_ns = self.ramp_end_ns.unwrap_or(now_ns);
        let runtime = self.stream.length.runtime;
        self.deadline_ns = runtime.map_or(u64::MAX, |time| self.start_ns.saturating_add(time.0));
        self.steady_ns = (self.stream.steady_state.as_ref())
            .map(|steady| self.start_ns + steady.interval.0.max(1));
        self.plan_tick(now_ns);
    }

    pub(super) fn tick_if_due(&mut self) {
        let now_ns = self.clock.now();
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns);
        }
    }

    #[cold]
    pub(super) fn tick(&mut self, now_ns: u64) {
        if let Some(ramp_end_ns) = self.ramp_end_ns.filter(|&end| now_ns >= end) {
            self.end_ramp(ramp_end_ns, now_ns);
        }
        self.recorder.roll(now_ns);
        self.recorder.confirm_gaps();
        self.stopping |= self.shared.is_stopped();
        if now_ns >= self.deadline_ns && !self.has_overdue(now_ns) {
            self.time_out();
        }
        if let Some(pacing) = &mut self.pacing
            && self.ramp_end_ns.is_none()
            && let Some(problem) = pacing.too_slow(now_ns)
        {
            self.fail_stream(libc::EIO, problem);
        }
        if let Some(logs) = self.logs.as_mut() {
            logs.tick(now_ns.saturating_sub(self.start_ns));
        }
        self.report_steady(now_ns);
        self.publish(now_ns);
        if Loads::here().is_some() && self.shared.is_report_wanted() {
            let report = self.report_now(now_ns);
            self.shared.hand_in(report);
        }
        self.plan_tick(now_ns);
    }

    /// Returns true if I/Os that were due before the deadline wait to be issued, and the time for that
    /// is not over: their latencies belong to the trial, and would be missing after a late stall.
    fn has_overdue(&self, now_ns: u64) -> bool {
        let pacing = self.pacing.as_ref();
        let is_due = |ddir| {
            let due_ns = pacing.and_then(|pacing| pacing.due_ns(ddir));
            due_ns.is_some_and(|due_ns| due_ns < self.deadline_ns)
        };
        let used = &self.stream.blocks.rw;
        let dirs = [(Ddir::Read, used.read), (Ddir::Write, used.write)];
        now_ns < self.deadline_ns.saturating_add(OVERDUE_NS)
            && dirs.into_iter().any(|(ddir, does)| does && is_due(ddir))
    }

    /// Ends the pass when `runtime` is over.
    fn time_out(&mut self) {
        self.deadline_ns = u64::MAX;
        self.timed_out = true;
        let done: u64 = self.recorder.bytes().iter().map(|(_, bytes)| bytes).sum();
        if !self.stream.length.time_based && self.goal.bytes_left < self.pass_bytes {
            self.notes.push(Note::Info(format!(
                "{}: runtime ended it after {done} of {} bytes: without time_based, runtime is a limit, not a length",
                self.stream.name, self.pass_bytes
            )));
        }
        self.goal.give_up();
    }

    /// Starts the measured time. The I/O done in the ramp does not count
    /// against the goal, but I/Os in flight count when they complete.
    fn end_ramp(&mut self, ramp_end_ns: u64, now_ns: u64) {
        self.begin_measuring(now_ns);
        self.ramp_end_ns = None;
        self.begin_anew(ramp_end_ns);
        // A single pass restarts from its beginning. A repeating pass continues
        // at its position, so that it does not repeat the last blocks.
        if !self.goal.repeats()
            && let Err(error) = self.source.begin_again()
        {
            self.fail_with(error);
        }
        let (ios, bytes) = self.tags.in_use();
        self.goal = Goal::of_pass(self.stream, self.pass_bytes, &self.source);
        self.goal.bytes_left = self.goal.bytes_left.saturating_sub(bytes);
        self.goal.ios_left = self.goal.ios_left.saturating_sub(ios);
        if let Some(checks) = self.checks.as_mut() {
            checks.begin_pass();
        }
        if let Some(pacing) = &mut self.pacing {
            pacing.restart(now_ns);
        }
        if let Some(search) = &mut self.search {
            search.restart(now_ns);
        }
        self.shared.set_state(StreamState::Running);
    }

    /// Resets the statistics, but keeps the number of bytes moved.
    pub(super) fn begin_anew(&mut self, start_ns: u64) {
        let moved = self.recorder.bytes();
        for ddir in Ddir::ALL {
            self.moved_before[ddir] += moved[ddir];
        }
        self.start_ns = start_ns;
        self.recorder.restart(start_ns);
        if self.ramp_end_ns.is_none() {
            self.recorder.begin_gaps();
        }
        self.times = RunTimes::new(start_ns);
        self.cpu_before = sys::thread_cpu_use();
        self.faults_before = sys::thread_faults();
    }

    fn report_steady(&mut self, now_ns: u64) {
        let Some(steady) = &self.stream.steady_state else {
            return;
        };
        while let Some(end_ns) = self.steady_ns.filter(|&end| now_ns >= end) {
            let sum = |values: PerDirection<u64>| values.iter().map(|(_, value)| *value).sum();
            self.shared.add_steady(SteadyTotals {
                ios: sum(self.recorder.ios()),
                bytes: sum(self.recorder.bytes()),
                latency_sum_ns: self.recorder.latency_sum_ns(),
            });
            self.steady_ns = Some(end_ns + steady.interval.0.max(1));
        }
    }

    pub(super) fn publish(&mut self, now_ns: u64) {
        let length = &self.stream.length;
        let before = self.shared.progress();
        let loops = length.loops.max(1);
        self.shared.set_progress(StreamProgress {
            state: before.state,
            elapsed_ns: now_ns.saturating_sub(self.start_ns),
            ios: self.recorder.ios(),
            bytes: self.recorder.bytes(),
            open_files: u32::try_from(self.files.open_numbers().count()).unwrap_or(u32::MAX),
            goal_bytes: if length.time_based {
                0
            } else {
                self.pass_bytes.saturating_mul(loops)
            },
            goal_ns: (length.runtime).map_or(0, |time| time.0.saturating_add(length.ramp_time.0)),
        });
    }

    pub(super) fn plan_tick(&mut self, now_ns: u64) {
        self.next_tick_ns = self
            .recorder
            .interval_end_ns()
            .min(self.deadline_ns)
            .min(self.ramp_end_ns.unwrap_or(u64::MAX))
            .min(self.steady_ns.unwrap_or(u64::MAX))
            .min(now_ns + MAX_TICK_NS);
    }
}

impl<E: IoEngine, C: Clock> Worker<'_, E, C> {
    /// Finishes the stream and returns its results.
    pub(super) fn conclude(mut self) -> Finished {
        self.recorder.end_series(self.clock.now());
        self.await_checks();
        // Closing a device may write back its whole cache, which is not part of the
        // measurement.
        let end_ns = self.stopped_ns.unwrap_or_else(|| self.clock.now());
        self.recorder.end(end_ns);
        self.save_state();
        if self.in_flight == 0 {
            self.close_files();
        }
        // Otherwise the engine failed with I/O in flight. It is dropped first (see the
        // fields), and waits for that I/O before any file is closed.
        if self.stream.files.unlink
            && let Err(error) = self.files.remove_files()
        {
            self.fail_with(error);
        }
        if let Some(logs) = self.logs.as_mut() {
            logs.finish(end_ns.saturating_sub(self.start_ns));
        }
        if let Some(trace) = self.trace.take()
            && let Err(error) = trace.finish()
        {
            self.fail_with(error);
        }
        if self.ramp_end_ns.is_some() && self.failure.is_none() && !self.stopping {
            self.notes.push(Note::Warning(format!(
                "{}: it ended before its ramp_time was over, so nothing was measured: make it longer, or time_based",
                self.stream.name
            )));
        }
        if let Some(failure) = &self.failure {
            self.notes.push(Note::Error(format!(
                "{}: {}",
                self.stream.name, failure.problem
            )));
        }
        let report = self.report_now(end_ns);
        self.publish(end_ns);
        let failed = self.failure.is_some();
        self.shared.set_state(if failed {
            StreamState::Failed
        } else {
            StreamState::Done
        });
        Finished {
            report,
            start_ns: self.start_ns,
            still_ramping: self.ramp_end_ns.is_some(),
            error: self.error,
            logs: self.logs,
            notes: self.notes,
        }
    }

    /// Returns an interim report of the stream.
    pub(super) fn report_now(&mut self, now_ns: u64) -> StreamReport {
        let bytes = self.recorder.bytes();
        let (cpu, faults) = self.used();
        let ramping = self.ramp_end_ns.is_some();
        StreamReport {
            tid: u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap_or(0),
            started: true,
            started_unix_ms: self.started_unix_ms,
            errno: self.failure.as_ref().map_or(0, |failure| failure.errno),
            total_errors: self.total_errors,
            problem: self.failure.as_ref().map(|f| f.problem.clone()),
            data_mismatches: self.mismatches,
            runtime_ns: now_ns.saturating_sub(self.start_ns),
            elapsed_ns: 0,
            directions: if ramping {
                PerDirection::default()
            } else {
                self.directions(now_ns)
            },
            moved_bytes: PerDirection::from_fn(|ddir| self.moved_before[ddir] + bytes[ddir]),
            sync: self.recorder.flushes(),
            durable: self.recorder.durable(),
            range_syncs: self.range_syncs,
            flushed_at_end: self.flushed_at_end,
            unflushed_bytes: self.unflushed_bytes(),
            stopped_ns: None,
            series: self.recorder.series().clone(),
            longest_gap: None,
            errors: self.recorder.errors().clone(),
            cpu,
            major_faults: faults.major,
            minor_faults: faults.minor,
            depths: self.depths_used(),
            latency_target: self.search.as_ref().map(|search| LatencyTargetReached {
                depth: search.reached(),
            }),
            steady_state: None,
            files: self.plan.sizes(),
            regions: self.plan.parts(),
            lateness: self.source.lateness(),
        }
    }

    /// Returns the bytes written since the last flush that covers them; `None` if nothing
    /// was written.
    fn unflushed_bytes(&self) -> Option<u64> {
        let written = self.moved_before.write + self.recorder.bytes().write;
        let left = match self.hindered {
            true => self.flushes.unflushed(),
            // Nothing was flushed before the end.
            false if self.flushed_at_end => 0,
            false => written,
        };
        (written > 0).then_some(left)
    }

    /// Returns processor time and page faults since the clock started; zeros for a
    /// simulation, whose own cost is not that of the simulated device.
    fn used(&self) -> (CpuUse, sys::Faults) {
        if !C::REAL {
            return Default::default();
        }
        let faults = sys::thread_faults();
        let faults = sys::Faults {
            major: faults.major.saturating_sub(self.faults_before.major),
            minor: faults.minor.saturating_sub(self.faults_before.minor),
        };
        (sys::thread_cpu_use().since(self.cpu_before), faults)
    }

    fn directions(&self, now_ns: u64) -> PerDirection<DirectionReport> {
        let runtimes = self.times.until(now_ns, self.recorder.ios());
        let (ios, bytes) = (self.recorder.ios(), self.recorder.bytes());
        PerDirection::from_fn(|ddir| {
            let recorded = &self.recorder.directions()[ddir];
            DirectionReport {
                ios: ios[ddir],
                bytes: bytes[ddir],
                short_ios: recorded.short_ios(),
                dropped_ios: self.dropped[ddir],
                runtime_ns: runtimes[ddir],
                submission: recorded.submission(),
                completion: recorded.completion(),
                total: recorded.total(),
                priorities: recorded.priorities(),
            }
        })
    }

    fn depths_used(&self) -> DepthUse {
        if self.engine.is_asynchronous() {
            return self.depths.totals();
        }
        let ios = self.recorder.ios();
        Depths::of_synchronous(ios.iter().map(|(_, count)| *count).sum())
    }
}

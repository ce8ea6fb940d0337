//! Periodic work.

use super::{Goal, MAX_TICK_NS, RunTimes, Worker};
use crate::clock::Clock;
use crate::extra::Loads;
use crate::io::IoEngine;
use crate::load::Note;
use crate::load::shared::SteadyTotals;
use crate::sys;
use assay_model::load::report::{StreamProgress, StreamState};
use assay_model::load::{Ddir, PerDirection};

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
        self.recorder.tell_gaps();
        self.stopping |= self.shared.is_stopped();
        if now_ns >= self.deadline_ns {
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
        self.tell_steady(now_ns);
        self.publish(now_ns);
        if Loads::here().is_some() && self.shared.is_report_wanted() {
            let report = self.report_now(now_ns);
            self.shared.hand_in(report);
        }
        self.plan_tick(now_ns);
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

    fn tell_steady(&mut self, now_ns: u64) {
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

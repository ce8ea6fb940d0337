//! Reports of a stream.

use super::{Finished, Worker};
use crate::clock::Clock;
use crate::io::IoEngine;
use crate::load::Note;
use crate::load::tally::Depths;
use crate::sys;
use assay_model::load::PerDirection;
use assay_model::load::report::{
    DepthUse, DirectionReport, LatencyTargetReached, StreamReport, StreamState,
};
use assay_model::trial::CpuUse;

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

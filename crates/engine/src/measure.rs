//! Running one job: workers, the clock around them, and what they recorded.

mod crew;
mod rules;

use crate::clock::{Clock, MonotonicClock};
use crate::error::EngineError;
use crate::gaps::SharedGaps;
use crate::recorder::{Recorder, merge};
use crate::start::StartLine;
use crate::worker::{Finished, Shared};
use assay_model::job::Job;
use assay_model::trial::Measurement;
use crew::{LetGo, Reports, Work, spawn};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How soon after the start the workers' gaps are looked at for the first time;
/// then after twice that, and so on up to [`PROGRESS_EVERY`].
const FIRST_LOOK: Duration = Duration::from_millis(4);
/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// How far a job has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since the clock started.
    pub elapsed_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
}

/// What the workers do while [`Observer::clock_starts`] looks around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// They wait for it: what takes long comes first, so that the counters are
    /// read right before the clock starts.
    Held,
    /// They are on their way, for a ramp has just ended: every I/O is measured
    /// already, so the counters come first.
    Running,
}

/// Whoever watches a job: gathers evidence when the clock starts and stops,
/// and shows progress. Called on the thread that called [`measure()`].
pub trait Observer {
    /// Everything is ready; the clock starts when this returns, or has just
    /// started ([`Start`] tells).
    fn clock_starts(&mut self, start: Start);
    /// The last worker has just finished.
    fn clock_stopped(&mut self);
    /// A few times a second.
    fn progress(&mut self, progress: Progress);
}

/// Runs `job` on the file or device at `path`, which must exist, until it is
/// done or `stop` is set. The same `seed` gives the same offsets in the same
/// order.
///
/// # Errors
/// When the job cannot start here (file, engine, contradiction) or the kernel
/// refuses to take I/O. Failed I/Os are not errors but part of the result.
pub fn measure(
    job: &Job,
    path: &Path,
    seed: u64,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    rules::check(job)?;
    let shared = Shared {
        stop,
        halted: AtomicBool::new(false),
        bytes: AtomicU64::new(0),
        ios: AtomicU64::new(0),
    };
    let start = StartLine::default();
    let gaps = SharedGaps::new(job.numjobs);
    let work = Work {
        job,
        path,
        shared: &shared,
        start: &start,
    };
    std::thread::scope(|scope| {
        let _let_go = LetGo(&work);
        let reports = spawn(scope, &work, seed, &gaps)?;
        Coordinator {
            job,
            shared: &shared,
            start: &start,
            gaps: &gaps,
            reports,
            observer,
        }
        .run()
    })
}

/// The thread that starts the clock and waits for the workers.
struct Coordinator<'a> {
    job: &'a Job,
    shared: &'a Shared<'a>,
    start: &'a StartLine,
    gaps: &'a SharedGaps,
    reports: Reports,
    observer: &'a mut dyn Observer,
}

impl Coordinator<'_> {
    fn run(mut self) -> Result<Measurement, EngineError> {
        self.await_ready()?;
        let ramp_ns = self.job.ramp_time.0;
        if ramp_ns == 0 {
            self.observer.clock_starts(Start::Held);
        }
        let start_ns = MonotonicClock.now();
        self.start.open(start_ns);

        let measured_from_ns = start_ns + ramp_ns;
        let finished = self.await_done(measured_from_ns, ramp_ns > 0);
        self.observer.clock_stopped();
        self.conclude(finished?, measured_from_ns)
    }

    /// Waits until every worker is ready, or cannot be. (One that panicked says
    /// nothing; the panic goes on when all threads have ended.)
    fn await_ready(&self) -> Result<(), EngineError> {
        let reports: Result<Vec<()>, EngineError> = self.reports.ready.iter().collect();
        if reports?.len() < self.job.numjobs as usize {
            return Err(EngineError::Stopped);
        }
        Ok(())
    }

    fn await_done(
        &mut self,
        measured_from_ns: u64,
        mut ramping: bool,
    ) -> Result<Vec<Finished>, EngineError> {
        let mut finished = Vec::new();
        let mut failure = None;
        let mut patience = FIRST_LOOK;
        loop {
            let now_ns = MonotonicClock.now();
            if ramping && now_ns >= measured_from_ns {
                ramping = false;
                self.observer.clock_starts(Start::Running);
                patience = FIRST_LOOK;
            }
            let wait = if ramping {
                PROGRESS_EVERY.min(Duration::from_nanos(measured_from_ns - now_ns))
            } else {
                patience
            };
            match self.reports.done.recv_timeout(wait) {
                Ok(Ok(worker)) => finished.push(worker),
                Ok(Err(error)) => failure = Some(error),
                Err(RecvTimeoutError::Timeout) => {
                    self.gaps.look();
                    if wait == PROGRESS_EVERY {
                        self.tell_progress(measured_from_ns);
                    }
                    patience = (patience * 2).min(PROGRESS_EVERY);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if finished.len() == self.job.numjobs as usize {
                break;
            }
        }
        failure.map_or(Ok(finished), Err)
    }

    fn tell_progress(&mut self, measured_from_ns: u64) {
        self.observer.progress(Progress {
            elapsed_ns: MonotonicClock.now().saturating_sub(measured_from_ns),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            ios: self.shared.ios.load(Ordering::Relaxed),
        });
    }

    fn conclude(
        &self,
        workers: Vec<Finished>,
        measured_from_ns: u64,
    ) -> Result<Measurement, EngineError> {
        let failed = workers.iter().any(|w| w.recorder.error_count() > 0);
        let stopped = self.shared.stop.load(Ordering::Relaxed);
        if workers.iter().any(|w| w.still_ramping) && !failed && !stopped {
            return Err(EngineError::Job {
                job: self.job.name.clone(),
                problem: "it was over before its ramp_time: make it longer or time_based"
                    .to_owned(),
            });
        }
        let cpu = workers.iter().map(|w| w.cpu).sum();
        let end_ns = workers.iter().map(|w| w.end_ns).max().unwrap_or(0);
        let records: Vec<Recorder> = workers.into_iter().map(|w| w.recorder).collect();
        let merged = merge(records, self.gaps).ok_or(EngineError::Stopped)?;
        Ok(Measurement {
            elapsed_ns: end_ns.saturating_sub(measured_from_ns),
            read: merged.read,
            write: merged.write,
            flush: merged.flush,
            series: merged.series,
            longest_gap: merged.longest_gap,
            errors: merged.errors,
            cpu,
        })
    }
}

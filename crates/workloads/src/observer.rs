//! Observer of an act's steps.

use crate::ActError;
use assay_engine::{goes_away, thread_cpu_use};
use assay_model::act::powercut::Word;
use assay_model::act::{ActProgress, ActReport, ProgressUnit, StepDetail};
use assay_model::job::{Direction, Job};
use assay_model::trial::{
    CpuUse, DirectionTotals, Gap, Interval, IoErrorRecord, IoErrors, Measurement, Outcome, Series,
};
use assay_model::units::Bytes;
use assay_model::wire::NoteWeight;
use assay_stats::histogram::Histogram;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Environment of a running act.
pub struct Context<'a> {
    /// Seed of orders and contents.
    pub seed: u64,
    /// Private folder that is removed afterwards, for an act that requests one
    /// (`Act::private_folder_in`).
    pub folder: Option<&'a Path>,
    /// Set when the act must stop and clean up.
    pub stop: &'a AtomicBool,
    /// Set when an interim report is requested; the act clears it.
    pub report_now: &'a AtomicBool,
    /// Observer of the steps.
    pub observer: &'a mut dyn Observer,
}

impl Context<'_> {
    /// Returns true if the act must stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns true if a report is requested, and clears the request.
    pub fn report_wanted(&self) -> bool {
        self.report_now.load(Ordering::Relaxed) && self.report_now.swap(false, Ordering::Relaxed)
    }
}

/// A step that is about to be measured.
#[derive(Clone, Copy, Debug)]
pub struct ObservedStep<'a> {
    /// Description of the step; its name is unique in the act.
    pub job: &'a Job,
    /// Files or devices whose storage and cached pages are evidence.
    pub paths: &'a [&'a Path],
}

/// Outcome of a step.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Measurement; `None` if the step did not start.
    pub measured: Option<Measurement>,
    /// Detail beyond the measurement.
    pub detail: Option<StepDetail>,
}

/// One of several steps that ran at the same time.
#[derive(Clone, Debug)]
pub struct Together {
    /// Description of the step.
    pub job: Job,
    /// Outcome of the step.
    pub outcome: Outcome,
    /// Measurement and detail of the step.
    pub came: StepOutcome,
}

/// Receives the events of an act's steps. The methods are called on the thread that runs
/// the act, in this order for each step: `begins`, `clock_starts`, `clock_stopped`,
/// `ended`.
pub trait Observer {
    /// The preparation of a step begins; nothing is measured yet.
    fn begins(&mut self, step: ObservedStep<'_>);
    /// The preparation is complete: the clock starts when this returns. `step` is as in
    /// `begins`, but its files may exist only now.
    fn clock_starts(&mut self, step: ObservedStep<'_>);
    /// The clock has just stopped.
    fn clock_stopped(&mut self);
    /// The step has ended.
    fn ended(&mut self, outcome: Outcome, came: StepOutcome);
    /// Several simultaneous steps have ended. This replaces `ended`, after one `begins`
    /// whose evidence covers all of them. Works with one step at a time never call it.
    fn ended_together(&mut self, all: Vec<Together>) {
        for one in all {
            self.ended(one.outcome, one.came);
        }
    }
    /// Returns true if the storage of the current step no longer exists.
    fn is_gone(&self) -> bool {
        false
    }
    /// Makes a file system on the scratch device of the act, and mounts it; returns the
    /// mount point.
    ///
    /// # Errors
    /// If there is no such device, or an operation fails.
    fn make_file_system(&mut self, kind: &str) -> Result<PathBuf, ActError> {
        Err(ActError::Refused(format!(
            "{kind}: no scratch device was given to make a file system on"
        )))
    }
    /// Unmounts the file system of [`Self::make_file_system`], if there is one.
    ///
    /// # Errors
    /// If it cannot be unmounted.
    fn leave_file_system(&mut self) -> Result<(), ActError> {
        Ok(())
    }
    /// Waits until all ended steps are stored. Called only when waiting disturbs nothing.
    fn keep(&mut self);
    /// Receives a message for the user.
    fn note(&mut self, weight: NoteWeight, text: String);
    /// Receives the progress a few times a second.
    fn progress(&mut self, progress: &ActProgress);
    /// Receives a message of a power-cut act; other acts send none.
    fn powercut(&mut self, _word: Word) {}
    /// Receives an interim report after one was requested.
    fn interim_report(&mut self, report: ActReport);
}

/// Failed I/Os listed with their offset, at most; all are counted.
const ERRORS_KEPT: usize = 16;
/// Failures of a step after which the device is polled for a moment, because it may disappear with
/// a delay.
const MOMENTS: u32 = 4;

/// Converts a duration into nanoseconds, at most 584 years.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Counts I/Os of one thread from clock start to clock stop.
pub(crate) struct Meter {
    started: Instant,
    cpu_before: CpuUse,
    read: DirectionMeter,
    write: DirectionMeter,
    flush: Histogram,
    /// Histogram of groups of writes, each with the flush that followed it.
    durable: Option<Histogram>,
    /// Time at which the first write since the last flush began.
    unflushed_since_ns: Option<u64>,
    errors: IoErrors,
    /// Number of errors after which the device was still there.
    excused: u64,
    last_errno: Option<i32>,
    /// Remaining failed I/Os after which the device is polled for a moment.
    moments: u32,
    series: Series,
    last_end_ns: u64,
    longest_gap: Gap,
}

#[derive(Default)]
struct DirectionMeter {
    ios: u64,
    bytes: u64,
    latency: Histogram,
}

impl DirectionMeter {
    fn totals(&self) -> DirectionTotals {
        DirectionTotals {
            ios: self.ios,
            bytes: self.bytes,
            latency: self.latency.to_record(),
            ..DirectionTotals::default()
        }
    }
}

impl Meter {
    /// Starts the clock. The series has intervals of this width; 0 for no series.
    pub(crate) fn start(interval_ns: u64) -> Self {
        Self {
            cpu_before: thread_cpu_use(),
            read: DirectionMeter::default(),
            write: DirectionMeter::default(),
            flush: Histogram::new(),
            durable: None,
            unflushed_since_ns: None,
            errors: IoErrors::default(),
            excused: 0,
            last_errno: None,
            moments: MOMENTS,
            series: Series {
                interval_ns,
                points: Vec::new(),
            },
            last_end_ns: 0,
            longest_gap: Gap::default(),
            started: Instant::now(),
        }
    }

    /// Returns the nanoseconds since the clock started.
    pub(crate) fn now_ns(&self) -> u64 {
        nanos(self.started.elapsed())
    }

    /// Counts an I/O that began at `began_ns` and has just ended; returns its latency.
    pub(crate) fn moved(&mut self, direction: Direction, bytes: u64, began_ns: u64) -> u64 {
        let now_ns = self.now_ns();
        let latency_ns = now_ns.saturating_sub(began_ns);
        let way = match direction {
            Direction::Read => &mut self.read,
            Direction::Write => {
                self.unflushed_since_ns.get_or_insert(began_ns);
                &mut self.write
            }
        };
        way.ios += 1;
        way.bytes += bytes;
        way.latency.record(latency_ns);
        self.gap(now_ns);
        let point = self.interval(now_ns);
        if let Some(point) = point {
            match direction {
                Direction::Read => {
                    point.read_ios += 1;
                    point.read_bytes += bytes;
                }
                Direction::Write => {
                    point.write_ios += 1;
                    point.write_bytes += bytes;
                }
            }
            point.max_latency_ns = point.max_latency_ns.max(latency_ns);
        }
        latency_ns
    }

    /// Counts a flush that began at `began_ns` and has just ended; returns its latency. The time of
    /// a flush does not count as a gap.
    pub(crate) fn flushed(&mut self, began_ns: u64) -> u64 {
        self.last_end_ns = self.now_ns();
        let latency_ns = self.last_end_ns.saturating_sub(began_ns);
        self.flush.record(latency_ns);
        self.unflushed_since_ns = None;
        latency_ns
    }

    /// Counts a flush that the job requests after a number of writes, which are durable now.
    #[cfg(any(feature = "sqlite", test))]
    pub(crate) fn flushed_group(&mut self, began_ns: u64) {
        let since_ns = self.unflushed_since_ns;
        self.flushed(began_ns);
        if let Some(since_ns) = since_ns {
            let latencies = self.durable.get_or_insert_with(Histogram::new);
            latencies.record(self.last_end_ns.saturating_sub(since_ns));
        }
    }

    /// Counts writes of which only the totals are known.
    #[cfg(feature = "sqlite")]
    pub(crate) fn wrote_beside(&mut self, totals: &DirectionTotals) {
        self.write.ios += totals.ios;
        self.write.bytes += totals.bytes;
    }

    /// Counts a failed I/O or flush.
    pub(crate) fn failed(
        &mut self,
        direction: Option<Direction>,
        offset: u64,
        length: u64,
        error: &io::Error,
    ) {
        self.errors.count += 1;
        self.last_errno = error.raw_os_error();
        if self.errors.first.len() < ERRORS_KEPT {
            let at_ns = self.now_ns();
            self.errors.first.push(IoErrorRecord {
                direction,
                offset,
                length,
                errno: error.raw_os_error(),
                message: error.to_string(),
                at_ns,
            });
        }
    }

    /// Checks that the device still exists, if I/Os have failed since the last check; `done` bytes
    /// were processed before.
    ///
    /// # Errors
    /// If the device is gone.
    pub(crate) fn is_there(&mut self, context: &Context<'_>, done: u64) -> Result<(), ActError> {
        if self.errors.count == self.excused {
            return Ok(());
        }
        self.excused = self.errors.count;
        let errno = self.last_errno.map(Errno::from_raw_os_error);
        let says_so = matches!(errno, Some(Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM));
        let is_gone = || context.observer.is_gone();
        let gone = says_so
            || match self.moments {
                0 => is_gone(),
                _ => goes_away(is_gone),
            };
        self.moments = self.moments.saturating_sub(1);
        match gone {
            true => Err(ActError::Gone { after: Bytes(done) }),
            false => Ok(()),
        }
    }

    fn gap(&mut self, now_ns: u64) {
        let length_ns = now_ns.saturating_sub(self.last_end_ns);
        if length_ns > self.longest_gap.length_ns {
            self.longest_gap = Gap {
                start_ns: self.last_end_ns,
                length_ns,
            };
        }
        self.last_end_ns = now_ns;
    }

    fn interval(&mut self, now_ns: u64) -> Option<&mut Interval> {
        let number = usize::try_from(now_ns.checked_div(self.series.interval_ns)?).ok()?;
        let points = &mut self.series.points;
        if points.len() <= number {
            points.resize(number + 1, Interval::default());
        }
        points.get_mut(number)
    }

    /// Extends the series to the clock stop: intervals after the last completion, for example
    /// during a flush, are empty, not missing.
    fn fill(&mut self, elapsed_ns: u64) {
        let points = &mut self.series.points;
        if self.series.interval_ns > 0 && !points.is_empty() {
            let intervals = elapsed_ns.div_ceil(self.series.interval_ns);
            let intervals = usize::try_from(intervals).unwrap_or(usize::MAX);
            points.resize(points.len().max(intervals), Interval::default());
        }
    }

    /// Stops the clock.
    pub(crate) fn stop(self) -> Measurement {
        let elapsed_ns = self.now_ns();
        self.stop_at(elapsed_ns)
    }

    /// Stops the clock like [`Self::stop`], for a clock that was paused: it ran for `elapsed_ns`.
    pub(crate) fn stop_at(mut self, elapsed_ns: u64) -> Measurement {
        let gap = self.longest_gap;
        let continuous = self.series.interval_ns > 0 && gap.length_ns > 0;
        self.fill(elapsed_ns);
        Measurement {
            elapsed_ns,
            read: self.read.totals(),
            write: self.write.totals(),
            flush: self.flush.to_record(),
            durable: self.durable.as_ref().map(Histogram::to_record),
            unflushed_bytes: None,
            series: self.series,
            longest_gap: continuous.then_some(gap),
            errors: self.errors,
            cpu: thread_cpu_use().since(self.cpu_before),
        }
    }
}

/// Interval at which the progress of a step is reported.
pub(crate) const EVERY: Duration = Duration::from_millis(250);

/// Progress of one step.
pub(crate) struct ProgressReporter {
    step: String,
    steps_done: u32,
    unit: ProgressUnit,
    total: Option<u64>,
    began: Instant,
    told: Instant,
}

impl ProgressReporter {
    /// Creates the progress of a step that begins now and counts bytes.
    pub(crate) fn new(step: impl Into<String>, steps_done: u32, total: Option<u64>) -> Self {
        let now = Instant::now();
        Self {
            step: step.into(),
            steps_done,
            unit: ProgressUnit::Bytes,
            total,
            began: now,
            told: now,
        }
    }

    /// Counts items instead of bytes.
    pub(crate) fn of_items(self) -> Self {
        Self {
            unit: ProgressUnit::Items,
            ..self
        }
    }

    /// Reports the progress, if a report is due.
    pub(crate) fn report(&mut self, context: &mut Context<'_>, done: u64) {
        let now = Instant::now();
        if now.duration_since(self.told) < EVERY {
            return;
        }
        self.told = now;
        self.report_now(context, done);
    }

    /// Reports the progress now, for callers that keep the interval themselves.
    pub(crate) fn report_now(&self, context: &mut Context<'_>, done: u64) {
        context.observer.progress(&ActProgress {
            step: self.step.clone(),
            steps_done: self.steps_done,
            unit: self.unit,
            done,
            total: self.total,
            elapsed_ns: nanos(self.began.elapsed()),
        });
    }
}

/// Observer for tests.
#[cfg(test)]
pub(crate) mod recording {
    use super::*;

    /// Observer that records its events.
    #[derive(Default)]
    pub(crate) struct Recording {
        pub(crate) steps: Vec<(Job, Outcome, StepOutcome)>,
        pub(crate) notes: Vec<String>,
        /// Answer of `is_gone`.
        pub(crate) gone: bool,
        pub(crate) under_way: Option<Job>,
    }

    /// Runs an act without stopping it; returns its result and the details of its steps.
    pub(crate) fn recorded(
        run: impl FnOnce(&mut Context<'_>) -> Result<ActReport, ActError>,
    ) -> (Result<ActReport, ActError>, Vec<StepDetail>) {
        let mut recording = Recording::default();
        let (stop, report_now) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut context = Context {
            seed: 7,
            folder: None,
            stop: &stop,
            report_now: &report_now,
            observer: &mut recording,
        };
        let ended = run(&mut context);
        let steps = recording.steps.into_iter();
        let details = steps.filter_map(|(_, _, came)| came.detail).collect();
        (ended, details)
    }

    impl Observer for Recording {
        fn begins(&mut self, step: ObservedStep<'_>) {
            self.under_way = Some(step.job.clone());
        }
        fn clock_starts(&mut self, _step: ObservedStep<'_>) {}
        fn clock_stopped(&mut self) {}
        fn ended(&mut self, outcome: Outcome, came: StepOutcome) {
            let job = self.under_way.take().expect("a step begins before it ends");
            self.steps.push((job, outcome, came));
        }
        fn ended_together(&mut self, all: Vec<Together>) {
            self.under_way = None;
            let all = all.into_iter();
            self.steps
                .extend(all.map(|one| (one.job, one.outcome, one.came)));
        }
        fn is_gone(&self) -> bool {
            self.gone
        }
        fn keep(&mut self) {}
        fn note(&mut self, _weight: NoteWeight, text: String) {
            self.notes.push(text);
        }
        fn progress(&mut self, _progress: &ActProgress) {}
        fn interim_report(&mut self, _report: ActReport) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ios_flushes_and_errors_are_counted_apart() {
        let mut meter = Meter::start(1_000_000_000);
        meter.moved(Direction::Write, 4_096, 0);
        meter.moved(Direction::Read, 512, 0);
        meter.flushed_group(0);
        meter.flushed_group(0);
        meter.failed(None, 7, 9, &io::Error::from_raw_os_error(5));
        let measured = meter.stop();
        assert_eq!((measured.write.ios, measured.write.bytes), (1, 4_096));
        assert_eq!((measured.read.ios, measured.read.bytes), (1, 512));
        assert_eq!(measured.write.latency.count, 1);
        assert_eq!(measured.flush.count, 2);
        // The second flush had no writes before it.
        assert_eq!(measured.durable.unwrap().count, 1);
        assert_eq!(measured.errors.first[0].errno, Some(5));
        assert_eq!(measured.series.points[0].write_bytes, 4_096);
        assert!(measured.elapsed_ns >= measured.write.latency.max_ns);
    }

    #[test]
    fn a_wait_after_the_last_completion_is_in_the_series() {
        let mut meter = Meter::start(1_000_000_000);
        meter.moved(Direction::Write, 4_096, 0);
        let points = meter.stop_at(3_200_000_000).series.points;
        let bytes: Vec<u64> = points.iter().map(|point| point.write_bytes).collect();
        assert_eq!(bytes, [4_096, 0, 0, 0]);
    }

    #[test]
    fn a_clock_that_stood_still_has_neither_series_nor_gap() {
        let mut meter = Meter::start(0);
        meter.moved(Direction::Read, 512, 0);
        let measured = meter.stop_at(77);
        assert_eq!(measured.elapsed_ns, 77);
        assert!(measured.series.points.is_empty());
        assert_eq!(measured.longest_gap, None);
    }

    #[test]
    fn only_the_first_errors_are_located() {
        let mut meter = Meter::start(0);
        for offset in 0..100 {
            meter.failed(
                Some(Direction::Read),
                offset,
                1,
                &io::Error::from_raw_os_error(5),
            );
        }
        let errors = meter.stop().errors;
        assert_eq!(errors.count, 100);
        assert_eq!(errors.first.len(), ERRORS_KEPT);
    }
}

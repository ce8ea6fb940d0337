//! Running a load: the streams of a job file, their files, their schedule.
//!
//! Modules, in the order of a load:
//!
//! - `run` makes the files of all streams, then starts, follows and ends one wave after the other.
//! - `crew` is the thread of a stream: its processor and priority, its engine, its report.
//! - `worker` is the loop of a stream.
//! - `source` provides its I/Os: `sequence` (direction, file, offset and length of the next I/O) or
//!   `trace` (recording and replay).
//! - `pace` computes when an I/O may start; it reads no clock.
//! - `files` turns names and sizes into open files.
//! - `logs` keeps an entry for each I/O, and writes the text files afterwards.
//! - `paths` lists the files of a load before it runs.
//! - Types that several of them use are here: the clock, the features that only loads use,
//!   priorities of single I/Os, depths and times, steady states.
//!
//! The I/O of a stream follows from its description and its seed, not from the time. Only files
//! that the load names for removal are removed.

mod crew;
mod files;
mod logs;
mod pace;
#[cfg(feature = "loads")]
mod paths;
mod run;
mod sequence;
mod source;
mod trace;
mod worker;

pub use files::sync_flags;
pub(crate) use run::{LoadOutcome, Signals, conduct};
pub use trace::traced_files;

use crate::sys::lock;
use assay_model::job::OpenSync;
use assay_model::load::report::{
    DepthUse, FilePart, LoadProgress, LoadReport, SteadyCriterion, SteadyState, SteadyStateReached,
    StreamProgress, StreamReport, StreamState,
};
use assay_model::load::{Ddir, IoPriority, PerDirection, PriorityShare, Stream};
use assay_model::rng::SplitMix64;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

#[cfg(feature = "loads")]
pub use paths::{adopt, laid_out, outputs};
#[cfg(feature = "loads")]
pub use run::{run, run_until};

/// Controls of a load under way, usable from any thread.
#[derive(Debug, Default)]
pub struct Controls {
    /// Set to end all streams now.
    pub stop: AtomicBool,
    /// Set to request one interim report; cleared when it was made.
    pub report_now: AtomicBool,
}

/// Receives the events of a load, on the thread that runs it.
pub trait LoadObserver {
    /// Receives a message for the user, one line long.
    fn note(&mut self, note: &Note);
    /// Called when the streams of a wave are ready; they start when this returns. `files` holds
    /// the paths of each stream (by its index in the load) and the part of each file that the
    /// stream uses.
    fn wave_starts(&mut self, wave: u32, files: &[(u32, Vec<(PathBuf, FilePart)>)]);
    /// Called when every stream of the wave has finished its ramp, by the clock, and is measured.
    /// It is called only if a stream has a ramp and did not end before.
    fn ramp_ended(&mut self, _wave: u32) {}
    /// Called when the clocks that give the rates of these streams have just stopped, or are
    /// about to resume with another pass. The streams wait until this returns before they read
    /// back their writes, close or remove files, or run a command of the user. Called only for
    /// streams that stop their clock.
    fn clocks_turn(&mut self, _wave: u32, _turn: Turn, _streams: &[u32]) {}
    /// Called when every stream of the wave has just ended.
    fn wave_ended(&mut self, wave: u32);
    /// Receives the progress, a few times a second.
    fn progress(&mut self, progress: &LoadProgress);
    /// Receives an interim report, when one was requested or is due. The observer adds evidence
    /// and disk statistics.
    fn interim(&mut self, report: LoadReport);
}

/// Change of a clock that is stopped between the passes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The clock has just stopped.
    Stops,
    /// The clock is about to resume.
    GoesOn,
}

/// A line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// For information.
    Info(String),
    /// A setting may not have the effect that the user expects.
    Warning(String),
    /// Reason why a stream failed.
    Error(String),
}

/// Draws the priorities of a stream's I/Os.
#[derive(Clone, Debug)]
struct Priorities {
    shares: PerDirection<Vec<PriorityShare>>,
    /// Priority of the stream.
    own: IoPriority,
    rng: SplitMix64,
}

impl Priorities {
    /// Creates the draw; `None` if all I/Os have the priority of their stream.
    fn new(stream: &Stream, seed: u64) -> Option<Self> {
        let shares = &stream.engine.priorities;
        let any = shares.iter().any(|(_, shares)| !shares.is_empty());
        any.then(|| Self {
            shares: shares.clone(),
            own: stream.process.priority(),
            rng: SplitMix64::new(seed),
        })
    }

    /// Draws the priority of the next I/O.
    fn draw(&mut self, ddir: Ddir, length: u32) -> IoPriority {
        let mut at = self.rng.below(100);
        for share in &self.shares[ddir] {
            if share.size.is_some_and(|size| size != length) {
                continue;
            }
            match at.checked_sub(u64::from(share.percent)) {
                Some(left) => at = left,
                None => return share.priority,
            }
        }
        IoPriority::NONE
    }

    /// Returns the priority that applies to an I/O for which
    /// [`Priorities::draw`] returned `given`.
    fn in_force(&self, given: IoPriority) -> IoPriority {
        if given == IoPriority::NONE {
            self.own
        } else {
            given
        }
    }
}

/// Queue depths, in fio's classes.
#[derive(Clone, Copy, Debug, Default)]
struct Depths(DepthUse);

impl Depths {
    /// Counts an I/O that was queued, with the resulting number of I/Os in flight.
    #[inline]
    fn queued(&mut self, in_flight: u32) {
        self.0.level[level_class(in_flight)] += 1;
    }

    /// Counts I/Os that were submitted together.
    #[inline]
    fn submitted(&mut self, together: usize) {
        self.0.submit[batch_class(together)] += 1;
    }

    /// Counts I/Os that completed together.
    #[inline]
    fn completed(&mut self, together: usize) {
        self.0.complete[batch_class(together)] += 1;
    }

    /// Returns the counters of a synchronous engine, which always has one I/O in flight.
    fn of_synchronous(ios: u64) -> DepthUse {
        let mut depths = DepthUse::default();
        depths.level[level_class(1)] = ios;
        depths.submit[batch_class(1)] = ios;
        depths.complete[batch_class(1)] = ios;
        depths
    }

    fn totals(&self) -> DepthUse {
        self.0
    }
}

/// Returns the class of a depth: the largest of 1, 2, 4, 8, 16, 32, 64 that is not above
/// `in_flight`.
#[inline]
fn level_class(in_flight: u32) -> usize {
    in_flight.max(1).ilog2().min(6) as usize
}

/// Returns the class of a batch: 0, up to 4, 8, 16, 32, 64, and more.
#[inline]
fn batch_class(together: usize) -> usize {
    match together {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

/// Run time of each direction: the sum over the phases in which it transferred anything.
#[derive(Clone, Copy, Debug)]
struct RunTimes {
    phase_start_ns: u64,
    ios_before: PerDirection<u64>,
    done_ns: PerDirection<u64>,
}

impl RunTimes {
    fn new(start_ns: u64) -> Self {
        Self {
            phase_start_ns: start_ns,
            ios_before: PerDirection::default(),
            done_ns: PerDirection::default(),
        }
    }

    /// Starts a phase; `ios` are the totals so far.
    fn begin_phase(&mut self, now_ns: u64, ios: PerDirection<u64>) {
        self.phase_start_ns = now_ns;
        self.ios_before = ios;
    }

    /// Ends the phase and starts the next.
    fn end_phase(&mut self, now_ns: u64, ios: PerDirection<u64>) {
        self.done_ns = self.until(now_ns, ios);
        self.begin_phase(now_ns, ios);
    }

    /// Returns the run times, as if the phase ended now.
    fn until(&self, now_ns: u64, ios: PerDirection<u64>) -> PerDirection<u64> {
        let phase_ns = now_ns.saturating_sub(self.phase_start_ns);
        PerDirection::from_fn(|ddir: Ddir| {
            let moved = ios[ddir] > self.ios_before[ddir];
            self.done_ns[ddir] + if moved { phase_ns } else { 0 }
        })
    }
}

/// Shared state of one stream.
#[derive(Debug, Default)]
struct StreamShared {
    /// Requests the stream's end: I/O in flight is completed, and no more is
    /// issued.
    stop: AtomicBool,
    /// Set when the caller waits for the end: slow final steps are skipped.
    abandoned: AtomicBool,
    progress: Mutex<StreamProgress>,
    /// Requests an interim report.
    report_wanted: AtomicBool,
    interim: Mutex<Option<Box<StreamReport>>>,
    /// Totals at the ends of the intervals of the steady-state detection.
    steady: Mutex<Vec<SteadyTotals>>,
}

/// Totals at the end of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct SteadyTotals {
    ios: u64,
    bytes: u64,
    latency_sum_ns: u64,
}

impl StreamShared {
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the stream without its last flush.
    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.stop();
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn progress(&self) -> StreamProgress {
        *lock(&self.progress)
    }

    fn set_progress(&self, progress: StreamProgress) {
        *lock(&self.progress) = progress;
    }

    fn set_state(&self, state: StreamState) {
        lock(&self.progress).state = state;
    }

    fn want_report(&self) {
        self.report_wanted.store(true, Ordering::Relaxed);
    }

    fn is_report_wanted(&self) -> bool {
        self.report_wanted.load(Ordering::Relaxed)
    }

    fn hand_in(&self, report: StreamReport) {
        *lock(&self.interim) = Some(Box::new(report));
        self.report_wanted.store(false, Ordering::Relaxed);
    }

    /// Returns the last interim report.
    fn interim(&self) -> Option<StreamReport> {
        lock(&self.interim).as_deref().cloned()
    }

    fn add_steady(&self, totals: SteadyTotals) {
        lock(&self.steady).push(totals);
    }

    /// Returns the totals at the end of interval `number`, if it is over.
    fn steady(&self, number: usize) -> Option<SteadyTotals> {
        lock(&self.steady).get(number).copied()
    }
}

/// Notifies the observer of the load when the clock of a stream stops or resumes. It reads the
/// counters while the stream waits.
struct Turns {
    /// Sends a turn, with a sender to drop when it was handled; returns `false` if the receiver
    /// is gone.
    send: Box<dyn Fn(Turn, Sender<()>) -> bool>,
}

impl Turns {
    fn new(send: impl Fn(Turn, Sender<()>) -> bool + 'static) -> Self {
        Self {
            send: Box::new(send),
        }
    }

    /// Sends a turn and waits until the counters have been read, or the receiver is gone.
    fn send(&self, turn: Turn) {
        let (answer, waits) = channel();
        if (self.send)(turn, answer) {
            // No value is ever sent: the other end is dropped.
            let _ = waits.recv();
        }
    }
}

/// Returns true if bytes of a stream may move while its clock is stopped. Dirty pages left in the
/// page cache are written back when they are read back, when a device is closed, and when a file
/// that was truncated before is closed (ext4, XFS); each pass but the first begins with an empty
/// page cache; and a command of the user may do any I/O.
fn has_turns(stream: &Stream) -> bool {
    let durability = &stream.durability;
    let kind = stream.engine.kind;
    if !kind.moves_data() {
        return false;
    }
    let leaves_pages = durability.sync == OpenSync::None
        && durability.at_end.is_none()
        && !durability.fsync_on_close;
    let cached = !durability.direct || kind.maps_memory();
    let repeats = stream.length.loops > 1;
    let writes_late = stream.blocks.rw.write && leaves_pages;
    stream.schedule.exec_after.is_some() || (cached && (repeats || writes_late))
}

/// Figures of one interval.
#[derive(Clone, Copy, Debug)]
struct IntervalFigures {
    iops: u64,
    bw: u64,
    lat_ns: u64,
}

/// Evaluation of the window, in the unit of the criterion's figure.
#[derive(Clone, Copy, Debug, Default)]
struct Judgement {
    mean: f64,
    /// Largest distance from the mean.
    deviation: f64,
    /// Slope of the line through the samples, per interval.
    slope: f64,
}

/// Watches the figures of a stream, or of all streams that report as one. The figures of the last
/// seconds form a window. They are steady if no figure in it is further from the mean than the
/// limit, or if the slope of the line through them is below the limit.
#[derive(Debug)]
struct SteadyWatch {
    asked: SteadyState,
    /// Number of samples in a window.
    window: usize,
    /// Number of samples to skip at the beginning.
    ramp_left: u64,
    samples: VecDeque<IntervalFigures>,
    /// Evaluation of the window, once it is full.
    judged: Option<Judgement>,
    attained: bool,
}

impl SteadyWatch {
    /// Creates a detector without samples.
    pub(crate) fn new(asked: &SteadyState) -> Self {
        let interval_ns = asked.interval.0.max(1);
        let window = (asked.duration.0 / interval_ns).max(1);
        Self {
            asked: *asked,
            window: usize::try_from(window).unwrap_or(usize::MAX),
            ramp_left: asked.ramp.0.div_ceil(interval_ns),
            samples: VecDeque::new(),
            judged: None,
            attained: false,
        }
    }

    /// Adds the figures of one interval: I/Os per second, bytes per second, mean latency. Returns
    /// true if the steady state is attained. From then on it always returns true, and the figures
    /// are kept.
    pub(crate) fn sample(&mut self, iops: u64, bw: u64, lat_ns: u64) -> bool {
        if self.attained {
            return true;
        }
        if self.ramp_left > 0 {
            self.ramp_left -= 1;
            return false;
        }
        if self.samples.len() == self.window {
            self.samples.pop_front();
        }
        self.samples.push_back(IntervalFigures { iops, bw, lat_ns });
        if self.samples.len() == self.window {
            let judged = judge(&self.figures());
            self.attained = self
                .compared(judged)
                .is_some_and(|value| value < self.asked.limit);
            self.judged = Some(judged);
        }
        self.attained
    }

    /// Returns the requested criterion and the measured figures. Value, deviation and slope are 0
    /// until the window is full; so is a percentage of zero.
    pub(crate) fn reached(&self) -> SteadyStateReached {
        let list = |figure: fn(&IntervalFigures) -> u64| self.samples.iter().map(figure).collect();
        let judged = self.judged.unwrap_or_default();
        SteadyStateReached {
            criterion: self.asked.criterion,
            limit: self.asked.limit,
            percent: self.asked.percent,
            duration_ns: self.asked.duration.0,
            attained: self.attained,
            value: self.judged.and_then(|j| self.compared(j)).unwrap_or(0.0),
            deviation: judged.deviation,
            slope: judged.slope,
            iops: list(|sample| sample.iops),
            bw: list(|sample| sample.bw),
            lat: list(|sample| sample.lat_ns),
        }
    }

    /// Returns the figures that the criterion uses, oldest first.
    fn figures(&self) -> Vec<f64> {
        let figure = |sample: &IntervalFigures| match self.asked.criterion {
            SteadyCriterion::Iops | SteadyCriterion::IopsSlope => sample.iops,
            SteadyCriterion::Bw | SteadyCriterion::BwSlope => sample.bw,
            SteadyCriterion::Lat | SteadyCriterion::LatSlope => sample.lat_ns,
        };
        // Exact below 2^53: a petabyte per second, a hundred days of latency.
        self.samples.iter().map(|s| figure(s) as f64).collect()
    }

    /// Returns the value to compare with the limit: an absolute value, or a percentage of the mean
    /// if requested. `None` for a percentage of zero: a device without progress is not in a steady
    /// state.
    fn compared(&self, judged: Judgement) -> Option<f64> {
        let value = match self.asked.criterion {
            SteadyCriterion::Iops | SteadyCriterion::Bw | SteadyCriterion::Lat => judged.deviation,
            SteadyCriterion::IopsSlope | SteadyCriterion::BwSlope | SteadyCriterion::LatSlope => {
                judged.slope.abs()
            }
        };
        if !self.asked.percent {
            return Some(value);
        }
        (judged.mean > 0.0).then(|| 100.0 * value / judged.mean)
    }
}

/// Returns the mean, largest deviation and slope of equally spaced values.
///
/// The slope is that of ordinary least squares with x = 0, 1, 2...: the sum of
/// (x - mean x)(y - mean y), divided by the sum of (x - mean x)^2. One value
/// has slope 0.
fn judge(values: &[f64]) -> Judgement {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let mut deviation = 0.0_f64;
    let (mut products, mut squares) = (0.0, 0.0);
    for (x, value) in values.iter().enumerate() {
        let x = x as f64 - middle;
        deviation = deviation.max((value - mean).abs());
        products += x * (value - mean);
        squares += x * x;
    }
    Judgement {
        mean,
        deviation,
        slope: if squares > 0.0 {
            products / squares
        } else {
            0.0
        },
    }
}

#[cfg(test)]
mod tests;

//! Recorder of one worker while the clock runs, and the gaps in which no worker completed anything.

use crate::sys::lock;
use assay_model::evidence::LatencyRecord;
use assay_model::load::{Ddir, IoPriority, PerDirection};
use assay_model::trial::{Interval, IoErrorRecord, IoErrors, Series};
use assay_stats::histogram::Histogram;
use assay_stats::streams;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum number of reported gaps of one worker that were not yet read (1 MiB).
const MAX_HANDED_IN: usize = 1 << 16;
/// Maximum number of pending gaps of all workers (16 MiB).
const MAX_PENDING: usize = 1 << 20;

/// A time without completions, on the workers' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Span {
    pub(crate) const fn length_ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// The gaps of all workers of a job: exact measurement of the longest time in which no worker
/// completed anything.
///
/// A gap of all workers lies within a gap of each. So each worker reports its own
/// gaps, and the thread that waits for the workers periodically computes where all
/// of them overlap. Workers report only gaps that are longer than the longest shared
/// gap so far. After a few milliseconds there are almost none of these, and the cost
/// is one comparison per I/O.
///
/// Memory is bounded: when too many gaps wait for a worker that reports nothing, the
/// shorter half is dropped. From then on a result is valid only if it is longer than
/// every dropped gap.
#[derive(Debug)]
pub(crate) struct SharedGaps {
    workers: Vec<Mutex<HandedIn>>,
    /// Length above which a gap is reported: that of the longest shared gap so far,
    /// or of the longest dropped one.
    threshold_ns: AtomicU64,
    /// Length of the longest gap that was dropped for lack of space.
    dropped_ns: AtomicU64,
    overlap: Mutex<Overlap>,
}

/// Gaps that one worker reported since [`SharedGaps::intersect`] last ran.
#[derive(Debug, Default)]
struct HandedIn {
    gaps: Vec<Span>,
    /// Time until which the worker has reported all of its gaps, in nanoseconds.
    confirmed_until_ns: u64,
}

/// Overlap of the gaps of all workers.
#[derive(Debug, Default)]
struct Overlap {
    /// Gaps that extend beyond the time until which every worker has reported.
    pending: Vec<Span>,
    longest: Option<Span>,
}

impl SharedGaps {
    pub(crate) fn new(workers: u32) -> Arc<Self> {
        Arc::new(Self {
            workers: (0..workers).map(|_| Mutex::default()).collect(),
            threshold_ns: AtomicU64::new(0),
            dropped_ns: AtomicU64::new(0),
            overlap: Mutex::default(),
        })
    }

    /// Returns the handle through which a worker, numbered from 0, reports its gaps.
    pub(crate) fn of_worker(self: &Arc<Self>, number: usize) -> WorkerGaps {
        WorkerGaps {
            shared: Arc::clone(self),
            number,
            threshold_ns: u64::MAX,
        }
    }

    /// Computes where the gaps reported so far overlap. Holds each worker's lock
    /// only while it moves that worker's gaps out.
    pub(crate) fn intersect(&self) {
        let mut overlap = lock(&self.overlap);
        let mut confirmed_until_ns = u64::MAX;
        for worker in &self.workers {
            let mut worker = lock(worker);
            confirmed_until_ns = confirmed_until_ns.min(worker.confirmed_until_ns);
            overlap.pending.append(&mut worker.gaps);
        }
        overlap.sweep(confirmed_until_ns, self.workers.len());
        let longest_ns = overlap.longest.map_or(0, Span::length_ns);
        self.threshold_ns.fetch_max(longest_ns, Ordering::Relaxed);
        if overlap.pending.len() > MAX_PENDING {
            self.drop_shorter_half(&mut overlap.pending);
        }
    }

    /// Returns the longest gap of all workers, once every worker has ended; `None`
    /// if there was no gap, or none that is provably the longest.
    pub(crate) fn longest(&self) -> Option<Span> {
        self.intersect();
        let longest = lock(&self.overlap).longest?;
        (longest.length_ns() > self.dropped_ns.load(Ordering::Relaxed)).then_some(longest)
    }

    #[cold]
    fn drop_shorter_half(&self, gaps: &mut Vec<Span>) {
        let middle = gaps.len() / 2;
        let (_, median, _) =
            gaps.select_nth_unstable_by_key(middle, |gap| Reverse(gap.length_ns()));
        let limit_ns = median.length_ns();
        gaps.retain(|gap| gap.length_ns() > limit_ns);
        self.dropped_ns.fetch_max(limit_ns, Ordering::Relaxed);
        self.threshold_ns.fetch_max(limit_ns, Ordering::Relaxed);
    }
}

impl Overlap {
    /// Processes all pending gaps up to the time until which every worker has
    /// reported. At that time a worker completed something (or ended, which counts
    /// as a gap until the end of time), so no shared gap extends across it.
    fn sweep(&mut self, confirmed_until_ns: u64, workers: usize) {
        let mut edges = Vec::new();
        for gap in &self.pending {
            if gap.from_ns < confirmed_until_ns {
                edges.push((gap.from_ns, 1));
                edges.push((gap.to_ns.min(confirmed_until_ns), -1));
            }
        }
        // Ends before begins: gaps that only touch do not overlap.
        edges.sort_unstable();
        let (mut open, mut since_ns) = (0_usize, 0);
        for (at_ns, step) in edges {
            // The time after the end of the last worker is not a gap.
            if open == workers && at_ns < u64::MAX {
                self.found(Span {
                    from_ns: since_ns,
                    to_ns: at_ns,
                });
            }
            open = open.saturating_add_signed(step);
            since_ns = at_ns;
        }
        let longest_ns = self.longest.map_or(0, Span::length_ns);
        self.pending.retain_mut(|gap| {
            gap.from_ns = gap.from_ns.max(confirmed_until_ns);
            gap.length_ns() > longest_ns
        });
    }

    fn found(&mut self, gap: Span) {
        if gap.length_ns() > self.longest.map_or(0, Span::length_ns) {
            self.longest = Some(gap);
        }
    }
}

/// Handle of one worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerGaps {
    shared: Arc<SharedGaps>,
    number: usize,
    /// [`SharedGaps::threshold_ns`] as last read; `MAX` before
    /// [`WorkerGaps::begin`], so that nothing is reported.
    threshold_ns: u64,
}

impl WorkerGaps {
    /// Starts the measured time; earlier gaps are ignored.
    pub(crate) fn begin(&mut self, measured_from_ns: u64) {
        self.threshold_ns = 0;
        self.confirm_until(measured_from_ns);
    }

    /// Returns true if a gap of that length is worth reporting.
    #[inline]
    pub(crate) const fn is_of_interest(&self, length_ns: u64) -> bool {
        length_ns > self.threshold_ns
    }

    /// Reports a gap. Earlier gaps must have been reported or be shorter than the
    /// threshold.
    #[cold]
    pub(crate) fn add(&mut self, gap: Span) {
        let mut mine = lock(&self.shared.workers[self.number]);
        mine.gaps.push(gap);
        mine.confirmed_until_ns = gap.to_ns;
        if mine.gaps.len() > MAX_HANDED_IN {
            self.shared.drop_shorter_half(&mut mine.gaps);
        }
        drop(mine);
        self.threshold_ns = self.shared.threshold_ns.load(Ordering::Relaxed);
        if self.shared.workers.len() == 1 {
            // A gap of the only worker is a gap of all.
            self.threshold_ns = self.threshold_ns.max(gap.length_ns());
        }
    }

    /// Confirms that all gaps that ended by `time_ns` were reported or are not of
    /// interest. An I/O ended at that time, so no gap extends across it.
    #[cold]
    pub(crate) fn confirm_until(&mut self, time_ns: u64) {
        lock(&self.shared.workers[self.number]).confirmed_until_ns = time_ns;
        let shared_ns = self.shared.threshold_ns.load(Ordering::Relaxed);
        self.threshold_ns = self.threshold_ns.max(shared_ns);
    }

    /// Marks the worker as ended: from `end_ns` on it counts as always in a gap, so
    /// it does not delay the others' result.
    pub(crate) fn end(&mut self, end_ns: u64) {
        let mut mine = lock(&self.shared.workers[self.number]);
        mine.gaps.push(Span {
            from_ns: end_ns,
            to_ns: u64::MAX,
        });
        mine.confirmed_until_ns = u64::MAX;
    }
}

/// Number of intervals kept before their width is doubled, so that a job of weeks needs no
/// more memory than one of two hours.
const MAX_INTERVALS: usize = 1 << 16;
/// Number of errors kept with all details.
const MAX_ERRORS_KEPT: usize = 64;

/// Records of one direction of one worker.
#[derive(Debug)]
pub(crate) struct DirectionRecorder {
    ios: u64,
    bytes: u64,
    short_ios: u64,
    /// Latency from submission to completion. For a load on an asynchronous engine it
    /// starts when the kernel accepted the I/O.
    latency: Histogram,
    submission: Option<Histogram>,
    /// Histogram of the total latency, for a load on an asynchronous engine.
    total: Option<Histogram>,
    /// Histograms by priority, if single I/Os have priorities.
    priorities: Vec<(IoPriority, Histogram)>,
}

impl DirectionRecorder {
    fn new(asynchronous: bool) -> Self {
        Self {
            ios: 0,
            bytes: 0,
            short_ios: 0,
            latency: Histogram::new(),
            submission: asynchronous.then(Histogram::new),
            total: None,
            priorities: Vec::new(),
        }
    }

    /// Returns the number of I/Os that the kernel cut short.
    pub(crate) const fn short_ios(&self) -> u64 {
        self.short_ios
    }

    /// Returns the latencies up to completion.
    pub(crate) fn completion(&self) -> LatencyRecord {
        self.latency.to_record()
    }

    /// Returns the latencies of submission; empty for synchronous engines.
    pub(crate) fn submission(&self) -> LatencyRecord {
        self.submission
            .as_ref()
            .map_or_else(LatencyRecord::default, Histogram::to_record)
    }

    /// Returns the latencies of submission and completion together, if they are measured
    /// separately.
    pub(crate) fn total(&self) -> Option<LatencyRecord> {
        self.total.as_ref().map(Histogram::to_record)
    }

    /// Returns the latencies of each priority, ordered by priority.
    pub(crate) fn priorities(&self) -> Vec<(IoPriority, LatencyRecord)> {
        let mut records: Vec<_> = self
            .priorities
            .iter()
            .map(|(priority, latencies)| (*priority, latencies.to_record()))
            .collect();
        records.sort_by_key(|(priority, _)| *priority);
        records
    }
}

/// All records of one worker. Times are on the worker's clock.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Start of the clock.
    start_ns: u64,
    directions: PerDirection<DirectionRecorder>,
    flush: Histogram,
    /// Histogram of groups of writes, each with the flush after it.
    durable: Option<Histogram>,
    series: Series,
    /// End of the current interval; `MAX` after the series has ended.
    interval_end_ns: u64,
    /// Totals at the start of the current interval.
    at_interval_start: Interval,
    interval_max_latency_ns: u64,
    last_completion_ns: u64,
    gaps: WorkerGaps,
    errors: IoErrors,
}

impl Recorder {
    /// Creates an empty record that starts at `start_ns`.
    pub(crate) fn new(
        start_ns: u64,
        interval_ns: u64,
        asynchronous: bool,
        gaps: WorkerGaps,
    ) -> Self {
        let interval_ns = interval_ns.max(1);
        Self {
            start_ns,
            directions: PerDirection::from_fn(|_| DirectionRecorder::new(asynchronous)),
            flush: Histogram::new(),
            durable: None,
            series: Series {
                interval_ns,
                points: Vec::new(),
            },
            interval_end_ns: start_ns + interval_ns,
            at_interval_start: Interval::default(),
            interval_max_latency_ns: 0,
            last_completion_ns: start_ns,
            gaps,
            errors: IoErrors::default(),
        }
    }

    /// Returns the end of the current interval, when [`Recorder::roll`] is due; `MAX` after
    /// the series has ended.
    #[inline]
    pub(crate) const fn interval_end_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Returns the number of I/Os completed so far.
    pub(crate) fn ios(&self) -> PerDirection<u64> {
        PerDirection::from_fn(|ddir| self.directions[ddir].ios)
    }

    /// Returns the number of bytes moved so far.
    pub(crate) fn bytes(&self) -> PerDirection<u64> {
        PerDirection::from_fn(|ddir| self.directions[ddir].bytes)
    }

    /// Returns the recorders of all directions.
    pub(crate) const fn directions(&self) -> &PerDirection<DirectionRecorder> {
        &self.directions
    }

    /// Returns the latencies of flush calls.
    pub(crate) fn flushes(&self) -> LatencyRecord {
        self.flush.to_record()
    }

    /// Returns the latencies of groups of writes, each with the flush that followed it;
    /// `None` if there were none.
    pub(crate) fn durable(&self) -> Option<LatencyRecord> {
        self.durable.as_ref().map(Histogram::to_record)
    }

    /// Returns the completions over time, up to the last closed interval.
    pub(crate) const fn series(&self) -> &Series {
        &self.series
    }

    /// Returns the failed I/Os.
    pub(crate) const fn errors(&self) -> &IoErrors {
        &self.errors
    }

    /// Returns the sum of all latencies up to completion, in nanoseconds.
    pub(crate) fn latency_sum_ns(&self) -> u64 {
        let directions = self.directions.iter();
        directions.map(|(_, side)| side.latency.sum_ns()).sum()
    }

    /// Records that a block was moved completely.
    #[inline]
    pub(crate) fn completed(&mut self, now_ns: u64, ddir: Ddir, length: u32, latency_ns: u64) {
        let side = &mut self.directions[ddir];
        side.ios += 1;
        side.bytes += u64::from(length);
        side.latency.record(latency_ns);
        self.interval_max_latency_ns = self.interval_max_latency_ns.max(latency_ns);
        self.end_gap(now_ns);
        self.last_completion_ns = now_ns;
    }

    #[inline]
    fn end_gap(&mut self, now_ns: u64) {
        let gap = Span {
            from_ns: self.last_completion_ns,
            to_ns: now_ns,
        };
        if self.gaps.is_of_interest(gap.length_ns()) {
            self.gaps.add(gap);
        }
    }

    /// Records that the kernel accepted an I/O, with the time spent in the submission call.
    #[inline]
    pub(crate) fn submitted(&mut self, ddir: Ddir, submission_ns: u64) {
        if let Some(submission) = &mut self.directions[ddir].submission {
            submission.record(submission_ns);
        }
    }

    /// Records the time of an I/O from submission to completion, where
    /// [`Recorder::completed`] receives only a part of it.
    #[inline]
    pub(crate) fn in_total(&mut self, ddir: Ddir, total_ns: u64) {
        self.directions[ddir]
            .total
            .get_or_insert_with(Histogram::new)
            .record(total_ns);
    }

    /// Records the latency of a completed I/O for its priority.
    pub(crate) fn prioritized(&mut self, ddir: Ddir, priority: IoPriority, latency_ns: u64) {
        let all = &mut self.directions[ddir].priorities;
        match all.iter_mut().find(|(of, _)| *of == priority) {
            Some((_, latencies)) => latencies.record(latency_ns),
            None => {
                let mut latencies = Histogram::new();
                latencies.record(latency_ns);
                all.push((priority, latencies));
            }
        }
    }

    /// Records that the kernel moved only a part of a block; the remainder follows.
    #[cold]
    pub(crate) fn short(&mut self, ddir: Ddir) {
        self.directions[ddir].short_ios += 1;
    }

    /// Records a flush. The time that it took is not a gap between completions, because no
    /// I/O was in flight.
    pub(crate) fn flushed(&mut self, now_ns: u64, latency_ns: u64) {
        self.flush.record(latency_ns);
        self.end_gap(now_ns.saturating_sub(latency_ns));
        self.last_completion_ns = now_ns;
    }

    /// Records that a group of writes became durable, with the time since its first write.
    pub(crate) fn made_durable(&mut self, latency_ns: u64) {
        let latencies = self.durable.get_or_insert_with(Histogram::new);
        latencies.record(latency_ns);
    }

    #[cold]
    pub(crate) fn error(&mut self, mut error: IoErrorRecord, now_ns: u64) {
        self.errors.count += 1;
        if self.errors.first.len() < MAX_ERRORS_KEPT {
            error.at_ns = now_ns.saturating_sub(self.start_ns);
            self.errors.first.push(error);
        }
    }

    /// Clears everything except errors and restarts at `start_ns`.
    pub(crate) fn restart(&mut self, start_ns: u64) {
        let asynchronous = self.directions.read.submission.is_some();
        let gaps = self.gaps.clone();
        *self = Self {
            errors: std::mem::take(&mut self.errors),
            ..Self::new(start_ns, self.series.interval_ns, asynchronous, gaps)
        };
    }

    /// Starts the search for gaps at `start_ns`, when the measured time begins.
    pub(crate) fn begin_gaps(&mut self) {
        self.gaps.begin(self.start_ns);
    }

    /// Reports to the other workers that this one is not in a gap that began before its
    /// last completion.
    #[cold]
    pub(crate) fn confirm_gaps(&mut self) {
        self.gaps.confirm_until(self.last_completion_ns);
    }

    /// Marks the worker as ended.
    pub(crate) fn end(&mut self, end_ns: u64) {
        self.gaps.end(end_ns);
    }

    /// Closes every interval that ended by `now_ns`, empty ones included.
    #[cold]
    pub(crate) fn roll(&mut self, now_ns: u64) {
        while now_ns >= self.interval_end_ns {
            self.close_interval();
            self.interval_end_ns += self.series.interval_ns;
            if self.series.points.len() >= MAX_INTERVALS {
                let elapsed = self.interval_end_ns - self.series.interval_ns - self.start_ns;
                streams::widen(&mut self.series);
                self.interval_end_ns = self.start_ns + elapsed + self.series.interval_ns;
            }
        }
    }

    fn close_interval(&mut self) {
        let PerDirection { read, write, trim } = &self.directions;
        let total = Interval {
            read_bytes: read.bytes,
            write_bytes: write.bytes,
            read_ios: read.ios,
            write_ios: write.ios,
            trim_bytes: trim.bytes,
            trim_ios: trim.ios,
            max_latency_ns: 0,
        };
        let since = self.at_interval_start;
        self.series.points.push(Interval {
            read_bytes: total.read_bytes - since.read_bytes,
            write_bytes: total.write_bytes - since.write_bytes,
            read_ios: total.read_ios - since.read_ios,
            write_ios: total.write_ios - since.write_ios,
            trim_bytes: total.trim_bytes - since.trim_bytes,
            trim_ios: total.trim_ios - since.trim_ios,
            max_latency_ns: self.interval_max_latency_ns,
        });
        self.at_interval_start = total;
        self.interval_max_latency_ns = 0;
    }

    /// Ends the series after the last I/O: closes the current interval, and the gap since
    /// the last successful I/O. Later events are not part of the series.
    pub(crate) fn end_series(&mut self, now_ns: u64) {
        if self.interval_end_ns == u64::MAX {
            return;
        }
        self.end_gap(now_ns);
        self.roll(now_ns);
        let interval_start = self.interval_end_ns - self.series.interval_ns;
        if now_ns > interval_start {
            self.close_interval();
        }
        self.interval_end_ns = u64::MAX;
    }
}

#[cfg(test)]
mod tests;

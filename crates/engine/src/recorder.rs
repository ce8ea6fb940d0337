//! Recorder of one worker while the clock runs.

use crate::gaps::{Span, WorkerGaps};
use assay_model::evidence::LatencyRecord;
use assay_model::load::{Ddir, IoPriority, PerDirection};
use assay_model::trial::{Interval, IoErrorRecord, IoErrors, Series};
use assay_stats::histogram::Histogram;
use assay_stats::streams;

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
    pub(crate) fn tell_gaps(&mut self) {
        self.gaps.told_until(self.last_completion_ns);
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
mod tests {
    use super::*;
    use crate::gaps::SharedGaps;
    use std::sync::Arc;

    const MS: u64 = 1_000_000;

    /// Records of so many workers, and their gaps.
    fn recorders<const N: usize>() -> ([Recorder; N], Arc<SharedGaps>) {
        let shared = SharedGaps::new(u32::try_from(N).unwrap());
        let recorders = std::array::from_fn(|number| {
            let gaps = shared.of_worker(number);
            let mut recorder = Recorder::new(1000 * MS, 100 * MS, false, gaps);
            recorder.begin_gaps();
            recorder
        });
        (recorders, shared)
    }

    /// The longest gap of workers that end at these times: its start (ms after
    /// the clock's) and length, in ms.
    fn longest_gap<const N: usize>(
        recorders: [(Recorder, u64); N],
        shared: &SharedGaps,
    ) -> (u64, u64) {
        for (mut recorder, end_ms) in recorders {
            recorder.end((1000 + end_ms) * MS);
        }
        let gap = shared.longest().unwrap();
        (gap.from_ns / MS - 1000, gap.length_ns() / MS)
    }

    /// Completes a 4 KiB write at each of these times (ms after start).
    fn complete_at(recorder: &mut Recorder, times_ms: &[u64]) {
        for &ms in times_ms {
            let now = (1000 + ms) * MS;
            if now >= recorder.interval_end_ns() {
                recorder.roll(now);
            }
            recorder.completed(now, Ddir::Write, 4096, MS);
        }
    }

    #[test]
    fn empty_intervals_stay_in_the_series() {
        let ([mut recorder], shared) = recorders();
        complete_at(&mut recorder, &[10, 20, 450]);
        recorder.end_series(1460 * MS);
        // The flush that follows is not part of the series.
        recorder.roll(1900 * MS);
        recorder.end_series(1900 * MS);
        let points = &recorder.series().points;
        let ios: Vec<u64> = points.iter().map(|p| p.write_ios).collect();
        assert_eq!(ios, [2, 0, 0, 0, 1]);
        assert_eq!(longest_gap([(recorder, 900)], &shared), (20, 430));
    }

    #[test]
    fn a_gap_counts_only_where_all_workers_were_idle() {
        let ([mut a, mut b], shared) = recorders();
        complete_at(&mut a, &[10, 500, 510]);
        complete_at(&mut b, &[300, 305, 900]);
        // a idles 10..500 and after 510, b 0..300 and 305..900.
        assert_eq!(longest_gap([(a, 510), (b, 900)], &shared), (510, 390));
    }

    #[test]
    fn a_flush_is_not_a_gap() {
        let ([mut recorder], shared) = recorders();
        complete_at(&mut recorder, &[10]);
        recorder.flushed(1800 * MS, 790 * MS);
        complete_at(&mut recorder, &[810]);
        assert_eq!(recorder.flushes().count, 1);
        assert_eq!(longest_gap([(recorder, 810)], &shared).1, 10);
    }

    #[test]
    fn a_restart_forgets_the_ramp() {
        let ([mut recorder], shared) = recorders();
        complete_at(&mut recorder, &[10, 20]);
        recorder.restart(2000 * MS);
        recorder.begin_gaps();
        complete_at(&mut recorder, &[1050]);
        assert_eq!(recorder.ios().write, 1);
        assert_eq!(longest_gap([(recorder, 1050)], &shared).1, 50);
    }

    #[test]
    fn long_series_get_wider_intervals_and_lose_nothing() {
        let gaps = SharedGaps::new(1).of_worker(0);
        let mut recorder = Recorder::new(0, MS, false, gaps);
        let mut now = 0;
        for _ in 0..200_000 {
            now += MS;
            recorder.roll(now);
            recorder.completed(now, Ddir::Read, 512, 1);
        }
        recorder.end_series(now + MS / 2);
        let series = &recorder.series;
        assert!(series.points.len() < MAX_INTERVALS);
        assert_eq!(series.interval_ns, 4 * MS);
        let ios: u64 = series.points.iter().map(|p| p.read_ios).sum();
        assert_eq!(ios, 200_000);
        // All whole intervals but the first carry the same load.
        assert!(
            series.points[1..series.points.len() - 1]
                .iter()
                .all(|p| p.read_ios == 4)
        );
    }
}

//! Running a load: first the files of all streams, then one wave after the other, with progress,
//! reports and logs of its conductor.

mod conductor;

#[cfg(feature = "loads")]
use super::Controls;
use super::files::{FilePlan, SharedFiles};
use super::pace::FlowTable;
use super::{LoadObserver, Note, StreamShared};
use crate::EngineError;
use crate::extra::Loads;
use crate::load::logs::write_logs;
use crate::load::{SteadyTotals, SteadyWatch};
use crate::recorder::{SharedGaps, WorkerGaps};
use crate::sys::{Clock, MonotonicClock};
use assay_model::load::report::{
    LoadProgress, LoadReport, StreamProgress, StreamReport, StreamState,
};
use assay_model::load::{Ddir, Load, PerDirection, Stream};
use assay_model::rng::SplitMix64;
use assay_model::trial::Gap;
use conductor::{Conductor, Wave};
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs a load until all its streams have ended or it is stopped. The report
/// includes failed streams; the observer adds disk statistics and evidence.
/// Before, [`adopt`](super::adopt) must set the files of streams that replay a trace.
///
/// The files of all streams are created before the first one starts, in the
/// order of the streams; they are not removed when the load ends.
#[cfg(feature = "loads")]
pub fn run(load: &Load, controls: &Controls, observer: &mut dyn LoadObserver) -> LoadReport {
    let signals = Signals {
        stop: &controls.stop,
        report_now: &controls.report_now,
    };
    conduct(load, signals, observer).report
}

/// Runs a load as [`run()`] does, until `stop` is set at the latest, without
/// interim reports. For callers with their own stop flag.
#[cfg(feature = "loads")]
pub fn run_until(load: &Load, stop: &AtomicBool, observer: &mut dyn LoadObserver) -> LoadReport {
    let signals = Signals {
        stop,
        report_now: &AtomicBool::new(false),
    };
    conduct(load, signals, observer).report
}

/// External inputs of a running load: the values behind [`Controls`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signals<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) report_now: &'a AtomicBool,
}

/// Outcome of a load, including data that does not fit into a report.
#[derive(Debug, Default)]
pub(crate) struct LoadOutcome {
    pub(crate) report: LoadReport,
    /// Errors of streams that could not start or continue, in order. (Failed
    /// I/Os are in the streams' reports.)
    pub(crate) errors: Vec<EngineError>,
    /// True if a stream ended before its ramp did.
    pub(crate) over_in_ramp: bool,
}

/// Runs a load as [`run()`] does, and also returns the errors.
pub(crate) fn conduct(
    load: &Load,
    signals: Signals<'_>,
    observer: &mut dyn LoadObserver,
) -> LoadOutcome {
    let mut outcome = LoadOutcome::default();
    outcome.report.streams = vec![StreamReport::default(); load.streams.len()];
    let mut stage = Stage::new(load, signals);
    stage.prepare(&mut outcome, observer);
    Conductor::new(&stage, outcome, observer).run()
}

/// State shared by all threads of a load.
struct Stage<'a> {
    load: &'a Load,
    signals: Signals<'a>,
    /// Set when a stream ends the load for all.
    halted: AtomicBool,
    files: SharedFiles,
    flows: FlowTable,
    shared: Vec<StreamShared>,
    /// Plans of the streams; `None` if a stream cannot run, or has nothing to
    /// do.
    plans: Vec<Option<FilePlan>>,
    /// Gaps shared by the streams that report as one, by report number.
    gaps: HashMap<u32, Arc<SharedGaps>>,
    /// Seeds of the written content of each stream.
    fill_seeds: Vec<u64>,
}

impl<'a> Stage<'a> {
    fn new(load: &'a Load, signals: Signals<'a>) -> Self {
        let mut members: HashMap<u32, u32> = HashMap::new();
        for stream in &load.streams {
            *members.entry(stream.report).or_default() += 1;
        }
        let gaps = members
            .into_iter()
            .map(|(report, count)| (report, SharedGaps::new(count)))
            .collect();
        let seeds = load.streams.iter().map(|stream| load.seed_of(stream));
        Self {
            // A separate sequence from all draws of the seeds themselves.
            fill_seeds: seeds
                .map(|seed| SplitMix64::new(!seed).next_u64())
                .collect(),
            load,
            signals,
            halted: AtomicBool::new(false),
            files: SharedFiles::default(),
            flows: FlowTable::default(),
            shared: load
                .streams
                .iter()
                .map(|_| StreamShared::default())
                .collect(),
            plans: load.streams.iter().map(|_| None).collect(),
            gaps,
        }
    }

    fn is_stopped(&self) -> bool {
        self.signals.stop.load(Ordering::Relaxed) || self.halted.load(Ordering::Relaxed)
    }

    /// Ends the load for all streams.
    fn halt(&self) {
        self.halted.store(true, Ordering::Relaxed);
    }

    /// Determines the files of all streams and creates them.
    fn prepare(&mut self, outcome: &mut LoadOutcome, observer: &mut dyn LoadObserver) {
        for (index, stream) in self.load.streams.iter().enumerate() {
            if self.is_stopped() {
                return;
            }
            self.shared[index].set_state(StreamState::SettingUp);
            match self.lay_out(stream, observer) {
                Ok(plan) if stream.files.create_only => {
                    let report = &mut outcome.report.streams[index];
                    report.started = true;
                    report.files = plan.sizes();
                    self.shared[index].set_state(StreamState::Done);
                }
                Ok(plan) => {
                    self.plans[index] = Some(plan);
                    self.shared[index].set_state(StreamState::Waiting);
                }
                Err(error) => self.cannot_run(index, outcome, error, observer),
            }
        }
    }

    fn lay_out(
        &self,
        stream: &Stream,
        observer: &mut dyn LoadObserver,
    ) -> Result<FilePlan, EngineError> {
        let mut plan = FilePlan::resolve(stream, self.load)?;
        // The plan of a job has already prepared the file.
        if Loads::here().is_some() {
            plan.lay_out(stream, &self.files, self.signals.stop, &mut |note| {
                observer.note(&note);
            })?;
        }
        Ok(plan)
    }

    /// Records a stream that cannot start.
    fn cannot_run(
        &self,
        index: usize,
        outcome: &mut LoadOutcome,
        error: EngineError,
        observer: &mut dyn LoadObserver,
    ) {
        self.shared[index].set_state(StreamState::Failed);
        if matches!(error, EngineError::Stopped) {
            return;
        }
        let report = &mut outcome.report.streams[index];
        report.errno = error.errno().unwrap_or(libc::EINVAL);
        report.total_errors += 1;
        report.problem = Some(error.to_string());
        observer.note(&Note::Error(error.to_string()));
        if self.load.streams[index].schedule.exit_all_on_error {
            self.halt();
        }
        outcome.errors.push(error);
    }

    /// Returns the handle through which a stream reports its gaps.
    fn gaps_of(&self, index: usize) -> Option<WorkerGaps> {
        let report = self.load.streams[index].report;
        let before = self.load.streams[..index].iter();
        let place = before.filter(|stream| stream.report == report).count();
        Some(self.gaps.get(&report)?.of_worker(place))
    }
}

/// Time between two rows, as in fio.
const WIDTH_NS: u64 = 500_000_000;
const KIB: u128 = 1024;

/// The rows written so far.
#[derive(Debug)]
struct BandwidthLog {
    begun_ns: u64,
    /// Time of the last row, in nanoseconds.
    at_ns: u64,
    /// Bytes transferred until the last row.
    moved: PerDirection<u64>,
    /// Time since the start (ms) and bandwidth (KiB/s).
    rows: PerDirection<Vec<(u64, u64)>>,
}

impl BandwidthLog {
    fn new(begun_ns: u64) -> Self {
        Self {
            begun_ns,
            at_ns: begun_ns,
            moved: PerDirection::default(),
            rows: PerDirection::default(),
        }
    }

    /// Adds a row to each direction when one is due.
    fn add_if_due(&mut self, now_ns: u64, streams: impl Iterator<Item = StreamProgress>) {
        if now_ns.saturating_sub(self.at_ns) >= WIDTH_NS {
            self.add(now_ns, streams);
        }
    }

    /// Adds the last row when the load has ended, if its interval is long
    /// enough for a rate.
    fn finish(&mut self, now_ns: u64, streams: impl Iterator<Item = StreamProgress>) {
        if now_ns.saturating_sub(self.at_ns) >= WIDTH_NS / 2 {
            self.add(now_ns, streams);
        }
    }

    fn add(&mut self, now_ns: u64, streams: impl Iterator<Item = StreamProgress>) {
        let mut moved = PerDirection::<u64>::default();
        for stream in streams {
            for (ddir, bytes) in stream.bytes.iter() {
                moved[ddir] += bytes;
            }
        }
        let width_ns = now_ns.saturating_sub(self.at_ns).max(1);
        let at_ms = now_ns.saturating_sub(self.begun_ns) / 1_000_000;
        for (ddir, &bytes) in moved.iter() {
            // A stream's counters restart when its ramp ends.
            let since = bytes.saturating_sub(self.moved[ddir]);
            let rate = u128::from(since) * 1_000_000_000 / u128::from(width_ns) / KIB;
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            self.rows[ddir].push((at_ms, rate));
        }
        self.moved = moved;
        self.at_ns = now_ns;
    }

    /// Writes a file for each direction that was used, with fio's names:
    /// `agg-read_bw.log` and so on.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn write(&self, folder: &Path) -> Result<(), EngineError> {
        for (ddir, rows) in self.rows.iter() {
            if rows.iter().all(|&(_, rate)| rate == 0) {
                continue;
            }
            let mut text = String::new();
            for (at_ms, rate) in rows {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{at_ms}, {rate}, {}, 0, 0", ddir.number());
            }
            let path = folder.join(log_name(ddir));
            fs::write(&path, text).map_err(|error| EngineError::file("write", &path, error))?;
        }
        Ok(())
    }
}

fn log_name(ddir: Ddir) -> String {
    format!("agg-{}_bw.log", ddir.name())
}

/// Returns the names of all these logs.
#[cfg(feature = "loads")]
pub(super) fn log_names_of_all() -> impl Iterator<Item = String> {
    Ddir::ALL.into_iter().map(log_name)
}

/// Groups of streams that end when they are steady.
struct SteadyGroups(Vec<SteadyGroup>);

struct SteadyGroup {
    report: u32,
    /// Indices of the streams.
    members: Vec<usize>,
    watch: SteadyWatch,
    interval_ns: u64,
    /// Number of intervals evaluated so far.
    seen: usize,
    before: SteadyTotals,
    attained: bool,
}

impl SteadyGroups {
    fn new(load: &Load) -> Self {
        let mut groups: Vec<SteadyGroup> = Vec::new();
        for (index, stream) in load.streams.iter().enumerate() {
            let Some(asked) = &stream.steady_state else {
                continue;
            };
            match groups
                .iter_mut()
                .find(|group| group.report == stream.report)
            {
                Some(group) => group.members.push(index),
                None => groups.push(SteadyGroup {
                    report: stream.report,
                    members: vec![index],
                    watch: SteadyWatch::new(asked),
                    interval_ns: asked.interval.0.max(1),
                    seen: 0,
                    before: SteadyTotals::default(),
                    attained: false,
                }),
            }
        }
        Self(groups)
    }

    /// Evaluates the intervals that ended since the last call. Returns the
    /// report numbers of the groups that became steady.
    fn evaluate(&mut self, shared: &[StreamShared]) -> Vec<u32> {
        let mut attained = Vec::new();
        for group in self.0.iter_mut().filter(|group| !group.attained) {
            if group.evaluate(shared) {
                group.attained = true;
                attained.push(group.report);
            }
        }
        attained
    }

    /// Fills the steady state into the reports of the streams concerned.
    fn fill_in(&self, load: &Load, reports: &mut [StreamReport]) {
        for group in &self.0 {
            for (stream, report) in load.streams.iter().zip(reports.iter_mut()) {
                if stream.report == group.report && stream.steady_state.is_some() {
                    report.steady_state = Some(group.watch.reached());
                }
            }
        }
    }
}

impl SteadyGroup {
    fn evaluate(&mut self, shared: &[StreamShared]) -> bool {
        while let Some(totals) = self.totals(shared) {
            self.seen += 1;
            let ios = totals.ios.saturating_sub(self.before.ios);
            let bytes = totals.bytes.saturating_sub(self.before.bytes);
            let latency_ns = totals
                .latency_sum_ns
                .saturating_sub(self.before.latency_sum_ns);
            self.before = totals;
            let mean_ns = latency_ns.checked_div(ios).unwrap_or(0);
            if self
                .watch
                .sample(self.per_second(ios), self.per_second(bytes), mean_ns)
            {
                return true;
            }
        }
        false
    }

    fn per_second(&self, amount: u64) -> u64 {
        let rate = u128::from(amount) * 1_000_000_000 / u128::from(self.interval_ns);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Returns the sum over all streams at the end of the next interval; `None`
    /// until each of them has reached it.
    fn totals(&self, shared: &[StreamShared]) -> Option<SteadyTotals> {
        let mut sum = SteadyTotals::default();
        for &index in &self.members {
            let totals = shared[index].steady(self.seen)?;
            sum.ios += totals.ios;
            sum.bytes += totals.bytes;
            sum.latency_sum_ns = sum.latency_sum_ns.saturating_add(totals.latency_sum_ns);
        }
        Some(sum)
    }
}

impl Conductor<'_> {
    /// Passes the interim report to the observer, when all streams have
    /// provided theirs or the deadline has passed.
    fn report_interim(&mut self, wave: &Wave<'_>, now_ns: u64) {
        let Some(until_ns) = self.interim_until_ns else {
            return;
        };
        let missing = wave
            .members
            .iter()
            .any(|&index| !self.ended[index] && self.stage.shared[index].is_report_wanted());
        if missing && now_ns < until_ns {
            return;
        }
        self.interim_until_ns = None;
        let mut report = self.report(true);
        for (index, stream) in report.streams.iter_mut().enumerate() {
            if !self.ended[index]
                && let Some(interim) = self.stage.shared[index].interim()
            {
                *stream = interim;
                stream.elapsed_ns = now_ns.saturating_sub(self.begun_ns);
            }
        }
        self.observer.interim(report);
    }

    fn report_progress(&mut self) {
        let progress = LoadProgress {
            elapsed_ns: MonotonicClock.now().saturating_sub(self.begun_ns),
            streams: self
                .stage
                .shared
                .iter()
                .map(StreamShared::progress)
                .collect(),
        };
        self.observer.progress(&progress);
    }

    /// Sets the longest gap of the streams that report as one, which is known
    /// when all of them have ended.
    fn fill_in_gaps(&mut self, members: &[usize]) {
        for &index in members {
            let report = self.stage.load.streams[index].report;
            let longest = self.stage.gaps.get(&report).and_then(|gaps| gaps.longest());
            let start_ns = self.starts_ns[index];
            self.outcome.report.streams[index].longest_gap = longest.map(|gap| Gap {
                start_ns: gap.from_ns.saturating_sub(start_ns),
                length_ns: gap.length_ns(),
            });
        }
    }

    /// Returns a report of the load so far.
    fn report(&self, interim: bool) -> LoadReport {
        let mut streams = self.outcome.report.streams.clone();
        if let Some(steady) = self.steady.as_ref() {
            steady.fill_in(self.stage.load, &mut streams);
        }
        LoadReport {
            streams,
            at_unix_ms: unix_ms(),
            interim,
            stopped: self.stage.signals.stop.load(Ordering::Relaxed),
            ..LoadReport::default()
        }
    }

    fn write_logs(&mut self) {
        let Some(logs) = self.logs.take() else {
            return;
        };
        let folder = self.stage.load.aux_path.as_deref().unwrap_or(Path::new(""));
        let written = write_logs(logs, folder).and_then(|()| match self.bandwidth.as_mut() {
            None => Ok(()),
            Some(bandwidth) => {
                let streams = self.stage.shared.iter().map(StreamShared::progress);
                bandwidth.finish(MonotonicClock.now(), streams);
                bandwidth.write(folder)
            }
        });
        if let Err(error) = written {
            self.observer.note(&Note::Error(error.to_string()));
            if let Some(report) = self.outcome.report.streams.first_mut() {
                report.total_errors += 1;
                report.errno = error.errno().unwrap_or(libc::EIO);
                report.problem = Some(error.to_string());
            }
        }
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sequence::Sequence;
    use assay_model::load::Ddir;
    use assay_model::load::report::FilePart;

    /// 32 MiB in blocks of 4 KiB, half of them writes: within 1 % of what fio
    /// writes.
    #[test]
    fn the_default_seed_gives_the_share_of_writes_that_t0008_wants() {
        const FIO_KIB: u64 = 16_568;
        let mut stream = Stream::new("foo");
        stream.blocks.rw.write = true;
        let load = Load {
            streams: vec![stream],
            ..Load::default()
        };
        let seed = load.seed_of(&load.streams[0]);
        let spans = [FilePart {
            offset: 0,
            length: 32 << 20,
        }];
        let mut sequence = Sequence::new(&load.streams[0], &spans, seed).unwrap();
        let writes = std::iter::from_fn(|| sequence.next()).filter(|step| step.ddir == Ddir::Write);
        let written_kib: u64 = writes.map(|step| u64::from(step.length) / 1024).sum();
        assert!(
            written_kib.abs_diff(FIO_KIB) * 100 <= FIO_KIB,
            "{written_kib}"
        );
    }

    fn written(bytes: u64) -> impl Iterator<Item = StreamProgress> {
        let mut progress = StreamProgress::default();
        progress.bytes.write = bytes;
        [progress, progress].into_iter()
    }

    #[test]
    fn all_streams_are_one_and_unused_directions_have_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = BandwidthLog::new(1_000);
        log.add_if_due(1_000 + WIDTH_NS - 1, written(1 << 20));
        log.add_if_due(1_000 + WIDTH_NS, written(1 << 20));
        log.add_if_due(1_000 + 2 * WIDTH_NS, written(1 << 20));
        log.add_if_due(1_000 + 3 * WIDTH_NS, written(3 << 20));
        log.finish(1_000 + 3 * WIDTH_NS + 10, written(9 << 20));
        log.write(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join("agg-write_bw.log")).unwrap();
        assert_eq!(
            text,
            "500, 4096, 1, 0, 0\n1000, 0, 1, 0, 0\n1500, 8192, 1, 0, 0\n"
        );
        assert!(!folder.path().join("agg-read_bw.log").exists());
    }
}

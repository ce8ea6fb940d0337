//! Running a load: first the files of all streams, then one wave after the
//! other.

mod bandwidth;
mod conductor;
#[cfg(feature = "loads")]
mod replay;
mod steady;
mod telling;

#[cfg(feature = "loads")]
use super::Controls;
use super::files::{FilePlan, SharedFiles};
use super::pace::FlowTable;
use super::shared::StreamShared;
use super::{LoadObserver, Note};
use crate::error::EngineError;
use crate::extra::Loads;
use crate::gaps::{SharedGaps, WorkerGaps};
use assay_model::load::report::{LoadReport, StreamReport, StreamState};
use assay_model::load::{Load, Stream};
use assay_model::rng::SplitMix64;
#[cfg(feature = "loads")]
pub(super) use bandwidth::log_names_of_all;
use conductor::Conductor;
#[cfg(feature = "loads")]
pub use replay::adopt;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a load until all its streams have ended or it is stopped. The report
/// includes failed streams; the observer adds disk statistics and evidence.
/// Before, [`adopt`] must set the files of streams that replay a trace.
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
}

//! Output of the conductor: progress, reports, logs.

use super::conductor::{Conductor, Wave};
use crate::clock::{Clock, MonotonicClock};
use crate::load::Note;
use crate::load::logs::write_logs;
use crate::load::shared::StreamShared;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::trial::Gap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

impl Conductor<'_> {
    /// Passes the interim report to the observer, when all streams have
    /// provided theirs or the deadline has passed.
    pub(super) fn tell_interim(&mut self, wave: &Wave<'_>, now_ns: u64) {
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

    pub(super) fn tell_progress(&mut self) {
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
    pub(super) fn fill_in_gaps(&mut self, members: &[usize]) {
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
    pub(super) fn report(&self, interim: bool) -> LoadReport {
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

    pub(super) fn write_logs(&mut self) {
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

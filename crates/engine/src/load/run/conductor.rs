//! Wave after wave: threads are started, let go together, and waited for.

use super::Stage;
use super::bandwidth::BandwidthLog;
use super::steady::SteadyGroups;
use crate::clock::{Clock, MonotonicClock};
use crate::error::EngineError;
use crate::load::crew::{Event, Post};
use crate::load::logs::{LogSet, write_logs};
use crate::load::shared::Shared;
use crate::load::worker::Finished;
use crate::load::{LoadObserver, Note};
use crate::start::StartLine;
use assay_model::load::report::{LoadProgress, LoadReport, StreamReport, StreamState};
use assay_model::load::schedule::ExitWhat;
use assay_model::trial::Gap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Between two looks at what is due.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Between two words on the progress.
const PROGRESS_EVERY_NS: u64 = 250_000_000;
/// Longest wait for the streams' interim reports.
const INTERIM_PATIENCE_NS: u64 = 500_000_000;

/// The thread that conducts a load.
pub(super) struct Conductor<'a> {
    stage: &'a Stage<'a>,
    observer: &'a mut dyn LoadObserver,
    reports: Vec<StreamReport>,
    /// Streams that have nothing more to do.
    ended: Vec<bool>,
    logs: Vec<LogSet>,
    bandwidth: Option<BandwidthLog>,
    steady: SteadyGroups,
    begun_ns: u64,
    next_progress_ns: u64,
    next_interim_ns: u64,
    /// Until when the interim reports of the streams are waited for.
    interim_until_ns: Option<u64>,
}

/// A wave under way.
struct Wave<'a> {
    members: &'a [usize],
    gates: &'a [StartLine],
    running: usize,
    /// Places in `members` of those that wait for others.
    held_back: Vec<usize>,
}

impl<'a> Conductor<'a> {
    pub(super) fn new(
        stage: &'a Stage<'a>,
        reports: Vec<StreamReport>,
        observer: &'a mut dyn LoadObserver,
    ) -> Self {
        let begun_ns = MonotonicClock.now();
        Self {
            ended: stage.plans.iter().map(Option::is_none).collect(),
            bandwidth: (stage.load.bandwidth_log).then(|| BandwidthLog::new(begun_ns)),
            steady: SteadyGroups::new(stage.load),
            next_interim_ns: (stage.load.status_interval)
                .map_or(u64::MAX, |every| begun_ns + every.0.max(1)),
            stage,
            observer,
            reports,
            logs: Vec::new(),
            begun_ns,
            next_progress_ns: begun_ns,
            interim_until_ns: None,
        }
    }

    pub(super) fn run(mut self) -> LoadReport {
        let mut waves: Vec<u32> = (self.stage.load.streams.iter())
            .map(|stream| stream.wave)
            .collect();
        waves.dedup();
        for wave in waves {
            if self.stage.is_stopped() {
                break;
            }
            self.run_wave(wave);
        }
        self.write_logs();
        self.tell_progress();
        self.report(false)
    }

    fn run_wave(&mut self, number: u32) {
        let streams = self.stage.load.streams.iter().enumerate();
        let members: Vec<usize> = streams
            .filter(|(index, stream)| stream.wave == number && self.stage.plans[*index].is_some())
            .map(|(index, _)| index)
            .collect();
        let gates: Vec<StartLine> = members.iter().map(|_| StartLine::default()).collect();
        let (sender, events) = channel();
        std::thread::scope(|scope| {
            let _let_go = LetGo(&gates, &self.stage.shared);
            let started = self.start_threads(scope, &members, &gates, &sender);
            drop(sender);
            let mut wave = Wave {
                members: &members,
                gates: &gates,
                running: started,
                held_back: Vec::new(),
            };
            self.await_ready(&mut wave, &events);
            if wave.running == 0 {
                return;
            }
            self.observer.wave_starts(number, &self.paths(&members));
            wave.held_back = (0..members.len()).collect();
            self.let_go(&mut wave);
            self.follow(&mut wave, &events);
            self.observer.wave_ended(number);
        });
        self.fill_in_gaps(&members);
    }

    /// How many threads run.
    fn start_threads<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        members: &[usize],
        gates: &'scope [StartLine],
        events: &Sender<(usize, Event)>,
    ) -> usize
    where
        'a: 'scope,
    {
        let stage = self.stage;
        let mut started = 0;
        for (&index, start) in members.iter().zip(gates) {
            let (Some(plan), Some(gaps)) = (&stage.plans[index], stage.gaps_of(index)) else {
                continue;
            };
            let post = Post {
                load: stage.load,
                stream: &stage.load.streams[index],
                plan,
                files: &stage.files,
                flows: &stage.flows,
                shared: &stage.shared[index],
                controls: stage.controls,
                start,
                gaps,
                seed: stage.load.seed_of(&stage.load.streams[index]),
                events: events.clone(),
                index,
            };
            let spawned = Builder::new()
                .name(format!("stream {}", post.stream.number))
                .spawn_scoped(scope, move || post.serve());
            match spawned {
                Ok(_) => started += 1,
                Err(source) => {
                    let number = u32::try_from(members.len()).unwrap_or(u32::MAX);
                    let error = EngineError::Threads { number, source };
                    self.not_started(index, Some(&error));
                }
            }
        }
        started
    }

    /// Waits until every thread is ready, or cannot be.
    fn await_ready(&mut self, wave: &mut Wave<'_>, events: &Receiver<(usize, Event)>) {
        let mut waiting = wave.running;
        while waiting > 0 {
            let Ok((index, event)) = events.recv() else {
                return;
            };
            match event {
                Event::Ready => waiting -= 1,
                Event::NotStarted(error) => {
                    waiting -= 1;
                    wave.running -= 1;
                    self.not_started(index, error.as_ref());
                }
                event => self.heard(index, event, wave),
            }
        }
    }

    /// Until all streams of the wave have ended.
    fn follow(&mut self, wave: &mut Wave<'_>, events: &Receiver<(usize, Event)>) {
        while wave.running > 0 {
            match events.recv_timeout(LOOK_EVERY) {
                Ok((index, event)) => self.heard(index, event, wave),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.stage.is_stopped() {
                self.stop(|_| true);
                wave.gates.iter().for_each(StartLine::cancel);
            }
            self.look_around(wave);
        }
    }

    fn heard(&mut self, index: usize, event: Event, wave: &mut Wave<'_>) {
        match event {
            Event::Ready => {}
            Event::Note(note) => self.observer.note(&note),
            Event::NotStarted(error) => {
                wave.running -= 1;
                self.not_started(index, error.as_ref());
                self.let_go(wave);
            }
            Event::Finished(finished) => {
                wave.running -= 1;
                self.finished(index, *finished);
                self.let_go(wave);
            }
        }
    }

    fn not_started(&mut self, index: usize, error: Option<&EngineError>) {
        self.ended[index] = true;
        match error {
            Some(error) => {
                let report = &mut self.reports[index];
                self.stage.cannot_run(index, report, error, self.observer);
            }
            None => self.stage.shared[index].set_state(StreamState::Done),
        }
    }

    fn finished(&mut self, index: usize, finished: Finished) {
        for note in &finished.notes {
            self.observer.note(note);
        }
        self.ended[index] = true;
        let mut report = finished.report;
        report.elapsed_ns = MonotonicClock.now().saturating_sub(self.begun_ns);
        let failed = report.errno != 0;
        self.reports[index] = report;
        self.logs.extend(finished.logs);
        let stream = &self.stage.load.streams[index];
        if failed && stream.schedule.exit_all_on_error {
            self.stage.controls.stop.store(true, Ordering::Relaxed);
        }
        match stream.schedule.exit_all {
            None => {}
            Some(ExitWhat::All) => self.stage.controls.stop.store(true, Ordering::Relaxed),
            Some(ExitWhat::Group) => self.stop(|other| other.group == stream.group),
            Some(ExitWhat::Stonewall) => self.stop(|other| other.wave == stream.wave),
        }
    }

    fn stop(&self, concerned: impl Fn(&assay_model::load::Stream) -> bool) {
        for (stream, shared) in self.stage.load.streams.iter().zip(&self.stage.shared) {
            if concerned(stream) {
                shared.stop();
            }
        }
    }

    /// Starts whom nothing keeps any longer.
    fn let_go(&self, wave: &mut Wave<'_>) {
        let start_ns = MonotonicClock.now();
        wave.held_back.retain(|&place| {
            let stream = &self.stage.load.streams[wave.members[place]];
            let waits = stream.schedule.wait_for.as_ref().is_some_and(|name| {
                let streams = self.stage.load.streams.iter().zip(&self.ended);
                streams
                    .filter(|(other, _)| other.name == *name)
                    .any(|(_, ended)| !ended)
            });
            if !waits {
                wave.gates[place].open(start_ns);
            }
            waits
        });
    }

    /// Whatever is due.
    fn look_around(&mut self, wave: &Wave<'_>) {
        let now_ns = MonotonicClock.now();
        self.stage.gaps.values().for_each(|gaps| gaps.look());
        let attained = self.steady.look(&self.stage.shared);
        for report in attained {
            self.stop(|stream| stream.report == report);
        }
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.look(now_ns, self.stage.shared.iter().map(Shared::progress));
        }
        if now_ns >= self.next_progress_ns {
            self.next_progress_ns = now_ns + PROGRESS_EVERY_NS;
            self.tell_progress();
        }
        let asked = self
            .stage
            .controls
            .report_now
            .swap(false, Ordering::Relaxed);
        if (asked || now_ns >= self.next_interim_ns) && self.interim_until_ns.is_none() {
            if let Some(every) = self.stage.load.status_interval {
                self.next_interim_ns = now_ns + every.0.max(1);
            }
            self.interim_until_ns = Some(now_ns + INTERIM_PATIENCE_NS);
            for &index in wave.members.iter().filter(|&&index| !self.ended[index]) {
                self.stage.shared[index].want_report();
            }
        }
        self.tell_interim(wave, now_ns);
    }

    /// Once all streams have handed in theirs, or have been waited for long
    /// enough.
    fn tell_interim(&mut self, wave: &Wave<'_>, now_ns: u64) {
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

    fn tell_progress(&mut self) {
        let progress = LoadProgress {
            elapsed_ns: MonotonicClock.now().saturating_sub(self.begun_ns),
            streams: self.stage.shared.iter().map(Shared::progress).collect(),
        };
        self.observer.progress(&progress);
    }

    fn paths(&self, members: &[usize]) -> Vec<(u32, Vec<PathBuf>)> {
        let paths = |&index: &usize| {
            let plan = self.stage.plans[index].as_ref()?;
            Some((u32::try_from(index).ok()?, plan.paths()))
        };
        members.iter().filter_map(paths).collect()
    }

    /// The longest gap of the streams that report as one, known when all of
    /// them have ended.
    fn fill_in_gaps(&mut self, members: &[usize]) {
        for &index in members {
            let report = self.stage.load.streams[index].report;
            let longest = self.stage.gaps.get(&report).and_then(|gaps| gaps.longest());
            self.reports[index].longest_gap = longest.map(|gap| Gap {
                start_ns: gap.from_ns.saturating_sub(self.begun_ns),
                length_ns: gap.length_ns(),
            });
        }
    }

    /// Everything so far.
    fn report(&self, interim: bool) -> LoadReport {
        let mut streams = self.reports.clone();
        self.steady.fill_in(self.stage.load, &mut streams);
        LoadReport {
            streams,
            at_unix_ms: unix_ms(),
            interim,
            ..LoadReport::default()
        }
    }

    fn write_logs(&mut self) {
        let folder = self.stage.load.aux_path.as_deref().unwrap_or(Path::new(""));
        let logs = std::mem::take(&mut self.logs);
        let written = write_logs(logs, folder).and_then(|()| match &mut self.bandwidth {
            None => Ok(()),
            Some(bandwidth) => {
                let streams = self.stage.shared.iter().map(Shared::progress);
                bandwidth.finish(MonotonicClock.now(), streams);
                bandwidth.write(folder)
            }
        });
        if let Err(error) = written {
            self.observer.note(&Note::Error(error.to_string()));
            if let Some(report) = self.reports.first_mut() {
                report.total_errors += 1;
                report.errno = error.errno().unwrap_or(libc::EIO);
                report.problem = Some(error.to_string());
            }
        }
    }
}

/// However the conductor ends, also by a panic: no stream waits for it any
/// longer, and none goes on without it.
struct LetGo<'a>(&'a [StartLine], &'a [Shared]);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(StartLine::cancel);
        if std::thread::panicking() {
            self.1.iter().for_each(Shared::stop);
        }
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

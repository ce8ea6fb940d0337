//! Runs the waves: starts the threads of each, releases them together, and waits for them.

use super::{BandwidthLog, LoadOutcome, Stage, SteadyGroups};
use crate::EngineError;
use crate::extra::Extra;
use crate::load::crew::{Event, Post};
use crate::load::logs::LogSet;
use crate::load::worker::Finished;
use crate::load::{LoadObserver, StreamShared, Turn, has_turns};
use crate::sys::{Clock, MonotonicClock, StartLine};
use assay_model::job::DataPath;
use assay_model::load::report::{FilePart, StreamState};
use assay_model::load::{ExitWhat, Stream};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::Duration;

/// Delay from the start to the first check of the streams' gaps; doubled for each further check,
/// up to [`LOOK_EVERY`].
const FIRST_LOOK: Duration = Duration::from_millis(4);
/// Maximum time between two checks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time between two progress reports.
const PROGRESS_EVERY_NS: u64 = 250_000_000;
/// Divisor of a wave's run time. A stream whose clock has stopped waits at most this part of it
/// for the other copies of its job, but at least [`TURN_PATIENCE_NS`].
const TURN_PATIENCE_PART: u64 = 4;
/// Minimum time to wait for the other copies of a job whose clock has stopped.
const TURN_PATIENCE_NS: u64 = 250_000_000;
/// Maximum time to wait for the streams' interim reports.
const INTERIM_PATIENCE_NS: u64 = 500_000_000;

/// State of the thread that runs a load.
pub(super) struct Conductor<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) observer: &'a mut dyn LoadObserver,
    pub(super) outcome: LoadOutcome,
    /// Flags of the streams that have ended.
    pub(super) ended: Vec<bool>,
    /// Start of the measured time of each stream.
    pub(super) starts_ns: Vec<u64>,
    /// Time at which each stream's clock last stopped while its work continued.
    stopped_ns: Vec<Option<u64>>,
    pub(super) logs: Extra<Vec<LogSet>>,
    pub(super) bandwidth: Extra<BandwidthLog>,
    pub(super) steady: Extra<SteadyGroups>,
    pub(super) begun_ns: u64,
    next_progress_ns: u64,
    next_interim_ns: u64,
    /// Deadline for the streams' interim reports.
    pub(super) interim_until_ns: Option<u64>,
}

/// The running wave.
pub(super) struct Wave<'a> {
    number: u32,
    pub(super) members: &'a [usize],
    gates: &'a [StartLine<u64>],
    running: usize,
    /// Indices in `members` of the streams that wait for others to end.
    held_back: Vec<usize>,
    /// Streams whose clocks stop or resume; each waits until its sender is dropped.
    turning: Vec<(usize, Turn, Sender<()>)>,
    /// Deadline until which they wait for other copies of their jobs.
    turn_until_ns: u64,
    began_ns: u64,
    /// Time at which the ramps of all started streams are over, if there are any.
    ramps_end_ns: Option<u64>,
    /// Time until the next check.
    patience: Duration,
}

impl<'a> Conductor<'a> {
    pub(super) fn new(
        stage: &'a Stage<'a>,
        outcome: LoadOutcome,
        observer: &'a mut dyn LoadObserver,
    ) -> Self {
        let begun_ns = MonotonicClock.now();
        Self {
            ended: stage.plans.iter().map(Option::is_none).collect(),
            starts_ns: vec![begun_ns; stage.plans.len()],
            stopped_ns: vec![None; stage.plans.len()],
            bandwidth: Extra::new(|| {
                (stage.load.bandwidth_log).then(|| BandwidthLog::new(begun_ns))
            }),
            steady: Extra::new(|| Some(SteadyGroups::new(stage.load))),
            next_interim_ns: (stage.load.status_interval)
                .map_or(u64::MAX, |every| begun_ns.saturating_add(every.0.max(1))),
            stage,
            observer,
            outcome,
            logs: Extra::new(|| Some(Vec::new())),
            begun_ns,
            next_progress_ns: begun_ns,
            interim_until_ns: None,
        }
    }

    pub(super) fn run(mut self) -> LoadOutcome {
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
        self.report_progress();
        self.outcome.report = self.report(false);
        self.outcome
    }

    fn run_wave(&mut self, number: u32) {
        let streams = self.stage.load.streams.iter().enumerate();
        let members: Vec<usize> = streams
            .filter(|(index, stream)| stream.wave == number && self.stage.plans[*index].is_some())
            .map(|(index, _)| index)
            .collect();
        let gates: Vec<StartLine<u64>> = members.iter().map(|_| StartLine::default()).collect();
        let (sender, events) = channel();
        std::thread::scope(|scope| {
            let _let_go = LetGo(&gates, &self.stage.shared);
            let started = self.start_threads(scope, &members, &gates, &sender);
            drop(sender);
            let mut wave = Wave {
                number,
                members: &members,
                gates: &gates,
                running: started,
                held_back: Vec::new(),
                turning: Vec::new(),
                turn_until_ns: 0,
                began_ns: 0,
                ramps_end_ns: None,
                patience: FIRST_LOOK,
            };
            self.await_ready(&mut wave, &events);
            if self.stage.is_stopped() {
                self.follow(&mut wave, &events);
            } else if wave.running > 0 {
                self.observer.wave_starts(number, &self.paths(&members));
                wave.held_back = (0..members.len()).collect();
                wave.began_ns = MonotonicClock.now();
                self.let_go(&mut wave);
                self.follow(&mut wave, &events);
                self.observer.wave_ended(number);
            }
        });
        self.fill_in_gaps(&members);
    }

    /// Starts the threads of the wave and returns their number.
    fn start_threads<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        members: &[usize],
        gates: &'scope [StartLine<u64>],
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
                stop: stage.signals.stop,
                start,
                gaps,
                seed: stage.load.seed_of(&stage.load.streams[index]),
                fill_seeds: &stage.fill_seeds,
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
                    self.not_started(index, Some(error));
                }
            }
        }
        started
    }

    /// Waits until every thread is ready or has failed.
    fn await_ready(&mut self, wave: &mut Wave<'_>, events: &Receiver<(usize, Event)>) {
        let mut waiting = wave.running;
        while waiting > 0 {
            if self.stage.is_stopped() {
                self.stop_all();
            }
            let (index, event) = match events.recv_timeout(LOOK_EVERY) {
                Ok(told) => told,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            match event {
                Event::Ready => waiting -= 1,
                Event::NotStarted(error) => {
                    waiting -= 1;
                    wave.running -= 1;
                    self.not_started(index, error);
                }
                Event::Panicked => {
                    waiting -= 1;
                    self.handle(index, event, wave);
                }
                event => self.handle(index, event, wave),
            }
        }
    }

    /// Processes events until all streams of the wave have ended.
    fn follow(&mut self, wave: &mut Wave<'_>, events: &Receiver<(usize, Event)>) {
        while wave.running > 0 {
            if self.stage.is_stopped() {
                self.stop_all();
                wave.gates.iter().for_each(StartLine::cancel);
            }
            match events.recv_timeout(self.next_look(wave)) {
                Ok((index, event)) => self.handle(index, event, wave),
                Err(RecvTimeoutError::Timeout) => {
                    wave.patience = (wave.patience * 2).min(LOOK_EVERY);
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.take_turns(wave);
            self.do_periodic_work(wave);
        }
    }

    /// Returns the time until the next check is due, if no event arrives earlier. Notifies the
    /// observer when the ramps are over.
    fn next_look(&mut self, wave: &mut Wave<'_>) -> Duration {
        let Some(ramps_end_ns) = wave.ramps_end_ns.filter(|_| wave.held_back.is_empty()) else {
            return wave.patience;
        };
        let left_ns = ramps_end_ns.saturating_sub(MonotonicClock.now());
        if left_ns > 0 {
            return wave.patience.min(Duration::from_nanos(left_ns));
        }
        wave.ramps_end_ns = None;
        wave.patience = FIRST_LOOK;
        self.observer.ramp_ended(wave.number);
        wave.patience
    }

    fn handle(&mut self, index: usize, event: Event, wave: &mut Wave<'_>) {
        match event {
            Event::Ready => {}
            Event::Note(note) => self.observer.note(&note),
            Event::Clock(turn, answer) => self.turns(index, turn, answer, wave),
            Event::NotStarted(error) => {
                wave.running -= 1;
                self.not_started(index, error);
                self.let_go(wave);
            }
            Event::Panicked => {
                wave.running -= 1;
                self.ended[index] = true;
                self.stage.halt();
            }
            Event::Finished(finished) => {
                wave.running -= 1;
                self.finished(index, *finished);
                self.let_go(wave);
            }
        }
    }

    /// Records that the clock of a stream stops or resumes.
    fn turns(&mut self, index: usize, turn: Turn, answer: Sender<()>, wave: &mut Wave<'_>) {
        let now_ns = MonotonicClock.now();
        if turn == Turn::Stops {
            self.stopped_ns[index] = Some(now_ns.saturating_sub(self.begun_ns));
        }
        if wave.turning.is_empty() {
            let ran_ns = now_ns.saturating_sub(wave.began_ns);
            wave.turn_until_ns = now_ns + (ran_ns / TURN_PATIENCE_PART).max(TURN_PATIENCE_NS);
        }
        wave.turning.push((index, turn, answer));
    }

    /// Lets the observer read the counters for streams whose clocks stop or resume, then releases
    /// these streams. Copies of a job end at nearly the same time and wait for each other, so that
    /// the I/O of one after its clock has stopped is not counted for another. Other jobs are not
    /// waited for: they may run for long, and were requested to run at the same time.
    fn take_turns(&mut self, wave: &mut Wave<'_>) {
        if wave.turning.is_empty() {
            return;
        }
        let runs = |&(place, index): &(usize, &usize)| {
            !self.ended[*index] && !wave.held_back.contains(&place)
        };
        let turning = |index: usize| wave.turning.iter().any(|(other, ..)| *other == index);
        let running = wave.members.iter().enumerate().filter(runs);
        let streams = &self.stage.load.streams;
        let is_copy = |index: usize| {
            let mut jobs = wave.turning.iter().map(|(other, ..)| streams[*other].job());
            jobs.any(|job| job == streams[index].job())
        };
        let awaited = running
            .map(|(_, &index)| index)
            .any(|index| has_turns(&streams[index]) && !turning(index) && is_copy(index));
        if awaited && !self.stage.is_stopped() && MonotonicClock.now() < wave.turn_until_ns {
            return;
        }
        let all = std::mem::take(&mut wave.turning);
        for turn in [Turn::Stops, Turn::GoesOn] {
            let streams = all.iter().filter(|(_, other, _)| *other == turn);
            let streams: Vec<u32> = streams
                .filter_map(|(index, ..)| u32::try_from(*index).ok())
                .collect();
            if !streams.is_empty() {
                self.observer.clocks_turn(wave.number, turn, &streams);
            }
        }
    }

    fn not_started(&mut self, index: usize, error: Option<EngineError>) {
        self.ended[index] = true;
        // The gap of a stream that did not start must not affect the others' gaps.
        if let Some(mut gaps) = self.stage.gaps_of(index) {
            gaps.end(MonotonicClock.now());
        }
        if error.is_some() {
            self.concern_others(index, true);
        }
        match error {
            Some(error) => {
                let outcome = &mut self.outcome;
                self.stage.cannot_run(index, outcome, error, self.observer);
            }
            None => self.stage.shared[index].set_state(StreamState::Done),
        }
    }

    fn finished(&mut self, index: usize, mut finished: Finished) {
        for note in &finished.notes {
            self.observer.note(note);
        }
        self.ended[index] = true;
        let mut report = finished.report;
        report.elapsed_ns = MonotonicClock.now().saturating_sub(self.begun_ns);
        report.stopped_ns = self.stopped_ns[index];
        let failed = report.errno != 0;
        self.outcome.report.streams[index] = report;
        self.outcome.errors.extend(finished.error);
        self.outcome.over_in_ramp |= finished.still_ramping;
        self.starts_ns[index] = finished.start_ns;
        if let Some(logs) = self.logs.as_mut() {
            logs.extend(finished.logs.take());
        }
        self.concern_others(index, failed);
    }

    /// Stops the other streams that must end with this one.
    fn concern_others(&self, index: usize, failed: bool) {
        let stream = &self.stage.load.streams[index];
        if failed && stream.schedule.exit_all_on_error {
            self.stage.halt();
        }
        match stream.schedule.exit_all {
            None => {}
            Some(ExitWhat::All) => self.stage.halt(),
            Some(ExitWhat::Group) => self.stop(|other| other.group == stream.group),
            Some(ExitWhat::Stonewall) => self.stop(|other| other.wave == stream.wave),
        }
    }

    /// Stops all streams, without their last flush if the caller has requested the stop.
    fn stop_all(&self) {
        let from_outside = self.stage.signals.stop.load(Ordering::Relaxed);
        for shared in &self.stage.shared {
            match from_outside {
                true => shared.abandon(),
                false => shared.stop(),
            }
        }
    }

    fn stop(&self, concerned: impl Fn(&Stream) -> bool) {
        for (stream, shared) in self.stage.load.streams.iter().zip(&self.stage.shared) {
            if concerned(stream) {
                shared.stop();
            }
        }
    }

    /// Starts the streams that do not wait for others any longer.
    fn let_go(&self, wave: &mut Wave<'_>) {
        let start_ns = MonotonicClock.now();
        let mut ramps_end_ns = wave.ramps_end_ns;
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
                ramps_end_ns = ramps_end_ns.max(ramp_end_ns(stream, start_ns));
            }
            waits
        });
        wave.ramps_end_ns = ramps_end_ns;
    }

    /// Does all periodic work that is due.
    fn do_periodic_work(&mut self, wave: &Wave<'_>) {
        let now_ns = MonotonicClock.now();
        self.stage.gaps.values().for_each(|gaps| gaps.intersect());
        let steady = self.steady.as_mut();
        let attained = steady.map(|steady| steady.evaluate(&self.stage.shared));
        for report in attained.unwrap_or_default() {
            self.stop(|stream| stream.report == report);
        }
        if let Some(bandwidth) = self.bandwidth.as_mut() {
            bandwidth.add_if_due(now_ns, self.stage.shared.iter().map(StreamShared::progress));
        }
        if now_ns >= self.next_progress_ns {
            self.next_progress_ns = now_ns + PROGRESS_EVERY_NS;
            self.report_progress();
        }
        let asked = self.stage.signals.report_now.swap(false, Ordering::Relaxed);
        if (asked || now_ns >= self.next_interim_ns) && self.interim_until_ns.is_none() {
            if let Some(every) = self.stage.load.status_interval {
                self.next_interim_ns = now_ns + every.0.max(1);
            }
            self.interim_until_ns = Some(now_ns + INTERIM_PATIENCE_NS);
            for &index in wave.members.iter().filter(|&&index| !self.ended[index]) {
                self.stage.shared[index].want_report();
            }
        }
        self.report_interim(wave, now_ns);
    }

    fn paths(&self, members: &[usize]) -> Vec<(u32, Vec<(PathBuf, FilePart)>)> {
        let paths = |&index: &usize| {
            let plan = self.stage.plans[index].as_ref()?;
            let parts = plan.paths().into_iter().zip(plan.parts());
            Some((u32::try_from(index).ok()?, parts.collect()))
        };
        members.iter().filter_map(paths).collect()
    }
}

/// Returns the time at which the ramp of a stream released at `start_ns` is over, if it has one. A
/// random start delay counts with its maximum.
fn ramp_end_ns(stream: &Stream, start_ns: u64) -> Option<u64> {
    let ramp_ns = Some(stream.length.ramp_time.0).filter(|&ramp_ns| ramp_ns > 0)?;
    if stream.engine.kind.properties().data == DataPath::Simulated {
        // The ramp is in virtual time and takes no real time.
        return Some(start_ns);
    }
    let delay_ns = stream.schedule.start_delay.map_or(0, |delay| delay.max);
    Some(start_ns.saturating_add(delay_ns).saturating_add(ramp_ns))
}

/// Releases the streams when the conductor ends, even by a panic: cancels those that have not
/// started, and on a panic stops the others.
struct LetGo<'a>(&'a [StartLine<u64>], &'a [StreamShared]);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(StartLine::cancel);
        if std::thread::panicking() {
            self.1.iter().for_each(StreamShared::stop);
        }
    }
}

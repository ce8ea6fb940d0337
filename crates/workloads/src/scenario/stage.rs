//! One stage: its acts are prepared one after the other, begin together, and are reported
//! with the evidence of their common time.

use super::{Play, Scene, prepare};
use crate::observer::{Meter, Together, nanos};
use crate::{ActError, Context, ObservedStep, StepOutcome};
use assay_engine::StartLine;
use assay_model::act::scenario::{ActPace, Action, Deadlines, ScenarioAct, ScenarioStep, Stage};
use assay_model::act::{ActProgress, ProgressUnit, StepDetail};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

/// Interval at which the acts under way are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const POLLS_PER_REPORT: u32 = 50;

/// Result of an act.
type EndedAct = (StepOutcome, Result<(), ActError>);

/// Runs the acts of a stage, and reports all of them.
///
/// # Errors
/// The first error of an act.
pub(super) fn run(
    stage: &Stage,
    scene: &Scene,
    (number, steps_done): (u64, u32),
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let [first, ..] = &stage.acts[..] else {
        return Ok(());
    };
    let measured = stage.acts.iter().any(|act| !act.unmeasured);
    if measured {
        context.observer.begins(ObservedStep {
            job: &first.job,
            paths: &[],
        });
    }
    if let Action::Format { kind } = &first.action {
        return format(first, kind, scene, context);
    }
    let mut plays = Vec::new();
    for (act, place) in stage.acts.iter().zip(0..) {
        // The number makes contents and orders of acts differ.
        match prepare(act, scene, number << 8 | place) {
            Ok(play) => plays.push(play),
            Err(error) if measured => {
                let outcome = error.outcome();
                context.observer.ended(outcome, StepOutcome::default());
                return Err(error);
            }
            Err(error) => return Err(error),
        }
    }
    let paths = union(&plays);
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let step = ObservedStep {
        job: &first.job,
        paths: &paths,
    };
    if measured {
        // Dirty data of earlier acts must not be written back during this stage.
        scene.settle()?;
        context.observer.clock_starts(step);
    }
    let ended = play_all(stage, plays, (steps_done, &scene.name), context);
    if measured {
        context.observer.clock_stopped();
    }
    report(stage, ended, measured, context)
}

/// Reports the outcome of each act; returns the first error.
fn report(
    stage: &Stage,
    ended: Vec<EndedAct>,
    measured: bool,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let mut first_error = None;
    let mut all = Vec::new();
    for (act, (came, done)) in stage.acts.iter().zip(ended) {
        let outcome = ActError::outcome_of(&done);
        // After a stop all acts report it, so another error takes precedence as the cause.
        if let (None | Some(ActError::Stopped), Err(error)) = (&first_error, done) {
            first_error = Some(error);
        }
        if !act.unmeasured {
            all.push(Together {
                job: act.job.clone(),
                outcome,
                came,
            });
        }
    }
    match &mut all[..] {
        _ if !measured => {}
        [one] if stage.acts.len() == 1 => {
            let (outcome, came) = (one.outcome.clone(), std::mem::take(&mut one.came));
            context.observer.ended(outcome, came);
        }
        _ => context.observer.ended_together(all),
    }
    first_error.map_or(Ok(()), Err)
}

/// Runs all acts concurrently, each on its own thread.
fn play_all(
    stage: &Stage,
    plays: Vec<Box<dyn Play + '_>>,
    (steps_done, scenario): (u32, &str),
    context: &mut Context<'_>,
) -> Vec<EndedAct> {
    let over = AtomicBool::new(false);
    let counters: Vec<AtomicU64> = plays.iter().map(|_| AtomicU64::new(0)).collect();
    let total = plays.iter().zip(&stage.acts).find_map(|(play, act)| {
        let leads = !act.background && act.pace.limit_ns.is_none();
        play.total().filter(|_| leads)
    });
    let gate = StartLine::default();
    let stop = context.stop;
    thread::scope(|scope| {
        let acts = stage.acts.iter().zip(plays).zip(&counters);
        let threads: io::Result<Vec<_>> = acts
            .map(|((act, play), done)| {
                let signals = Signals {
                    stop,
                    over: &over,
                    done,
                };
                let gate = &gate;
                thread::Builder::new().spawn_scoped(scope, move || {
                    if gate.wait().is_none() {
                        return (StepOutcome::default(), Err(ActError::Stopped));
                    }
                    let mut ended = play_one(act, play, signals);
                    if let Some(StepDetail::Scenario(step)) = &mut ended.0.detail {
                        scenario.clone_into(&mut step.scenario);
                    }
                    ended
                })
            })
            .collect();
        let threads = match threads {
            Ok(threads) => threads,
            Err(error) => {
                gate.cancel();
                let words = ActError::no_thread(error).to_string();
                let failed = || Err(ActError::failed(words.clone()));
                let acts = stage.acts.iter();
                return acts.map(|_| (StepOutcome::default(), failed())).collect();
            }
        };
        gate.open(());
        follow(
            stage,
            &threads,
            (&over, &counters),
            (steps_done, total),
            context,
        );
        threads.into_iter().map(joined).collect()
    })
}

fn joined(thread: ScopedJoinHandle<'_, EndedAct>) -> EndedAct {
    thread.join().unwrap_or_else(|_| {
        let error = ActError::failed("the thread of an act panicked");
        (StepOutcome::default(), Err(error))
    })
}

fn play_one(act: &ScenarioAct, mut play: Box<dyn Play + '_>, signals: Signals<'_>) -> EndedAct {
    let over = signals.over;
    let mut turn = Turn::start(act.pace, act.background, signals);
    let done = play.play(&mut turn);
    let Turn { meter, step, .. } = turn;
    let measured = meter.stop();
    if done.is_err() {
        // After a failure, the other acts of the stage end as well.
        over.store(true, Ordering::Relaxed);
    }
    let came = StepOutcome {
        measured: Some(measured),
        detail: Some(StepDetail::Scenario(Box::new(step))),
    };
    (came, done)
}

/// Waits for the foreground acts, reports their progress, and ends the others.
fn follow(
    stage: &Stage,
    threads: &[ScopedJoinHandle<'_, EndedAct>],
    (over, counters): (&AtomicBool, &[AtomicU64]),
    (steps_done, total): (u32, Option<u64>),
    context: &mut Context<'_>,
) {
    let began = Instant::now();
    let lead = stage.acts.iter().position(|act| !act.background);
    let mut polls = 0_u32;
    let under_way = || {
        let both = stage.acts.iter().zip(threads);
        let mut foreground = both.filter(|(act, _)| !act.background);
        foreground.any(|(_, thread)| !thread.is_finished())
    };
    while under_way() {
        thread::sleep(POLL_INTERVAL);
        polls += 1;
        if polls.is_multiple_of(POLLS_PER_REPORT)
            && let Some(lead) = lead
        {
            context.observer.progress(&ActProgress {
                step: stage.acts[lead].job.name.clone(),
                steps_done,
                unit: ProgressUnit::Bytes,
                done: counters[lead].load(Ordering::Relaxed),
                total,
                elapsed_ns: nanos(began.elapsed()),
            });
        }
    }
    over.store(true, Ordering::Relaxed);
}

/// Makes a file system on the scratch device. The observer does so, because only the agent
/// can undo it after a kill.
fn format(
    act: &ScenarioAct,
    kind: &str,
    scene: &Scene,
    context: &mut Context<'_>,
) -> Result<(), ActError> {
    let leave = context.observer.leave_file_system();
    let device: Vec<&Path> = scene.device().map(PathBuf::as_path).into_iter().collect();
    let step = ObservedStep {
        job: &act.job,
        paths: &device,
    };
    if !act.unmeasured {
        context.observer.clock_starts(step);
    }
    let meter = Meter::start(0);
    let made = leave.and_then(|()| context.observer.make_file_system(kind));
    let came = StepOutcome {
        measured: Some(meter.stop()),
        detail: Some(StepDetail::Scenario(Box::new(ScenarioStep {
            scenario: scene.name.clone(),
            ..ScenarioStep::default()
        }))),
    };
    if !act.unmeasured {
        context.observer.clock_stopped();
    }
    let done = made.and_then(|folder| scene.settle_in(&folder));
    if !act.unmeasured {
        let outcome = ActError::outcome_of(&done);
        context.observer.ended(outcome, came);
    }
    done
}

/// Returns the paths of all plays without duplicates.
fn union(plays: &[Box<dyn Play + '_>]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = plays.iter().flat_map(|play| play.paths()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Longest sleep before the signals are checked.
const NAP: Duration = Duration::from_millis(50);
/// Width of an interval of the series.
const INTERVAL_NS: u64 = 100_000_000;

/// Signals to and from concurrent acts.
pub(super) struct Signals<'a> {
    /// Set when the scenario must stop.
    pub(super) stop: &'a AtomicBool,
    /// True if all foreground acts have ended, or one has failed.
    pub(super) over: &'a AtomicBool,
    /// Bytes or operations that this act has done.
    pub(super) done: &'a AtomicU64,
}

/// State of an act while its clock runs. It is the state that the act shares with others: its
/// clock, its pace, and the stop signal.
pub(super) struct Turn<'a> {
    pub(super) meter: Meter,
    pub(super) step: ScenarioStep,
    signals: Signals<'a>,
    background: bool,
    pace: ActPace,
    /// Time at which the next operation is due.
    next_ns: u64,
}

impl<'a> Turn<'a> {
    /// Starts the clock.
    pub(super) fn start(pace: ActPace, background: bool, signals: Signals<'a>) -> Self {
        let deadlines = pace.deadline_ns.map(|deadline_ns| Deadlines {
            deadline_ns,
            ..Deadlines::default()
        });
        Self {
            step: ScenarioStep {
                deadlines,
                background,
                ..ScenarioStep::default()
            },
            signals,
            background,
            pace,
            next_ns: 0,
            meter: Meter::start(INTERVAL_NS),
        }
    }

    /// Returns true if the act repeats its work until it is stopped.
    pub(super) const fn again(&self) -> bool {
        self.background
    }

    /// Waits until the next operation is due; returns that time, or `None` if the act must end.
    ///
    /// # Errors
    /// [`ActError::Stopped`] if the scenario must stop.
    pub(super) fn due(&mut self) -> Result<Option<u64>, ActError> {
        loop {
            if self.signals.stop.load(Ordering::Relaxed) {
                return Err(ActError::Stopped);
            }
            let now_ns = self.meter.now_ns();
            let too_late = self.pace.limit_ns.is_some_and(|limit| now_ns >= limit);
            if too_late || self.signals.over.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(every_ns) = self.pace.every_ns else {
                return Ok(Some(now_ns));
            };
            if now_ns >= self.next_ns {
                let due_ns = self.next_ns;
                // A delay is not made up for: the next operation is due as if there was none.
                self.next_ns += every_ns;
                return Ok(Some(due_ns));
            }
            thread::sleep(Duration::from_nanos(self.next_ns - now_ns).min(NAP));
        }
    }

    /// Records the end of an operation that was due at `due_ns`, including its flush.
    pub(super) fn over(&mut self, due_ns: u64) {
        self.step.operations += 1;
        let took_ns = self.meter.now_ns().saturating_sub(due_ns);
        if let Some(kept) = &mut self.step.deadlines {
            kept.operations += 1;
            let late_ns = took_ns.saturating_sub(kept.deadline_ns);
            kept.missed += u64::from(late_ns > 0);
            kept.worst_late_ns = kept.worst_late_ns.max(late_ns);
        }
    }

    /// Adds to the progress.
    pub(super) fn add_progress(&self, more: u64) {
        self.signals.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Sleeps, until the time is over or the act must end.
    ///
    /// # Errors
    /// [`ActError::Stopped`] if the scenario must stop.
    pub(super) fn sleep(&mut self, time: Duration) -> Result<(), ActError> {
        let until_ns = self.meter.now_ns().saturating_add(nanos(time));
        loop {
            if self.signals.stop.load(Ordering::Relaxed) {
                return Err(ActError::Stopped);
            }
            let now_ns = self.meter.now_ns();
            if now_ns >= until_ns || self.signals.over.load(Ordering::Relaxed) {
                return Ok(());
            }
            thread::sleep(Duration::from_nanos(until_ns - now_ns).min(NAP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn<'a>(
        every_ns: Option<u64>,
        deadline_ns: u64,
        (stop, over, done): (&'a AtomicBool, &'a AtomicBool, &'a AtomicU64),
    ) -> Turn<'a> {
        let pace = ActPace {
            every_ns,
            deadline_ns: Some(deadline_ns),
            limit_ns: None,
        };
        Turn::start(pace, false, Signals { stop, over, done })
    }

    #[test]
    fn who_cannot_keep_the_pace_misses_deadlines_and_stays_late() {
        let (stop, over, done) = <(AtomicBool, AtomicBool, AtomicU64)>::default();
        let mut turn = turn(Some(1), 2, (&stop, &over, &done));
        for number in 0..3 {
            let due = turn.due().unwrap();
            assert_eq!(due, Some(number));
            thread::sleep(Duration::from_millis(1));
            turn.over(number);
        }
        let kept = turn.step.deadlines.unwrap();
        assert_eq!((kept.operations, kept.missed), (3, 3));
        assert!(kept.worst_late_ns > 2_000_000);
        over.store(true, Ordering::Relaxed);
        assert_eq!(turn.due().unwrap(), None);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(turn.due(), Err(ActError::Stopped)));
    }

    #[test]
    fn a_pace_that_is_kept_misses_nothing() {
        let (stop, over, done) = <(AtomicBool, AtomicBool, AtomicU64)>::default();
        let mut turn = turn(None, u64::MAX, (&stop, &over, &done));
        let due = turn.due().unwrap().unwrap();
        turn.over(due);
        let kept = turn.step.deadlines.unwrap();
        assert_eq!(
            (kept.operations, kept.missed, kept.worst_late_ns),
            (1, 0, 0)
        );
    }
}

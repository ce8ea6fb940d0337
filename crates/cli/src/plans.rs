//! A plan on the host's side: asking for it, storing each trial as it ends, and
//! showing how it goes.

use crate::exit::Failure;
use crate::host::{Host, Requests};
use crate::interrupt::Interrupt;
use crate::leftovers;
use crate::loads;
use crate::output::say;
use crate::progress::{Progress, SoFar, Voice, steps};
use crate::runs::{self, Ending, of_store, unix_ms};
use assay_model::annotation::Annotation;
use assay_model::plan::Plan;
use assay_model::run::{Run, RunHeader};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Nanos;
use assay_model::wire::{FromAgent, RunEnd, ToAgent};
use assay_store::Store;
use assay_target::Target;
use std::process::ExitCode;

/// Keeps trials as they end, and shows how a run goes.
pub struct Recorder<'a> {
    store: &'a mut Store,
    progress: Progress,
}

impl<'a> Recorder<'a> {
    /// The store knows the run of each trial that will come.
    pub fn new(store: &'a mut Store, progress: Progress) -> Self {
        Self { store, progress }
    }

    /// To say something meanwhile.
    pub fn voice(&self) -> Voice {
        self.progress.voice()
    }
}

/// A plan under way at an agent, trial by trial.
pub struct Execution<'a> {
    host: &'a mut Host,
    header: &'a RunHeader,
    trials: Vec<TrialRecord>,
    /// Position in the plan of the first trial that the agent is asked for.
    first: u32,
    /// The trial, as the agent counts, that it has to hear of before it goes on.
    unanswered: Option<u32>,
}

/// What an agent said.
pub enum Heard {
    /// A trial ended and is kept; the agent waits.
    Trial,
    /// The run ended.
    End(RunEnd),
}

impl<'a> Execution<'a> {
    /// `trials`, the first ones of the plan, are there already.
    pub fn new(host: &'a mut Host, header: &'a RunHeader, trials: Vec<TrialRecord>) -> Self {
        Self {
            first: u32::try_from(trials.len()).unwrap_or(u32::MAX),
            host,
            header,
            trials,
            unanswered: None,
        }
    }

    /// The trials that ended.
    pub fn trials(&self) -> &[TrialRecord] {
        &self.trials
    }

    /// The same, at the end.
    pub fn finish(self) -> Vec<TrialRecord> {
        self.trials
    }

    /// The way to the agent.
    pub fn requests(&self) -> Requests {
        self.host.requests()
    }

    /// Asks for the trials that are missing, the first time; then lets the agent
    /// begin the next one.
    pub fn go_on(&mut self) -> Result<(), Failure> {
        match self.unanswered.take() {
            None => self.host.run(&rest(&self.header.plan, &self.trials)),
            Some(position) => {
                // An agent that cannot hear it has ended; what it said before is
                // heard next, its end or that it ended unexpectedly.
                let _ = self.host.stored(position);
                Ok(())
            }
        }
    }

    /// No more trials are wanted; the end is then to be [heard](Self::hear).
    pub fn cancel(&mut self) {
        self.unanswered = None;
        // As in `go_on`.
        let _ = self.host.requests().send(&ToAgent::Cancel);
    }

    /// All trials that are missing, until `enough` says so of those that there are.
    fn run_until(
        &mut self,
        recorder: &mut Recorder<'_>,
        enough: &mut dyn FnMut(&[TrialRecord], &Voice) -> bool,
    ) -> Result<RunEnd, Failure> {
        let voice = recorder.voice();
        let mut over = false;
        if self.is_whole() && enough(&self.trials, &voice) {
            return Ok(RunEnd::Finished);
        }
        self.go_on()?;
        loop {
            match self.hear(recorder)? {
                Heard::End(RunEnd::Cancelled) if over => return Ok(RunEnd::Finished),
                Heard::End(end) => return Ok(end),
                Heard::Trial if self.is_whole() && enough(&self.trials, &voice) => {
                    over = true;
                    self.cancel();
                }
                Heard::Trial => self.go_on()?,
            }
        }
    }

    /// Whether the last trial was not stopped from outside.
    pub fn is_whole(&self) -> bool {
        let last = self.trials.last();
        last.is_some_and(|trial| trial.outcome != Outcome::Interrupted)
    }

    /// Listens to the agent until a trial, or the run, has ended.
    pub fn hear(&mut self, recorder: &mut Recorder<'_>) -> Result<Heard, Failure> {
        let progress = &mut recorder.progress;
        loop {
            match self.host.hear()? {
                FromAgent::Preparing { done, total } => progress.preparing(done, total),
                FromAgent::TrialStarted { position } => {
                    let at = self.first.saturating_add(position);
                    progress.started(self.header.place_of(at));
                }
                FromAgent::Progress {
                    elapsed_ns,
                    bytes,
                    ios,
                } => {
                    let elapsed = Nanos(elapsed_ns);
                    let so_far = SoFar {
                        elapsed,
                        bytes,
                        ios,
                    };
                    let plan = &self.header.plan;
                    if let Some(slot) = plan.order.get(self.trials.len()) {
                        progress.under_way(&plan.jobs[slot.job].job, so_far);
                    }
                }
                FromAgent::TrialDone(record) => {
                    self.keep(*record, recorder)?;
                    return Ok(Heard::Trial);
                }
                FromAgent::LoadNote(note) => progress.voice().say(&loads::in_words(&note)),
                FromAgent::RunDone { end, leftover } => {
                    if let Some(leftover) = leftover {
                        progress.voice().say(&leftovers::in_words(&leftover));
                    }
                    return Ok(Heard::End(end));
                }
                FromAgent::Hello { .. }
                | FromAgent::Inspected(_)
                | FromAgent::Swept { .. }
                | FromAgent::Undone { .. }
                | FromAgent::Offers { .. }
                | FromAgent::Rehearsed { .. }
                | FromAgent::Devices(_)
                | FromAgent::Checkup(_)
                | FromAgent::LoadProgress(_)
                | FromAgent::LoadStream(_)
                | FromAgent::LoadReport(_)
                | FromAgent::StepStarted { .. }
                | FromAgent::StepDone(_)
                | FromAgent::KeepSteps { .. }
                | FromAgent::WorkProgress(_)
                | FromAgent::Powercut(_)
                | FromAgent::WorkStands(_)
                | FromAgent::WorkDone { .. }
                | FromAgent::Refused(_) => {}
            }
        }
    }

    /// What was told is safe: stored first, then shown.
    fn keep(
        &mut self,
        mut record: TrialRecord,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Failure> {
        let position = record.position;
        self.unanswered = Some(position);
        record.position = self.first.saturating_add(position);
        let next = self.trials.len();
        if record.position as usize != next || next >= self.header.plan.order.len() {
            return Err(Failure::lost(format!(
                "the agent tells of trial {position}, which was not its next"
            )));
        }
        // One that cannot be stored is kept with the run all the same (`runs::finish`).
        self.trials.push(record);
        let record = &self.trials[next];
        let store = &mut recorder.store;
        store
            .save_trial(&self.header.id, record)
            .map_err(of_store)?;
        let place = self.header.place_of(record.position);
        recorder.progress.ended(place, record);
        Ok(())
    }
}

/// The trials that ended, and how.
pub struct Executed {
    /// The trials.
    pub trials: Vec<TrialRecord>,
    /// How the run ended.
    pub ended: Result<Ending, Failure>,
}

/// Runs the trials of a plan that are not `done`, until `enough` says so of those
/// that there are. `expected`: how long each takes, in the plan's order.
pub fn execute(
    host: &mut Host,
    header: &RunHeader,
    expected: &[Nanos],
    store: &mut Store,
    done: Vec<TrialRecord>,
    mut enough: impl FnMut(&[TrialRecord], &Voice) -> bool,
) -> Executed {
    let progress = Progress::new(steps(&header.plan, expected));
    let mut recorder = Recorder::new(store, progress);
    let mut execution = Execution::new(host, header, done);
    let agents = vec![execution.requests()];
    let ended = interruptible(agents, &recorder.voice(), |_| {
        execution.run_until(&mut recorder, &mut enough)
    });
    Executed {
        trials: execution.finish(),
        ended: ended.and_then(|(end, signal)| Ok(Ending::of(end?, signal))),
    }
}

/// Does what these agents take part in; a signal cancels it. With what came of it goes
/// the exit code of the signal.
pub fn interruptible<T>(
    agents: Vec<Requests>,
    voice: &Voice,
    work: impl FnOnce(&Interrupt) -> T,
) -> Result<(T, Option<u8>), Failure> {
    let on_signal = voice.clone();
    let interrupt = Interrupt::catch(move || {
        on_signal.say("stopping after this I/O; finished trials are kept");
        for agent in agents {
            // An agent that cannot hear it has ended, which is noticed elsewhere.
            let _ = agent.send(&ToAgent::Cancel);
        }
    })
    .map_err(|error| Failure::failed(format!("cannot catch signals: {error}")))?;
    let done = work(&interrupt);
    voice.clear();
    Ok((done, interrupt.exit_code()))
}

/// The trials of a plan that follow those which are there.
fn rest(plan: &Plan, there: &[TrialRecord]) -> Plan {
    let first = there.len();
    Plan {
        order: plan.order.get(first..).unwrap_or_default().to_vec(),
        restore: plan.restore.after(there),
        // Offsets differ from those of the trials that are there.
        seed: plan.seed ^ ((first as u64) << 32),
        ..plan.clone()
    }
}

/// A run that has ended.
pub struct Done {
    /// The run.
    pub run: Run,
    ending: Ending,
}

/// Notes in the store how a run ended; test files of an agent that was lost are
/// removed by another.
pub fn close(
    header: RunHeader,
    store: &mut Store,
    executed: Executed,
    target: &mut dyn Target,
) -> Done {
    let mut ending = executed.ended.unwrap_or_else(Ending::of_failure);
    let run = Run {
        header,
        status: ending.status.clone(),
        finished_unix_ms: Some(unix_ms()),
        trials: executed.trials,
        annotation: Annotation::default(),
    };
    ending.and_noted(runs::finish(store, &run));
    if ending.agent_lost {
        for leftover in leftovers::clear_after_loss(target, &run.header.plan.place, &run.header.id)
        {
            say(&leftovers::in_words(&leftover));
        }
    }
    Done { run, ending }
}

impl Done {
    /// The exit code: what stopped it, or whether a trial failed.
    pub fn conclude(self) -> Result<ExitCode, Failure> {
        runs::conclude(&self.run, self.ending.failure, self.ending.signal)
    }
}

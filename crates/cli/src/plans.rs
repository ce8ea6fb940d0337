//! A plan on the host's side: asking for it, storing each trial as it ends, and
//! showing how it goes.

use crate::exit::Failure;
use crate::host::Host;
use crate::interrupt::Interrupt;
use crate::leftovers;
use crate::loads;
use crate::output::say;
use crate::progress::{Progress, SoFar};
use crate::runs::{self, Ending, of_store, unix_ms};
use assay_model::plan::{Plan, Slot};
use assay_model::run::{Run, RunHeader};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_model::wire::{FromAgent, RunEnd, ToAgent};
use assay_store::{Store, StoreError};
use assay_target::Target;
use std::process::ExitCode;

/// A plan under way.
pub struct Execution<'a> {
    host: &'a mut Host,
    plan: &'a Plan,
    store: &'a mut Store,
    trials: Vec<TrialRecord>,
    progress: Progress,
}

impl<'a> Execution<'a> {
    /// The store knows the run. `expected`: how long each trial takes, in the
    /// plan's order.
    pub fn new(
        host: &'a mut Host,
        header: &'a RunHeader,
        expected: &[Nanos],
        store: &'a mut Store,
    ) -> Self {
        let plan = &header.plan;
        Self {
            host,
            plan,
            store,
            trials: Vec::new(),
            progress: Progress::new(plan, expected),
        }
    }

    /// These trials of the plan, its first ones, are there already.
    pub fn resume(&mut self, trials: Vec<TrialRecord>) {
        self.trials = trials;
    }

    /// All trials of the plan, or those that are missing.
    pub fn run_all(&mut self) -> Result<Ending, Failure> {
        let rest = rest(self.plan, self.trials.len());
        self.interruptible(|this| this.run_part(&rest))
    }

    /// The trials of the plan one by one, until `enough` says so of those that
    /// there are.
    pub fn run_until(
        &mut self,
        mut enough: impl FnMut(&[TrialRecord]) -> bool,
    ) -> Result<Ending, Failure> {
        let plan = self.plan;
        self.interruptible(|this| {
            for &slot in &plan.order {
                let end = this.run_part(&only(plan, slot))?;
                if end != RunEnd::Finished || enough(&this.trials) {
                    return Ok(end);
                }
            }
            Ok(RunEnd::Finished)
        })
    }

    /// The trials that ended.
    pub fn finish(self) -> Vec<TrialRecord> {
        self.trials
    }

    fn interruptible(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<RunEnd, Failure>,
    ) -> Result<Ending, Failure> {
        let requests = self.host.requests();
        let voice = self.progress.voice();
        let interrupt = Interrupt::catch(move || {
            voice.say("stopping after this I/O; finished trials are kept");
            // An agent that cannot hear it has ended, which is noticed elsewhere.
            let _ = requests.send(&ToAgent::Cancel);
        })
        .map_err(|error| Failure::failed(format!("cannot catch signals: {error}")))?;
        let end = work(self);
        self.progress.clear();
        Ok(Ending::of(end?, interrupt.exit_code()))
    }

    /// Trials of the plan that follow those which ended.
    fn run_part(&mut self, part: &Plan) -> Result<RunEnd, Failure> {
        self.host.run(part)?;
        let first = u32::try_from(self.trials.len()).unwrap_or(u32::MAX);
        self.follow(first)
    }

    /// Listens to the agent until the part that begins at position `first` is
    /// done.
    fn follow(&mut self, first: u32) -> Result<RunEnd, Failure> {
        let mut current = first;
        loop {
            match self.host.hear()? {
                FromAgent::Preparing { done, total } => self.progress.preparing(done, total),
                FromAgent::TrialStarted { position } => {
                    current = first.saturating_add(position);
                    self.progress.started(current);
                }
                FromAgent::Progress {
                    elapsed_ns,
                    bytes,
                    ios,
                } => {
                    let elapsed = Nanos(elapsed_ns);
                    self.under_way(
                        current,
                        SoFar {
                            elapsed,
                            bytes,
                            ios,
                        },
                    );
                }
                FromAgent::TrialDone(record) => self.keep(*record, first)?,
                FromAgent::LoadNote(note) => {
                    self.progress.voice().say(&loads::in_words(&note));
                }
                FromAgent::RunDone { end, leftover } => {
                    if let Some(leftover) = leftover {
                        self.progress.voice().say(&leftovers::in_words(&leftover));
                    }
                    return Ok(end);
                }
                FromAgent::Hello { .. }
                | FromAgent::Inspected(_)
                | FromAgent::Swept { .. }
                | FromAgent::Undone { .. }
                | FromAgent::Offers { .. }
                | FromAgent::LoadProgress(_)
                | FromAgent::LoadStream(_)
                | FromAgent::LoadReport(_)
                | FromAgent::StepStarted { .. }
                | FromAgent::StepDone(_)
                | FromAgent::KeepSteps { .. }
                | FromAgent::WorkProgress(_)
                | FromAgent::WorkStands(_)
                | FromAgent::WorkDone { .. }
                | FromAgent::Refused(_) => {}
            }
        }
    }

    fn under_way(&mut self, position: u32, so_far: SoFar) {
        if let Some(slot) = self.plan.order.get(position as usize) {
            let job = &self.plan.jobs[slot.job].job;
            self.progress.under_way(job, so_far);
        }
    }

    /// What was told is safe: stored first, then shown.
    fn keep(&mut self, mut record: TrialRecord, first: u32) -> Result<(), Failure> {
        let position = record.position;
        record.position = first.saturating_add(position);
        if record.position as usize != self.trials.len()
            || self.trials.len() >= self.plan.order.len()
        {
            return Err(Failure::lost(format!(
                "the agent tells of trial {position}, which was not its next"
            )));
        }
        self.store
            .save_trial(&self.plan.run_id, &record)
            .map_err(of_store)?;
        self.progress.ended(&record);
        self.trials.push(record);
        // An agent that cannot hear it has ended; what it said before is heard
        // next, its end or that it ended unexpectedly.
        let _ = self.host.stored(position);
        Ok(())
    }
}

/// The trials of a plan from `first` on.
fn rest(plan: &Plan, first: usize) -> Plan {
    Plan {
        order: plan.order.get(first..).unwrap_or_default().to_vec(),
        // Offsets differ from those of the trials that are there.
        seed: plan.seed ^ ((first as u64) << 32),
        ..plan.clone()
    }
}

/// A plan of one trial of a plan.
fn only(plan: &Plan, slot: Slot) -> Plan {
    // Offsets and contents differ from trial to trial, as they do in one plan.
    let seed = plan.seed ^ (u64::from(slot.trial) << 32);
    Plan {
        order: vec![slot],
        seed,
        ..plan.clone()
    }
}

/// A run that has ended.
pub struct Done {
    /// The run.
    pub run: Run,
    ending: Ending,
    noted: Result<(), StoreError>,
}

/// Notes in the store how a run ended; test files of an agent that was lost are
/// removed by another.
pub fn close(
    header: RunHeader,
    mut store: Store,
    trials: Vec<TrialRecord>,
    ended: Result<Ending, Failure>,
    target: &mut dyn Target,
) -> Done {
    let ending = ended.unwrap_or_else(Ending::of_failure);
    let finished_unix_ms = unix_ms();
    let noted = store.finish_run(&header.id, &ending.status, finished_unix_ms);
    if ending.agent_lost {
        for leftover in leftovers::clear_after_loss(target, &header.plan.place) {
            say(&leftovers::in_words(&leftover));
        }
    }
    Done {
        run: Run {
            header,
            status: ending.status.clone(),
            finished_unix_ms: Some(finished_unix_ms),
            trials,
        },
        ending,
        noted,
    }
}

impl Done {
    /// The exit code: what stopped it, or whether a trial failed.
    pub fn conclude(self) -> Result<ExitCode, Failure> {
        let code = runs::conclude(&self.run, self.ending.failure, self.ending.signal)?;
        self.noted.map_err(of_store)?;
        Ok(code)
    }
}

//! Receiving the messages of a plan or a work: trials are stored before they are displayed.

use crate::driver::host::Host;
use crate::driver::notes::note_in_words;
use crate::exit::Failure;
use crate::output::say;
use crate::ui::progress::{SoFar, Voice};
use assay_model::job::Job;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::trial::TrialRecord;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{FromAgent, LoadNote, RunEnd};
use assay_model::work::{WorkProgress, WorkReport};
use assay_store::Store;

/// Limit on the trials of one run: whole matrices of iozone have some thousand.
const MOST_TRIALS: usize = 1_000_000;

/// Listener to the messages of a plan, a work or a load.
pub trait Listener {
    /// Returns the live line, which notes must not break.
    fn voice(&self) -> Option<&Voice> {
        None
    }
    /// Called for a note of the agent.
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        let line = note_in_words(note);
        self.voice()
            .map_or_else(|| say(&line), |voice| voice.say(&line));
        Ok(())
    }
    /// Called while the test file of a plan is being written.
    fn preparing(&mut self, _done: Bytes, _total: Bytes) {}
    /// Called when a trial begins.
    fn started(&mut self, _job: &Job) -> Result<(), Failure> {
        Ok(())
    }
    /// Called with the progress of a trial of a plan, a few times a second.
    fn under_way(&mut self, _so_far: SoFar) {}
    /// Called when a trial has ended and is stored.
    fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
        Ok(())
    }
    /// Called with the progress of a work, a few times a second.
    fn progress(&mut self, _progress: &WorkProgress) -> Result<(), Failure> {
        Ok(())
    }
    /// Called with an interim report of a work, which SIGUSR1 requests.
    fn stands(&mut self, _report: &WorkReport) -> Result<(), Failure> {
        Ok(())
    }
    /// Called with the progress of a load, a few times a second.
    fn load_progress(&mut self, _progress: &LoadProgress) -> Result<(), Failure> {
        Ok(())
    }
    /// Called with an interim report of a load; more follow.
    fn interim(&mut self, _report: &LoadReport) -> Result<(), Failure> {
        Ok(())
    }
    /// Called when a repetition (from 1) of a work has ended; `None` if it ended before it had a
    /// report.
    fn repeated(&mut self, _number: u32, _report: Option<&WorkReport>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Message that the caller has to react to.
#[expect(
    clippy::large_enum_variant,
    reason = "one is returned at a time, and none is kept"
)]
pub enum Heard {
    /// Trials were stored; the agent waits for an acknowledgement with this position.
    Kept(u32),
    /// The plan or the work has ended.
    Done(RunEnd, Option<WorkReport>),
}

/// Event that is passed to the listener after the trials that ended are stored.
enum Untold {
    Started(Box<Job>),
    /// Index of the trial.
    Ended(usize),
}

/// Trials of a run, in the order in which they end.
#[derive(Default)]
pub struct Trials {
    /// Trials that have ended.
    pub all: Vec<TrialRecord>,
    /// Number of trials that are stored.
    kept: usize,
    /// Events since trials were last stored, in their order.
    untold: Vec<Untold>,
    /// Offset that is added to the positions in the agent's count.
    first: u32,
}

impl Trials {
    /// Continues after trials that are stored already. `first` is added to the positions in the agent's
    /// count.
    pub fn after(stored: Vec<TrialRecord>, first: u32) -> Self {
        Self {
            kept: stored.len(),
            all: stored,
            untold: Vec::new(),
            first,
        }
    }

    /// Receives messages until trials are stored or the task has ended. Without a store nothing is
    /// stored.
    pub fn hear(
        &mut self,
        host: &mut Host,
        (run_id, mut store): (&str, Option<&mut Store>),
        listener: &mut dyn Listener,
    ) -> Result<Heard, Failure> {
        loop {
            match host.hear()? {
                FromAgent::LoadNote(note) => listener.note(&note)?,
                FromAgent::Preparing { done, total } => listener.preparing(done, total),
                FromAgent::TrialStarted { job } if self.untold.is_empty() => {
                    listener.started(&job)?;
                }
                FromAgent::TrialStarted { job } if self.untold.len() < 2 * MOST_TRIALS => {
                    self.untold.push(Untold::Started(job));
                }
                FromAgent::TrialStarted { .. } => return Err(without_end()),
                FromAgent::Progress {
                    elapsed_ns,
                    bytes,
                    ios,
                } => listener.under_way(SoFar {
                    elapsed: Nanos(elapsed_ns),
                    bytes,
                    ios,
                }),
                FromAgent::TrialDone(record) => self.ended(*record)?,
                FromAgent::KeepTrials { position } => {
                    self.keep((run_id, store.as_deref_mut()), listener)?;
                    return Ok(Heard::Kept(position));
                }
                FromAgent::WorkProgress(progress) => listener.progress(&progress)?,
                FromAgent::WorkStands(report) => listener.stands(&report)?,
                FromAgent::Done { end, report } => {
                    return Ok(Heard::Done(end, report.map(|report| *report)));
                }
                stray => host.pass_over(&stray)?,
            }
        }
    }

    /// Adds a trial that ended. If it cannot be stored later, `runs::finish` still writes it to a
    /// separate file.
    pub fn ended(&mut self, mut record: TrialRecord) -> Result<(), Failure> {
        let next = self.all.len();
        if next >= MOST_TRIALS {
            return Err(without_end());
        }
        let position = record.position;
        record.position = self.first.saturating_add(position);
        if record.position as usize != next {
            return Err(Failure::lost(format!(
                "the agent reported trial {position} out of order"
            )));
        }
        self.untold.push(Untold::Ended(next));
        self.all.push(record);
        Ok(())
    }

    /// Stores the new trials together, then passes their events to the listener, so that a trial shown
    /// as ended survives a kill. Both are done even if one of them fails.
    pub fn keep(
        &mut self,
        (run_id, store): (&str, Option<&mut Store>),
        listener: &mut dyn Listener,
    ) -> Result<(), Failure> {
        let new = self.all.get(self.kept..).unwrap_or_default();
        let saved = match store {
            Some(store) if !new.is_empty() => store.save_trials(run_id, new),
            _ => Ok(()),
        };
        if saved.is_ok() {
            self.kept = self.all.len();
        }
        let untold = std::mem::take(&mut self.untold);
        let told = untold.iter().try_for_each(|event| match event {
            Untold::Started(job) => listener.started(job),
            Untold::Ended(index) => listener.ended(&self.all[*index]),
        });
        saved.map_err(Failure::failed).and(told)
    }
}

/// Receives the messages of a work without trials; returns its report.
pub fn follow(
    host: &mut Host,
    listener: &mut dyn Listener,
) -> Result<(RunEnd, Option<WorkReport>), Failure> {
    match Trials::default().hear(host, ("", None), listener)? {
        Heard::Done(end, report) => Ok((end, report)),
        Heard::Kept(_) => Err(Failure::lost(
            "the agent reported trials that it does not have",
        )),
    }
}

fn without_end() -> Failure {
    Failure::lost("the agent reports trials without end")
}

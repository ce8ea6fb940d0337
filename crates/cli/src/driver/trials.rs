//! Following a plan or a work at its agent: trials are stored as they end, and only then told.

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

/// Trials that are taken of one run: whole matrices of iozone have some thousand.
const MOST_TRIALS: usize = 1_000_000;

/// Listener to the messages of a plan, a work or a load.
pub trait Listener {
    /// Live line that notes must not tear.
    fn voice(&self) -> Option<&Voice> {
        None
    }
    /// It has something to tell.
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        let line = note_in_words(note);
        self.voice()
            .map_or_else(|| say(&line), |voice| voice.say(&line));
        Ok(())
    }
    /// The test file of a plan is being written.
    fn preparing(&mut self, _done: Bytes, _total: Bytes) {}
    /// A trial begins.
    fn started(&mut self, _job: &Job) -> Result<(), Failure> {
        Ok(())
    }
    /// Progress of a trial of a plan, a few times a second.
    fn under_way(&mut self, _so_far: SoFar) {}
    /// A trial ended and is stored.
    fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
        Ok(())
    }
    /// Progress of a work, a few times a second.
    fn progress(&mut self, _progress: &WorkProgress) -> Result<(), Failure> {
        Ok(())
    }
    /// Interim report of a work, because SIGUSR1 asked for it.
    fn stands(&mut self, _report: &WorkReport) -> Result<(), Failure> {
        Ok(())
    }
    /// Progress of a load, a few times a second.
    fn load_progress(&mut self, _progress: &LoadProgress) -> Result<(), Failure> {
        Ok(())
    }
    /// Interim report of a load; more follow.
    fn interim(&mut self, _report: &LoadReport) -> Result<(), Failure> {
        Ok(())
    }
    /// A repetition (from 1) of a work ended; `None`: it did not come so far as to have a
    /// report.
    fn repeated(&mut self, _number: u32, _report: Option<&WorkReport>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Something that the one who asked has to react to.
#[expect(
    clippy::large_enum_variant,
    reason = "one is returned at a time, and none is kept"
)]
pub enum Heard {
    /// All trials that ended are stored; the agent waits to hear that of the last one, by the
    /// position that it gave to it.
    Kept(u32),
    /// The plan or the work ended.
    Done(RunEnd, Option<WorkReport>),
}

/// An event that the listener hears of once the trials that ended are stored.
enum Untold {
    Started(Box<Job>),
    /// The index of its trial.
    Ended(usize),
}

/// Trials of a run, in the order in which they end.
#[derive(Default)]
pub struct Trials {
    /// The trials that ended.
    pub all: Vec<TrialRecord>,
    /// Number of trials that are stored.
    kept: usize,
    /// Events since the trials were stored last, in their order.
    untold: Vec<Untold>,
    /// Added to the positions that the agent counts.
    first: u32,
}

impl Trials {
    /// Begins after trials that are stored already. Positions that the agent counts begin at
    /// `first`.
    pub fn after(stored: Vec<TrialRecord>, first: u32) -> Self {
        Self {
            kept: stored.len(),
            all: stored,
            untold: Vec::new(),
            first,
        }
    }

    /// Listens until trials are stored, or all has ended. Without a store nothing is kept.
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

    /// Takes a trial that ended; one that cannot be stored later is kept with the run all the
    /// same (`runs::finish`).
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

    /// Stores the trials that were not stored yet, together, and only then tells them: a
    /// trial that is said to have ended survives a kill. One that cannot be told is not lost,
    /// and one that cannot be stored is still told.
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

/// Follows a work that measures nothing; its report.
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

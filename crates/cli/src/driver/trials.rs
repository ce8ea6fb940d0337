//! Receiving the messages of a plan or an act: trials are stored before they are displayed.
//! Displays of acts: by their repetitions, or by their steps.

use crate::driver::announce::{Facts, tell};
use crate::driver::{Host, note_in_words};
use crate::exit::Failure;
use crate::output::say;
use crate::ui::progress::{Forecast, Messages, SoFar, in_brief, name_of, time_left};
use assay_model::act::{Act, ActProgress, ActReport, ProgressUnit, record_slots};
use assay_model::job::Job;
use assay_model::load::report::{LoadProgress, LoadReport, StreamReport};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, BytesPerSec, Nanos};
use assay_model::wire::{FromAgent, LoadNote, RunEnd, SlotEnd};
use assay_store::Store;
use std::time::Instant;

/// Limit on the trials of one run: whole matrices of iozone have some thousand.
const MOST_TRIALS: usize = 1_000_000;

/// Listener to the messages of a plan, an act or a load.
pub trait Listener {
    /// Returns the live line, which notes must not break.
    fn messages(&self) -> Option<&Messages> {
        None
    }
    /// Called before an act, with what is to be announced; an agent may still refuse the act.
    fn announce(&mut self, facts: Facts) {
        tell(&facts);
    }
    /// Called for a note of the agent.
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        let line = note_in_words(note);
        self.messages()
            .map_or_else(|| say(&line), |messages| messages.say(&line));
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
    /// Called with the progress of an act, a few times a second.
    fn progress(&mut self, _progress: &ActProgress) -> Result<(), Failure> {
        Ok(())
    }
    /// Called with an interim report of an act, which SIGUSR1 requests.
    fn act_interim(&mut self, _report: &ActReport) -> Result<(), Failure> {
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
    /// Called when a repetition (from 1) of an act has ended; `None` if it ended before it had a
    /// report.
    fn repeated(&mut self, _number: u32, _report: Option<&ActReport>) -> Result<(), Failure> {
        Ok(())
    }
}

/// Event that needs an answer.
pub enum AgentEvent {
    /// A slot of the plan ended, and its trials are stored. The agent waits for
    /// [`Host::stored`] with the position of the outcome.
    Slot(Box<SlotOutcome>),
    /// The plan ended.
    Done(RunEnd),
}

/// Outcome of a slot, beside its trials.
#[derive(Default)]
pub struct SlotOutcome {
    /// Repetition, from 1; 0 for one that makes no figure.
    pub trial: u32,
    /// Position that the agent waits for.
    pub position: u32,
    /// Findings of the act as a whole.
    pub report: Option<ActReport>,
    /// Report of its streams.
    pub streams: Option<LoadReport>,
}

/// Makes trials of the report of streams.
pub type TrialsOfStreams<'a> = Box<dyn FnMut(&LoadReport, u32) -> Vec<TrialRecord> + 'a>;

/// Event that the listener receives after the trials that ended are stored.
enum PendingEvent {
    Started(Box<Job>),
    /// Index of the trial.
    Ended(usize),
}

/// Trials of a run, in the order in which they end.
#[derive(Default)]
pub struct Trials<'a> {
    /// The trials that ended.
    pub all: Vec<TrialRecord>,
    /// Makes trials of streams, whose agent reports none.
    of_streams: Option<TrialsOfStreams<'a>>,
    /// Number of trials that are stored.
    kept: usize,
    /// Events since trials were last stored, in their order.
    pending: Vec<PendingEvent>,
    /// Offset that is added to the positions in the agent's count.
    first: u32,
    /// Number of streams of an act, at most.
    most_streams: usize,
    /// Reports of the streams of the slot under way.
    streams: Vec<StreamReport>,
    report: Option<LoadReport>,
    /// Index of the slot under way, which its trials record in a run of several acts.
    slot: Option<u32>,
}

impl<'a> Trials<'a> {
    /// Makes trials of streams by `of_streams`.
    pub fn of_streams(self, of_streams: Option<TrialsOfStreams<'a>>) -> Self {
        Self { of_streams, ..self }
    }

    /// Accepts reports of as many streams as one of these acts has. The first `slots` slots are done.
    pub fn expecting(self, acts: &[Act], slots: usize) -> Self {
        let slot = u32::try_from(slots).ok().filter(|_| record_slots(acts));
        let streams = acts.iter().map(|act| match act {
            Act::Streams(load) => load.streams.len(),
            _ => 0,
        });
        Self {
            most_streams: streams.max().unwrap_or(0),
            slot,
            ..self
        }
    }

    /// Continues after trials that are stored.
    pub fn after(stored: Vec<TrialRecord>) -> Self {
        Self {
            kept: stored.len(),
            first: u32::try_from(stored.len()).unwrap_or(u32::MAX),
            all: stored,
            ..Self::default()
        }
    }

    /// Receives messages until a slot or the plan ends. Without a store nothing is kept.
    pub fn receive(
        &mut self,
        host: &mut Host,
        (run_id, mut store): (&str, Option<&mut Store>),
        listener: &mut dyn Listener,
    ) -> Result<AgentEvent, Failure> {
        loop {
            match host.receive()? {
                FromAgent::LoadNote(note) => listener.note(&note)?,
                FromAgent::Preparing { done, total } => listener.preparing(done, total),
                FromAgent::TrialStarted { job } if self.pending.is_empty() => {
                    listener.started(&job)?;
                }
                FromAgent::TrialStarted { job } if self.pending.len() < 2 * MOST_TRIALS => {
                    self.pending.push(PendingEvent::Started(job));
                }
                FromAgent::TrialStarted { .. } => return Err(too_many_trials()),
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
                FromAgent::KeepTrials { position, slot } => {
                    if let Some(slot) = slot {
                        let outcome = self.slot_ended(position, slot)?;
                        self.keep((run_id, store.as_deref_mut()), listener)?;
                        listener.repeated(outcome.trial, outcome.report.as_ref())?;
                        return Ok(AgentEvent::Slot(Box::new(outcome)));
                    }
                    self.keep((run_id, store.as_deref_mut()), listener)?;
                    // Fails if the agent has ended; its last messages are still received.
                    let _ = host.stored(position);
                }
                FromAgent::ActProgress(progress) => listener.progress(&progress)?,
                FromAgent::ActInterim(report) => listener.act_interim(&report)?,
                FromAgent::LoadProgress(progress) => listener.load_progress(&progress)?,
                FromAgent::LoadStream(_) if self.streams.len() >= self.most_streams => {
                    return Err(Failure::lost(
                        "the agent reports more streams than it was given",
                    ));
                }
                FromAgent::LoadStream(stream) => self.streams.push(*stream),
                FromAgent::LoadReport(rest) => {
                    let report = LoadReport {
                        streams: std::mem::take(&mut self.streams),
                        ..*rest
                    };
                    match report.interim {
                        true => listener.interim(&report)?,
                        false => self.report = Some(report),
                    }
                }
                FromAgent::Done { end } => return Ok(AgentEvent::Done(end)),
                stray => host.pass_over(&stray)?,
            }
        }
    }

    fn slot_ended(&mut self, position: u32, slot: SlotEnd) -> Result<SlotOutcome, Failure> {
        let streams = self.report.take();
        if let (Some(report), Some(make)) = (&streams, &mut self.of_streams) {
            for record in make(report, slot.trial) {
                self.push(record)?;
            }
        }
        self.slot = self.slot.map(|index| index + 1);
        Ok(SlotOutcome {
            trial: slot.trial,
            position,
            report: slot.report.map(|report| *report),
            streams,
        })
    }

    /// Takes a trial that ended. If it cannot be stored later, `runs::finish` writes it to a rescue
    /// file.
    pub fn ended(&mut self, mut record: TrialRecord) -> Result<(), Failure> {
        let position = record.position;
        record.position = self.first.saturating_add(position);
        if record.position as usize != self.all.len() {
            return Err(Failure::lost(format!(
                "the agent reported trial {position} out of order"
            )));
        }
        self.push(record)
    }

    fn push(&mut self, mut record: TrialRecord) -> Result<(), Failure> {
        let next = self.all.len();
        if next >= MOST_TRIALS {
            return Err(too_many_trials());
        }
        record.position = u32::try_from(next).unwrap_or(u32::MAX);
        record.slot = self.slot;
        self.pending.push(PendingEvent::Ended(next));
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
        let pending = std::mem::take(&mut self.pending);
        let told = pending.iter().try_for_each(|event| match event {
            PendingEvent::Started(job) => listener.started(job),
            PendingEvent::Ended(index) => listener.ended(&self.all[*index]),
        });
        saved.map_err(Failure::failed).and(told)
    }
}

fn too_many_trials() -> Failure {
    Failure::lost(format!(
        "the agent reported more than {MOST_TRIALS} trials, the most of a run"
    ))
}

/// Display of the repetitions of an act on standard error.
pub struct SlotTalk {
    /// Output of messages above the live line.
    pub messages: Messages,
    of: usize,
    /// Number of repetitions that have ended, and of those that had ended before the resume.
    done: usize,
    before: usize,
    began: Instant,
    /// Steps of the repetition under way.
    steps: Vec<TrialRecord>,
}

impl SlotTalk {
    /// Makes a display for `of` repetitions, of which `done` have ended.
    pub fn new(done: usize, of: usize) -> Self {
        Self {
            messages: Messages::new(),
            of,
            done,
            before: done,
            began: Instant::now(),
            steps: Vec::new(),
        }
    }

    /// Removes the live line.
    pub fn close(&self) {
        self.messages.clear();
    }

    /// Returns the remaining time, once a repetition has shown how long one takes.
    fn left(&self) -> String {
        if self.done == self.before {
            return String::new();
        }
        let spent = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let done = (self.done - self.before) as u64;
        let of = (self.of - self.before) as u64;
        time_left(Forecast::rest(done, of, Nanos(spent)))
    }

    /// Returns the lines of a repetition that has ended: its figure if it had one step, else the failed
    /// steps, and a line for the whole repetition.
    fn lines(&self, steps: &[TrialRecord]) -> Vec<String> {
        let digits = self.of.to_string().len();
        let number = format!("[{:>digits$}/{}]", self.done, self.of);
        let one = |step: &TrialRecord| {
            let name = name_of(&step.job.name, step.trial, step.condition.as_deref());
            format!("{name}: {}", in_brief(step))
        };
        match steps {
            [] => Vec::new(),
            [only] => vec![format!("{number} {}", one(only))],
            [first, ..] => {
                let failed = steps.iter().filter(|step| !is_completed(step));
                let mut lines: Vec<String> = failed.map(one).collect();
                let completed = steps.len() - lines.len();
                let name = name_of("all steps", first.trial, first.condition.as_deref());
                lines.push(format!(
                    "{number} {name}: {completed} of {} completed",
                    steps.len()
                ));
                lines
            }
        }
    }
}

fn is_completed(step: &TrialRecord) -> bool {
    step.outcome == Outcome::Completed
}

impl Listener for SlotTalk {
    fn messages(&self) -> Option<&Messages> {
        Some(&self.messages)
    }

    fn started(&mut self, job: &Job) -> Result<(), Failure> {
        let text = format!("{:>10}  {}", self.left(), job.name);
        self.messages.show(self.done, self.of, &text);
        Ok(())
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        self.steps.push(trial.clone());
        Ok(())
    }

    fn repeated(&mut self, _number: u32, _report: Option<&ActReport>) -> Result<(), Failure> {
        self.done += 1;
        let steps = std::mem::take(&mut self.steps);
        // On a terminal the live line is enough, unless something failed.
        if !self.messages.is_live() || !steps.iter().all(is_completed) {
            for line in self.lines(&steps) {
                self.messages.say(&line);
            }
        }
        Ok(())
    }
}

/// Display of an act with a few long steps on standard error: the progress of the current step, and
/// a line for each that has ended.
pub struct StepTalk {
    /// Announcement, until the act has begun: a refusal is one line.
    announced: Facts,
    messages: Messages,
    steps: usize,
    trial: u32,
}

impl StepTalk {
    /// Makes a display for an act with `steps` steps per repetition.
    pub fn new(steps: usize) -> Self {
        Self {
            announced: Facts::new(),
            messages: Messages::new(),
            steps,
            trial: 1,
        }
    }

    /// Removes the live line.
    pub fn close(&self) {
        self.messages.clear();
    }

    fn far(&self, progress: &ActProgress) -> String {
        let total = progress.total.filter(|total| *total > 0);
        let ActProgress {
            done,
            unit,
            elapsed_ns,
            ..
        } = *progress;
        let far = match (unit, total) {
            (ProgressUnit::Bytes, Some(total)) => format!("{} of {}", Bytes(done), Bytes(total)),
            (ProgressUnit::Bytes, None) => Bytes(done).to_string(),
            (ProgressUnit::Items, Some(total)) => format!("{done} of {total}"),
            (ProgressUnit::Items, None) => done.to_string(),
        };
        // Before the first interval there is no rate.
        let rate = match unit {
            ProgressUnit::Bytes if done > 0 && elapsed_ns > 0 => {
                format!(", {}", rate(done, elapsed_ns))
            }
            _ => String::new(),
        };
        // Without progress there is no basis for a forecast.
        let left = total.filter(|_| done > 0).map(|total| {
            let spent = Nanos(elapsed_ns);
            Forecast::rest(done, total, spent)
        });
        if total.is_none() && done == 0 {
            // The step has no counter: only the time is known.
            let (step, elapsed) = (&progress.step, Nanos(elapsed_ns));
            return format!("{step} #{}: {elapsed}", self.trial);
        }
        let left = left.map_or_else(String::new, |left| format!(", {}", time_left(left)));
        format!("{} #{}: {far}{rate}{left}", progress.step, self.trial)
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn rate(done: u64, elapsed_ns: u64) -> BytesPerSec {
    BytesPerSec(done as f64 * 1e9 / elapsed_ns as f64)
}

impl Listener for StepTalk {
    fn messages(&self) -> Option<&Messages> {
        Some(&self.messages)
    }

    fn announce(&mut self, facts: Facts) {
        self.announced = facts;
    }

    fn started(&mut self, job: &Job) -> Result<(), Failure> {
        tell(&std::mem::take(&mut self.announced));
        self.messages.show(0, self.steps, &job.name);
        Ok(())
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        self.trial = trial.trial;
        if !self.messages.is_live() || trial.outcome != Outcome::Completed {
            let (name, number) = (&trial.job.name, trial.trial);
            self.messages
                .say(&format!("{name} #{number}: {}", in_brief(trial)));
        }
        Ok(())
    }

    fn progress(&mut self, progress: &ActProgress) -> Result<(), Failure> {
        let done = usize::try_from(progress.steps_done).unwrap_or(0);
        self.messages.show(done, self.steps, &self.far(progress));
        Ok(())
    }

    fn repeated(&mut self, number: u32, _report: Option<&ActReport>) -> Result<(), Failure> {
        self.trial = number + 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::runs::{Origin, header};
    use crate::stored;
    use assay_model::job::Rw;
    use assay_model::plan::{Place, Plan};
    use assay_model::storage::{Backing, Storage, System};
    use assay_model::trial::Outcome;
    use assay_model::wire::{Inspection, PathKind};
    use std::path::PathBuf;

    struct Closed;

    impl Listener for Closed {
        fn ended(&mut self, _trial: &TrialRecord) -> Result<(), Failure> {
            Err(Failure::failed("the reader of the output is gone"))
        }
    }

    fn inspection(path: PathBuf) -> Inspection {
        Inspection {
            path: path.clone(),
            kind: PathKind::Directory { writable: true },
            system: System::default(),
            storage: Storage {
                path,
                mount: None,
                backing: Backing::Unknown { why: String::new() },
                layers: Vec::new(),
                total: None,
                available: None,
            },
            in_use: Vec::new(),
            holds: Vec::new(),
            async_engines: Vec::new(),
        }
    }

    #[test]
    fn a_trial_that_cannot_be_shown_is_stored() {
        let folder = assay_testkit::Scratch::new().unwrap();
        let path = folder.path().to_owned();
        let place = Place::Directory { path: path.clone() };
        let plan = Plan::once("trialrun".to_owned(), place);
        let header = header(plan, inspection(path), &Origin::default());
        let mut store = Store::open(folder.path().join("store").as_path()).unwrap();
        store.begin_run(&header, &stored::this_process()).unwrap();
        let mut trials = Trials::default();
        let job = Job::new("step", Rw::Read, Bytes(1), Bytes(1));
        let record = TrialRecord::new(job, 1, 0, 1, Outcome::Completed);
        trials.ended(record).unwrap();
        let kept = trials.keep((&header.id, Some(&mut store)), &mut Closed);
        assert!(kept.is_err(), "it was not shown");
        assert_eq!(store.load(&header.id).unwrap().run.trials.len(), 1);
    }

    #[test]
    fn what_is_done_and_left_is_said_in_what_is_counted() {
        let progress = ActProgress {
            step: "verify".to_owned(),
            steps_done: 1,
            unit: ProgressUnit::Bytes,
            done: 1 << 30,
            total: Some(4 << 30),
            elapsed_ns: 10_000_000_000,
        };
        let words = StepTalk::new(2).far(&progress);
        assert_eq!(words, "verify #1: 1 GiB of 4 GiB, 107 MB/s, 0:30 left");
        let samples = ActProgress {
            unit: ProgressUnit::Items,
            done: 25,
            total: Some(100),
            ..progress
        };
        let words = StepTalk::new(2).far(&samples);
        assert_eq!(words, "verify #1: 25 of 100, 0:30 left");
    }

    #[test]
    fn nothing_is_guessed_from_nothing() {
        let progress = ActProgress {
            step: "probe".to_owned(),
            steps_done: 0,
            unit: ProgressUnit::Bytes,
            done: 0,
            total: Some(10),
            elapsed_ns: 0,
        };
        let words = StepTalk::new(1).far(&progress);
        assert_eq!(words, "probe #1: 0 B of 10 B");
    }
}

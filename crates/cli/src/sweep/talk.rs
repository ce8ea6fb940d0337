//! What the user sees of a work that is repeated under conditions.

use crate::exit::Failure;
use crate::loads::in_words;
use crate::progress::{Forecast, Voice, in_brief, name_of, time_left};
use crate::works::Listener;
use assay_model::job::Job;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Nanos;
use assay_model::wire::LoadNote;
use assay_model::work::WorkReport;
use std::time::Instant;

/// Shows how the repetitions go, on standard error.
pub struct Talk {
    voice: Voice,
    of: usize,
    /// Repetitions that have ended, and how many had before.
    done: usize,
    before: usize,
    began: Instant,
    /// Steps of the repetition under way, how many of them were completed, and the
    /// last one.
    steps: usize,
    completed: usize,
    last: Option<TrialRecord>,
}

impl Talk {
    /// For so many repetitions, some of which are done already.
    pub fn new(done: usize, of: usize) -> Self {
        Self {
            voice: Voice::new(),
            of,
            done,
            before: done,
            began: Instant::now(),
            steps: 0,
            completed: 0,
            last: None,
        }
    }

    /// Takes the live line away.
    pub fn close(&self) {
        self.voice.clear();
    }

    /// The time that is left, once a repetition has shown how long one takes.
    fn left(&self) -> String {
        if self.done == self.before {
            return String::new();
        }
        let spent = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let done = (self.done - self.before) as u64;
        let of = (self.of - self.before) as u64;
        time_left(Forecast::rest(done, of, Nanos(spent)))
    }

    /// A line for a repetition: its figure, when it is one step.
    fn line(&self, last: &TrialRecord) -> String {
        let digits = self.of.to_string().len();
        let what = match self.steps {
            1 => in_brief(last),
            steps => format!("{} of {steps} steps completed", self.completed),
        };
        let name = match self.steps {
            1 => name_of(&last.job.name, last.trial, last.condition.as_deref()),
            _ => name_of("all", last.trial, last.condition.as_deref()),
        };
        format!("[{:>digits$}/{}] {name}: {what}", self.done, self.of)
    }
}

impl Listener for Talk {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        self.voice.say(&in_words(note));
        Ok(())
    }

    fn started(&mut self, job: &Job) -> Result<(), Failure> {
        let text = format!("{:>10}  {}", self.left(), job.name);
        self.voice.show(self.done, self.of, &text);
        Ok(())
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        self.steps += 1;
        if trial.outcome == Outcome::Completed {
            self.completed += 1;
        } else {
            let name = name_of(&trial.job.name, trial.trial, trial.condition.as_deref());
            self.voice.say(&format!("{name}: {}", in_brief(trial)));
        }
        self.last = Some(trial.clone());
        Ok(())
    }

    fn repeated(&mut self, _number: u32, _report: Option<&WorkReport>) -> Result<(), Failure> {
        self.done += 1;
        if let Some(last) = self.last.take()
            && !self.voice.is_live()
        {
            self.voice.say(&self.line(&last));
        }
        self.steps = 0;
        self.completed = 0;
        Ok(())
    }
}

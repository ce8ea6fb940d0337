//! Display of an act that is repeated.

use crate::driver::trials::Listener;
use crate::exit::Failure;
use crate::ui::progress::{Forecast, Messages, in_brief, name_of, time_left};
use assay_model::act::ActReport;
use assay_model::job::Job;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Nanos;
use std::time::Instant;

/// Display of the repetitions on standard error.
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

//! Display of a work with a few long steps: the progress of the current step, and a line for each
//! that has ended.

use crate::driver::trials::Listener;
use crate::exit::Failure;
use crate::ui::progress::{Forecast, Messages, in_brief, time_left};
use assay_model::act::{ActProgress, ActReport, ProgressUnit};
use assay_model::job::Job;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, BytesPerSec, Nanos};

/// Display of the steps on standard error.
pub struct StepTalk {
    messages: Messages,
    steps: usize,
    trial: u32,
}

impl StepTalk {
    /// Makes a display for a work with `steps` steps per repetition.
    pub fn new(steps: usize) -> Self {
        Self {
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

    fn started(&mut self, job: &Job) -> Result<(), Failure> {
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

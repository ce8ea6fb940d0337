//! Messages on standard error while a copy runs, line by line as dd prints them.

use super::report;
use crate::driver::trials::Listener;
use crate::exit::Failure;
use crate::output::{say, say_part};
use assay_dialects::dd::{Status, evidence, progress, statistics};
use assay_model::text::clean;
use assay_model::trial::TrialRecord;
use assay_model::wire::LoadNote;
use assay_model::work::copy::{CopyReport, FLUSHING};
use assay_model::work::{WorkProgress, WorkReport};

/// Prints the messages of dd.
pub struct Talk {
    status: Status,
    /// `true` if each step is one of the ways of `--ladder`.
    ladder: bool,
    /// Length of the unfinished progress line on the screen; 0 without one.
    open: usize,
}

impl Talk {
    pub const fn new(status: Status, ladder: bool) -> Self {
        Self {
            status,
            ladder,
            open: 0,
        }
    }

    /// Ends the progress line.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.open) > 0 {
            say("");
        }
    }

    fn tell(&mut self, report: &CopyReport) {
        let lines = statistics(report, self.status);
        if !lines.is_empty() {
            self.close();
        }
        lines.iter().for_each(|line| say(line));
    }
}

impl Listener for Talk {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        self.close();
        say(&format!("dd: {}", clean(&note.text)));
        Ok(())
    }

    /// Prints dd's last lines, after the line that dd does not have: scripts take the last one.
    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        let Some(report) = report(trial).filter(|report| !report.reader_gone) else {
            return Ok(());
        };
        if self.ladder && self.status != Status::None {
            say(&format!("{}:", trial.job.name));
        }
        if self.status != Status::None {
            self.close();
            say(&clean(&evidence(trial)));
        }
        self.tell(report);
        Ok(())
    }

    fn progress(&mut self, done: &WorkProgress) -> Result<(), Failure> {
        let line = progress(done.done, done.elapsed_ns);
        if done.step == FLUSHING {
            self.close();
            say(&line);
            return Ok(());
        }
        let width = self.open;
        say_part(&format!("\r{line:<width$}"));
        self.open = line.len();
        Ok(())
    }

    fn stands(&mut self, how: &WorkReport) -> Result<(), Failure> {
        if let WorkReport::Copy(report) = how {
            self.tell(report);
        }
        Ok(())
    }
}

//! Listing in iozone's format while it grows: each figure is written when it is known.

use super::progress::WorkPace;
use crate::driver::trials::Listener;
use crate::exit::Failure;
use crate::output::{print, prints_to_terminal};
use crate::ui::progress::Voice;
use assay_dialects::iozone::table::RowText;
use assay_dialects::iozone::{IozoneCommand, throughput};
use assay_model::job::Job;
use assay_model::trial::TrialRecord;
use assay_model::work::iozone::{IozoneRow, IozoneStep};
use assay_model::work::{StepDetail, WorkProgress, WorkReport};

/// Writer of rows, or of blocks in throughput mode, with progress on a terminal.
pub(super) struct Listing<'a> {
    command: &'a IozoneCommand,
    /// Banner, until it is written.
    opening: Option<String>,
    row: Option<RowText>,
    /// Text of the row under way. On a terminal a row is held back until it is complete, because
    /// the progress line takes its place.
    held: String,
    holds: bool,
    /// Number of started steps in this repetition.
    begun: usize,
    voice: Voice,
    pace: WorkPace,
}

impl<'a> Listing<'a> {
    pub(super) fn new(command: &'a IozoneCommand, opening: String) -> Self {
        let voice = Voice::new();
        Self {
            command,
            opening: Some(opening),
            row: None,
            held: String::new(),
            holds: voice.is_live() && prints_to_terminal(),
            begun: 0,
            voice,
            pace: WorkPace::new(&command.work, command.own.trials),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        if self.command.own.json {
            return Ok(());
        }
        self.held.push_str(text);
        if self.holds && !self.held.ends_with('\n') {
            return Ok(());
        }
        self.voice.clear();
        let text = std::mem::take(&mut self.held);
        print(|out| out.write_all(text.as_bytes()))
    }

    /// Returns the row of the step that begins, if the step is the first one of that row.
    fn new_row(&self) -> Option<IozoneRow> {
        let work = &self.command.work;
        let tests = work.tests.len().max(1);
        let first = self.begun.is_multiple_of(tests);
        let at = self.begun / tests / work.children.len().max(1);
        work.rows.get(at).copied().filter(|_| first)
    }

    fn finish_row(&mut self) -> Result<(), Failure> {
        match self.row.take() {
            Some(row) => self.write(&row.end()),
            None => Ok(()),
        }
    }

    fn figures(&mut self, step: &IozoneStep) -> Result<(), Failure> {
        if !self.command.work.children.is_empty() {
            return self.write(&throughput::test(&self.command.output, step));
        }
        let text = self.row.as_mut().map(|row| row.cell(step));
        self.write(&text.unwrap_or_default())
    }

    /// Ends an unfinished line.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.voice.clear();
        self.finish_row()?;
        self.holds = false;
        self.write("")
    }
}

impl Listener for Listing<'_> {
    fn voice(&self) -> Option<&Voice> {
        Some(&self.voice)
    }

    fn started(&mut self, _job: &Job) -> Result<(), Failure> {
        if let Some(opening) = self.opening.take() {
            self.write(&opening)?;
        }
        if let Some(row) = self.new_row() {
            self.finish_row()?;
            let work = &self.command.work;
            let text = if work.children.is_empty() {
                let (begun, text) = RowText::begin(&self.command.output, &work.tests, row);
                self.row = Some(begun);
                text
            } else {
                throughput::opening(&self.command.output, row)
            };
            self.write(&text)?;
        }
        self.begun += 1;
        Ok(())
    }

    fn ended(&mut self, trial: &TrialRecord) -> Result<(), Failure> {
        if let Some(StepDetail::Iozone(step)) = trial.detail.as_deref() {
            self.figures(step)?;
            self.pace.did(step);
        }
        let tests = self.command.work.tests.len().max(1);
        if self.begun.is_multiple_of(tests) {
            self.finish_row()?;
            if !self.command.work.children.is_empty() {
                self.write(throughput::CLOSING)?;
            }
        }
        self.pace.show(&self.voice, None);
        Ok(())
    }

    fn progress(&mut self, progress: &WorkProgress) -> Result<(), Failure> {
        self.pace.show(&self.voice, Some(progress));
        Ok(())
    }

    fn repeated(&mut self, number: u32, _report: Option<&WorkReport>) -> Result<(), Failure> {
        self.finish_row()?;
        self.begun = 0;
        let again = number < self.command.own.trials;
        if again && self.command.work.children.is_empty() {
            self.write("\n")?;
        }
        Ok(())
    }
}

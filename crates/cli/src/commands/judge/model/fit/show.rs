//! Results of a fit, as a document and as JSON.

use super::Fit;
use assay_explain::fit_input::{FittedRate, parameters, say_parameters};
use assay_lang::counted;
use assay_model::units::BytesPerSec;
use assay_report::document::{Cell, Column, Document, Section, Table, TableRow};
use assay_report::text::clean;
use assay_report::words::style::Tone;
use serde_json::{Value, json};

/// Returns the deviation of the model's rate from the measured one, in percent.
fn off_percent(line: &FittedRate, rate: f64) -> f64 {
    (rate / line.seen.rate - 1.0) * 100.0
}

impl Fit<'_> {
    pub(super) fn value(&self) -> Value {
        let lines = self.source.lines.iter().zip(&self.estimated.rates);
        let rates = lines.map(|(line, rate)| {
            json!({
                "job": line.job,
                "rw": line.pattern,
                "block_size": line.size,
                "measured_bytes_per_s": line.seen.rate,
                "model_bytes_per_s": rate,
                "error_pct": off_percent(line, *rate),
            })
        });
        let left_out = self.source.left_out.iter();
        let left_out = left_out.map(
            |one| json!({"job": one.job, "direction": one.direction.to_string(), "why": one.why}),
        );
        json!({
            "schema": 1,
            "source": self.source.name,
            "start": self.source.start.name,
            "policy": self.source.policy.to_string(),
            "parameters": parameters(&self.estimated.parameters),
            "rates": rates.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
            "misfit": self.misfit(),
            "part": self.part(&self.source.name).ok().map(|part| part.to_toml()),
        })
    }

    /// Makes the document: the parameters, then the rates behind them.
    pub(super) fn document(&self) -> Document {
        let source = self.source;
        let rates = counted!(source.lines.len() as u64, "{n} rate", "{n} rates");
        let title = format!(
            "{}: {rates}, fitted from {} on",
            clean(&source.name),
            clean(&source.start.name)
        );
        let mut document = Document::new(title);
        let mut parameters = Section::new("parameters", "");
        say_parameters(&self.estimated.parameters, &mut parameters);
        if let Some(said) = self.misfit() {
            parameters.say(said, Some(Tone::Care));
        }
        document.push(parameters);
        let mut rates = Section::new("rates", "Rates");
        rates.table(self.rates());
        document.push(rates);
        let mut left_out = Section::new("left-out", "Left out");
        let said = source.left_out.iter();
        let mut said: Vec<String> = said
            .map(|one| format!("{}: {}", clean(&one.job), one.why))
            .collect();
        // Both directions of a mixed job have the same reason.
        said.dedup();
        left_out.list(said);
        document.push(left_out);
        let mut notes = Section::new("notes", "Not fitted");
        if source.lines.iter().any(|line| line.job.is_none()) {
            let device = "Rates must be of the device, not of the page cache, with one I/O after \
                          the other.";
            notes.say(device, None);
        }
        let start = &source.start;
        notes.say(
            format!(
                "Ramps of {} (read) and {} (write) blocks of 512 bytes are not fitted. What no \
                 rate depends on keeps the value of the part that the fit began with; of others \
                 that cannot be told the sum counts, and not the values.",
                start.read.ramp_blocks, start.write.ramp_blocks
            ),
            None,
        );
        document.push(notes);
        document
    }

    /// Returns a warning if the model deviates by more than 10 % from a measured rate.
    fn misfit(&self) -> Option<String> {
        const MUCH: f64 = 10.0;
        let lines = self.source.lines.iter().zip(&self.estimated.rates);
        let off = lines.map(|(line, rate)| (line, off_percent(line, *rate)));
        let (line, off) = off.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))?;
        (off.abs() > MUCH).then(|| {
            format!(
                "The model is up to {:.0} % off ({} {}): the device does what these parameters do \
                 not have, such as taking longer at random than in order. Standard errors grow \
                 with that; a fit of fewer jobs (--only NAMES) may have smaller ones.",
                off.abs(),
                line.pattern,
                line.size
            )
        })
    }

    /// Makes the table of rates; it has a column for jobs unless the rates are those of a file.
    fn rates(&self) -> Table {
        let lines = &self.source.lines;
        let job = lines.iter().any(|line| line.job.is_some());
        let words = job.then_some("job").into_iter().chain(["rw", "bs"]);
        let numbers = ["measured", "model", "error"].map(Column::number);
        let row = |(line, rate): (&FittedRate, &f64)| {
            let job = job.then(|| {
                line.job
                    .as_deref()
                    .map_or(Cell::Empty, |job| clean(job).into())
            });
            let others = [
                line.pattern.clone(),
                line.size.clone(),
                BytesPerSec(line.seen.rate).to_string(),
                BytesPerSec(*rate).to_string(),
                format!("{:+.1} %", off_percent(line, *rate)),
            ];
            TableRow::new(job.into_iter().chain(others.map(Cell::from)).collect())
        };
        Table {
            columns: words.map(Column::text).chain(numbers).collect(),
            rows: lines.iter().zip(&self.estimated.rates).map(row).collect(),
        }
    }
}

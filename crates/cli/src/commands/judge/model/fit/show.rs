//! Results of a fit, for people and for programs.

use super::Fit;
use crate::ui::paragraph;
use assay_explain::fit_input::{FittedRate, parameters};
use assay_explain::table::{write as write_table, write_parameters};
use assay_model::units::BytesPerSec;
use serde_json::{Value, json};
use std::io::{self, Write};

/// By how much a rate of the model is off.
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

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let source = self.source;
        writeln!(
            out,
            "{}: {} {}, fitted from {} on\n",
            source.name,
            source.lines.len(),
            if source.lines.len() == 1 {
                "rate"
            } else {
                "rates"
            },
            source.start.name
        )?;
        write_parameters(
            &self.estimated.parameters,
            crate::output::style().width,
            out,
        )?;
        writeln!(out)?;
        self.write_rates(out)?;
        writeln!(out)?;
        if !source.left_out.is_empty() {
            writeln!(out, "Left out")?;
            let said = source.left_out.iter();
            let mut said: Vec<String> = said
                .map(|one| format!("{}: {}", one.job, one.why))
                .collect();
            // Both directions of a mix have the same reason.
            said.dedup();
            said.iter().try_for_each(|line| paragraph(line, 2, out))?;
            writeln!(out)?;
        }
        if let Some(said) = self.misfit() {
            paragraph(&said, 0, out)?;
            writeln!(out)?;
        }
        let device = match source.lines.iter().all(|line| line.job.is_some()) {
            true => "",
            false => {
                "Rates must be of the device, not of the page cache, with one I/O after the other. "
            }
        };
        let rest = "What no rate depends on keeps the value of the part that the fit began with; of \
                    others that cannot be told the sum counts, and not the values.";
        let (read, write) = (
            source.start.read.ramp_blocks,
            source.start.write.ramp_blocks,
        );
        let ramps = format!(
            "Not fitted: ramps of {} (read) and {} (write) blocks of 512 bytes. ",
            read, write
        );
        paragraph(&format!("{device}{ramps}{rest}"), 0, out)
    }

    /// Rates that these parameters do not have.
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

    fn write_rates(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines = self.source.lines.iter().zip(&self.estimated.rates);
        let rows = lines.map(|(line, rate)| {
            vec![
                line.job.clone().unwrap_or_default(),
                line.pattern.clone(),
                line.size.clone(),
                BytesPerSec(line.seen.rate).to_string(),
                BytesPerSec(*rate).to_string(),
                format!("{:+.1} %", off_percent(line, *rate)),
            ]
        });
        let mut rows: Vec<Vec<String>> = rows.collect();
        let mut head = vec!["job", "rw", "bs", "measured", "model", "error"];
        if rows.iter().all(|row| row[0].is_empty()) {
            head.remove(0);
            rows.iter_mut().for_each(|row| drop(row.remove(0)));
        }
        write_table(&head, &rows, head.len() - 3, out)
    }
}

//! Results that were made elsewhere: what they are, and where their rates stand on a bus.

use super::{Asked, USUAL_REQUEST};
use crate::commands::judge::model::args::parse_rate;
use crate::commands::judge::model::fit::stored::of_imports;
use crate::commands::judge::model::on_bus::OnBus;
use crate::commands::judge::model::table::paragraph;
use crate::exit::Failure;
use crate::output::print;
use assay_lang::{tr, translated};
use assay_model::figures::{Figure, Import, Sample};
use assay_model::job::Direction;
use assay_model::units::three_digits;
use assay_report::text::clean;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Explains an import as far as it goes.
pub fn explain(
    import: &Import,
    condition: Option<&str>,
    asked: &Asked,
    json: bool,
) -> Result<(), Failure> {
    if asked.part.is_some() || !asked.only.is_empty() {
        let why = "--part and --only are for runs: the times of an import cannot be divided";
        return Err(Failure::usage(why));
    }
    let figures = import.results.figures.iter();
    let wanted = |figure: &&Figure| condition.is_none_or(|name| figure.condition == name);
    let figures: Vec<Explained<'_>> = figures
        .filter(wanted)
        .map(|figure| Explained::of(figure, asked))
        .collect();
    if figures.is_empty() {
        let why = format!("import {} has no such figures", import.id);
        return Err(Failure::usage(why));
    }
    let refused = of_imports(&import.id);
    match json {
        true => {
            let figures: Vec<Value> = figures.iter().map(Explained::value).collect();
            let value = json!({
                "schema": 1, "import": import.id, "tool": import.results.tool,
                "fit": {"status": "refused", "why": refused}, "figures": figures,
            });
            print(|out| writeln!(out, "{value:#}"))
        }
        false => print(|out| write(import, &figures, &refused, out)),
    }
}

fn write(
    import: &Import,
    figures: &[Explained<'_>],
    refused: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let tool = clean(&import.results.tool);
    writeln!(
        out,
        "{}",
        tr!("Import {id} of {tool}", id = import.id, tool)
    )?;
    paragraph(&tr!("No fit: {why}", why = refused), 2, out)?;
    let why = tr!(
        "Cannot be told: where the time went. An import has figures, no times of single I/Os and no evidence"
    );
    paragraph(why, 2, out)?;
    for figure in figures {
        writeln!(out)?;
        figure.write(out)?;
    }
    Ok(())
}

/// A figure.
struct Explained<'f> {
    figure: &'f Figure,
    mean: f64,
    on_bus: Option<OnBus>,
}

impl<'f> Explained<'f> {
    fn of(figure: &'f Figure, asked: &Asked) -> Self {
        let mean = mean(&figure.sample);
        let request = asked.request.unwrap_or(USUAL_REQUEST);
        let rate = parse_rate(&format!("{mean}{}", figure.unit)).ok();
        let on_bus = asked.ceiling.as_ref().and_then(|ceiling| {
            let flash = ["eMMC", "SD", "UFS"].contains(&ceiling.bus);
            let of = (direction(&figure.metric)?, rate?);
            OnBus::of(of, ceiling, request, flash)
        });
        Self {
            on_bus: on_bus.filter(|_| may_be_of_the_bus(figure)),
            figure,
            mean,
        }
    }

    fn name(&self) -> String {
        let metric = clean(&self.figure.metric);
        match self.figure.condition.as_str() {
            "" => metric,
            condition => format!("{metric} @ {}", clean(condition)),
        }
    }

    /// What was measured, as far as anybody wrote it down.
    fn measured(&self) -> String {
        match self.figure.measured.as_deref() {
            Some(label) => tr!("it measured: {label}", label = translated(label)),
            None => {
                tr!("whether the device or the page cache was measured is not recorded").to_owned()
            }
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let said = format!(
            "{}: {} {}; {}",
            self.name(),
            three_digits(self.mean),
            clean(&self.figure.unit),
            self.measured()
        );
        paragraph(&said, 0, out)?;
        match &self.on_bus {
            Some(on_bus) => paragraph(&self.placed(on_bus), 2, out),
            None => Ok(()),
        }
    }

    /// Where it stands on the bus, if it is what nobody wrote down.
    fn placed(&self, on_bus: &OnBus) -> String {
        let sentence = on_bus.sentence();
        match &self.figure.measured {
            None => tr!(
                "If it is the device's, in order and with one such request at a time: {sentence}",
                sentence
            ),
            Some(_) => tr!(
                "If it is in order and with one such request at a time: {sentence}",
                sentence
            ),
        }
    }

    fn value(&self) -> Value {
        json!({
            "metric": self.figure.metric,
            "condition": self.figure.condition,
            "unit": self.figure.unit,
            "mean": self.mean,
            "measured": self.figure.measured,
            "bus": self.on_bus.as_ref().map(OnBus::value),
            "sentence": self.on_bus.as_ref().map(|on_bus| self.placed(on_bus)),
        })
    }
}

/// Random I/O spends its time elsewhere, and the page cache's figures are of no bus.
fn may_be_of_the_bus(figure: &Figure) -> bool {
    let past = figure
        .measured
        .as_deref()
        .is_none_or(|label| label.starts_with("device"));
    past && !figure.metric.to_lowercase().contains("rand")
}

fn mean(sample: &Sample) -> f64 {
    match sample {
        Sample::Moments { mean, .. } => *mean,
        Sample::Values { values, .. } => {
            #[expect(clippy::cast_precision_loss, reason = "a few trials")]
            let n = values.len().max(1) as f64;
            values.iter().sum::<f64>() / n
        }
    }
}

/// Which way a metric goes, by its name; `None` where it says neither or both.
fn direction(metric: &str) -> Option<Direction> {
    let name = metric.to_lowercase();
    match (name.contains("read"), name.contains("write")) {
        (true, false) => Some(Direction::Read),
        (false, true) => Some(Direction::Write),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_says_which_way_it_goes() {
        assert_eq!(direction("seq Read 1M"), Some(Direction::Read));
        assert_eq!(direction("job: write_bw"), Some(Direction::Write));
        for neither in ["rewrite of what was read", "latency"] {
            assert_eq!(direction(neither), None, "{neither}");
        }
    }
}

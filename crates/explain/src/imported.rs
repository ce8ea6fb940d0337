//! Explanation of imported results: their labels, and a comparison of their rates with a bus.

use crate::fit_input::of_imports;
use crate::on_bus::{OnBus, parse_rate};
use crate::{DeviceFacts, USUAL_REQUEST};
use assay_lang::{tr, translated};
use assay_model::figures::{Figure, Import, Sample};
use assay_model::job::Direction;
use assay_model::units::three_digits;
use assay_report::document::{Document, Section};
use assay_report::text::clean;
use serde_json::{Value, json};

/// Explanation of an import.
pub struct Explained<'i> {
    import: &'i Import,
    figures: Vec<ExplainedFigure<'i>>,
    /// Reason why no parameters are fitted to the figures.
    refused: String,
}

impl<'i> Explained<'i> {
    /// Explains the figures of an import, or those under one condition.
    ///
    /// # Errors
    /// If the import has no such figures, or the user gives device facts that need single I/Os.
    pub fn of(
        import: &'i Import,
        condition: Option<&str>,
        facts: &DeviceFacts,
    ) -> Result<Self, String> {
        if facts.part.is_some() || !facts.only.is_empty() {
            let why = "--part and --only are for runs: the times of an import cannot be divided";
            return Err(why.to_owned());
        }
        let figures = import.results.figures.iter();
        let wanted = |figure: &&Figure| condition.is_none_or(|name| figure.condition == name);
        let figures: Vec<ExplainedFigure<'_>> = figures
            .filter(wanted)
            .map(|figure| ExplainedFigure::of(figure, facts))
            .collect();
        if figures.is_empty() {
            return Err(format!("import {} has no such figures", import.id));
        }
        Ok(Self {
            import,
            figures,
            refused: of_imports(&import.id),
        })
    }

    /// Returns the explanation as JSON.
    pub fn value(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(ExplainedFigure::value).collect();
        json!({
            "schema": 1, "import": self.import.id, "tool": self.import.results.tool,
            "fit": {"status": "refused", "why": self.refused}, "figures": figures,
        })
    }

    /// Returns the explanation as a document.
    pub fn document(&self) -> Document {
        let tool = clean(&self.import.results.tool);
        let title = tr!("Import {id} of {tool}", id = self.import.id, tool);
        let mut document = Document::new(title);
        let mut section = Section::new("summary", "");
        let figures = self.figures.iter();
        section.list(figures.map(ExplainedFigure::sentence).collect());
        let why = tr!(
            "Cannot be told: where the time went. An import has figures, no times of single I/Os and no evidence"
        );
        section.say(why, None);
        section.say(tr!("No fit: {why}", why = self.refused), None);
        document.push(section);
        document
    }
}

/// Explanation of one figure.
struct ExplainedFigure<'f> {
    figure: &'f Figure,
    mean: f64,
    on_bus: Option<OnBus>,
}

impl<'f> ExplainedFigure<'f> {
    fn of(figure: &'f Figure, facts: &DeviceFacts) -> Self {
        let mean = mean(&figure.sample);
        let request = facts.request.unwrap_or(USUAL_REQUEST);
        let rate = parse_rate(&format!("{mean}{}", figure.unit)).ok();
        let on_bus = facts.ceiling.as_ref().and_then(|ceiling| {
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

    /// Returns the recorded label of the figure.
    fn measured(&self) -> String {
        match self.figure.measured.as_deref() {
            Some(label) => tr!("it measured: {label}", label = translated(label)),
            None => {
                tr!("whether the device or the page cache was measured is not recorded").to_owned()
            }
        }
    }

    fn sentence(&self) -> String {
        let said = format!(
            "{}: {} {}; {}",
            self.name(),
            three_digits(self.mean),
            clean(&self.figure.unit),
            self.measured()
        );
        match &self.on_bus {
            Some(on_bus) => format!("{said}. {}", self.placed(on_bus)),
            None => said,
        }
    }

    /// Compares the figure with the bus; the sentence names the assumptions that its record leaves
    /// open.
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

/// Returns false for random I/O, where the bus is a small part of the time, and for figures of the
/// page cache, whose data do not pass the bus.
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
            let n = values.len().max(1) as f64;
            values.iter().sum::<f64>() / n
        }
    }
}

/// Returns the direction that a metric's name contains; `None` if it contains neither or both.
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

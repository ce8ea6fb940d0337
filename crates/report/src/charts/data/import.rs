//! Charts of imported results: the trials of a metric under each condition.

use super::trials::{TrialsOfRow, in_rows};
use crate::charts::draw::{Axis, Chart, Measure, Scale, Tint, slug};
use crate::results::jobs::metrics;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::figures::{Figure, Sample};

/// Draws each metric that decides, or every metric if none does.
pub fn charts(figures: &[Figure]) -> Vec<Chart> {
    let decides = figures.iter().any(|figure| figure.primary);
    let shown = || figures.iter().filter(|figure| figure.primary || !decides);
    let charts = metrics(shown()).into_iter().map(|metric| {
        let own: Vec<&Figure> = shown().filter(|figure| figure.metric == metric).collect();
        chart(metric, &own)
    });
    charts.collect()
}

fn chart(metric: &str, figures: &[&Figure]) -> Chart {
    let unit = figures.first().map_or("", |figure| figure.unit.as_str());
    let measure = Measure::of_symbol(unit);
    let words = figures.iter().map(|figure| told(figure, &measure));
    let words: Vec<String> = words.collect();
    let rows = figures.iter().map(|figure| {
        let (values, moments) = match &figure.sample {
            Sample::Values { values, .. } => ((1..).zip(values.iter().copied()).collect(), None),
            Sample::Moments { n, mean, .. } => (Vec::new(), Some((*n, *mean))),
        };
        TrialsOfRow {
            name: named(figure),
            values,
            moments,
        }
    });
    let rows: Vec<TrialsOfRow> = rows.collect();
    Chart {
        name: format!("trials-{}", slug(metric)),
        title: clean(metric),
        description: format!("{}.", words.join("; ")),
        body: in_rows(
            Axis::new(clean(metric), measure, Scale::Linear),
            Tint::Read,
            &rows,
        ),
    }
}

/// Returns the condition, or the label of the measurement if there is no condition.
fn named(figure: &Figure) -> String {
    match figure.condition.as_str() {
        "" => clean(&figure.metric),
        condition => clean(condition),
    }
}

fn told(figure: &Figure, measure: &Measure) -> String {
    let mean = crate::machine::import::moments(&figure.sample).mean;
    let trials = counted!(figure.sample.n(), "{n} trial", "{n} trials");
    let measured = figure
        .measured
        .as_deref()
        .map_or_else(String::new, |label| {
            tr!(", measured {labels}", labels = clean(label))
        });
    tr!(
        "{figure} mean {mean} of {trials}{measured}",
        figure = named(figure),
        mean = measure.write(mean),
        trials,
        measured
    )
}

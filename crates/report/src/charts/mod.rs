//! Charts: each file selects series of a run, a sweep or a comparison; `draw` draws any chart.
//!
//! To add a chart: add a function in a file of this folder that makes a `Chart`, a field of its
//! `Gallery`, and a place in `views::run::page`. Every output of charts then has it. A new mark or
//! scale is a variant of `draw::SeriesStyle` or `draw::Scale`, and an arm in each output.

pub mod comparison;
pub mod course;
pub mod draw;
pub mod extent;
pub mod latency;
pub mod matrix;
pub mod session;
mod soak;
pub mod trend;

use crate::results::jobs::metrics;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use crate::words::clean;
use assay_lang::{counted, tr};
use assay_model::figures::{Figure, Import, Sample};
use assay_model::run::Run;
use assay_model::units::as_f64;
use draw::{Axis, Chart, Measure, Scale, Tint, slug};
use latency::{TrialsOfRow, in_rows};
use std::collections::HashMap;

/// Charts of a run, by the section of the report.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// Conditions of a sweep compared with the first one, one chart per metric.
    pub ranking: Vec<Chart>,
    /// Metrics with all their trials.
    pub trials: Vec<Chart>,
    /// Matrices of iozone: a map and a surface per test.
    pub matrices: Vec<Chart>,
    /// Samples over an extent.
    pub extents: Vec<Chart>,
    /// Rate over time; that of a whole soak comes first.
    pub courses: Vec<Chart>,
    /// Number of trials whose course is not drawn.
    pub courses_left_out: usize,
    /// Latency by percentile, one chart per job.
    pub latencies: Vec<Chart>,
    /// Distribution of latency, one chart per job.
    pub distributions: Vec<Chart>,
    /// Chart of the machine's state around the trials.
    pub session: Option<Chart>,
}

impl Gallery {
    /// Makes the charts of a run. Each job of a sweep is shown under each condition.
    pub fn of(run: &Run) -> Self {
        let split = by_condition(run.clone());
        Self::of_parts(&Summary::of(&split), Verdicts::of(run).as_ref())
    }

    /// Makes the charts of an import; `verdicts` exist if it has several conditions.
    pub fn of_import(import: &Import, verdicts: Option<&Verdicts>) -> Self {
        let mut gallery = Self {
            ranking: verdicts.map_or_else(Vec::new, comparison::charts),
            trials: charts(&import.results.figures),
            ..Self::default()
        };
        gallery.tell_names_apart();
        gallery
    }

    /// Makes the charts from derived results.
    pub fn of_parts(summary: &Summary<'_>, verdicts: Option<&Verdicts>) -> Self {
        let (told, courses_left_out) = course::told(summary);
        let timed = latency::timed(summary);
        let mut gallery = Self {
            ranking: verdicts.map_or_else(Vec::new, comparison::charts),
            trials: latency::charts(summary),
            matrices: matrix::charts(summary.run),
            extents: extent::charts(summary),
            courses: soak::chart(summary)
                .into_iter()
                .chain(told.iter().map(course::chart))
                .collect(),
            courses_left_out,
            latencies: timed.iter().map(|job| latency::percentiles(job)).collect(),
            distributions: timed.iter().map(|job| latency::distribution(job)).collect(),
            session: session::chart(summary.run),
        };
        gallery.tell_names_apart();
        gallery
    }

    /// Adds numbers to equal chart names: two jobs may differ only in characters that a name cannot
    /// have.
    fn tell_names_apart(&mut self) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let lists = [
            &mut self.ranking,
            &mut self.trials,
            &mut self.matrices,
            &mut self.extents,
            &mut self.courses,
            &mut self.latencies,
            &mut self.distributions,
        ];
        for chart in lists.into_iter().flatten() {
            let count = seen.entry(chart.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                chart.name.push_str(&format!(".{count}"));
            }
        }
    }

    /// Iterates over all charts, in the order of the report.
    pub fn iter(&self) -> impl Iterator<Item = &Chart> {
        let lists = [
            &self.ranking,
            &self.trials,
            &self.matrices,
            &self.extents,
            &self.courses,
            &self.latencies,
            &self.distributions,
        ];
        lists.into_iter().flatten().chain(&self.session)
    }
}

/// Returns a row's position on an axis of names.
fn row(index: usize) -> f64 {
    index as f64
}

/// Draws each metric that decides, or every metric if none does. The charts are those of imported
/// results: the trials of a metric under each condition.
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

#[cfg(test)]
mod tests;

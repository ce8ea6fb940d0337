//! Charts: each function selects series of a run, a sweep or a comparison; `draw` draws any chart.
//!
//! To add a chart: add a function in a file of this folder that makes a `Chart`, a field of its
//! `Gallery`, and a place in `views::run::page`. Every output of charts then has it. A new mark or
//! scale is a variant of `draw::SeriesStyle` or `draw::Scale`, and an arm in each output.

mod answer;
pub mod comparison;
pub mod course;
pub mod draw;
pub mod latency;

use crate::results::describe::distinct_metrics;
use crate::results::effects;
use crate::results::matrix::{self, Matrix, cache_edge_row, matrices};
use crate::results::population::Standings;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use crate::words::clean;
use crate::words::labels::label_of;
use assay_lang::{counted, tr};
use assay_model::figures::{Figure, Import, Sample};
use assay_model::run::Run;
use assay_model::units::as_f64;
use draw::{Axis, Body, Chart, Form, Grid, GridCell, Measure, Scale, Tint, slug};
use latency::{TrialsOfRow, in_rows};
use std::collections::HashMap;

/// Charts of a run, by the section of the report.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// Key figures on a scale, one chart per unit.
    pub answers: Vec<Chart>,
    /// Change of each condition of a sweep against the first, one chart per metric.
    pub changes: Vec<Chart>,
    /// Metrics with all their trials, one chart per unit.
    pub trials: Vec<Chart>,
    /// Matrices of iozone by test, or those of a sweep of two factors.
    pub maps: Vec<Matrix>,
    /// Charts of the matrices: a map and a surface of each.
    pub matrices: Vec<Chart>,
    /// Samples over an extent.
    pub extents: Vec<Chart>,
    /// Rate over time; that of a whole soak comes first.
    pub courses: Vec<Chart>,
    /// Number of trials whose course is not drawn.
    pub courses_left_out: usize,
    /// Latency by offered rate.
    pub load_curves: Vec<Chart>,
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
            changes: verdicts.map_or_else(Vec::new, comparison::charts),
            trials: charts(&import.results.figures),
            ..Self::default()
        };
        gallery.make_names_unique();
        gallery
    }

    /// Makes the charts from derived results.
    pub fn of_parts(summary: &Summary<'_>, verdicts: Option<&Verdicts>) -> Self {
        let (selected, courses_left_out) = course::select(summary);
        let timed = latency::timed(summary);
        let mut maps = matrices(summary.run);
        if let Some(verdicts) = verdicts {
            let conditions = &summary.run.header.plan.conditions;
            maps.extend(effects::maps(
                conditions,
                &verdicts.figures,
                Some(&verdicts.all),
            ));
        }
        let mut gallery = Self {
            answers: answer::charts(summary, None),
            changes: verdicts.map_or_else(Vec::new, comparison::charts),
            trials: latency::charts(summary),
            matrices: charts_of_matrices(&maps),
            maps,
            extents: course::charts_of_extents(summary),
            courses: course::draw_soak(summary)
                .into_iter()
                .chain(selected.iter().map(course::chart))
                .collect(),
            courses_left_out,
            load_curves: latency::load_curves(summary),
            latencies: timed.iter().map(|job| latency::percentiles(job)).collect(),
            distributions: timed.iter().map(|job| latency::distribution(job)).collect(),
            session: course::draw_session(summary.run),
        };
        gallery.make_names_unique();
        gallery
    }

    /// Marks the medians of other units on the scales of the key figures.
    pub fn place(&mut self, summary: &Summary<'_>, standings: &Standings) {
        self.answers = answer::charts(summary, Some(standings));
    }

    /// Adds numbers to equal chart names: two jobs may differ only in characters that a name cannot
    /// have.
    fn make_names_unique(&mut self) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let lists = [
            &mut self.changes,
            &mut self.trials,
            &mut self.matrices,
            &mut self.extents,
            &mut self.courses,
            &mut self.load_curves,
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
            &self.answers,
            &self.changes,
            &self.trials,
            &self.matrices,
            &self.extents,
            &self.courses,
            &self.load_curves,
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

/// Draws the trials of each deciding metric of imported results, one row per condition. Draws all
/// metrics if none decides.
pub fn charts(figures: &[Figure]) -> Vec<Chart> {
    let decides = figures.iter().any(|figure| figure.primary);
    let shown = || figures.iter().filter(|figure| figure.primary || !decides);
    let charts = distinct_metrics(shown()).into_iter().map(|metric| {
        let own: Vec<&Figure> = shown().filter(|figure| figure.metric == metric).collect();
        chart(metric, &own)
    });
    charts.collect()
}

fn chart(metric: &str, figures: &[&Figure]) -> Chart {
    let unit = figures.first().map_or("", |figure| figure.unit.as_str());
    let measure = Measure::of_symbol(unit);
    let words = figures.iter().map(|figure| describe(figure, &measure));
    let words: Vec<String> = words.collect();
    let rows = figures.iter().map(|figure| {
        let (values, moments) = match &figure.sample {
            Sample::Values { values, .. } => ((1..).zip(values.iter().copied()).collect(), None),
            Sample::Moments { n, mean, .. } => (Vec::new(), Some((*n, *mean))),
        };
        TrialsOfRow {
            name: row_name(figure),
            values,
            moments,
            label: figure.measured.as_deref().and_then(label_of),
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

/// Returns the condition, or the metric if there is no condition.
fn row_name(figure: &Figure) -> String {
    match figure.condition.as_str() {
        "" => clean(&figure.metric),
        condition => clean(condition),
    }
}

fn describe(figure: &Figure, measure: &Measure) -> String {
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
        figure = row_name(figure),
        mean = measure.write(mean),
        trials,
        measured
    )
}

/// Draws a map and a surface of each matrix; marks the first file size beyond the cache.
fn charts_of_matrices(matrices: &[Matrix]) -> Vec<Chart> {
    let forms = [Form::Map, Form::Surface];
    let matrices = matrices.iter();
    matrices
        .flat_map(|matrix| forms.map(|form| draw_matrix(matrix, form)))
        .collect()
}

/// Draws a matrix.
fn draw_matrix(matrix: &Matrix, form: Form) -> Chart {
    let title = matrix
        .title
        .strip_suffix(" report")
        .unwrap_or(&matrix.title);
    let (word, kind) = match form {
        Form::Map => ("map", tr!("map")),
        Form::Surface => ("surface", tr!("surface")),
    };
    let names = |axis: &matrix::Axis| {
        let levels = axis.levels.iter().map(ToString::to_string);
        (clean(&axis.name), levels.collect())
    };
    let is_of_files = matrix.is_of_files();
    let (divisor, unit, _) = matrix::scale_of(matrix);
    let cell = |cell: &matrix::Cell| GridCell {
        value: cell.value / divisor,
        label: cell.label.clone().unwrap_or_else(|| "unknown".to_owned()),
    };
    let cells = matrix.cells.iter();
    let cells = cells.map(|cells| cells.iter().map(|found| found.as_ref().map(cell)).collect());
    Chart {
        name: format!("{word}-{}", slug(title)),
        title: match is_of_files {
            true => tr!(
                "{title}: {kind} of rates by file and record size",
                title,
                kind
            ),
            false => tr!(
                "{title}: {kind} by {rows} and {columns}",
                title = clean(title),
                kind,
                rows = clean(&matrix.rows.name),
                columns = clean(&matrix.columns.name)
            ),
        },
        description: matrix.sentence(),
        body: Body::Grid(Grid {
            form,
            rows: names(&matrix.rows),
            columns: names(&matrix.columns),
            values: (
                match is_of_files {
                    true => tr!("rate").to_owned(),
                    false => clean(title),
                },
                Measure::Foreign(unit.to_owned()),
            ),
            cells: cells.collect(),
            edge: cache_edge_row(matrix)
                .filter(|_| is_of_files)
                .map(|row| (row, tr!("the page cache ends here").to_owned())),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::draw::svg;
    use crate::testing::{fixture, samples};

    #[test]
    fn names_of_charts_are_unique_and_plain() {
        for run in [
            fixture::run(),
            samples::with_sustained(),
            samples::with_matrix(),
            samples::hostile(),
        ] {
            let gallery = Gallery::of(&run);
            let mut names: Vec<&str> = gallery.iter().map(|chart| chart.name.as_str()).collect();
            assert!(!names.is_empty());
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
            assert!(
                names.iter().all(|name| name.chars().all(plain)),
                "{names:?}"
            );
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
        }
    }

    #[test]
    fn every_chart_says_what_it_shows() {
        for chart in Gallery::of(&samples::with_sustained()).iter() {
            assert!(
                !chart.title.is_empty() && !chart.description.is_empty(),
                "{}",
                chart.name
            );
            assert!(!svg::file(chart).contains("NaN"), "{}", chart.name);
        }
    }

    #[test]
    fn a_single_stall_among_a_million_intervals_is_drawn() {
        let run = samples::endless();
        let gallery = Gallery::of(&run);
        let [course] = gallery.courses.as_slice() else {
            panic!("{} courses", gallery.courses.len());
        };
        let drawn = svg::in_page(course, svg::NARROW, "").into_string();
        assert_eq!(drawn.matches("class=\"stretch").count(), 1);
        assert!(drawn.len() < 20_000, "{} bytes", drawn.len());
        let Body::Plane(plane) = &course.body else {
            panic!("a plane");
        };
        let rate = &plane.panels[0].series[0].points;
        let lowest = rate
            .iter()
            .filter_map(|point| point.ends)
            .map(|ends| ends.0);
        assert!(
            lowest.fold(f64::INFINITY, f64::min) <= 0.0,
            "the curve falls to zero"
        );
    }

    #[test]
    fn runs_without_figures_have_no_charts() {
        for run in [samples::empty(), samples::void(), samples::only_failures()] {
            assert_eq!(Gallery::of(&run).iter().count(), 0);
        }
    }

    #[test]
    fn jobs_whose_names_look_alike_have_charts_of_their_own() {
        let mut run = fixture::run();
        for trial in &mut run.trials {
            let name = if trial.job.name == "seq-read-1m" {
                "A job"
            } else {
                "a-job"
            };
            trial.job.name = name.to_owned();
        }
        run.header.plan.jobs.clear();
        let gallery = Gallery::of(&run);
        let names: Vec<&str> = gallery
            .latencies
            .iter()
            .map(|chart| chart.name.as_str())
            .collect();
        assert_eq!(names, ["latency-a-job", "latency-a-job.2"]);
    }
}

//! Charts of a metric over all jobs that have it: trials as points, with the interval of their
//! mean.

use super::row;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint,
};
use crate::results::describe;
use crate::results::summary::{Figure, JobSummary, Summary};
use crate::words::format::{quantity, range};
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::job::Direction;
use assay_stats::derive::MetricName;
use assay_stats::summary::Summary as Statistics;

/// Ratio of the largest to the smallest value above which the axis is logarithmic.
const WIDE: f64 = 40.0;

/// Draws each metric that represents a job. Cells of a matrix are left out: other charts show them.
pub fn charts(summary: &Summary<'_>) -> Vec<Chart> {
    let mut names: Vec<String> = Vec::new();
    for figure in summary
        .jobs
        .iter()
        .filter(|job| !job.is_cell())
        .flat_map(JobSummary::headlines)
    {
        if !names.contains(&figure.name) {
            names.push(figure.name);
        }
    }
    let charts = names.iter().filter_map(|name| chart(summary, name));
    charts.collect()
}

/// Draws one metric by its name, for example `read_bw`, over all jobs; `None` if no job has it.
pub fn chart(summary: &Summary<'_>, name: &str) -> Option<Chart> {
    let jobs = summary.jobs.iter();
    let figures: Vec<(&JobSummary<'_>, Figure)> = jobs
        .filter_map(|job| Some((job, job.figure(name)?)))
        .collect();
    let unit = figures.first()?.1.unit;
    let tint = match MetricName::parse(name).and_then(|name| name.direction) {
        Some(Direction::Write) => Tint::Write,
        _ => Tint::Read,
    };
    let rows = figures.iter().map(|(job, figure)| TrialsOfRow {
        name: clean(&job.job.name),
        values: figure.values.clone(),
        ..TrialsOfRow::default()
    });
    let rows: Vec<TrialsOfRow> = rows.collect();
    let (low, high) = extremes(&rows);
    let scale = match low > 0.0 && high / low > WIDE {
        true => Scale::Log,
        false => Scale::Linear,
    };
    let axis = Axis::new(describe::metric(name), Measure::Of(unit), scale);
    Some(Chart {
        name: format!("trials-{name}"),
        title: tr!(
            "{metric} of each job ({name})",
            metric = capital(&describe::metric(name)),
            name
        ),
        description: description(&figures),
        body: in_rows(axis, tint, &rows),
    })
}

/// Row with its trials.
#[derive(Default)]
pub(super) struct TrialsOfRow {
    /// Name of the row.
    pub name: String,
    /// Each trial with its value.
    pub values: Vec<(u32, f64)>,
    /// Number of trials and their mean, if only these are known.
    pub moments: Option<(u32, f64)>,
}

/// Returns the lowest and the highest value of all rows.
fn extremes(rows: &[TrialsOfRow]) -> (f64, f64) {
    let values = rows.iter().flat_map(|row| {
        let values = row.values.iter().map(|(_, value)| *value);
        values.chain(row.moments.map(|(_, mean)| mean))
    });
    values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
        (low.min(value), high.max(value))
    })
}

/// Limits the axis for intervals wider than the trials: the interval of two different trials can be
/// so wide that it hides all others.
fn beside_trials(scale: &Scale, (low, high): (f64, f64)) -> Option<(f64, f64)> {
    match scale {
        Scale::Log => Some((low / 10.0, high * 10.0)),
        _ => (low >= 0.0 && high > 0.0).then_some((0.0, high * 2.0)),
    }
}

/// Draws each trial of each row as a mark, with the interval of their mean.
pub(super) fn in_rows(x: Axis, tint: Tint, rows: &[TrialsOfRow]) -> Body {
    let numbered = || (0..).zip(rows);
    let intervals = numbered().filter_map(|(index, of)| {
        let values: Vec<f64> = of.values.iter().map(|(_, value)| *value).collect();
        let stats = Statistics::of(&values)?;
        Some(Point {
            ends: stats.interval.map(|interval| (interval.low, interval.high)),
            ..Point::at(stats.median, row(index))
        })
    });
    let trials = numbered().flat_map(|(index, of)| {
        let measure = &x.measure;
        of.values.iter().map(move |(trial, value)| Point {
            note: Some(tr!(
                "trial {trial}: {value}",
                trial,
                value = measure.write(*value)
            )),
            ..Point::at(*value, row(index))
        })
    });
    let means = numbered().filter_map(|(index, of)| {
        let (n, mean) = of.moments?;
        let trials = counted!(n, "{n} trial", "{n} trials");
        let value = x.measure.write(mean);
        Some(Point {
            note: Some(tr!("mean of {trials}: {value}", trials, value)),
            ..Point::at(mean, row(index))
        })
    });
    let interval = tr!("95 % interval of the geometric mean");
    let handed_down = tr!("mean that was handed down");
    let series = [
        (
            interval,
            Tint::Ink,
            SeriesStyle::Intervals,
            intervals.collect(),
        ),
        (tr!("trial"), tint, SeriesStyle::Dots, trials.collect()),
        (handed_down, Tint::Ink, SeriesStyle::Dots, means.collect()),
    ];
    let series = series.map(
        |(name, tint, mark, points): (&str, _, _, Vec<Point>)| Series {
            name: name.to_owned(),
            tint,
            mark,
            points,
        },
    );
    let series = series
        .into_iter()
        .filter(|series| !series.points.is_empty());
    Body::Plane(Plane {
        limits: beside_trials(&x.scale, extremes(rows)),
        panels: vec![Panel {
            y: Axis::names(rows.iter().map(|row| row.name.clone()).collect()),
            series: series.collect(),
        }],
        x,
    })
}

fn description(figures: &[(&JobSummary<'_>, Figure)]) -> String {
    let each = figures.iter().map(|(job, figure)| {
        let median = quantity(figure.unit, figure.stats.median);
        let interval = figure.stats.interval.map_or_else(String::new, |interval| {
            tr!(
                ", interval {range}",
                range = range(figure.unit, interval.low, interval.high)
            )
        });
        tr!(
            "{job} {median}{interval}, measured {labels}",
            job = clean(&job.job.name),
            median,
            interval,
            labels = figure.labels
        )
    });
    tr!(
        "median of the trials: {jobs}.",
        jobs = each.collect::<Vec<_>>().join("; ")
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

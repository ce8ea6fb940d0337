//! A metric of all jobs that have it: trials as points, their interval.

use super::{beside_trials, row};
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint,
};
use crate::results::describe;
use crate::results::summary::{Figure, JobSummary, Summary};
use crate::words::format::{quantity, range};
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::job::Direction;
use assay_stats::derive::direction_of;

/// Values further apart than this stand on a logarithmic axis.
const WIDE: f64 = 40.0;

/// A chart for each metric that stands for a job; cells of a matrix are shown among
/// their like.
#[must_use]
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

/// One metric by its name, for example `read_bw`, of all jobs that have it; `None`
/// when none has.
#[must_use]
pub fn chart(summary: &Summary<'_>, name: &str) -> Option<Chart> {
    let jobs = summary.jobs.iter();
    let figures: Vec<(&JobSummary<'_>, Figure)> = jobs
        .filter_map(|job| Some((job, job.figure(name)?)))
        .collect();
    let unit = figures.first()?.1.unit;
    let tint = match direction_of(name) {
        Some(Direction::Write) => Tint::Write,
        _ => Tint::Read,
    };
    let rows = || figures.iter().enumerate();
    let series = vec![
        Series {
            name: tr!("95 % interval of the geometric mean").to_owned(),
            tint: Tint::Ink,
            mark: SeriesStyle::Intervals,
            points: rows()
                .map(|(index, (_, figure))| interval(index, figure))
                .collect(),
        },
        Series {
            name: tr!("trial").to_owned(),
            tint,
            mark: SeriesStyle::Dots,
            points: rows()
                .flat_map(|(index, (_, figure))| points(index, figure))
                .collect(),
        },
    ];
    Some(Chart {
        name: format!("trials-{name}"),
        title: tr!(
            "{metric} of each job ({name})",
            metric = capital(&describe::metric(name)),
            name
        ),
        description: description(&figures),
        body: Body::Plane(Plane {
            limits: beside_trials(&scale(&figures), extremes(&figures)),
            x: Axis::new(describe::metric(name), Measure::Of(unit), scale(&figures)),
            panels: vec![Panel {
                y: Axis::names(rows().map(|(_, (job, _))| clean(&job.job.name)).collect()),
                series,
            }],
        }),
    })
}

fn scale(figures: &[(&JobSummary<'_>, Figure)]) -> Scale {
    let (low, high) = extremes(figures);
    match low > 0.0 && high / low > WIDE {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

/// Lowest and highest trial of all.
fn extremes(figures: &[(&JobSummary<'_>, Figure)]) -> (f64, f64) {
    let stats = figures.iter().map(|(_, figure)| &figure.stats);
    stats.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), stats| {
        (low.min(stats.min), high.max(stats.max))
    })
}

fn interval(index: usize, figure: &Figure) -> Point {
    let stats = &figure.stats;
    Point {
        x: stats.median,
        y: row(index),
        ends: stats.interval.map(|interval| (interval.low, interval.high)),
        note: None,
    }
}

fn points(index: usize, figure: &Figure) -> impl Iterator<Item = Point> {
    figure.values.iter().map(move |(trial, value)| Point {
        x: *value,
        y: row(index),
        ends: None,
        note: Some(tr!(
            "trial {trial}: {value}",
            trial,
            value = quantity(figure.unit, *value)
        )),
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

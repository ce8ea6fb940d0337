//! Results that were made elsewhere: the trials of a metric under each condition.

use super::{beside_trials, row};
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, slug,
};
use crate::results::jobs::metrics;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::figures::{Figure, Sample};
use assay_stats::summary::Summary as Statistics;

/// A chart for each metric that decides; where none does, for each.
#[must_use]
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
    let rows: Vec<(usize, &Figure)> = figures.iter().copied().enumerate().collect();
    let each = |points: fn(usize, &Figure, &Measure) -> Vec<Point>| -> Vec<Point> {
        let all = rows.iter();
        all.flat_map(|(index, figure)| points(*index, figure, &measure))
            .collect()
    };
    let series = |name: &str, tint, mark, points: Vec<Point>| {
        (!points.is_empty()).then(|| Series::new(name, tint, mark, points))
    };
    let names = figures.iter().map(|figure| named(figure)).collect();
    let words: Vec<String> = figures
        .iter()
        .map(|figure| told(figure, &measure))
        .collect();
    let all = [
        series(
            tr!("95 % interval of the geometric mean"),
            Tint::Ink,
            SeriesStyle::Intervals,
            each(interval),
        ),
        series(tr!("trial"), Tint::Read, SeriesStyle::Dots, each(trials)),
        series(
            tr!("mean that was handed down"),
            Tint::Ink,
            SeriesStyle::Dots,
            each(handed_down),
        ),
    ];
    Chart {
        name: format!("trials-{}", slug(metric)),
        title: clean(metric),
        description: format!("{}.", words.join("; ")),
        body: Body::Plane(Plane {
            limits: beside_trials(&Scale::Linear, extremes(figures)),
            x: Axis::new(clean(metric), measure, Scale::Linear),
            panels: vec![Panel {
                y: Axis::names(names),
                series: all.into_iter().flatten().collect(),
            }],
        }),
    }
}

/// The condition; where there is none, what was measured.
fn named(figure: &Figure) -> String {
    match figure.condition.as_str() {
        "" => clean(&figure.metric),
        condition => clean(condition),
    }
}

fn values(figure: &Figure) -> &[f64] {
    match &figure.sample {
        Sample::Values { values, .. } => values,
        Sample::Moments { .. } => &[],
    }
}

/// Lowest and highest trial of all, and means that were handed down.
fn extremes(figures: &[&Figure]) -> (f64, f64) {
    let all = figures.iter().flat_map(|figure| match &figure.sample {
        Sample::Values { values, .. } => values.as_slice(),
        Sample::Moments { mean, .. } => std::slice::from_ref(mean),
    });
    all.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
        (low.min(*value), high.max(*value))
    })
}

fn interval(index: usize, figure: &Figure, _: &Measure) -> Vec<Point> {
    let point = |stats: Statistics| Point {
        x: stats.median,
        y: row(index),
        ends: stats.interval.map(|interval| (interval.low, interval.high)),
        note: None,
    };
    Statistics::of(values(figure))
        .map(point)
        .into_iter()
        .collect()
}

fn trials(index: usize, figure: &Figure, measure: &Measure) -> Vec<Point> {
    let numbered = (1..).zip(values(figure));
    let point = |(trial, value): (u32, &f64)| Point {
        note: Some(tr!(
            "trial {trial}: {value}",
            trial,
            value = measure.write(*value)
        )),
        ..Point::at(*value, row(index))
    };
    numbered.map(point).collect()
}

fn handed_down(index: usize, figure: &Figure, measure: &Measure) -> Vec<Point> {
    let Sample::Moments { n, mean, .. } = figure.sample else {
        return Vec::new();
    };
    let trials = counted!(n, "{n} trial", "{n} trials");
    vec![Point {
        note: Some(tr!(
            "mean of {trials}: {value}",
            trials,
            value = measure.write(mean)
        )),
        ..Point::at(mean, row(index))
    }]
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

//! The chart of a series: a mark for each run, the level between changes, the changes.

use assay_lang::{counted, tr};
use assay_model::series::{Series, SeriesChange, SeriesPoint, Turn};
use assay_report::charts::draw::{
    Axis, Body, Chart, Measure, Point, Scale, Series as Marks, SeriesStyle, Tint,
};
use assay_report::format::{quantity, utc};

const DAY_MS: f64 = 86_400_000.0;
/// Runs that are drawn: the newest.
pub const DRAWN: usize = 400;

/// Draws the newest runs.
pub fn chart(series: &Series, points: &[SeriesPoint], changes: &[SeriesChange]) -> Chart {
    let points = &points[points.len().saturating_sub(DRAWN)..];
    let first = points.first().map_or(0, |point| point.started_unix_ms);
    let shown: Vec<&SeriesChange> = changes
        .iter()
        .filter(|change| change.started_unix_ms >= first)
        .collect();
    let x = |unix_ms: u64| days(unix_ms.saturating_sub(first));
    let name = format!("{} {}", series.job, series.metric);
    let unit = Measure::Of(series.unit_of_measure);
    let y = Axis::new(series.metric.clone(), unit, Scale::Close);
    let day = utc(first);
    let day = day.split(' ').next().unwrap_or_default();
    let label = tr!("days since {day}", day);
    let x_axis = Axis::new(label, Measure::Foreign("d".to_owned()), Scale::Linear);
    let mut marks = vec![levels(points, &shown, x), runs(points, x)];
    marks.extend([Turn::Slower, Turn::Faster].map(|turn| turns(turn, &shown, points, x)));
    marks.retain(|marks| !marks.points.is_empty());
    Chart {
        name: format!("series-{}", series.key),
        title: name,
        description: words(series, points, &shown),
        body: Body::plane(x_axis, y, marks),
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of centuries")]
fn days(ms: u64) -> f64 {
    ms as f64 / DAY_MS
}

/// Smallest and largest trial of each run.
fn runs(points: &[SeriesPoint], x: impl Fn(u64) -> f64) -> Marks {
    let points = points.iter();
    let points = points.map(|point| {
        let low = point.samples.iter().copied().fold(point.centre, f64::min);
        let high = point.samples.iter().copied().fold(point.centre, f64::max);
        Point {
            ends: (low < high).then_some((low, high)),
            ..Point::at(x(point.started_unix_ms), point.centre)
        }
    });
    Marks {
        name: tr!("a run: median and range of its trials").to_owned(),
        tint: Tint::Read,
        mark: SeriesStyle::Intervals,
        points: points.collect(),
    }
}

/// Geometric mean of the runs between two changes.
fn levels(points: &[SeriesPoint], changes: &[&SeriesChange], x: impl Fn(u64) -> f64) -> Marks {
    let mut levels = Vec::new();
    let starts = |point: &SeriesPoint| changes.iter().any(|change| change.run == point.run);
    for part in points.chunk_by(|_, next| !starts(next)) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else {
            continue;
        };
        let logs = part.iter().map(|point| point.centre).filter(|value| *value > 0.0);
        let logs: Vec<f64> = logs.map(f64::ln).collect();
        if logs.is_empty() {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of runs")]
        let centre = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let ends = (x(first.started_unix_ms), x(last.started_unix_ms));
        levels.push(Point {
            ends: Some(ends),
            ..Point::at(ends.0, centre)
        });
    }
    Marks {
        name: tr!("level between changes").to_owned(),
        tint: Tint::Ink,
        mark: SeriesStyle::Spans,
        points: levels,
    }
}

/// Changes of one kind, at the first run after each.
fn turns(
    turn: Turn,
    changes: &[&SeriesChange],
    points: &[SeriesPoint],
    x: impl Fn(u64) -> f64,
) -> Marks {
    let of_turn = changes.iter().filter(|change| change.turn == turn);
    let at = of_turn.filter_map(|change| {
        let point = points.iter().find(|point| point.run == change.run)?;
        Some(Point {
            note: change.effect_percent.map(|percent| format!("{percent:+.1} %")),
            ..Point::at(x(point.started_unix_ms), point.centre)
        })
    });
    let (name, tint) = match turn {
        Turn::Faster => (tr!("became better"), Tint::Good),
        Turn::Slower => (tr!("became worse"), Tint::Bad),
    };
    Marks {
        name: name.to_owned(),
        tint,
        mark: SeriesStyle::Dots,
        points: at.collect(),
    }
}

fn words(series: &Series, points: &[SeriesPoint], changes: &[&SeriesChange]) -> String {
    let runs = counted!(points.len(), "{n} run", "{n} runs");
    let found = counted!(changes.len(), "{n} change", "{n} changes");
    let last = points.last().map_or(0.0, |point| point.centre);
    tr!(
        "{runs}, {found}; the newest run has {value}",
        runs,
        found,
        value = quantity(series.unit_of_measure, last)
    )
}

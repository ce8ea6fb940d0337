//! Chart of a series: each run, the levels between changes, and the changes.

use crate::charts::draw::{Axis, Body, Chart, Measure, Point, Scale, Series, SeriesStyle, Tint};
use crate::results::changes::{day, name};
use crate::words::{change, clean, quantity, utc};
use assay_lang::{counted, tr};
use assay_model::figures::{SeriesChange, SeriesPoint, StoredSeries, Turn};
use std::ops::Range;

/// Draws a series; the changes are in order of time.
pub fn chart(series: &StoredSeries, points: &[SeriesPoint], changes: &[SeriesChange]) -> Chart {
    let unit = series.unit_of_measure;
    let runs = points.iter().zip(0..).map(|(point, place)| Point {
        note: Some(tr!(
            "run {run}, {moment}: {value}",
            run = clean(&point.run),
            moment = utc(point.started_unix_ms),
            value = quantity(unit, point.centre)
        )),
        ..Point::at(place_of(place), point.centre)
    });
    // Levels come first: in a terminal, a run in the same cell as a level must remain visible.
    let mut all = Vec::new();
    if changes.len() < points.len() && !changes.is_empty() {
        let level = tr!("level between changes");
        all.push(drawn(
            level,
            Tint::Ink,
            SeriesStyle::Spans,
            levels(points, changes),
        ));
    }
    let dots = SeriesStyle::Dots;
    all.push(drawn(tr!("run"), Tint::Read, dots, runs.collect()));
    for (turn, words, tint) in [
        (Turn::Slower, tr!("became slower"), Tint::Bad),
        (Turn::Faster, tr!("became faster"), Tint::Good),
    ] {
        let own = changes.iter().filter(|change| change.turn == turn);
        let marks: Vec<Point> = own.filter_map(|change| mark(points, change)).collect();
        if !marks.is_empty() {
            all.push(drawn(words, tint, SeriesStyle::Dots, marks));
        }
    }
    let x = Axis::new(
        tr!("run, oldest first"),
        Measure::Foreign(String::new()),
        Scale::Span,
    );
    let y = Axis::new("", Measure::Of(unit), Scale::Close);
    Chart {
        name: format!("trend-{}", series.key),
        title: name(series),
        description: description(points, changes),
        body: Body::plane(x, y, all),
    }
}

fn place_of(place: u32) -> f64 {
    f64::from(place) + 1.0
}

fn drawn(name: &str, tint: Tint, mark: SeriesStyle, points: Vec<Point>) -> Series {
    Series {
        name: name.to_owned(),
        tint,
        mark,
        points,
    }
}

/// Returns the index of the first run after a change.
fn index(points: &[SeriesPoint], change: &SeriesChange) -> Option<usize> {
    points.iter().position(|point| point.run == change.run)
}

fn mark(points: &[SeriesPoint], of: &SeriesChange) -> Option<Point> {
    let place = index(points, of)?;
    Some(Point {
        note: Some(of.effect_percent.map_or_else(String::new, change)),
        ..Point::at(
            place_of(u32::try_from(place).ok()?),
            points.get(place)?.centre,
        )
    })
}

/// Returns a line at the centre of the runs between changes, from the first run to the last.
fn levels(points: &[SeriesPoint], changes: &[SeriesChange]) -> Vec<Point> {
    let mut cuts: Vec<usize> = changes
        .iter()
        .filter_map(|change| index(points, change))
        .collect();
    cuts.sort_unstable();
    cuts.push(points.len());
    let mut start = 0;
    let mut levels = Vec::new();
    for end in cuts {
        levels.extend(level(points, start..end));
        start = end;
    }
    levels
}

fn level(points: &[SeriesPoint], part: Range<usize>) -> Option<Point> {
    let own = points.get(part.clone())?;
    let values: Vec<f64> = own.iter().map(|point| point.centre).collect();
    let centre = assay_stats::summary::Summary::of(&values)?.centre();
    let place = |at: usize| u32::try_from(at).map(place_of).ok();
    let ends = (place(part.start)?, place(part.end.checked_sub(1)?)?);
    Some(Point {
        ends: Some(ends),
        ..Point::at(ends.0, centre)
    })
}

fn description(points: &[SeriesPoint], changes: &[SeriesChange]) -> String {
    let span = match (points.first(), points.last()) {
        (Some(first), Some(last)) => tr!(
            "{runs} from {first} to {last}",
            runs = counted!(points.len(), "{n} run", "{n} runs"),
            first = day(first.started_unix_ms),
            last = day(last.started_unix_ms)
        ),
        _ => tr!("no run").to_owned(),
    };
    let all = changes.iter().map(|of| {
        tr!(
            "{effect} since {day}",
            effect = of.effect_percent.map_or_else(String::new, change),
            day = day(of.started_unix_ms)
        )
    });
    let all: Vec<String> = std::iter::once(span).chain(all).collect();
    format!("{}.", all.join("; "))
}

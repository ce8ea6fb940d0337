//! Key figures of a run on a scale from 0 to the ceiling of the bus, with the figures that they are
//! measured against where these are known: datasheet, speed class, other units of the model.

use super::draw::{Axis, Body, Chart, Measure, Point, Scale, Series, SeriesStyle, Tint, question};
use super::row;
use crate::results::key_figures::scaled;
use crate::results::population::Standings;
use crate::results::reference;
use crate::results::summary::{Figure, Summary};
use crate::words::labels::DIFFERS;
use crate::words::{quantity, registers};
use assay_lang::tr;
use assay_model::figures::Unit;

/// Draws the key figures, a chart per unit.
pub fn charts(summary: &Summary<'_>, standings: Option<&Standings>) -> Vec<Chart> {
    let figures = scaled(summary);
    let charts = [Unit::BytesPerSec, Unit::Iops, Unit::Nanos].into_iter();
    let charts = charts.filter_map(|unit| {
        let own = figures.iter().filter(|(_, figure)| figure.unit == unit);
        let own: Vec<&(String, Figure)> = own.collect();
        (!own.is_empty()).then(|| chart(unit, &own, summary, standings))
    });
    charts.collect()
}

fn chart(
    unit: Unit,
    figures: &[&(String, Figure)],
    summary: &Summary<'_>,
    standings: Option<&Standings>,
) -> Chart {
    let numbered = || (0..).zip(figures.iter().map(|(_, figure)| figure));
    let bars = numbered().map(|(index, figure)| Point {
        label: Some(figure.labels.agreed().unwrap_or(DIFFERS)),
        ..Point::at(figure.stats.median, row(index))
    });
    let spread = numbered().map(|(index, figure)| Point {
        ends: (figure.stats.n > 1).then_some((figure.stats.min, figure.stats.max)),
        note: Some(quantity(unit, figure.stats.median)),
        ..Point::at(figure.stats.median, row(index))
    });
    let series = |name: &str, tint, mark, points: Vec<Point>| Series {
        name: name.to_owned(),
        tint,
        mark,
        points,
    };
    let mut all = vec![
        series(tr!("median"), Tint::Read, SeriesStyle::Bars, bars.collect()),
        series(
            tr!("lowest to highest trial"),
            Tint::Ink,
            SeriesStyle::Intervals,
            spread.collect(),
        ),
    ];
    let mut words: Vec<String> = figures
        .iter()
        .map(|(name, figure)| format!("{name} {}", quantity(unit, figure.stats.median)))
        .collect();
    for (number, (name, values)) in marks(figures, summary, standings).into_iter().enumerate() {
        let points = numbered().zip(&values).filter_map(|((index, _), value)| {
            let value = (*value)?;
            let note = format!("{name}: {}", quantity(unit, value));
            Some(Point {
                note: Some(note),
                ..Point::at(value, row(index))
            })
        });
        let points: Vec<Point> = points.collect();
        let mut told: Vec<String> = points
            .iter()
            .filter_map(|point| point.note.clone())
            .collect();
        told.dedup();
        words.extend(told);
        all.push(series(
            name,
            Tint::Nth(number + 2),
            SeriesStyle::Dots,
            points,
        ));
    }
    all.retain(|series| !series.points.is_empty());
    let (name, title, axis) = question(unit.name()).unwrap_or((unit.name(), unit.name(), ""));
    Chart {
        name: format!("answer-{name}"),
        title: title.to_owned(),
        description: words.join("; "),
        body: Body::plane(
            Axis::new(axis, Measure::Of(unit), Scale::Linear),
            Axis::names(figures.iter().map(|(name, _)| name.clone()).collect()),
            all,
        ),
    }
}

/// Returns each kind of reference with its value for each figure.
fn marks(
    figures: &[&(String, Figure)],
    summary: &Summary<'_>,
    standings: Option<&Standings>,
) -> [(&'static str, Vec<Option<f64>>); 4] {
    let placed = reference::all(summary);
    let of_bus = |figure: &Figure| {
        let is_own = |placed: &&reference::Placed| {
            placed.job == figure.job && figure.name.starts_with(placed.direction.name())
        };
        placed.iter().find(is_own)
    };
    let identity = summary.run.header.storage.device();
    let promised = identity.and_then(|device| registers::promised_write(&device.identity));
    let others = |figure: &Figure| {
        let mut figures = standings?.figures.iter();
        let found = figures.find(|one| one.job == figure.job && one.metric == figure.name);
        found?.quantiles.get("p50").copied()
    };
    let all =
        |of: &dyn Fn(&Figure) -> Option<f64>| figures.iter().map(|(_, one)| of(one)).collect();
    [
        (tr!("ceiling of the bus"), all(&|one| of_bus(one)?.ceiling)),
        (tr!("datasheet"), all(&|one| of_bus(one)?.typical)),
        (
            tr!("minimum of the speed class"),
            all(&|one| promised.filter(|_| one.name == "write_bw")),
        ),
        (tr!("median of other units"), all(&others)),
    ]
}

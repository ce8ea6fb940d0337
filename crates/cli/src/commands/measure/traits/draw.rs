//! Charts of the measurements of each trait.

use super::found::{Found, Said};
use super::words::{sentence, title};
use crate::exit::Failure;
use crate::stored::folder::OutputFolder;
use assay_flash::traits::Trait;
use assay_flash::traits::series::{Answers, Course, Series as Measured};
use assay_model::metric::Unit;
use assay_model::number::as_u64;
use assay_model::units::Bytes;
use assay_report::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, svg,
};
use std::path::Path;

/// Ratio of the largest to the smallest time up to which times are drawn linearly, from 0 on.
const EVENLY: f64 = 5.0;
/// Approximate number of labels that fit on an axis.
const NAMES: usize = 9;

/// Writes an SVG for each trait with measurements.
pub fn all(found: &Found, folder: &Path) -> Result<(), Failure> {
    let folder = OutputFolder::open(folder)?;
    for (what, said) in &found.traits {
        let Some(plane) = plane(*what, &found.answers) else {
            continue;
        };
        let chart = chart(*what, said, plane);
        let file = format!("{}.svg", what.name());
        folder.write(&file, |out| out.write_all(svg::file(&chart).as_bytes()))?;
    }
    Ok(())
}

fn chart(what: Trait, said: &Said, plane: Plane) -> Chart {
    Chart {
        name: what.name().to_owned(),
        title: title(what).to_owned(),
        description: sentence(said),
        body: Body::Plane(plane),
    }
}

fn plane(what: Trait, answers: &Answers) -> Option<Plane> {
    if what == Trait::Slc {
        return answers.courses().first().map(course);
    }
    let all: Vec<(&str, &Measured)> = answers.all_of(what).collect();
    let (_, first) = all.first()?;
    let places: Vec<f64> = first.0.iter().map(|point| point.x).collect();
    let series = all.iter().enumerate();
    let series =
        series.flat_map(|(number, (part, series))| drawn(what, (number, part), series, &places));
    let times = || all.iter().flat_map(|(_, series)| series.0.iter());
    let low = times().map(|point| point.mean()).fold(f64::MAX, f64::min);
    let high = times().map(|point| point.mean()).fold(0.0, f64::max);
    Some(Plane {
        limits: None,
        x: axis(what, &places),
        panels: vec![Panel {
            y: Axis {
                label: "latency".to_owned(),
                measure: Measure::Of(Unit::Nanos),
                scale: match high > EVENLY * low {
                    true => Scale::Log,
                    false => Scale::Linear,
                },
            },
            series: series.collect(),
        }],
    })
}

/// Draws a series: a line through the means, and a dot for each trial.
fn drawn(
    what: Trait,
    (number, part): (usize, &str),
    series: &Measured,
    places: &[f64],
) -> [Series; 2] {
    let name = if part.is_empty() { what.name() } else { part };
    let place = |x: f64| places.iter().position(|other| (other - x).abs() < 1e-9);
    let at = |x: f64, us: f64| Some(Point::at(place(x)? as f64, us * 1e3));
    let means = series.0.iter();
    let trials = series.0.iter();
    let trials = trials.flat_map(|point| point.us.iter().map(move |us| (point.x, *us)));
    let of = |mark, points: Vec<Option<Point>>| Series {
        name: name.to_owned(),
        tint: Tint::Nth(number),
        mark,
        points: points.into_iter().flatten().collect(),
    };
    [
        of(
            SeriesStyle::Line,
            means.map(|point| at(point.x, point.mean())).collect(),
        ),
        of(SeriesStyle::Dots, trials.map(|(x, us)| at(x, us)).collect()),
    ]
}

/// Makes an axis with the measured positions as labels.
fn axis(what: Trait, places: &[f64]) -> Axis {
    let every = places.len().div_ceil(NAMES).max(1);
    let name = |(number, x): (usize, &f64)| match number.is_multiple_of(every) {
        true => name_of(what, *x),
        false => String::new(),
    };
    let label = match what {
        Trait::OpenUnits => "units in turn",
        Trait::Queue => "reads in flight",
        Trait::Deferred | Trait::Recovery => "pause",
        Trait::Break => "order",
        Trait::MapUnit => "shift",
        Trait::Boundaries => "multiples",
        Trait::MapSpan => "span",
        Trait::Flush => "burst",
        Trait::ReadCosts | Trait::Slc => "size",
    };
    Axis {
        label: label.to_owned(),
        measure: Measure::Of(Unit::Count),
        scale: Scale::Names(places.iter().enumerate().map(name).collect()),
    }
}

pub fn name_of(what: Trait, x: f64) -> String {
    match what {
        Trait::OpenUnits | Trait::Queue => format!("{x}"),
        Trait::Deferred | Trait::Recovery => format!("{x} ms"),
        Trait::Break if x == 0.0 => "in order".to_owned(),
        Trait::Break => "random".to_owned(),
        _ => Bytes(as_u64(x)).to_string(),
    }
}

/// Draws the rate of a long write over time.
fn course(course: &Course) -> Plane {
    let rates = course.bytes.iter().enumerate();
    let points = rates
        .map(|(number, bytes)| Point::at(number as f64 * course.seconds, bytes / course.seconds));
    Plane {
        limits: None,
        x: Axis {
            label: "time".to_owned(),
            measure: Measure::Seconds,
            scale: Scale::Span,
        },
        panels: vec![Panel {
            y: Axis {
                label: "write".to_owned(),
                measure: Measure::Of(Unit::BytesPerSec),
                scale: Scale::Linear,
            },
            series: vec![Series {
                name: "slc".to_owned(),
                tint: Tint::Write,
                mark: SeriesStyle::Steps,
                points: points.collect(),
            }],
        }],
    }
}

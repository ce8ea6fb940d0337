//! Chart of the machine's state over a whole run: temperature and memory before and after each
//! trial.

use super::as_f64;
use super::course::{dirty, hottest};
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint,
};
use crate::words::range;
use assay_lang::tr;
use assay_model::evidence::Snapshot;
use assay_model::figures::Unit;
use assay_model::run::Run;
use assay_model::units::Nanos;

/// Draws the chart; `None` if the kernel shows neither, or only one moment was recorded.
pub fn chart(run: &Run) -> Option<Chart> {
    let evidence = run
        .trials
        .iter()
        .filter_map(|trial| trial.evidence.as_ref());
    let mut moments: Vec<&Snapshot> = evidence.flat_map(|e| [&e.before, &e.after]).collect();
    moments.sort_by_key(|snapshot| snapshot.at_ns);
    let begin = moments.first()?.at_ns;
    let points = |of: fn(&Snapshot) -> Option<f64>| -> Vec<Point> {
        let at = |snapshot: &Snapshot| Nanos(snapshot.at_ns - begin).as_secs_f64();
        moments
            .iter()
            .filter_map(|s| Some(Point::at(at(s), of(s)?)))
            .collect()
    };
    let kinds: [(&str, Measure, Scale, Tint, Vec<Point>); 3] = [
        (
            tr!("hottest sensor"),
            Measure::Celsius,
            Scale::Close,
            Tint::Bad,
            points(hottest),
        ),
        (
            tr!("dirty pages"),
            Measure::Size,
            Scale::Linear,
            Tint::Write,
            points(dirty),
        ),
        (
            tr!("memory available"),
            Measure::Size,
            Scale::Linear,
            Tint::Read,
            points(available),
        ),
    ];
    let kinds = kinds.into_iter().filter(|kind| kind.4.len() > 2);
    let (mut panels, mut words) = (Vec::new(), Vec::new());
    for (label, measure, scale, tint, points) in kinds {
        words.push(format!("{label} {}", extent(&measure, &points)));
        panels.push(Panel {
            y: Axis::new(label, measure, scale),
            series: vec![Series {
                name: label.to_owned(),
                tint,
                mark: SeriesStyle::Line,
                points,
            }],
        });
    }
    (!panels.is_empty()).then(|| Chart {
        name: "session".to_owned(),
        title: tr!("Around the trials, over the run").to_owned(),
        description: tr!(
            "before and after each trial: {kinds}",
            kinds = words.join("; ")
        ),
        body: Body::Plane(Plane {
            limits: None,
            x: Axis::new(
                tr!("time since the first trial"),
                Measure::Seconds,
                Scale::Span,
            ),
            panels,
        }),
    })
}

fn available(snapshot: &Snapshot) -> Option<f64> {
    snapshot.memory?.available_bytes.map(as_f64)
}

fn extent(measure: &Measure, points: &[Point]) -> String {
    let low = points
        .iter()
        .map(|point| point.y)
        .fold(f64::INFINITY, f64::min);
    let high = points
        .iter()
        .map(|point| point.y)
        .fold(f64::NEG_INFINITY, f64::max);
    match measure {
        Measure::Size => range(Unit::Bytes, low, high),
        other => tr!(
            "{low} to {high}",
            low = other.write(low),
            high = other.write(high)
        ),
    }
}

//! Chart of a whole soak: its rate, the filled share of the area, and the temperature.

use super::as_f64;
use super::course::{hottest, over_time, rate, stalls};
use crate::charts::draw::{Axis, Chart, Measure, Panel, Point, Scale, Series, SeriesStyle, Tint};
use crate::results::describe;
use crate::results::findings::soak::{Taken, ends, steps, together};
use crate::results::summary::Summary;
use assay_lang::tr;
use assay_model::units::Nanos;
use assay_stats::course::Course;

/// Maximum number of points of a line.
const POINTS: usize = 200;

/// Draws the chart; `None` for other runs, and for a soak that was too short.
pub fn chart(summary: &Summary<'_>) -> Option<Chart> {
    let steps = steps(summary);
    let whole = together(&steps)?;
    let course = Course::of(&whole)?;
    let ends = ends(&steps);
    let mut panels = vec![rate(Tint::Write, &course), stalls(&course)];
    panels.extend(line(
        tr!("filled"),
        Measure::Foreign("%".to_owned()),
        Scale::Linear,
        filled(&ends),
    ));
    panels.extend(line(
        tr!("hottest sensor"),
        Measure::Celsius,
        Scale::Close,
        heat(&ends),
    ));
    Some(Chart {
        name: "soak".to_owned(),
        title: tr!("Rate over the whole soak").to_owned(),
        description: tr!(
            "reads and writes of {time} that wrote, one after the other, {stalls}",
            time = Nanos(whole.elapsed_ns),
            stalls = describe::stalls(&course)
        ),
        body: over_time(panels),
    })
}

/// Returns the share of the area that was written at least once, in percent.
fn filled(ends: &[(f64, Taken<'_>)]) -> Vec<Point> {
    let share = |bytes: u64, of: u64| 100.0 * as_f64(bytes) / as_f64(of.max(1));
    let after = ends
        .iter()
        .map(|(end_s, (_, step))| Point::at(*end_s, share(step.filled_bytes, step.area_bytes)));
    std::iter::once(Point::at(0.0, 0.0)).chain(after).collect()
}

fn heat(ends: &[(f64, Taken<'_>)]) -> Vec<Point> {
    let after = ends.iter().filter_map(|(end_s, (trial, _))| {
        let degrees = hottest(&trial.evidence.as_ref()?.after)?;
        Some(Point::at(*end_s, degrees))
    });
    after.collect()
}

/// Returns a panel with a line; `None` if it has less than two points.
fn line(label: &str, measure: Measure, scale: Scale, points: Vec<Point>) -> Option<Panel> {
    let every = points.len().div_ceil(POINTS).max(1);
    let last = points.last().cloned().filter(|_| points.len() > 1)?;
    let mut points: Vec<Point> = points.into_iter().step_by(every).collect();
    if points.last() != Some(&last) {
        points.push(last);
    }
    Some(Panel {
        y: Axis::new(label, measure, scale),
        series: vec![Series {
            name: String::new(),
            tint: Tint::Ink,
            mark: SeriesStyle::Line,
            points,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::draw::Body;
    use crate::testing::samples;
    use assay_model::act::StepDetail;
    use assay_model::act::soak::{Checkpoint, SoakStep, Stretch};

    /// Returns a stretch that ends with `filled_bytes` of 8 bytes filled.
    fn stretch(of: Stretch, filled_bytes: u64) -> Option<Box<StepDetail>> {
        let step = SoakStep {
            of,
            checkpoint: Checkpoint::default(),
            area_bytes: 8,
            filled_bytes,
            faults: Vec::new(),
            health: None,
        };
        Some(Box::new(StepDetail::Soak(Box::new(step))))
    }

    #[test]
    fn the_end_of_a_stretch_is_no_cliff() {
        let mut run = samples::with_sustained();
        let mut written = run.trials.pop().expect("the sustained write");
        let series = &mut written.measured.as_mut().unwrap().series;
        let (width_ns, whole) = (series.interval_ns, series.points[0]);
        series.points = vec![whole; 12];
        series.points.push(assay_model::trial::Interval {
            write_bytes: whole.write_bytes / 10,
            ..whole
        });
        written.measured.as_mut().unwrap().elapsed_ns = 12 * width_ns + width_ns / 10;
        written.detail = stretch(Stretch::Writing, 8);
        run.trials = vec![written.clone(), written];
        let summary = Summary::of(&run);
        let joined = together(&steps(&summary)).expect("whole intervals");
        assert_eq!(joined.elapsed_ns, 24 * width_ns);
        assert_eq!(joined.series.points, vec![whole; 24]);
        let course = Course::of(&joined).expect("a course");
        assert_eq!(course.rates.values.len(), 24);
        let rates = || course.rates.values.iter().copied();
        assert_eq!(rates().reduce(f64::min), rates().reduce(f64::max));
    }

    #[test]
    fn stretches_are_one_curve_and_checks_are_none_of_it() {
        let mut run = samples::with_sustained();
        let mut written = run.trials.pop().expect("the sustained write");
        let elapsed_s = Nanos(written.measured.as_ref().unwrap().elapsed_ns).as_secs_f64();
        assert_eq!(chart(&Summary::of(&run)), None, "no soak");
        run.trials.clear();
        for (of, filled) in [
            (Stretch::Writing, 4),
            (Stretch::Checking, 4),
            (Stretch::Writing, 8),
        ] {
            written.detail = stretch(of, filled);
            run.trials.push(written.clone());
        }
        let drawn = chart(&Summary::of(&run)).expect("a chart");
        let Body::Plane(plane) = &drawn.body else {
            panic!("a plane");
        };
        let filled = plane.panels.iter().find(|panel| panel.y.label == "filled");
        let points = &filled.expect("a panel").series[0].points;
        let [first, half, end] = points.as_slice() else {
            panic!("{points:?}");
        };
        assert_eq!((first.y, half.y, end.y), (0.0, 50.0, 100.0));
        assert!((end.x - 2.0 * half.x).abs() < 1e-9, "evenly: {points:?}");
        let width_s = Nanos(written.measured.unwrap().series.interval_ns).as_secs_f64();
        assert!((half.x - (elapsed_s / width_s).floor() * width_s).abs() < 1e-9);
    }
}

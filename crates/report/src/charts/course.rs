//! Charts of the rate over time, with levels and stalls, and with temperature and dirty pages if
//! they were recorded.

use super::as_f64;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, slug,
    thin_out,
};
use crate::results::describe;
use crate::results::summary::{Group, JobSummary, JudgedTrial, Summary};
use crate::words::{clean, trial_named};
use assay_lang::tr;
use assay_model::evidence::{Evidence, Glance, Snapshot};
use assay_model::figures::Unit;
use assay_model::units::Nanos;
use assay_stats::course::{Course, Level};
use assay_stats::steps::stalls as stalls_of;
use std::cmp::Reverse;

/// Number of stretches to which a curve is reduced: about two pixels each.
const STRETCHES: usize = 200;
/// Number of stalls above which they are drawn by stretch.
const STALLS: usize = 100;
/// Minimum number of intervals of a drawn course, unless the trial stalled.
const LONG_ENOUGH: usize = 5;
/// Maximum number of courses per job, chosen by the longest stall.
const MOST: usize = 6;

/// Trial whose course is drawn.
#[derive(Debug)]
pub struct ToldCourse<'s, 'a> {
    /// Job of the trial.
    pub job: &'s JobSummary<'a>,
    /// The trial.
    pub trial: &'s JudgedTrial<'a>,
    /// Course of the trial.
    pub course: &'s Course,
}

/// Selects the trials whose course is drawn, and counts the others. If a job has many, those with
/// the longest stalls are selected.
pub fn told<'s, 'a>(summary: &'s Summary<'a>) -> (Vec<ToldCourse<'s, 'a>>, usize) {
    let mut drawn = Vec::new();
    let mut others = 0;
    for job in summary.jobs.iter().filter(|job| !job.is_cell()) {
        let shown = job.trials.iter().filter(|trial| is_shown(job, trial));
        let mut shown: Vec<&JudgedTrial<'a>> = shown.collect();
        if shown.len() > MOST {
            others += shown.len() - MOST;
            shown.sort_by_key(|trial| Reverse(longest_stall(trial)));
            shown.truncate(MOST);
            shown.sort_by_key(|trial| trial.record.position);
        }
        drawn.extend(shown.into_iter().filter_map(|trial| {
            let course = trial.course()?;
            Some(ToldCourse { job, trial, course })
        }));
    }
    (drawn, others)
}

fn is_shown(job: &JobSummary<'_>, trial: &JudgedTrial<'_>) -> bool {
    let Some(measured) = trial.measured() else {
        return false;
    };
    let is_told = matches!(
        job.group,
        Group::WriteLadder | Group::ReadLadder | Group::Sequential
    );
    let is_long = measured.series.points.len() >= LONG_ENOUGH;
    job.group == Group::Sustained || (is_told && is_long) || longest_stall(trial) > 0
}

/// Returns the length of the longest stall, in intervals.
fn longest_stall(trial: &JudgedTrial<'_>) -> usize {
    let stalls = trial.measured().map(stalls_of).unwrap_or_default();
    stalls
        .iter()
        .map(|stall| stall.intervals)
        .max()
        .unwrap_or(0)
}

/// Draws the course of one trial.
pub fn chart(told: &ToldCourse<'_, '_>) -> Chart {
    let ToldCourse { job, trial, course } = told;
    let number = trial.record.trial;
    let tint = match job.job.rw.reads() {
        true => Tint::Read,
        false => Tint::Write,
    };
    let mut panels = vec![rate(tint, course), stalls(course)];
    if let Some(evidence) = &trial.record.evidence {
        let end = course.rates.interval_s * as_f64(course.rates.values.len() as u64);
        panels.extend(beside(evidence, end));
    }
    Chart {
        name: format!("rate-{}-{number}", slug(&job.job.name)),
        title: tr!(
            "Rate over time of {job}, {trial}",
            job = clean(&job.job.name),
            trial = trial_named(number)
        ),
        description: describe::course(trial, course),
        body: over_time(panels),
    }
}

/// Makes a chart of panels over seconds.
pub(super) fn over_time(panels: Vec<Panel>) -> Body {
    Body::Plane(Plane {
        limits: None,
        x: Axis::new(tr!("time"), Measure::Seconds, Scale::Span),
        panels,
    })
}

/// Draws the rate in each interval, and its levels.
pub(super) fn rate(tint: Tint, course: &Course) -> Panel {
    let width_s = course.rates.interval_s;
    let stretches = thin_out(&course.rates.values, STRETCHES);
    let thinned = stretches.iter().any(|stretch| stretch.len > 1);
    let mut points: Vec<Point> = stretches
        .iter()
        .map(|stretch| Point {
            x: width_s * as_f64(stretch.start as u64),
            y: stretch.mean,
            ends: thinned.then_some((stretch.min, stretch.max)),
            note: None,
        })
        .collect();
    points.extend(stretches.last().map(|last| {
        let end = last.start + last.len;
        Point::at(width_s * as_f64(end as u64), last.mean)
    }));
    let mut series = vec![Series {
        name: tr!("rate").to_owned(),
        tint,
        mark: SeriesStyle::Steps,
        points,
    }];
    series.extend(levels(&course.levels, width_s));
    Panel {
        y: Axis::new(tr!("rate"), Measure::Of(Unit::BytesPerSec), Scale::Linear),
        series,
    }
}

/// Draws the levels of the rate, if it changed permanently.
fn levels(levels: &[Level], width_s: f64) -> Option<Series> {
    let point = |level: &Level| {
        let (from, to) = (as_f64(level.start as u64), as_f64(level.end as u64));
        Point {
            x: width_s * from,
            y: level.rate,
            ends: Some((width_s * from, width_s * to)),
            note: None,
        }
    };
    (levels.len() > 1).then(|| Series {
        name: tr!("steady level").to_owned(),
        tint: Tint::Ink,
        mark: SeriesStyle::Spans,
        points: levels.iter().map(point).collect(),
    })
}

/// Draws stalls in their own lane, where neither thinning nor line width can hide them.
pub(super) fn stalls(course: &Course) -> Panel {
    Panel {
        y: Axis::names(vec![tr!("stalls").to_owned()]),
        series: vec![Series {
            name: tr!("nothing completed").to_owned(),
            tint: Tint::Bad,
            mark: SeriesStyle::Spans,
            points: stall_points(course),
        }],
    }
}

fn stall_points(course: &Course) -> Vec<Point> {
    if course.stalls.len() <= STALLS {
        let each = course.stalls.iter().map(|stall| {
            let from = stall.start.as_secs_f64();
            let to = Nanos(stall.start.0.saturating_add(stall.length.0)).as_secs_f64();
            span(
                from,
                to,
                Some(tr!(
                    "{length} at {start}",
                    length = stall.length,
                    start = stall.start
                )),
            )
        });
        return each.collect();
    }
    let width_s = course.rates.interval_s;
    let mut points: Vec<Point> = Vec::new();
    for stretch in thin_out(&course.rates.values, STRETCHES)
        .iter()
        .filter(|s| s.empty > 0)
    {
        let from = width_s * as_f64(stretch.start as u64);
        let to = from + width_s * as_f64(stretch.len as u64);
        match points.last_mut().and_then(|last| last.ends.as_mut()) {
            Some((_, end)) if (from - *end).abs() < width_s / 2.0 => *end = to,
            _ => points.push(span(from, to, None)),
        }
    }
    points
}

fn span(from: f64, to: f64, note: Option<String>) -> Point {
    Point {
        x: from,
        y: 0.0,
        ends: Some((from, to)),
        note,
    }
}

/// Draws temperature and dirty pages before, during and after the trial.
fn beside(evidence: &Evidence, end_s: f64) -> Vec<Panel> {
    let heat = around(evidence, end_s, hottest, |glance| {
        Some(degrees(glance.hottest_millicelsius?))
    });
    let dirty = around(evidence, end_s, dirty, |glance| {
        Some(as_f64(glance.dirty_bytes?))
    });
    let heat = heat.map(|series| {
        (
            tr!("hottest sensor"),
            Measure::Celsius,
            Scale::Close,
            series,
        )
    });
    let dirty = dirty.map(|series| (tr!("dirty pages"), Measure::Size, Scale::Linear, series));
    let known = heat.into_iter().chain(dirty);
    let panels = known.map(|(what, measure, scale, series)| Panel {
        y: Axis::new(
            match series.mark {
                SeriesStyle::Dots => tr!("{what}, before and after", what),
                _ => what.to_owned(),
            },
            measure,
            scale,
        ),
        series: vec![series],
    });
    panels.collect()
}

/// Builds a series of a value before, during and after a trial. Without values in between, it is
/// two marks without a line, because the values between them are unknown.
fn around(
    evidence: &Evidence,
    end_s: f64,
    of: fn(&Snapshot) -> Option<f64>,
    during: fn(&Glance) -> Option<f64>,
) -> Option<Series> {
    let begun_ns = evidence.before.at_ns;
    let seen = evidence.during.iter().filter_map(|glance| {
        let at_s = Nanos(glance.at_ns.saturating_sub(begun_ns)).as_secs_f64();
        Some(Point::at(at_s.min(end_s), during(glance)?))
    });
    let mut points = vec![Point::at(0.0, of(&evidence.before)?)];
    points.extend(seen);
    points.push(Point::at(end_s, of(&evidence.after)?));
    Some(Series {
        name: String::new(),
        tint: Tint::Ink,
        mark: if points.len() > 2 {
            SeriesStyle::Line
        } else {
            SeriesStyle::Dots
        },
        points,
    })
}

/// Returns the temperature of the hottest zone, in degrees Celsius.
pub fn hottest(snapshot: &Snapshot) -> Option<f64> {
    let zones = snapshot.thermal.iter().map(|zone| zone.millicelsius);
    zones.max().map(degrees)
}

/// Converts thousandths of a degree to degrees Celsius.
pub fn degrees(millicelsius: i64) -> f64 {
    millicelsius as f64 / 1e3
}

/// Returns the bytes of dirty pages.
pub fn dirty(snapshot: &Snapshot) -> Option<f64> {
    Some(as_f64(snapshot.memory?.dirty_bytes))
}

//! Charts of lines: rates over time with levels and stalls, and with temperature and dirty pages if
//! they were recorded; a whole soak; the machine's state over a whole run; samples by position; a
//! series with its changes.

use super::as_f64;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, slug,
    thin_out,
};
use crate::results::changes::{self, day};
use crate::results::describe;
use crate::results::findings::soak::{SoakTrial, ends, steps, together};
use crate::results::summary::{Group, JobSummary, JudgedTrial, Summary};
use crate::words::{change, clean, quantity, range, trial_named, utc};
use assay_lang::{counted, in_english, tr};
use assay_model::act::{ExtentSample, ExtentStep, SampleKind, StepDetail};
use assay_model::evidence::{Evidence, Glance, Snapshot};
use assay_model::figures::{SeriesChange, SeriesPoint, StoredSeries, Turn, Unit};
use assay_model::run::Run;
use assay_model::units::Nanos;
use assay_stats::course::{Course, Level};
use assay_stats::steps::stalls as stalls_of;
use std::cmp::Reverse;
use std::ops::Range;

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
pub struct SelectedCourse<'s, 'a> {
    /// Job of the trial.
    pub job: &'s JobSummary<'a>,
    /// The trial.
    pub trial: &'s JudgedTrial<'a>,
    /// Course of the trial.
    pub course: &'s Course,
}

/// Selects the trials whose course is drawn, and counts the others. If a job has many, those with
/// the longest stalls are selected.
pub fn select<'s, 'a>(summary: &'s Summary<'a>) -> (Vec<SelectedCourse<'s, 'a>>, usize) {
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
            Some(SelectedCourse { job, trial, course })
        }));
    }
    (drawn, others)
}

fn is_shown(job: &JobSummary<'_>, trial: &JudgedTrial<'_>) -> bool {
    let Some(measured) = trial.measured() else {
        return false;
    };
    let is_selected_group = matches!(
        job.group,
        Group::WriteLadder | Group::ReadLadder | Group::Sequential
    );
    let is_long = measured.series.points.len() >= LONG_ENOUGH;
    job.group == Group::Sustained || (is_selected_group && is_long) || longest_stall(trial) > 0
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
pub fn chart(told: &SelectedCourse<'_, '_>) -> Chart {
    let SelectedCourse { job, trial, course } = told;
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
            ..Point::default()
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
            ..Point::default()
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
        label: None,
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

/// Maximum number of points of a line.
const SOAK_POINTS: usize = 200;

/// Draws the chart; `None` for other runs, and for a soak that was too short.
pub fn draw_soak(summary: &Summary<'_>) -> Option<Chart> {
    let steps = steps(summary);
    let whole = together(&steps)?;
    let course = Course::of(&whole)?;
    let ends = ends(&steps);
    let mut panels = vec![rate(Tint::Write, &course), stalls(&course)];
    panels.extend(line_panel(
        tr!("filled"),
        Measure::Foreign("%".to_owned()),
        Scale::Linear,
        filled_shares(&ends),
    ));
    panels.extend(line_panel(
        tr!("hottest sensor"),
        Measure::Celsius,
        Scale::Close,
        highest_temperatures(&ends),
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
fn filled_shares(ends: &[(f64, SoakTrial<'_>)]) -> Vec<Point> {
    let share = |bytes: u64, of: u64| 100.0 * as_f64(bytes) / as_f64(of.max(1));
    let after = ends
        .iter()
        .map(|(end_s, (_, step))| Point::at(*end_s, share(step.filled_bytes, step.area_bytes)));
    std::iter::once(Point::at(0.0, 0.0)).chain(after).collect()
}

fn highest_temperatures(ends: &[(f64, SoakTrial<'_>)]) -> Vec<Point> {
    let after = ends.iter().filter_map(|(end_s, (trial, _))| {
        let degrees = hottest(&trial.evidence.as_ref()?.after)?;
        Some(Point::at(*end_s, degrees))
    });
    after.collect()
}

/// Returns a panel with a line; `None` if it has less than two points.
fn line_panel(label: &str, measure: Measure, scale: Scale, points: Vec<Point>) -> Option<Panel> {
    let every = points.len().div_ceil(SOAK_POINTS).max(1);
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

/// Draws the chart; `None` if the kernel shows neither, or only one moment was recorded.
pub fn draw_session(run: &Run) -> Option<Chart> {
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
        words.push(format!("{label} {}", write_range(&measure, &points)));
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

fn write_range(measure: &Measure, points: &[Point]) -> String {
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

/// Returns the samples of a trial; `None` if it took none.
pub fn samples_of<'a>(trial: &JudgedTrial<'a>) -> Option<&'a ExtentStep> {
    match trial.record.detail.as_deref() {
        Some(StepDetail::Extent(step)) if !step.samples.is_empty() => Some(step),
        _ => None,
    }
}

/// Returns the jobs that took samples, in the order of sampling.
pub fn sampled_jobs<'s, 'a>(summary: &'s Summary<'a>) -> Vec<(SampleKind, &'s JobSummary<'a>)> {
    let kind = |job: &JobSummary<'_>| job.trials.iter().find_map(samples_of).map(|step| step.of);
    let jobs = summary.jobs.iter();
    let mut jobs: Vec<_> = jobs.filter_map(|job| Some((kind(job)?, job))).collect();
    jobs.sort_by_key(|(kind, _)| match kind {
        SampleKind::Read => 0,
        SampleKind::Write => 1,
        SampleKind::Access => 2,
    });
    jobs
}

/// Returns the name of a kind of sample.
pub fn sample_name(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Read => tr!("read"),
        SampleKind::Write => tr!("write"),
        SampleKind::Access => tr!("access time"),
    }
}

/// Returns the metric of samples, without `_mean`, `_min` or `_max`.
pub const fn sample_metric(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Read => "read_sample_bw",
        SampleKind::Write => "write_sample_bw",
        SampleKind::Access => "access_time",
    }
}

/// Returns the mean rate in each of `columns` equal stretches of the extent; `None` for a stretch
/// without samples.
pub fn mean_rates(step: &ExtentStep, columns: usize) -> Vec<Option<f64>> {
    let columns = columns.clamp(1, step.samples.len().max(1));
    let mut sums = vec![(0.0, 0_u32); columns];
    for (sample, rate) in step.samples.iter().filter_map(|s| Some((s, s.rate()?))) {
        let (sum, count) = &mut sums[stretch_of(sample, step, columns)];
        *sum += rate;
        *count += 1;
    }
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
    sums.into_iter().map(mean).collect()
}

/// Returns the stretch of a sample. Samples start at a page boundary, slightly before their even
/// position: the stretch is that of the middle between two samples.
fn stretch_of(sample: &ExtentSample, step: &ExtentStep, columns: usize) -> usize {
    let extent = u128::from(step.extent_bytes.max(1));
    let half_way = extent / (2 * step.samples.len() as u128).max(1);
    let share = (u128::from(sample.offset) + half_way) * columns as u128 / extent;
    usize::try_from(share).map_or(columns - 1, |column| column.min(columns - 1))
}

/// Draws the samples of all trials that took any.
pub fn charts_of_extents(summary: &Summary<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (kind, job) in sampled_jobs(summary) {
        for trial in &job.trials {
            charts.extend(samples_of(trial).map(|step| draw_extent(kind, job, trial, step)));
        }
    }
    charts
}

fn draw_extent(
    kind: SampleKind,
    job: &JobSummary<'_>,
    trial: &JudgedTrial<'_>,
    step: &ExtentStep,
) -> Chart {
    let number = trial.record.trial;
    let (unit, mark) = match step.of {
        SampleKind::Read | SampleKind::Write => (Unit::BytesPerSec, SeriesStyle::Line),
        SampleKind::Access => (Unit::Nanos, SeriesStyle::Dots),
    };
    let tint = if job.job.rw.writes() {
        Tint::Write
    } else {
        Tint::Read
    };
    Chart {
        name: format!("extent-{}-{number}", slug(in_english(|| sample_name(kind)))),
        title: tr!(
            "{kind} over the extent, {trial}",
            kind = sample_name(kind),
            trial = trial_named(number)
        ),
        description: summarize_samples(kind, trial),
        body: Body::plane(
            Axis::new(tr!("place"), Measure::Size, Scale::Span),
            Axis::new(sample_name(kind), Measure::Of(unit), Scale::Linear),
            vec![extent_bounds(step), sample_series(step, tint, mark)],
        ),
    }
}

/// Makes the axis cover the whole extent, also where there are no samples.
fn extent_bounds(step: &ExtentStep) -> Series {
    Series {
        name: String::new(),
        tint: Tint::Ink,
        mark: SeriesStyle::Line,
        points: [0, step.extent_bytes]
            .map(|place| Point::at(as_f64(place), 0.0))
            .to_vec(),
    }
}

fn sample_series(step: &ExtentStep, tint: Tint, mark: SeriesStyle) -> Series {
    let value = |sample: &ExtentSample| match step.of {
        SampleKind::Read | SampleKind::Write => sample.rate(),
        SampleKind::Access => Some(as_f64(sample.elapsed_ns)),
    };
    let samples = step.samples.iter();
    Series {
        name: tr!("sample").to_owned(),
        tint,
        mark,
        points: samples
            .filter_map(|s| Some(Point::at(as_f64(s.offset), value(s)?)))
            .collect(),
    }
}

/// Formats a summary: `lowest 1 MB/s, average 2 MB/s, highest 3 MB/s; measured device`.
fn summarize_samples(kind: SampleKind, trial: &JudgedTrial<'_>) -> String {
    let figure = |word: &str, statistic: &str| {
        let name = format!("{}_{statistic}", sample_metric(kind));
        let found = trial
            .derived
            .metrics
            .iter()
            .find(|metric| metric.name == name)?;
        Some(format!("{word} {}", quantity(found.unit, found.value)))
    };
    let all = [
        (tr!("lowest"), "min"),
        (tr!("mean of samples"), "mean"),
        (tr!("highest"), "max"),
    ];
    let words = all
        .into_iter()
        .filter_map(|(word, statistic)| figure(word, statistic));
    let labels: Vec<String> = trial.labels(None).iter().map(ToString::to_string).collect();
    tr!(
        "{samples}; measured {labels}",
        samples = words.collect::<Vec<_>>().join(", "),
        labels = labels.join(", ")
    )
}

/// Draws a series; the changes are in order of time.
pub fn draw_trend(
    series: &StoredSeries,
    points: &[SeriesPoint],
    changes: &[SeriesChange],
) -> Chart {
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
            trend_levels(points, changes),
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
        title: changes::name(series),
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
fn trend_levels(points: &[SeriesPoint], changes: &[SeriesChange]) -> Vec<Point> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;
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
        assert_eq!(draw_soak(&Summary::of(&run)), None, "no soak");
        run.trials.clear();
        for (of, filled) in [
            (Stretch::Writing, 4),
            (Stretch::Checking, 4),
            (Stretch::Writing, 8),
        ] {
            written.detail = stretch(of, filled);
            run.trials.push(written.clone());
        }
        let drawn = draw_soak(&Summary::of(&run)).expect("a chart");
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

    fn step(rates: &[u64]) -> ExtentStep {
        let sample = |(number, rate): (u64, &u64)| ExtentSample {
            offset: number * 100,
            bytes: *rate,
            elapsed_ns: 1_000_000_000,
        };
        ExtentStep {
            of: SampleKind::Read,
            extent_bytes: rates.len() as u64 * 100,
            samples: (0..).zip(rates).map(sample).collect(),
        }
    }

    #[test]
    fn a_curve_has_a_column_a_sample_or_their_mean() {
        let step = step(&[10, 20, 30, 50]);
        assert_eq!(mean_rates(&step, 80), [10.0, 20.0, 30.0, 50.0].map(Some));
        assert_eq!(mean_rates(&step, 2), [15.0, 40.0].map(Some));
    }

    #[test]
    fn a_sample_that_begins_a_little_early_is_not_in_the_stretch_before() {
        let mut step = step(&[10, 20, 30, 50]);
        step.samples[2].offset -= 9;
        assert_eq!(mean_rates(&step, 4)[2], Some(30.0));
    }

    #[test]
    fn where_samples_failed_there_is_a_gap() {
        let mut step = step(&[10, 20, 30, 50]);
        step.samples.remove(1);
        step.samples.push(ExtentSample::default());
        assert_eq!(
            mean_rates(&step, 4),
            [Some(10.0), None, Some(30.0), Some(50.0)]
        );
        step.samples.clear();
        assert_eq!(mean_rates(&step, 4), [None]);
    }
}

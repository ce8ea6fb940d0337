//! Charts of latency by percentile, which show the tail as well as the middle, and as
//! distributions; of the trials of one run, or of several runs. Also charts of any metric over all
//! jobs that have it.

use super::{as_f64, row};
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, question,
    slug,
};
use crate::results::describe;
use crate::results::summary::{Figure, JobSummary, Summary};
use crate::words::labels::DIFFERS;
use crate::words::{clean, nanos, quantity, range};
use assay_lang::{counted, in_english, tr};
use assay_model::evidence::LatencyRecord;
use assay_model::figures::Unit;
use assay_model::job::Direction;
use assay_model::trial::Measurement;
use assay_model::units::Nanos;
use assay_stats::derive::MetricName;
use assay_stats::histogram::Percentile;
use assay_stats::latency::{Distribution, pooled};
use assay_stats::summary::Summary as Statistics;
use std::collections::BTreeMap;

/// Timed operations: reads, writes, and flush calls (`None`).
pub const SUBJECTS: [Option<Direction>; 3] = [Some(Direction::Read), Some(Direction::Write), None];

/// Number of trials that have their own curves; more trials share one.
const CURVES: usize = 12;

/// Returns the jobs that timed operations. Cells of a matrix are left out: other charts show them.
pub fn timed<'s, 'a>(summary: &'s Summary<'a>) -> Vec<&'s JobSummary<'a>> {
    let has_any = |job: &&JobSummary<'_>| {
        let mut subjects = SUBJECTS.iter();
        subjects.any(|subject| !records(job, *subject).is_empty())
    };
    let jobs = summary.jobs.iter().filter(|job| !job.is_cell());
    jobs.filter(has_any).collect()
}

/// Returns the latencies of one operation in each completed trial that has any.
pub fn records<'a>(job: &JobSummary<'a>, subject: Option<Direction>) -> Vec<&'a LatencyRecord> {
    let of = |measured: &'a Measurement| match subject {
        Some(Direction::Read) => &measured.read.latency,
        Some(Direction::Write) => &measured.write.latency,
        None => &measured.flush,
    };
    job.completed()
        .filter_map(|trial| trial.measured())
        .map(of)
        .filter(|record| record.count > 0)
        .collect()
}

/// Returns the name of the timed operations, in the plural.
pub fn plural(subject: Option<Direction>) -> &'static str {
    match subject {
        Some(Direction::Read) => tr!("reads"),
        Some(Direction::Write) => tr!("writes"),
        None => tr!("flushes"),
    }
}

const fn tint(subject: Option<Direction>) -> Tint {
    match subject {
        Some(Direction::Read) => Tint::Read,
        Some(Direction::Write) => Tint::Write,
        None => Tint::Flush,
    }
}

/// Describes median and tail latency of each operation.
pub fn latency_in_words(job: &JobSummary<'_>) -> String {
    let words = SUBJECTS.into_iter().filter_map(|subject| {
        let pool = pooled(records(job, subject));
        let latency = Distribution::of(&pool).ok()?;
        let median = latency.percentile_ns(Percentile::P50)?;
        let slowest = latency.max_ns()?;
        Some(tr!(
            "{operations} half within {median}, slowest {slowest}",
            operations = plural(subject),
            median = Nanos(median),
            slowest = Nanos(slowest)
        ))
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Draws latency by percentile, one curve per trial.
pub fn percentiles(job: &JobSummary<'_>) -> Chart {
    let mut series = Vec::new();
    for subject in SUBJECTS {
        let records = records(job, subject);
        let pool = pooled(records.iter().copied());
        let drawn = if records.len() > CURVES {
            vec![&pool]
        } else {
            records
        };
        series.extend(
            drawn
                .into_iter()
                .flat_map(|record| curve(plural(subject), tint(subject), record)),
        );
    }
    let name = clean(&job.job.name);
    Chart {
        name: format!("latency-{}", slug(&job.job.name)),
        title: tr!("Latency by percentile of {name}", name),
        description: latency_in_words(job),
        body: by_percentile(series),
    }
}

/// Draws the latency distribution of all completed trials together.
pub fn distribution(job: &JobSummary<'_>) -> Chart {
    let series = SUBJECTS
        .into_iter()
        .enumerate()
        .filter_map(|(number, subject)| {
            let pool = pooled(records(job, subject));
            histogram(plural(subject), Tint::Nth(number), &pool)
        });
    let name = clean(&job.job.name);
    Chart {
        name: format!("distribution-{}", slug(&job.job.name)),
        title: tr!("Distribution of latency of {name}", name),
        description: latency_in_words(job),
        body: by_latency(series.collect()),
    }
}

/// Draws one operation of the same job in several runs: by percentile and as distributions. Runs
/// without it are left out.
pub fn overlaid(
    job: &str,
    subject: Option<Direction>,
    runs: &[(String, LatencyRecord)],
) -> [Chart; 2] {
    let each = || runs.iter().enumerate();
    let curves = each().flat_map(|(n, (name, record))| curve(name, Tint::Nth(n), record));
    let histograms = each().filter_map(|(n, (name, record))| histogram(name, Tint::Nth(n), record));
    let what = tr!(
        "{operations} of {job}",
        operations = plural(subject),
        job = clean(job)
    );
    let key = format!("{}-{}", slug(job), in_english(|| plural(subject)));
    let words = runs.iter().filter_map(|(name, record)| {
        let latency = Distribution::of(record).ok()?;
        let median = Nanos(latency.percentile_ns(Percentile::P50)?);
        Some(tr!(
            "{name}: half within {median}, slowest {slowest}",
            name = clean(name),
            median,
            slowest = Nanos(latency.max_ns()?)
        ))
    });
    let description = words.collect::<Vec<_>>().join("; ");
    [
        Chart {
            name: format!("latency-{key}"),
            title: tr!("Latency by percentile: {what}", what),
            description: description.clone(),
            body: by_percentile(curves.collect()),
        },
        Chart {
            name: format!("distribution-{key}"),
            title: tr!("Distribution of latency: {what}", what),
            description,
            body: by_latency(histograms.collect()),
        },
    ]
}

fn latency_axis() -> Axis {
    Axis::new(tr!("latency"), Measure::Of(Unit::Nanos), Scale::Log)
}

fn by_percentile(series: Vec<Series>) -> Body {
    Body::plane(
        Axis::new(
            tr!("share of I/Os that took at most so long"),
            Measure::Of(Unit::Ratio),
            Scale::Nines,
        ),
        latency_axis(),
        series,
    )
}

fn by_latency(series: Vec<Series>) -> Body {
    Body::plane(
        latency_axis(),
        Axis::new(
            tr!("share of I/Os, in bins 15 % wide"),
            Measure::Of(Unit::Ratio),
            Scale::Linear,
        ),
        series,
    )
}

/// Returns a curve and a dot at its slowest I/O. A damaged record has none; the table reports it.
fn curve(name: &str, tint: Tint, record: &LatencyRecord) -> Vec<Series> {
    let Some(points) = Distribution::of(record)
        .ok()
        .and_then(|latency| curve_points(&latency))
    else {
        return Vec::new();
    };
    let slowest = points.last().map(|last| Point {
        note: Some(tr!("slowest: {slowest}", slowest = nanos(last.y))),
        ..last.clone()
    });
    let series = |mark, points| Series {
        name: name.to_owned(),
        tint,
        mark,
        points,
    };
    vec![
        series(SeriesStyle::Line, points),
        series(SeriesStyle::Dots, slowest.into_iter().collect()),
    ]
}

fn curve_points(latency: &Distribution<'_>) -> Option<Vec<Point>> {
    let mut points = vec![Point::at(0.0, as_f64(latency.min_ns()?))];
    // 100 % is infinitely far on this axis: the slowest I/O is placed as if one more, slower, I/O
    // followed.
    let furthest = 1.0 - 1.0 / (as_f64(latency.count()) + 1.0);
    let cumulative = latency.cumulative();
    points.extend(
        cumulative
            .iter()
            .map(|point| Point::at(point.fraction.min(furthest), as_f64(point.value_ns))),
    );
    Some(points)
}

/// Bins per power of ten.
const BINS: f64 = 16.0;

/// Returns equal bins on a logarithmic axis, wider than those of the recorded histogram.
fn histogram(name: &str, tint: Tint, record: &LatencyRecord) -> Option<Series> {
    let latency = Distribution::of(record).ok()?;
    let mut bins: BTreeMap<i64, f64> = BTreeMap::new();
    let mut before = 0.0;
    for point in latency.cumulative() {
        #[expect(clippy::cast_possible_truncation, reason = "at most 20 powers of ten")]
        let bin = (as_f64(point.value_ns.max(1)).log10() * BINS).floor() as i64;
        *bins.entry(bin).or_default() += point.fraction - before;
        before = point.fraction;
    }
    let (first, last) = (*bins.keys().next()?, *bins.keys().next_back()?);
    let edge = |bin: i64| 10f64.powf(bin as f64 / BINS);
    let points =
        (first..=last + 1).map(|bin| Point::at(edge(bin), bins.get(&bin).copied().unwrap_or(0.0)));
    Some(Series {
        name: name.to_owned(),
        tint,
        mark: SeriesStyle::Steps,
        points: points.collect(),
    })
}

/// Ratio of the largest to the smallest value above which the axis is logarithmic.
const WIDE: f64 = 40.0;

/// Draws the metrics that represent jobs: a chart per unit, in which all metrics share an axis. Cells
/// of a matrix are left out: other charts show them.
pub fn charts(summary: &Summary<'_>) -> Vec<Chart> {
    let jobs = summary.jobs.iter().filter(|job| !job.is_cell());
    let all: Vec<(&JobSummary<'_>, Figure)> = jobs
        .flat_map(|job| job.headlines().into_iter().map(move |figure| (job, figure)))
        .collect();
    let charts = Unit::ALL.into_iter().filter_map(|unit| {
        let own = all.iter().filter(|(_, figure)| figure.unit == unit);
        let own: Vec<(&JobSummary<'_>, Figure)> = own.cloned().collect();
        (!own.is_empty()).then(|| of_unit(unit, &own))
    });
    charts.collect()
}

/// Draws the figures of one unit, with a panel for each metric.
fn of_unit(unit: Unit, figures: &[(&JobSummary<'_>, Figure)]) -> Chart {
    let mut names: Vec<&str> = Vec::new();
    for (_, figure) in figures {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let panels = names.iter().map(|name| {
        let own = figures.iter().filter(|(_, figure)| figure.name == *name);
        let rows: Vec<TrialsOfRow> = own.map(|(job, figure)| trials_of(job, figure)).collect();
        (*name, rows)
    });
    let panels: Vec<(&str, Vec<TrialsOfRow>)> = panels.collect();
    let all: Vec<&TrialsOfRow> = panels.iter().flat_map(|(_, rows)| rows).collect();
    let (name, title, axis) = question(unit.name()).unwrap_or((unit.name(), unit.name(), ""));
    let x = Axis::new(axis, Measure::Of(unit), scale_of(extremes(&all)));
    Chart {
        name: format!("trials-{name}"),
        title: tr!("{title} of each job", title),
        description: description(figures),
        body: Body::Plane(Plane {
            limits: beside_trials(&x.scale, extremes(&all)),
            panels: panels
                .iter()
                .map(|(name, rows)| panel(&x, tint_of(name), &describe::metric(name), rows))
                .collect(),
            x,
        }),
    }
}

fn trials_of(job: &JobSummary<'_>, figure: &Figure) -> TrialsOfRow {
    TrialsOfRow {
        name: clean(&job.job.name),
        values: figure.values.clone(),
        label: Some(figure.labels.agreed().unwrap_or(DIFFERS)),
        ..TrialsOfRow::default()
    }
}

fn tint_of(metric: &str) -> Tint {
    match MetricName::parse(metric).and_then(|name| name.direction) {
        Some(Direction::Write) => Tint::Write,
        _ => Tint::Read,
    }
}

/// Returns a scale for an axis of values.
pub(super) fn scale_of((low, high): (f64, f64)) -> Scale {
    match low > 0.0 && high / low > WIDE {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

/// Draws one metric by its name, for example `read_bw`, over all jobs; `None` if no job has it.
pub fn chart(summary: &Summary<'_>, name: &str) -> Option<Chart> {
    let jobs = summary.jobs.iter();
    let figures: Vec<(&JobSummary<'_>, Figure)> = jobs
        .filter_map(|job| Some((job, job.figure(name)?)))
        .collect();
    let unit = figures.first()?.1.unit;
    let rows = figures.iter().map(|(job, figure)| trials_of(job, figure));
    let rows: Vec<TrialsOfRow> = rows.collect();
    let scale = scale_of(extremes(&rows.iter().collect::<Vec<_>>()));
    let axis = Axis::new(describe::metric(name), Measure::Of(unit), scale);
    Some(Chart {
        name: format!("trials-{name}"),
        title: tr!(
            "{metric} of each job ({name})",
            metric = capital(&describe::metric(name)),
            name
        ),
        description: description(&figures),
        body: in_rows(axis, tint_of(name), &rows),
    })
}

/// Row with its trials.
#[derive(Default)]
pub(super) struct TrialsOfRow {
    /// Name of the row.
    pub name: String,
    /// Each trial with its value.
    pub values: Vec<(u32, f64)>,
    /// Number of trials and their mean, if only these are known.
    pub moments: Option<(u32, f64)>,
    /// Label of all trials.
    pub label: Option<&'static str>,
}

/// Returns the lowest and the highest value of all rows.
fn extremes(rows: &[&TrialsOfRow]) -> (f64, f64) {
    let values = rows.iter().flat_map(|row| {
        let values = row.values.iter().map(|(_, value)| *value);
        values.chain(row.moments.map(|(_, mean)| mean))
    });
    values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
        (low.min(value), high.max(value))
    })
}

/// Limits the axis for intervals wider than the trials: the interval of two different trials can be
/// so wide that it hides all others.
pub(super) fn beside_trials(scale: &Scale, (low, high): (f64, f64)) -> Option<(f64, f64)> {
    match scale {
        Scale::Log => Some((low / 10.0, high * 10.0)),
        _ => (low >= 0.0 && high > 0.0).then_some((0.0, high * 2.0)),
    }
}

/// Draws each trial of each row as a mark, with the interval of their mean.
pub(super) fn in_rows(x: Axis, tint: Tint, rows: &[TrialsOfRow]) -> Body {
    Body::Plane(Plane {
        limits: beside_trials(&x.scale, extremes(&rows.iter().collect::<Vec<_>>())),
        panels: vec![panel(&x, tint, tr!("trial"), rows)],
        x,
    })
}

/// Returns a panel with the trials of each row; `name` is that of the marks.
fn panel(x: &Axis, tint: Tint, name: &str, rows: &[TrialsOfRow]) -> Panel {
    let numbered = || (0..).zip(rows);
    let intervals = numbered().filter_map(|(index, of)| {
        let values: Vec<f64> = of.values.iter().map(|(_, value)| *value).collect();
        let stats = Statistics::of(&values)?;
        Some(Point {
            ends: stats.interval.map(|interval| (interval.low, interval.high)),
            ..Point::at(stats.median, row(index))
        })
    });
    let trials = numbered().flat_map(|(index, of)| {
        let measure = &x.measure;
        of.values.iter().map(move |(trial, value)| Point {
            note: Some(tr!(
                "trial {trial}: {value}",
                trial,
                value = measure.write(*value)
            )),
            label: of.label,
            ..Point::at(*value, row(index))
        })
    });
    let means = numbered().filter_map(|(index, of)| {
        let (n, mean) = of.moments?;
        let trials = counted!(n, "{n} trial", "{n} trials");
        let value = x.measure.write(mean);
        Some(Point {
            note: Some(tr!("mean of {trials}: {value}", trials, value)),
            ..Point::at(mean, row(index))
        })
    });
    let interval = tr!("95 % interval of the geometric mean");
    let handed_down = tr!("mean that was handed down");
    let series = [
        (
            interval,
            Tint::Ink,
            SeriesStyle::Intervals,
            intervals.collect(),
        ),
        (name, tint, SeriesStyle::Dots, trials.collect()),
        (handed_down, Tint::Ink, SeriesStyle::Dots, means.collect()),
    ];
    let series = series.map(
        |(name, tint, mark, points): (&str, _, _, Vec<Point>)| Series {
            name: name.to_owned(),
            tint,
            mark,
            points,
        },
    );
    let series = series
        .into_iter()
        .filter(|series| !series.points.is_empty());
    Panel {
        y: Axis::names(rows.iter().map(|row| row.name.clone()).collect()),
        series: series.collect(),
    }
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

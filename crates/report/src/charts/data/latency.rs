//! Charts of latency by percentile, which show the tail as well as the middle, and as
//! distributions; of the trials of one run, or of several runs.

use super::as_f64;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Point, Scale, Series, SeriesStyle, Tint, slug,
};
use crate::results::summary::{JobSummary, Summary};
use crate::words::format::nanos;
use crate::words::text::clean;
use assay_lang::{in_english, tr};
use assay_model::job::Direction;
use assay_model::latency::LatencyRecord;
use assay_model::metric::Unit;
use assay_model::trial::Measurement;
use assay_model::units::Nanos;
use assay_stats::latency::{Distribution, pooled};
use assay_stats::percentile::Percentile;
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

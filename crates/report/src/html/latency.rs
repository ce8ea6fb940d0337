//! Latency of each job: curves by percentile and a table.

use super::charts::percentiles::{self, Curve};
use crate::format::nanos;
use crate::summary::{JobSummary, Summary};
use crate::text::clean;
use assay_model::job::Direction;
use assay_model::latency::LatencyRecord;
use assay_model::trial::Measurement;
use assay_model::units::Nanos;
use assay_stats::latency::{Distribution, pooled};
use assay_stats::percentile::Percentile;
use maud::{Markup, html};

/// Columns of the table.
const PERCENTILES: [Percentile; 5] = [
    Percentile::P50,
    Percentile::P90,
    Percentile::P99,
    Percentile::P99_9,
    Percentile::P99_99,
];

/// What is timed: reads, writes, and (`None`) flush calls.
const SUBJECTS: [Option<Direction>; 3] = [Some(Direction::Read), Some(Direction::Write), None];

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let jobs: Vec<&JobSummary<'_>> = summary
        .jobs
        .iter()
        .filter(|job| !job.is_cell())
        .filter(|job| {
            SUBJECTS
                .iter()
                .any(|subject| !records(job, *subject).is_empty())
        })
        .collect();
    if jobs.is_empty() {
        return None;
    }
    Some(html! {
        p.soft {
            "Each line is a completed trial. It tells which share of the I/Os took at most how long; the dot is \
             the slowest one. Both axes stretch: every nine (90 %, 99 %, 99.9 %) is as wide as the one before, \
             and time is logarithmic. Reads are solid, writes dashed, flushes dotted."
        }
        div.charts { @for job in &jobs { (figure(job)) } }
        h3 { "Percentiles of all completed trials together" }
        p.soft { "A percentile stands here only if at least ten I/Os lie beyond it. Bins are at most 1/128 off; the slowest is exact." }
        (table(&jobs))
    })
}

fn figure(job: &JobSummary<'_>) -> Markup {
    let name = clean(&job.job.name);
    let curves: Vec<Curve> = SUBJECTS
        .into_iter()
        .flat_map(|subject| records(job, subject).into_iter().map(move |r| (subject, r)))
        .filter_map(|(direction, record)| curve(direction, record))
        .collect();
    let words: Vec<String> = SUBJECTS
        .into_iter()
        .filter_map(|subject| in_words(job, subject))
        .collect();
    let words = words.join("; ");
    html! {
        figure {
            (percentiles::draw(&curves, &format!("Latency by percentile of {name}: {words}")))
            figcaption { b { (name) } ": " (words) }
        }
    }
}

fn in_words(job: &JobSummary<'_>, subject: Option<Direction>) -> Option<String> {
    let pool = pooled(records(job, subject));
    let latency = Distribution::of(&pool).ok()?;
    let median = latency.percentile_ns(Percentile::P50)?;
    let slowest = latency.max_ns()?;
    Some(format!(
        "{} half within {}, slowest {}",
        plural(subject),
        Nanos(median),
        Nanos(slowest)
    ))
}

fn table(jobs: &[&JobSummary<'_>]) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Job" }
                        th scope="col" { "Of" }
                        th.n scope="col" { "I/Os" }
                        th.n scope="col" { "Mean" }
                        @for percentile in PERCENTILES { th.n scope="col" { (percentile) } }
                        th.n scope="col" { "Slowest" }
                    }
                }
                tbody {
                    @for job in jobs {
                        @for subject in SUBJECTS { (row(job, subject)) }
                    }
                }
            }
        }
    }
}

fn row(job: &JobSummary<'_>, subject: Option<Direction>) -> Markup {
    let records = records(job, subject);
    let pool = pooled(records.iter().copied());
    let name = clean(&job.job.name);
    match Distribution::of(&pool) {
        _ if records.is_empty() => html! {},
        Err(damaged) => html! {
            tr {
                th scope="row" { (name) }
                td { (plural(subject)) }
                td colspan="8" { (damaged) }
            }
        },
        Ok(latency) => html! {
            tr {
                th scope="row" { (name) }
                td { (plural(subject)) }
                td.n { (latency.count()) }
                td.n { @if let Some(mean) = latency.mean_ns() { (nanos(mean)) } }
                @for percentile in PERCENTILES {
                    td.n { (shown(&latency, percentile)) }
                }
                td.n { @if let Some(slowest) = latency.max_ns() { (Nanos(slowest)) } }
            }
        },
    }
}

fn shown(latency: &Distribution<'_>, percentile: Percentile) -> String {
    let stated = percentile == Percentile::P50 || percentile.estimable(latency.count());
    match latency.percentile_ns(percentile).filter(|_| stated) {
        Some(ns) => Nanos(ns).to_string(),
        None => "\u{2013}".to_owned(),
    }
}

/// The latencies of one subject, of each completed trial that has any.
fn records<'a>(job: &JobSummary<'a>, subject: Option<Direction>) -> Vec<&'a LatencyRecord> {
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

/// `None` for a damaged record: the table says so.
fn curve(direction: Option<Direction>, record: &LatencyRecord) -> Option<Curve> {
    let latency = Distribution::of(record).ok()?;
    let mut points = vec![(0.0, as_f64(latency.min_ns()?))];
    // The slowest I/O cannot stand at 100 %, which is infinitely far on this
    // axis: it stands as if one more, slower, were to come.
    let furthest = 1.0 - 1.0 / (as_f64(latency.count()) + 1.0);
    points.extend(
        latency
            .cumulative()
            .iter()
            .map(|point| (point.fraction.min(furthest), as_f64(point.value_ns))),
    );
    Some(Curve { direction, points })
}

fn plural(subject: Option<Direction>) -> &'static str {
    match subject {
        Some(Direction::Read) => "reads",
        Some(Direction::Write) => "writes",
        None => "flushes",
    }
}

#[expect(clippy::cast_precision_loss, reason = "a position in a picture")]
fn as_f64(n: u64) -> f64 {
    n as f64
}

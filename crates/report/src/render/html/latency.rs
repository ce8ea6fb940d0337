//! Latency of each job: curves by percentile, distributions and a table.

use super::figure;
use crate::charts::data::Gallery;
use crate::charts::data::latency::{SUBJECTS, plural, records, timed};
use crate::charts::draw::Chart;
use crate::results::summary::{JobSummary, Summary};
use crate::words::format::nanos;
use crate::words::text::clean;
use assay_lang::{counted, tr};
use assay_model::job::Direction;
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

/// Jobs that are drawn; the table has them all.
const DRAWN: usize = 40;

pub fn markup(summary: &Summary<'_>, gallery: &Gallery) -> Option<Markup> {
    let jobs = timed(summary);
    if jobs.is_empty() {
        return None;
    }
    let left_out = jobs.len().saturating_sub(DRAWN) as u64;
    Some(html! {
        p.soft {
            (tr!("Each line is a completed trial (of many, all together). Share of I/Os that finished within a given time; \
             the dot is the slowest one. Both axes stretch: every nine (90 %, 99 %, 99.9 %) is as wide as \
             the one before, and time is logarithmic. Reads are solid, writes dashed, flushes dotted."))
        }
        @if left_out > 0 {
            p { (counted!(left_out, "{n} job more are not drawn here: assay plot draws them.", "{n} jobs more are not drawn here: assay plot draws them.")) }
        }
        (charts(&gallery.latencies))
        details {
            summary { (tr!("Distributions: how often each latency came")) }
            (charts(&gallery.distributions))
        }
        h3 { (tr!("Percentiles of all completed trials together")) }
        p.soft { (tr!("A percentile stands here only if at least ten I/Os lie beyond it. Bins are at most 1/128 off; the slowest is exact.")) }
        (table(&jobs))
    })
}

fn charts(charts: &[Chart]) -> Markup {
    html! { div.charts { @for chart in charts.iter().take(DRAWN) { (figure::of(chart)) } } }
}

fn table(jobs: &[&JobSummary<'_>]) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { (tr!("Job")) }
                        th scope="col" { (tr!("Of")) }
                        th.n scope="col" { (tr!("I/Os")) }
                        th.n scope="col" { (tr!("Mean")) }
                        @for percentile in PERCENTILES { th.n scope="col" { (percentile) } }
                        th.n scope="col" { (tr!("Slowest")) }
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

//! The result of each figure with its trials.

use super::charts::strip::{Strip, common_extent};
use super::parts;
use crate::results::describe;
use crate::results::summary::{Figure, Group, JobSummary, Summary};
use crate::words::format::{percent, quantity, range};
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::job::Direction;
use assay_stats::derive::direction_of;
use maud::{Markup, html};

/// Trials whose values are told one by one.
const TOLD: usize = 12;

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let figures: Vec<(&JobSummary<'_>, Figure)> = summary
        .jobs
        .iter()
        .filter(|job| !matches!(job.group, Group::WriteLadder | Group::ReadLadder))
        .filter(|job| !job.is_cell())
        .flat_map(|job| job.headlines().into_iter().map(move |figure| (job, figure)))
        .collect();
    if figures.is_empty() {
        return None;
    }
    let values: Vec<Vec<f64>> = figures.iter().map(|(_, figure)| plain(figure)).collect();
    let strips: Vec<Strip<'_>> = figures
        .iter()
        .zip(&values)
        .map(|((job, figure), values)| strip(job, figure, values))
        .collect();
    let extent = common_extent(&strips);
    let rows: Vec<(&JobSummary<'_>, &Figure, &Strip<'_>)> = figures
        .iter()
        .zip(&strips)
        .map(|((job, figure), strip)| (*job, figure, strip))
        .collect();
    Some(html! {
        p.soft {
            (tr!("The result is the median of the trials; lowest and highest are in its unit. On the strips each ring is a trial and the bar is the \
             95 % interval of the geometric mean; the long tick is the median, the ends are ±{extent} of it, the same for all. \
             An arrow is a trial beyond them; a bar without an end goes on.", extent = percent(extent)))
        }
        div.scroll.stack tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { (tr!("Job")) }
                        th scope="col" { (tr!("Figure")) }
                        th.n scope="col" { (tr!("Median")) }
                        th scope="col" { (tr!("Measured")) }
                        th.n scope="col" { (tr!("Lowest .. highest")) }
                        th.n scope="col" { (tr!("Trials")) }
                        th scope="col" { (tr!("Trials around the median")) }
                        th.n scope="col" { (tr!("median p99")) }
                    }
                }
                @for group in Group::ALL {
                    (body(group, &rows, extent))
                }
            }
        }
    })
}

fn body(group: Group, rows: &[(&JobSummary<'_>, &Figure, &Strip<'_>)], extent: f64) -> Markup {
    let rows: Vec<_> = rows
        .iter()
        .filter(|(job, _, _)| job.group == group)
        .collect();
    html! {
        @if !rows.is_empty() {
            tbody {
                tr.group { th colspan="8" scope="rowgroup" { (group.title()) } }
                @for (job, figure, strip) in rows {
                    (row(job, figure, &strip.draw(extent)))
                }
            }
        }
    }
}

fn row(job: &JobSummary<'_>, figure: &Figure, strip: &Markup) -> Markup {
    let stats = &figure.stats;
    let p99 = describe::p99_of(job, figure);
    html! {
        tr {
            th scope="row" {
                (clean(&job.job.name))
                br;
                span.soft { (describe::job(job.job)) }
                @if let Some(durable) = describe::durable(job, figure) { br; span.soft { (durable) } }
            }
            td data-name=(tr!("Figure")) { (describe::metric(&figure.name)) }
            td.n.main data-name=(tr!("Result")) { (quantity(figure.unit, stats.median)) }
            td data-name=(tr!("Measured")) { (parts::labels(&figure.labels)) }
            td.n data-name=(tr!("Lowest .. highest")) { (parts::spread(figure)) }
            td.n data-name=(tr!("Trials")) { (stats.n) }
            td { (strip) }
            td.n data-name="p99" { @if let Some(p99) = p99 { (p99) } }
        }
    }
}

fn plain(figure: &Figure) -> Vec<f64> {
    figure.values.iter().map(|(_, value)| *value).collect()
}

fn strip<'v>(job: &JobSummary<'_>, figure: &Figure, values: &'v [f64]) -> Strip<'v> {
    let stats = &figure.stats;
    let each: Vec<String> = values.iter().map(|v| quantity(figure.unit, *v)).collect();
    let each = match each.len() {
        n if n > TOLD => {
            tr!(
                "{n} trials, {range}",
                n,
                range = range(figure.unit, stats.min, stats.max)
            )
        }
        _ => tr!("trials {values}", values = each.join(", ")),
    };
    let interval = stats.interval.map(|interval| {
        let range = range(figure.unit, interval.low, interval.high);
        tr!("; 95 % interval {range}", range)
    });
    Strip {
        class: match direction_of(&figure.name) {
            Some(Direction::Read) => "read",
            _ => "write",
        },
        values,
        median: stats.median,
        interval: stats.interval.map(|interval| (interval.low, interval.high)),
        description: format!(
            "{} {}: {}{}",
            clean(&job.job.name),
            describe::metric(&figure.name),
            each,
            interval.unwrap_or_default()
        ),
    }
}

//! What a sweep says of its conditions: the conclusion, a chart and a table for each
//! metric.

use super::figure;
use crate::charts::data::Gallery;
use crate::charts::data::ranking::in_words;
use crate::charts::draw::slug;
use crate::results::comparison::value;
use crate::results::sweep::Verdicts;
use crate::words::format::{percent, percent_points};
use crate::words::text::{clean, enumerate};
use assay_lang::tr;
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranked};
use maud::{Markup, html};

pub fn markup(verdicts: &Verdicts, gallery: &Gallery) -> Markup {
    let ranking = &verdicts.all;
    let deciding = match ranking.deciding.as_slice() {
        [] => tr!("No metric tells any two of them apart.").to_owned(),
        metrics => tr!("They differ on {metrics}.", metrics = enumerate(metrics)),
    };
    html! {
        p.conclusion { (clean(&ranking.sentence.to_string())) }
        p { (clean(&deciding)) }
        p.soft {
            (tr!("Margin {margin} %. Conditions without a common letter differ; a common letter does not say that they are \
             equal. Delta is against the median of the conditions, the bars are against {baseline}, the first condition: \
             of a rate more is better, of a time less. Intervals are unadjusted, letters hold for all pairs of a metric together. A bar \
             without an end goes on. CV is that of trials without the drift that all conditions share.", margin = percent_points(verdicts.options.margin), baseline = clean(&verdicts.baseline)))
        }
        @for metric in &ranking.metrics {
            @let against = verdicts.against.metrics.iter().find(|other| other.metric == metric.metric);
            h3 { (clean(&metric.metric)) }
            @for note in &metric.notes { p.note { (clean(&note.to_string())) } }
            div.charts.wide {
                @let name = format!("change-{}", slug(&metric.metric));
                @for chart in gallery.ranking.iter().filter(|chart| chart.name == name) { (figure::wide(chart)) }
            }
            (table(metric, against.map_or(&[], |against| &against.pairs)))
        }
    }
}

fn table(metric: &MetricRanking, pairs: &[Pair]) -> Markup {
    html! {
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { (tr!("Condition")) }
                        th.n scope="col" { (tr!("Mean")) }
                        th.n scope="col" { "n" }
                        th.n scope="col" { "CV" }
                        th.n scope="col" { (tr!("Delta")) }
                        th scope="col" { (tr!("Letters")) }
                        th scope="col" { (tr!("Rank")) }
                        th scope="col" { (tr!("Against the first")) }
                        th scope="col" { (tr!("Verdict")) }
                    }
                }
                tbody {
                    @for ranked in &metric.conditions {
                        (row(ranked, &metric.unit, pairs.iter().find(|pair| pair.b == ranked.condition)))
                    }
                }
            }
        }
    }
}

fn row(ranked: &Ranked, unit: &str, pair: Option<&Pair>) -> Markup {
    let places = match (ranked.best_rank, ranked.worst_rank) {
        (best, worst) if best == worst => best.to_string(),
        (best, worst) => tr!("{best} to {worst}", best, worst),
    };
    html! {
        tr {
            th scope="row" { (clean(&ranked.condition)) }
            td.n.main data-name=(tr!("Mean")) { (value(unit, ranked.summary.centre)) }
            td.n data-name="n" { (ranked.summary.n) }
            td.n data-name="CV" { (ranked.summary.cv.map_or_else(|| "\u{2013}".to_owned(), percent)) }
            td.n data-name=(tr!("Delta")) { (format!("{:+.1} %", ranked.delta_percent)) }
            td data-name=(tr!("Letters")) { (ranked.letters.as_deref().unwrap_or("\u{2013}")) }
            td data-name=(tr!("Rank")) { (places) }
            td data-name=(tr!("Against the first")) { @if let Some(change) = pair.and_then(|pair| pair.change) { (in_words(change)) } }
            td data-name=(tr!("Verdict")) { @if let Some(pair) = pair { (super::parts::verdict(&pair.verdict)) } @else { (tr!("baseline")) } }
        }
    }
}

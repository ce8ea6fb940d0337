//! The page of a comparison: the verdict first, then what it rests on.

use super::data::{Archive, Document, Way};
use super::page::{Page, Section};
use super::{figure, method, parts, storage};
use crate::chart::Chart;
use crate::comparison::{Compared, Side as Shown, common_notes, ends, in_short, percent, value};
use crate::digest::Digest;
use crate::format::percent_points;
use crate::gallery::comparison::Gallery;
use crate::json;
use crate::summary::Summary;
use crate::text::{clean, count, enumerate};
use crate::warnings;
use assay_stats::verdict::line;
use assay_stats::verdict::line::Line;
use assay_stats::verdict::note::{Note, Side};
use maud::{Markup, html};
use std::io;

/// The page of a comparison.
///
/// # Errors
/// When its data cannot be packed.
pub fn page(compared: &Compared<'_>, a: &Shown<'_>, b: &Shown<'_>) -> io::Result<Page> {
    let gallery = Gallery::of(compared, a, b);
    let document = Document {
        name: "comparison.json",
        ways: vec![Way {
            write: Box::new(|out| writeln!(out, "{:#}", json::comparison(compared))),
            note: None,
        }],
    };
    let charts: Vec<&Chart> = gallery.iter().collect();
    let runs = a.runs.first().or(b.runs.first());
    let new = Section::new;
    Ok(Page {
        title: format!("{} compared with {}", clean(compared.b), clean(compared.a)),
        subtitle: html! { "A: " (clean(compared.a)) ". B: " (clean(compared.b)) "." },
        sections: vec![
            new("verdict", "Verdict", Some(verdict(compared, &gallery))),
            new("metrics", "Metrics", Some(metrics(compared))),
            new(
                "pairs",
                "A and B, trial by trial",
                drawn(&gallery.pairs, PAIRS),
            ),
            new(
                "latency",
                "Latencies over each other",
                drawn(&gallery.latencies, LATENCIES),
            ),
            new("sides", "What was compared", sides(a, b)),
            new("method", "Method and limits", Some(limits(compared))),
        ],
        data: Some(Archive::of(
            "assay-comparison.zip".to_owned(),
            &charts,
            &document,
        )?),
        version: runs.map_or_else(
            || env!("CARGO_PKG_VERSION").to_owned(),
            |run| run.header.assay_version.clone(),
        ),
    })
}

const PAIRS: &str = "Every trial is a mark: circles on side A, squares on side B. The line joins the geometric means; the bars are \
    their 95 % intervals. The axis does not begin at 0.";
const LATENCIES: &str =
    "All completed trials of a side together. Lines are solid for A and dashed for B.";

fn verdict(compared: &Compared<'_>, gallery: &Gallery) -> Markup {
    html! {
        p.conclusion { (clean(&in_short(compared.comparison))) }
        p.soft {
            "Margin " (percent_points(compared.options.margin)) " %: smaller differences have no meaning. Intervals are unadjusted, \
             verdicts hold for all metrics together. It holds for " (clean(&compared.comparison.scope)) "."
        }
        @if let Some(chart) = &gallery.changes { div.charts.wide { (figure::wide(chart)) } }
        @let notes = notes(compared);
        @if !notes.is_empty() {
            ul.warnings { @for note in &notes { li.note { strong { "Note: " } (clean(note)) "." } } }
        }
    }
}

/// Metrics that are named where only one side has them.
const NAMES: usize = 8;

/// What concerns all of it; metrics that only one side has are named together.
fn notes(compared: &Compared<'_>) -> Vec<String> {
    let (mut only_a, mut only_b, mut notes) = (Vec::new(), Vec::new(), compared.warnings.clone());
    for note in &compared.comparison.notes {
        match note {
            Note::Missing(Side::B, metric) => only_a.push(metric.as_str()),
            Note::Missing(Side::A, metric) => only_b.push(metric.as_str()),
            other => notes.push(other.to_string()),
        }
    }
    for (side, metrics) in [("A", only_a), ("B", only_b)] {
        let mut named: Vec<String> = metrics
            .iter()
            .take(NAMES)
            .map(|name| (*name).to_owned())
            .collect();
        if metrics.len() > NAMES {
            named.push(format!("{} more", metrics.len() - NAMES));
        }
        if !named.is_empty() {
            let names = enumerate(&named);
            notes.push(format!(
                "only {side} has these, so they are not compared: {names}"
            ));
        }
    }
    notes.extend(compared.doubts());
    notes
}

fn metrics(compared: &Compared<'_>) -> Markup {
    let comparison = compared.comparison;
    let common = common_notes(comparison);
    let of = |primary: bool| {
        let lines = comparison
            .lines
            .iter()
            .filter(move |line| line.primary == primary);
        lines
            .chain(comparison.composite.iter().filter(move |_| primary))
            .collect::<Vec<&Line>>()
    };
    html! {
        @for note in &common { p.note { "All metrics: " (clean(note)) "." } }
        @for (title, lines) in [("Metrics that decide", of(true)), ("Exploratory", of(false))] {
            @if !lines.is_empty() {
                h3 { (title) }
                (table(&lines, &common))
            }
        }
    }
}

fn table(lines: &[&Line], common: &[String]) -> Markup {
    html! {
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Metric" }
                        th.n scope="col" { "A" }
                        th.n scope="col" { "B" }
                        th.n scope="col" { "Change" }
                        th.n scope="col" { "95 % interval" }
                        th scope="col" { "Verdict" }
                    }
                }
                tbody { @for line in lines { (row(line, common)) } }
            }
        }
    }
}

fn row(line: &Line, common: &[String]) -> Markup {
    let figure = |side: &Option<line::Summary>| match side {
        Some(side) if !line.unit.is_empty() => {
            format!(
                "{} ({})",
                value(&line.unit, side.centre),
                count(side.n as u64, "trial")
            )
        }
        _ => "\u{2013}".to_owned(),
    };
    let notes = line.notes.iter().map(ToString::to_string);
    let notes: Vec<String> = notes.filter(|note| !common.contains(note)).collect();
    html! {
        tr {
            th scope="row" { (clean(&line.metric)) }
            td.n data-name="A" { (figure(&line.a)) }
            td.n data-name="B" { (figure(&line.b)) }
            td.n.main data-name="Change" { (line.change.map_or_else(|| "\u{2013}".to_owned(), percent)) }
            td.n data-name="95 % interval" { (line.change.and_then(ends).unwrap_or_else(|| "\u{2013}".to_owned())) }
            td.words data-name="Verdict" {
                (parts::verdict(&line.verdict))
                @if !notes.is_empty() { div.soft { (clean(&notes.join("; "))) } }
            }
        }
    }
}

fn drawn(charts: &[Chart], words: &str) -> Option<Markup> {
    (!charts.is_empty()).then(|| {
        html! {
            p.soft { (words) }
            div.charts { @for chart in charts { (figure::of(chart)) } }
        }
    })
}

/// Each run in short, and what it was measured on.
fn sides(a: &Shown<'_>, b: &Shown<'_>) -> Option<Markup> {
    let sides = [("A", a), ("B", b)];
    (!a.runs.is_empty() || !b.runs.is_empty()).then(|| {
        html! {
            @for (letter, side) in sides {
                h3 { (letter) ": " (clean(side.name)) }
                @if side.runs.is_empty() { p { "Results that were made elsewhere: nothing is known of the machine." } }
                @for run in &side.runs {
                    @let summary = Summary::of(run);
                    @let digest = Digest::of(&summary, &warnings::collect(&summary));
                    dl.digest {
                        @for line in &digest.lines { dt { (line.subject) } dd { (line.text) } }
                        dt { "Believe it?" }
                        dd { (digest.because) }
                    }
                    details {
                        summary { "Device, run and machine" }
                        (storage::markup(&summary))
                    }
                }
            }
        }
    })
}

fn limits(compared: &Compared<'_>) -> Markup {
    html! {
        ul {
            li { "A change is the ratio of geometric means; positive is better, also where less is better." }
            li { "A metric is faster or slower only if its test holds at the level that all metrics together are held to, and equivalent only if its whole interval lies within the margin. Everything else is no conclusion, which does not say that there is no difference." }
            li { "Verdicts need at least " (compared.options.min_trials) " trials a side. Metrics that decide are named before they are looked at; the others are exploratory." }
            li { "Two sides that were measured one after the other differ by heat and wear, too: trials in turn (assay sweep) tell them apart." }
        }
        h3 { "Labels" }
        (method::labels())
    }
}

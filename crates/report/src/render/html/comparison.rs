//! The page of a comparison: the verdict first, then what it rests on.

use super::data::{Archive, Document, Way};
use super::page::{Page, Section};
use super::{figure, method, parts, storage};
use crate::charts::data::comparison::Gallery;
use crate::charts::draw::Chart;
use crate::machine::json;
use crate::results::comparison::{Compared, SharedNotes, Side as Shown, ends, percent, value};
use crate::results::key_figures::Digest;
use crate::results::summary::Summary;
use crate::results::warnings;
use crate::words::format::percent_points;
use crate::words::text::{clean, enumerate, sentence};
use assay_lang::{Language, current, in_english, key, tr, translated};
use assay_stats::verdict::line;
use assay_stats::verdict::line::Line;
use assay_stats::verdict::note::{Note, Side};
use assay_stats::verdict::units::MIN_UNITS;
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
    // Data is English, whatever the language of the page.
    let data = (current() != Language::English).then(|| in_english(|| Gallery::of(compared, a, b)));
    let charts: Vec<&Chart> = data.as_ref().unwrap_or(&gallery).iter().collect();
    let runs = a.runs.first().or(b.runs.first());
    let new = Section::new;
    Ok(Page {
        title: tr!(
            "{b} compared with {a}",
            b = clean(compared.b),
            a = clean(compared.a)
        ),
        subtitle: html! { "A: " (clean(compared.a)) ". B: " (clean(compared.b)) "." },
        sections: vec![
            new("verdict", tr!("Verdict"), Some(verdict(compared, &gallery))),
            new("metrics", tr!("Metrics"), Some(metrics(compared))),
            new(
                "pairs",
                tr!("A and B, trial by trial"),
                drawn(
                    &gallery.pairs,
                    if compared.is_of_means() {
                        PAIRS_OF_MEANS
                    } else {
                        PAIRS
                    },
                ),
            ),
            new(
                "latency",
                tr!("Latencies over each other"),
                drawn(&gallery.latencies, LATENCIES),
            ),
            new("sides", tr!("What was compared"), sides(a, b)),
            new("method", tr!("Method and limits"), Some(limits(compared))),
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

const PAIRS_OF_MEANS: &str = key!(
    "Every unit, or run where one device is compared, is a mark, the mean of its trials: circles on side A, squares on side B. The line joins the geometric \
    means; the bars are their 95 % intervals. The axis does not begin at 0."
);
const PAIRS: &str = key!(
    "Every trial is a mark: circles on side A, squares on side B. The line joins the geometric means; the bars are \
    their 95 % intervals. The axis does not begin at 0."
);
const LATENCIES: &str =
    key!("All completed trials of a side together. Lines are solid for A and dashed for B.");

fn verdict(compared: &Compared<'_>, gallery: &Gallery) -> Markup {
    html! {
        p.conclusion { (clean(&compared.conclusion())) }
        p.soft {
            (tr!("Margin {margin} %: smaller differences have no meaning. Intervals are unadjusted, verdicts hold for all metrics together. It holds for {scope}.",
                margin = percent_points(compared.options.margin), scope = compared.comparison.scope))
        }
        @if let Some(chart) = &gallery.changes { div.charts.wide { (figure::wide(chart)) } }
        @let notes = notes(compared);
        @if !notes.is_empty() {
            ul.warnings { @for note in &notes { li.note { strong { (tr!("Note: ")) } (sentence(&clean(note))) } } }
        }
    }
}

/// Metrics that are named where only one side has them.
const NAMES: usize = 8;

/// What concerns all of it; metrics that only one side has are named together.
fn notes(compared: &Compared<'_>) -> Vec<String> {
    let (mut only_a, mut only_b, mut notes) = (
        Vec::new(),
        Vec::new(),
        compared
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
    );
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
            named.push(tr!("{n} more", n = metrics.len() - NAMES));
        }
        if !named.is_empty() {
            let names = enumerate(&named);
            notes.push(tr!(
                "only {side} has these, so they are not compared: {names}",
                side,
                names
            ));
        }
    }
    notes.extend(compared.doubts());
    notes
}

fn metrics(compared: &Compared<'_>) -> Markup {
    let comparison = compared.comparison;
    let shared = SharedNotes::of(comparison);
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
        @for note in shared.told() { p.note { (sentence(&clean(&note))) } }
        @for (title, lines) in [(tr!("Metrics that decide"), of(true)), (tr!("Exploratory"), of(false))] {
            @if !lines.is_empty() {
                h3 { (title) }
                (table(compared, &lines, &shared))
            }
        }
    }
}

fn table(compared: &Compared<'_>, lines: &[&Line], shared: &SharedNotes) -> Markup {
    html! {
        div.scroll.narrow.stack tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { (tr!("Metric")) }
                        th.n scope="col" { "A" }
                        th.n scope="col" { "B" }
                        th.n scope="col" { (tr!("Change")) }
                        th.n scope="col" { (tr!("95 % interval")) }
                        th scope="col" { (tr!("Verdict")) }
                    }
                }
                tbody { @for line in lines { (row(compared, line, shared)) } }
            }
        }
    }
}

fn row(compared: &Compared<'_>, line: &Line, shared: &SharedNotes) -> Markup {
    let figure = |side: &Option<line::Summary>| match side {
        Some(side) if !line.unit.is_empty() => {
            format!(
                "{} ({})",
                value(&line.unit, side.centre),
                compared.counted(side.n)
            )
        }
        _ => "\u{2013}".to_owned(),
    };
    let notes = shared.not_among(&line.notes);
    html! {
        tr {
            th scope="row" { (clean(translated(&line.metric))) }
            td.n data-name="A" { (figure(&line.a)) }
            td.n data-name="B" { (figure(&line.b)) }
            td.n.main data-name=(tr!("Change")) { (line.change.map_or_else(|| "\u{2013}".to_owned(), percent)) }
            td.n data-name=(tr!("95 % interval")) { (line.change.and_then(ends).unwrap_or_else(|| "\u{2013}".to_owned())) }
            td.words data-name=(tr!("Verdict")) {
                (parts::verdict(&line.verdict))
                @if !notes.is_empty() { div.soft { (clean(&notes.join("; "))) } }
            }
        }
    }
}

fn drawn(charts: &[Chart], words: &str) -> Option<Markup> {
    (!charts.is_empty()).then(|| {
        html! {
            p.soft { (translated(words)) }
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
                @if side.runs.is_empty() { p { (tr!("Results that were made elsewhere: nothing is known of the machine.")) } }
                @for run in &side.runs {
                    @let summary = Summary::of(run);
                    @let digest = Digest::of(&summary, &warnings::collect(&summary));
                    dl.digest {
                        @for line in &digest.lines { dt { (line.subject) } dd { (line.text) } }
                        dt { (tr!("Believe it?")) }
                        dd { (digest.because) }
                    }
                    details {
                        summary { (tr!("Device, run and machine")) }
                        (storage::markup(&summary))
                    }
                }
            }
        }
    })
}

fn limits(compared: &Compared<'_>) -> Markup {
    let fewest = match compared.is_of_means() {
        true => MIN_UNITS,
        false => compared.options.min_trials,
    };
    html! {
        ul {
            li { (tr!("A change is that of the figure itself, of geometric means: of a rate more is better, of a time less. The verdict says which.")) }
            li { (tr!("A metric is faster or slower only if its test holds at the level that all metrics together are held to, and equivalent only if its whole interval lies within the margin. Everything else is no conclusion, which does not say that there is no difference.")) }
            li { (tr!("Verdicts need at least {n} a side. Metrics that decide are named before they are looked at; the others are exploratory.", n = compared.counted(fewest))) }
            li { (tr!("Two sides that were measured one after the other differ by heat and wear, too: trials in turn (assay sweep) tell them apart.")) }
        }
        h3 { (tr!("Labels")) }
        (method::labels())
    }
}

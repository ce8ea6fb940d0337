//! The page of a comparison: the verdict first, then what it rests on.

use super::data::{Archive, ArchivedDocument, Way};
use super::page::{Page, Section};
use super::{blocks, figure, method, storage};
use crate::charts::data::comparison::Gallery;
use crate::charts::draw::Chart;
use crate::document::{Detail, Keep};
use crate::machine::json;
use crate::results::comparison::{Compared, Side as Shown};
use crate::results::key_figures::KeyFigures;
use crate::results::summary::Summary;
use crate::results::warnings;
use crate::views;
use crate::words::text::clean;
use assay_lang::{Language, current, in_english, key, tr, translated};
use assay_stats::verdict::units::MIN_UNITS;
use maud::{Markup, html};
use std::io;

/// The page of a comparison.
///
/// # Errors
/// When its data cannot be packed.
pub fn page(compared: &Compared<'_>, a: &Shown<'_>, b: &Shown<'_>) -> io::Result<Page> {
    let gallery = Gallery::of(compared, a, b);
    let document = ArchivedDocument {
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
        title: views::comparison::title(compared),
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
        (blocks::blocks(&views::comparison::page_blocks(compared)))
        @if let Some(chart) = &gallery.changes { div.charts.wide { (figure::wide(chart)) } }
    }
}

fn metrics(compared: &Compared<'_>) -> Markup {
    let sections = views::comparison::metrics(compared, Detail::Full, Keep::IfRoom);
    html! {
        @for section in &sections {
            h3 { (section.title) }
            (blocks::blocks(&section.blocks))
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
                    @let digest = KeyFigures::of(&summary, &warnings::collect(&summary));
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
            li { (tr!("A change is that of the figure itself, of geometric means. Higher is better for rates, lower for times. The verdict says which.")) }
            li { (tr!("A metric is faster or slower only if its test holds at the level that all metrics together are held to, and equivalent only if its whole interval lies within the margin. Everything else is no conclusion, which does not say that there is no difference.")) }
            li { (tr!("Verdicts need at least {n} a side. Metrics that decide are named before they are looked at; the others are exploratory.", n = compared.counted(fewest))) }
            li { (tr!("Two sides that were measured one after the other differ by heat and wear, too: trials in turn (assay sweep) tell them apart.")) }
        }
        h3 { (tr!("Labels")) }
        (method::labels())
    }
}

//! The page of one run, or of a sweep.

use super::data::{Archive, ArchivedDocument, Way};
use super::page::{Page, Section};
use super::{
    blocks, conditions, course, evidence, extent, figure, ladder, latency, matrices, method,
    overview, results, scenario, storage, unfinished,
};
use crate::charts::data::Gallery;
use crate::charts::draw::Chart;
use crate::machine::json::{self, Without};
use crate::results::derived::Derived;
use crate::results::ladder::Ladder;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use crate::views;
use crate::words::format::utc;
use crate::words::text::clean;
use assay_lang::{Language, current, in_english, tr};
use assay_model::run::Run;
use maud::{Markup, html};
use std::io;
use std::rc::Rc;

/// The page of a run.
///
/// # Errors
/// When its data cannot be packed.
pub fn page(run: &Run) -> io::Result<Page> {
    let verdicts = Verdicts::of(run);
    let split = by_condition(run.clone());
    let derived = Derived::all(run);
    let summary = Summary::with(&split, &derived);
    let gallery = Gallery::of_parts(&summary, verdicts.as_ref());
    // Data is English, whatever the language of the page.
    let data = (current() != Language::English).then(|| {
        in_english(|| {
            let derived = Derived::all(run);
            let gallery = Gallery::of_parts(&Summary::with(&split, &derived), verdicts.as_ref());
            (derived, gallery)
        })
    });
    Ok(Page {
        title: views::run::title(&summary),
        subtitle: subtitle(run),
        sections: sections(&summary, &gallery, verdicts.as_ref()),
        data: Some(match &data {
            Some((derived, gallery)) => archive(run, derived, gallery)?,
            None => archive(run, &derived, &gallery)?,
        }),
        version: run.header.assay_version.clone(),
    })
}

fn sections(summary: &Summary<'_>, gallery: &Gallery, verdicts: Option<&Verdicts>) -> Vec<Section> {
    let found = views::findings::sections(summary).into_iter();
    let found = found.map(|one| Section::new(one.id, one.title, Some(blocks::blocks(&one.blocks))));
    let mut all = of_figures(summary, gallery, verdicts);
    all.extend(found);
    all.extend(of_evidence(summary, gallery));
    all
}

/// Returns the sections with figures.
fn of_figures(
    summary: &Summary<'_>,
    gallery: &Gallery,
    verdicts: Option<&Verdicts>,
) -> Vec<Section> {
    let new = Section::new;
    vec![
        new(
            "verdict",
            tr!("Conditions against each other"),
            verdicts
                .map(|verdicts| blocks::blocks(&views::ranking::page_blocks(verdicts, gallery))),
        ),
        new("summary", tr!("Summary"), Some(overview::markup(summary))),
        of_ladder("ladder", Ladder::Write, summary),
        of_ladder("read-ladder", Ladder::Read, summary),
        new(
            "matrices",
            tr!("File and record sizes"),
            matrices::markup(summary, gallery),
        ),
        new(
            "scenario",
            tr!("What was done, step by step"),
            scenario::markup(summary),
        ),
        new("results", tr!("Results"), results::markup(summary)),
        new(
            "limits",
            tr!("Compared with bus and datasheet"),
            limits(summary),
        ),
        new(
            "trials",
            tr!("Trials and intervals"),
            drawn(&gallery.trials),
        ),
    ]
}

/// Returns the sections on the course of the run and its evidence.
fn of_evidence(summary: &Summary<'_>, gallery: &Gallery) -> Vec<Section> {
    let new = Section::new;
    vec![
        new(
            "extent",
            tr!("Samples over the extent"),
            extent::markup(gallery),
        ),
        new("course", tr!("Rate over time"), course::markup(gallery)),
        new("latency", tr!("Latency"), latency::markup(summary, gallery)),
        new("evidence", tr!("Evidence"), evidence::markup(summary)),
        new(
            "conditions",
            tr!("Conditions"),
            conditions::markup(summary, gallery),
        ),
        new(
            "storage",
            tr!("Storage, run, machine"),
            Some(storage::markup(summary)),
        ),
        new(
            "unfinished",
            tr!("Trials without a result"),
            unfinished::markup(summary),
        ),
        new(
            "method",
            tr!("Method and limits"),
            Some(method::markup(summary)),
        ),
    ]
}

fn of_ladder(anchor: &'static str, ladder: Ladder, summary: &Summary<'_>) -> Section {
    let title = ladder.title(summary);
    let markup = title.as_ref().and_then(|_| ladder::markup(ladder, summary));
    Section::new(anchor, title.unwrap_or_default(), markup)
}

/// Rates relative to the ceiling of the bus and to a datasheet.
fn limits(summary: &Summary<'_>) -> Option<Markup> {
    let sentences = crate::results::reference::sentences(summary);
    (!sentences.is_empty()).then(|| {
        html! { ul { @for line in &sentences { li { (line) } } } }
    })
}

fn drawn(charts: &[Chart]) -> Option<Markup> {
    (!charts.is_empty()).then(|| {
        html! {
            p.soft {
                (tr!("Every completed trial is a mark; the bar is the 95 % interval of the geometric mean, its long tick \
                 the median. A bar without an end goes on. What each measured stands in the results."))
            }
            div.charts { @for chart in charts { (figure::of(chart)) } }
        }
    })
}

fn subtitle(run: &Run) -> Markup {
    let path = clean(&run.header.storage.path.to_string_lossy());
    let started = utc(run.header.started_unix_ms);
    html! { (tr!("{path}, run {id}, {started}", path, id = clean(&run.header.id), started)) }
}

/// About so many figures of series and distributions are worth packing at all.
const FIGURES: usize = 100_000;

fn archive(run: &Run, derived: &[Rc<Derived>], gallery: &Gallery) -> io::Result<Archive> {
    let way = |without: Without, what: &str| {
        Way {
        write: Box::new(move |out| json::write_without(run, derived, without, out)),
        note: (without != Without::Nothing).then(|| {
            tr!(
                "To keep the page small, {what} are not in run.json: assay show {id} --json has them",
                what,
                id = clean(&run.header.id)
            )
        }),
    }
    };
    let measured = || {
        run.trials
            .iter()
            .filter_map(|trial| trial.measured.as_ref())
    };
    let intervals: usize = measured().map(|m| m.series.points.len()).sum();
    let bins: usize = measured()
        .flat_map(|m| [&m.read.latency, &m.write.latency, &m.flush])
        .map(|record| record.bins.len())
        .sum();
    let mut ways = Vec::new();
    if intervals + bins <= FIGURES {
        ways.push(way(Without::Nothing, ""));
    }
    if bins <= FIGURES {
        ways.push(way(Without::Series, tr!("series over time")));
    }
    ways.push(way(
        Without::Details,
        tr!("series, distributions and evidence"),
    ));
    let document = ArchivedDocument {
        name: "run.json",
        ways,
    };
    let charts: Vec<&Chart> = gallery.iter().collect();
    Archive::of(
        format!("assay-{}.zip", crate::charts::draw::slug(&run.header.id)),
        &charts,
        &document,
    )
}

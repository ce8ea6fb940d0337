//! Page of a run or a sweep, with its data.

use super::data::{Archive, ArchivedDocument, Way};
use super::page::Page;
use super::site::Site;
use crate::charts::data::Gallery;
use crate::charts::draw::{Chart, slug};
use crate::document::Document;
use crate::machine::json::{self, Without};
use crate::results::derived::Derived;
use crate::results::population::Standings;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use crate::views;
use crate::words::text::clean;
use assay_lang::{Language, current, in_english, tr};
use assay_model::run::Run;
use maud::Markup;
use std::io::{self, Write};
use std::rc::Rc;

/// Writes the page.
///
/// # Errors
/// If the data cannot be packed, or `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_among(run, None, out)
}

/// Writes the page with the rank of the run among other units of its kind.
///
/// # Errors
/// As [`write()`].
pub fn write_among(
    run: &Run,
    standings: Option<&Standings>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let verdicts = Verdicts::of(run);
    let split = by_condition(run.clone());
    let derived = Derived::all(run);
    let summary = Summary::with(&split, &derived);
    let gallery = Gallery::of_parts(&summary, verdicts.as_ref());
    // Data is in English, in every language of the page.
    let data = (current() != Language::English).then(|| {
        in_english(|| {
            let derived = Derived::all(run);
            let gallery = Gallery::of_parts(&Summary::with(&split, &derived), verdicts.as_ref());
            (derived, gallery)
        })
    });
    let data = match &data {
        Some((derived, gallery)) => archive(run, derived, gallery)?,
        None => archive(run, &derived, &gallery)?,
    };
    let document = document(&summary, verdicts.as_ref(), &gallery, standings);
    let page = Page {
        document: &document,
        data: Some(data),
        version: &run.header.assay_version,
    };
    page.write(out)
}

/// Renders the page for a server, which provides the data at other addresses; with the rank of the
/// run among other units of its kind, if it is known.
pub fn markup_in(site: &Site, run: &Run, standings: Option<&Standings>) -> Markup {
    let verdicts = Verdicts::of(run);
    let split = by_condition(run.clone());
    let derived = Derived::all(run);
    let summary = Summary::with(&split, &derived);
    let gallery = Gallery::of_parts(&summary, verdicts.as_ref());
    site.document(&document(&summary, verdicts.as_ref(), &gallery, standings))
}

fn document(
    summary: &Summary<'_>,
    verdicts: Option<&Verdicts>,
    gallery: &Gallery,
    standings: Option<&Standings>,
) -> Document {
    let verdict = verdicts.into_iter();
    let verdict = verdict.map(|verdicts| views::ranking::page_section(verdicts, gallery));
    let mut document = views::run::full(summary, gallery, verdict.collect());
    if let Some(standings) = standings {
        document.push_after("results", views::run::population::section(standings));
    }
    document
}

/// Number of figures of series and distributions, about, above which packing them is not attempted.
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
        format!("assay-{}.zip", slug(&run.header.id)),
        &charts,
        &document,
    )
}

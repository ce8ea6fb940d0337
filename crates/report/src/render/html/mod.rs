//! Self-contained pages without any request. All text and charts work without scripts; the only
//! script sorts and filters tables, rotates surfaces and extracts data.
//!
//! `blocks` converts the blocks of a document to markup and packs the embedded archive. `Page` is
//! the frame: head, sections in reading order, foot. [`Site`] frames pages that a server sends:
//! they have no script, and link to a style sheet. maud escapes all text; `clean` has replaced
//! control characters before.

mod blocks;

pub use crate::views::index::IndexEntry;
pub use blocks::blocks as markup;

use crate::charts::draw::{Chart, slug, svg};
use crate::charts::{Gallery, comparison};
use crate::document::{Document, Section};
use crate::machine::import::write_json;
use crate::machine::json;
use crate::machine::json::Without;
use crate::results::comparison::{Compared, Side};
use crate::results::derived::Derived;
use crate::results::population::Standings;
use crate::results::summary::Summary;
use crate::results::sweep::{Verdicts, by_condition};
use crate::views;
use crate::words::clean;
use assay_lang::{Language, current, in_english, tr};
use assay_model::figures::Import;
use assay_model::run::Run;
use blocks::{Archive, ArchivedDocument, Way, blocks};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::io;
use std::io::Write;
use std::rc::Rc;

/// Writes the page of an import; `verdicts` exist if it has several conditions.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_import(
    import: &Import,
    verdicts: Option<&Verdicts>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let gallery = Gallery::of_import(import, verdicts);
    let verdict = verdicts.iter();
    let verdict = verdict.map(|verdicts| views::ranking::page_section(verdicts, &gallery));
    let data = ArchivedDocument {
        name: "import.json",
        ways: vec![Way {
            write: Box::new(|out| write_json(import, out)),
            note: None,
        }],
    };
    let charts: Vec<&Chart> = gallery.iter().collect();
    let name = format!("assay-{}.zip", slug(&import.id));
    let page = Page {
        document: &views::import::page(import, &gallery, verdict.collect()),
        data: Some(Archive::of(name, &charts, &data)?),
        version: &import.assay_version,
    };
    page.write(out)
}

/// Writes the page of a comparison.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_comparison(
    compared: &Compared<'_>,
    a: &Side<'_>,
    b: &Side<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let gallery = comparison::Gallery::of(compared, a, b);
    let data = ArchivedDocument {
        name: "comparison.json",
        ways: vec![Way {
            write: Box::new(|out| writeln!(out, "{:#}", json::comparison(compared))),
            note: None,
        }],
    };
    // Data is in English, in every language of the page.
    let english = (current() != Language::English)
        .then(|| in_english(|| comparison::Gallery::of(compared, a, b)));
    let charts: Vec<&Chart> = english.as_ref().unwrap_or(&gallery).iter().collect();
    let name = "assay-comparison.zip".to_owned();
    let run = a.runs.first().or(b.runs.first());
    let page = Page {
        document: &views::comparison::page(compared, a, b, &gallery),
        data: Some(Archive::of(name, &charts, &data)?),
        version: run.map_or(env!("CARGO_PKG_VERSION"), |run| &run.header.assay_version),
    };
    page.write(out)
}

/// Renders the page of an import for a server.
pub fn import_in(site: &Site, import: &Import, verdicts: Option<&Verdicts>) -> Markup {
    let gallery = Gallery::of_import(import, verdicts);
    let verdict = verdicts.iter();
    let verdict = verdict.map(|verdicts| views::ranking::page_section(verdicts, &gallery));
    site.document(&views::import::page(import, &gallery, verdict.collect()))
}

/// Renders the page of a comparison for a server.
pub fn comparison_in(site: &Site, compared: &Compared<'_>, a: &Side<'_>, b: &Side<'_>) -> Markup {
    let gallery = comparison::Gallery::of(compared, a, b);
    site.document(&views::comparison::page(compared, a, b, &gallery))
}

/// Writes a document as a page.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_document(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let page = Page {
        document,
        data: None,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.write(out)
}

/// Writes the index page of several runs.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_index(entries: &[IndexEntry], out: &mut dyn Write) -> io::Result<()> {
    write_document(&views::index::document(entries), out)
}

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

/// Style sheet of all pages, without that of charts.
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// Content security policy: the page loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Page with optional data.
struct Page<'a> {
    /// Title and sections.
    pub document: &'a Document,
    /// Data that can be downloaded.
    pub data: Option<Archive>,
    /// Version of assay that measured the results.
    pub version: &'a str,
}

impl Page<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.markup().into_string().as_bytes())
    }

    fn markup(&self) -> Markup {
        let document = self.document;
        let anchors = anchors(document);
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (document.title) }
                    style { (PreEscaped(svg::variables())) (PreEscaped(svg::STYLE)) (PreEscaped(STYLE)) }
                }
                body data-filter=(tr!("Filter rows")) data-shown=(tr!("shown")) data-csv=(tr!("Data of this chart as CSV"))
                    data-turn=(tr!("Surface: arrow keys turn it, plus and minus zoom, 0 puts it back")) {
                    header { (opening(document)) (contents(document, &anchors, self.data.is_some())) }
                    main {
                        (sections(document, &anchors))
                        @if let Some(data) = &self.data {
                            section #take-away { h2 { (tr!("Data")) } (data.markup()) }
                        }
                    }
                    footer { p { (tr!("Made by assay {version}.", version = clean(self.version))) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }
}

/// Renders the title and the blocks directly below it.
fn opening(document: &Document) -> Markup {
    html! { h1 { (document.title) } (blocks(&document.header)) }
}

/// Renders links to the sections, and to the data if the page has any.
fn contents(document: &Document, anchors: &[String], has_data: bool) -> Markup {
    html! {
        nav aria-label=(tr!("Sections")) {
            @for (anchor, section) in anchors.iter().zip(&document.sections) {
                a href={ "#" (anchor) } { (title(section)) }
                " "
            }
            @if has_data { a href="#take-away" { (tr!("Data")) } }
        }
    }
}

/// Renders the sections in reading order.
fn sections(document: &Document, anchors: &[String]) -> Markup {
    html! {
        @for (anchor, section) in anchors.iter().zip(&document.sections) {
            section id=(anchor) {
                h2 { (title(section)) }
                (blocks(&section.blocks))
            }
        }
    }
}

/// Returns the heading of a section; an untitled section, directly below the title, is "Summary".
fn title(section: &Section) -> &str {
    match section.title.is_empty() {
        true => tr!("Summary"),
        false => &section.title,
    }
}

/// Returns the ids of sections; repeated ids get a number.
fn anchors(document: &Document) -> Vec<String> {
    let ids = document.sections.iter().map(|section| section.id);
    let ids = ids.enumerate().map(|(at, id)| {
        let before = document.sections[..at].iter();
        match before.filter(|section| section.id == id).count() {
            0 => id.to_owned(),
            n => format!("{id}-{}", n + 1),
        }
    });
    ids.collect()
}

const OWN: &str = include_str!("site.css");

/// Link to another page of the server.
#[derive(Clone, Debug)]
pub struct SiteLink {
    /// Text of the link.
    pub text: String,
    /// Address of the page.
    pub target: String,
    /// True on the linked page and on pages below it.
    pub here: bool,
}

/// Frame of a page that a server sends.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address of [`style_sheet`].
    pub style: String,
    /// Links to other pages.
    pub links: Vec<SiteLink>,
    /// Markup directly below the title.
    pub lead: Markup,
    /// Source of the data, shown at the end of the page.
    pub source: String,
}

/// Returns the style sheet of all pages of a server.
pub fn style_sheet() -> String {
    [&svg::variables(), svg::STYLE, STYLE, OWN].concat()
}

impl Site {
    /// Renders a page of a title and its sections.
    pub fn page(&self, title: &str, main: &Markup) -> Markup {
        let header = html! { h1 { (title) } (self.lead) };
        self.whole(title, &header, main)
    }

    /// Renders a document as a page.
    pub fn document(&self, document: &Document) -> Markup {
        let anchors = anchors(document);
        let header =
            html! { (opening(document)) (self.lead) (contents(document, &anchors, false)) };
        self.whole(&document.title, &header, &sections(document, &anchors))
    }

    /// Renders head, links to other pages, contents and foot.
    fn whole(&self, title: &str, header: &Markup, main: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang=(current().tag()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { "assay: " (title) }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(self.style);
                }
                body.site {
                    a.skip href="#content" { (tr!("Skip to the content")) }
                    (self.ways())
                    header { (header) }
                    main #content tabindex="-1" { (main) }
                    footer { p { (self.source) } }
                }
            }
        }
    }

    fn ways(&self) -> Markup {
        html! {
            nav.pages aria-label=(tr!("Pages")) {
                ul {
                    @for link in &self.links {
                        li { a href=(link.target) aria-current=[link.here.then_some("page")] { (link.text) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

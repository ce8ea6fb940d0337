//! Self-contained pages without any request. All text and charts work without scripts; the only
//! script sorts and filters tables, rotates surfaces and extracts data.
//!
//! `blocks` converts the blocks of a document to markup, `page` is the frame, and `data` the
//! embedded archive. `site` frames pages that a server sends: they have no script, and link to a
//! style sheet. maud escapes all text; [`crate::words::text::clean`] has replaced control
//! characters before.

mod blocks;
mod data;
mod page;
mod run;
mod site;

use crate::charts::data::{Gallery, comparison};
use crate::charts::draw::{Chart, slug};
use crate::document::Document;
use crate::machine::import::write_json;
use crate::machine::json;
use crate::results::comparison::{Compared, Side};
use crate::results::sweep::Verdicts;
use crate::views;
use assay_lang::{Language, current, in_english};
use assay_model::figures::Import;
use data::{Archive, ArchivedDocument, Way};
use maud::Markup;
use page::Page;
use std::io::{self, Write};

pub use crate::views::index::IndexEntry;
pub use blocks::blocks as markup;
pub use run::{markup_in, write, write_among};
pub use site::{Site, SiteLink, style_sheet};

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

#[cfg(test)]
mod tests;

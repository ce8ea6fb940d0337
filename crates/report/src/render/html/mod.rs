//! Self-contained pages: no request to anywhere. All that is said and drawn is there
//! without scripts; the one script sorts and filters tables, turns surfaces and hands
//! out data.
//!
//! Each section is a module that turns its part into markup; `run`, `comparison` and
//! `index` put them in order, `page` is the frame. maud escapes all text; control
//! characters are spelled out by [`crate::words::text::clean`] before.

mod blocks;
mod charts;
mod comparison;
mod conditions;
mod course;
mod data;
mod evidence;
mod extent;
mod figure;
mod import;
mod index;
mod ladder;
mod latency;
mod matrices;
mod method;
mod overview;
mod page;
mod parts;
mod results;
mod run;
mod scenario;
mod storage;
mod unfinished;

use crate::document::Document;
use crate::results::comparison::{Compared, Side};
use crate::results::sweep::Verdicts;
use assay_model::figures::Import;
use assay_model::run::Run;
use std::io::{self, Write};

pub use index::IndexEntry;

/// Writes the page of a run.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let page = run::page(run)?.markup();
    out.write_all(page.into_string().as_bytes())
}

/// Writes the page of results that were made elsewhere; `verdicts` where they have
/// several conditions.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_import(
    import: &Import,
    verdicts: Option<&Verdicts>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = import::page(import, verdicts)?.markup();
    out.write_all(page.into_string().as_bytes())
}

/// Writes the page of a comparison.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_comparison(
    compared: &Compared<'_>,
    a: &Side<'_>,
    b: &Side<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = comparison::page(compared, a, b)?.markup();
    out.write_all(page.into_string().as_bytes())
}

/// Writes a document as a page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_document(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let page = blocks::page(document).markup();
    out.write_all(page.into_string().as_bytes())
}

/// Writes the page that leads to the pages of many runs.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_index(entries: &[IndexEntry], out: &mut dyn Write) -> io::Result<()> {
    let page = index::page(entries).markup();
    out.write_all(page.into_string().as_bytes())
}

#[cfg(test)]
mod tests;

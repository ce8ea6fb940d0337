//! Results that were made elsewhere: where they come from, a line for each
//! figure, and what is not known of them.

use super::style::Tone;
use super::{Page, Style};
use crate::machine::import::{HEADER, cells};
use crate::words::text::{clean, pad, pad_left, width};
use assay_lang::{counted, tr, translated};
use assay_model::figures::{Figure, Import};
use std::io::{self, Write};

/// Circumstances that are shown; texts of many jobs have many.
const CIRCUMSTANCES: usize = 24;
/// Blanks before a row.
const INDENT: usize = 2;
/// Blanks between columns.
const GAP: usize = 2;
const COLUMNS: usize = HEADER.len();
/// Columns of numbers, which stand right.
const NUMBERS: std::ops::RangeInclusive<usize> = 2..=4;

/// Writes an import. `closing` lines come last.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_import(
    import: &Import,
    style: Style,
    closing: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { style, out };
    heading(import, &mut page)?;
    table(&import.results.figures, &mut page)?;
    if !import.results.notes.is_empty() {
        page.title(tr!("Not known, or left out"))?;
    }
    for note in &import.results.notes {
        page.paragraph("  - ".into(), &clean(note), None)?;
    }
    page.closing(closing)
}

fn heading(import: &Import, page: &mut Page<'_>) -> io::Result<()> {
    let results = &import.results;
    let figures = counted!(results.figures.len(), "{n} figure", "{n} figures");
    let title = format!("{}: {figures}", clean(&results.tool));
    page.paragraph("".into(), &title, Some(Tone::Strong))?;
    let files = clean(&import.files.join(", "));
    let when = crate::words::format::utc(import.imported_unix_ms);
    let id = clean(&import.id);
    page.paragraph(
        "  ".into(),
        &tr!("import {id}, {when}, of {files}", id, when, files),
        None,
    )?;
    for line in results.circumstances.iter().take(CIRCUMSTANCES) {
        page.paragraph("  ".into(), &clean(line), Some(Tone::Soft))?;
    }
    match results.circumstances.len().saturating_sub(CIRCUMSTANCES) {
        0 => Ok(()),
        more => page.paragraph("  ".into(), &tr!("and {more} more (--json)", more), None),
    }
}

fn table(figures: &[Figure], page: &mut Page<'_>) -> io::Result<()> {
    let rows: Vec<[String; COLUMNS]> = figures.iter().map(cells).collect();
    // A column in which nothing is known is none.
    let shown: Vec<usize> = (0..COLUMNS)
        .filter(|&at| rows.iter().any(|row| !row[at].is_empty()))
        .collect();
    let header = HEADER.map(|name| translated(name).to_owned());
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| width(&row[at]));
        cells.max().unwrap_or(0).max(width(&header[at]))
    };
    let widths: [usize; COLUMNS] = std::array::from_fn(widest);
    page.title(tr!("Results"))?;
    page.line(&line(&header, &shown, &widths))?;
    for row in &rows {
        page.line(&line(row, &shown, &widths))?;
    }
    Ok(())
}

fn line(cells: &[String; COLUMNS], shown: &[usize], widths: &[usize; COLUMNS]) -> String {
    let padded = shown.iter().map(|&at| {
        let (cell, width) = (&cells[at], widths[at]);
        if NUMBERS.contains(&at) {
            pad_left(cell, width)
        } else {
            pad(cell, width)
        }
    });
    let joined = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
    format!("{}{joined}", " ".repeat(INDENT))
}

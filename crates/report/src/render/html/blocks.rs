//! Converts the blocks of a document to markup, and packs the data of a page.

use crate::charts::draw;
use crate::charts::draw::{Body, Chart, Form, Grid, svg};
use crate::document::{Block, Cell, Column, Fact, Keep, Table, TableRow, shares};
use crate::results::findings::{Finding, Sentence};
use crate::words::labels::Labels;
use crate::words::{Tone, labels, sentence};
use assay_lang::{counted, tr, translated};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use serde_json::json;
use std::io;
use std::io::{BufWriter, Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Renders blocks in their order; consecutive charts are side by side.
pub fn blocks(blocks: &[Block]) -> Markup {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    let groups = blocks.chunk_by(|a, b| is_chart(a) && is_chart(b));
    html! {
        @for group in groups {
            @match group {
                [Block::Chart(one)] => { div.charts.wide { (figure(one, true)) } }
                [Block::Chart(_), ..] => {
                    div.charts {
                        @for one in group {
                            @if let Block::Chart(chart) = one { (figure(chart, false)) }
                        }
                    }
                }
                others => { @for one in others { (block(one)) } }
            }
        }
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Paragraph { text, tone } => paragraph(text, *tone),
        Block::Heading(title) => html! { h3 { (title) } },
        Block::Facts(facts) => self::facts(facts),
        Block::List(points) => html! { ul { @for point in points { li { (point) } } } },
        Block::Lines(lines) => html! { pre { @for line in lines { (line) "\n" } } },
        Block::Findings(findings) => html! { @for one in findings { (finding(one)) } },
        Block::Table(rows) => table(rows),
        Block::Chart(chart) => figure(chart, true),
        Block::Warning {
            message,
            remedy,
            severe,
        } => warning(message, remedy.as_deref(), *severe),
        Block::Curve { .. } => Markup::default(),
        Block::Details(section) => html! {
            details { summary { (section.title) } (blocks(&section.blocks)) }
        },
    }
}

/// Renders facts. The answer, which has an emphasis, is set apart together with the facts above it.
fn facts(facts: &[Fact]) -> Markup {
    let tone = |fact: &Fact| match fact.tone {
        Some(Tone::Good) => Some("good"),
        Some(Tone::Care) => Some("care"),
        Some(Tone::Bad) => Some("bad"),
        Some(Tone::Strong | Tone::Soft) | None => None,
    };
    let digest = facts.iter().any(|fact| tone(fact).is_some());
    html! {
        dl.digest[digest] {
            @for fact in facts { dt { (fact.name) } dd class=[tone(fact)] { (fact.text) } }
        }
    }
}

/// Renders a chart with its title, its description, and the data with which the script rotates it. A
/// wide one is drawn for a telephone, too.
fn figure(chart: &Chart, wide: bool) -> Markup {
    let surface = surface(chart);
    html! {
        figure data-chart=(chart.name) data-surface=[&surface] {
            figcaption {
                b { (chart.title) } " "
                details { summary { (tr!("In words")) } (chart.description) }
            }
            @if wide && surface.is_none() {
                (svg::in_page(chart, svg::WIDE, " on-desk"))
                (svg::in_page(chart, svg::NARROW, " on-telephone"))
            } @else {
                (svg::in_page(chart, svg::NARROW, ""))
            }
        }
    }
}

/// Returns the data from which the script draws a surface.
fn surface(chart: &Chart) -> Option<String> {
    let Body::Grid(
        grid @ Grid {
            form: Form::Surface,
            ..
        },
    ) = &chart.body
    else {
        return None;
    };
    let rows = grid.cells.iter().map(|row| {
        let values = row.iter().map(|cell| Some(cell.as_ref()?.value));
        values.collect()
    });
    let cells: Vec<Vec<Option<f64>>> = rows.collect();
    let value = json!({
        "rows": grid.rows.1,
        "columns": grid.columns.1,
        "rowName": grid.rows.0,
        "columnName": grid.columns.0,
        "cells": cells,
        "edge": grid.edge.as_ref().map(|(row, _)| row),
    });
    Some(value.to_string())
}

fn paragraph(text: &str, tone: Option<Tone>) -> Markup {
    match tone {
        Some(Tone::Strong) => html! { p.conclusion { (text) } },
        Some(Tone::Soft) => html! { p.soft { (text) } },
        Some(Tone::Care | Tone::Bad) => html! { p.note { (text) } },
        Some(Tone::Good) | None => html! { p { (text) } },
    }
}

/// Renders a finding, with its conclusion first.
fn finding(finding: &Finding) -> Markup {
    let (conclusion, rest) = match (&finding.subject, finding.sentences.split_first()) {
        (Some(_), Some((first, rest))) => (Some(first), rest),
        _ => (None, finding.sentences.as_slice()),
    };
    let said = |one: &Sentence| {
        html! { @if one.bad { strong { (one.text) } } @else { (one.text) } }
    };
    html! {
        @if let Some(subject) = &finding.subject {
            p { b { (subject) ": " } @if let Some(one) = conclusion { (said(one)) } }
        }
        @if !rest.is_empty() { ul { @for one in rest { li { (said(one)) } } } }
    }
}

/// Renders a warning with its remedy.
pub fn warning(message: &str, remedy: Option<&str>, severe: bool) -> Markup {
    let (class, kind) = match severe {
        true => ("severe", tr!("Warning")),
        false => ("note", tr!("Note")),
    };
    html! {
        ul.warnings {
            li class=(class) {
                @if let Some(remedy) = remedy {
                    details {
                        summary { strong { (kind) ": " } (sentence(message)) }
                        (tr!("What to do: ")) (sentence(remedy))
                    }
                } @else {
                    strong { (kind) ": " } (sentence(message))
                }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let shown: Vec<(usize, &Column)> = table.shown(|keep| keep != Keep::Workbook).collect();
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    let matrix = cells.any(|cell| matches!(cell, Cell::Measured { .. }));
    let size = (table.columns.len(), table.rows.len());
    html! {
        div.scroll.stack[!matrix] tabindex="0" {
            table.matrix[matrix] {
                thead {
                    tr {
                        @for (_, column) in &shown {
                            @if column.head.is_empty() { td {} }
                            @else { th.n[column.right].beside[column.keep == Keep::Screen] scope="col" { (column.head) } }
                        }
                    }
                }
                // Rows are sorted within the group below their heading.
                @for group in table.rows.chunk_by(|_, next| !next.is_heading()) {
                    tbody { @for one in group { (row(one, &shown, size)) } }
                }
            }
        }
    }
}

/// Number of rows of a table up to which the note of each row is not folded.
const FEW_ROWS: usize = 6;

fn row(row: &TableRow, shown: &[(usize, &Column)], (columns, rows): (usize, usize)) -> Markup {
    if let [title] = row.cells.as_slice() {
        return html! {
            tr.group { th scope="rowgroup" colspan=(shown.len()) { (title.text()) } }
        };
    }
    let short = row.cells.len() < columns;
    let cells = shown
        .iter()
        .enumerate()
        .filter_map(|(index, (at, column))| {
            let at = if short { index } else { *at };
            Some((*column, row.cells.get(at)?))
        });
    let cells: Vec<(&Column, &Cell)> = cells.collect();
    let Some(((_, first), others)) = cells.split_first() else {
        return Markup::default();
    };
    // Text that replaces figures spans the rest of the row.
    let missing = shown.len().saturating_sub(others.len() + 1);
    let last = others.len().saturating_sub(1);
    html! {
        tr {
            th scope="row" { (cell(first)) }
            @for (at, (column, one)) in others.iter().enumerate() {
                td class=[class(one, column, missing == 0, at == last && row.note.is_some())]
                    colspan=[(at == last && missing > 0).then_some(missing + 1)]
                    data-name=(column.head) {
                    @match row.note.as_ref().filter(|_| at == last) {
                        Some(note) if rows > FEW_ROWS => {
                            details { summary { (cell(one)) } div.soft { (note) } }
                        }
                        Some(note) => { (cell(one)) div.soft { (note) } }
                        None => (cell(one)),
                    }
                }
            }
        }
    }
}

/// Length of a text, in characters, above which its column is not narrowed to the minimum.
const LONG_TEXT: usize = 30;

/// Returns the classes of a cell; a cell of a matrix is shaded by its label.
fn class(cell: &Cell, column: &Column, figures: bool, noted: bool) -> Option<String> {
    let mut classes = Vec::new();
    if column.right && figures {
        classes.push("n");
    }
    if column.keep == Keep::Screen {
        classes.push("beside");
    }
    if noted {
        classes.push("words");
    }
    match cell {
        Cell::Measured { label, .. } => classes.extend(["cell", label]),
        Cell::Text(text) if text.len() > LONG_TEXT => classes.push("long"),
        _ => {}
    }
    (!classes.is_empty()).then(|| classes.join(" "))
}

fn cell(cell: &Cell) -> Markup {
    match cell {
        // A sign precedes the word: colour alone must not distinguish verdicts.
        Cell::Verdict(word) => {
            let class = match *word {
                "faster" | "pass" => "faster",
                "slower" | "fail" => "slower",
                "equivalent" => "equivalent",
                _ => "open",
            };
            html! { span class={ "verdict " (class) } { (translated(word)) } }
        }
        Cell::Labels(labels) => self::labels(labels),
        Cell::Unknown => html! { "\u{2013}" },
        Cell::Shares(low, high) => html! {
            span.share style={ "--share: " (100.0 * low.clamp(0.0, 1.0)) "%" } {}
            " " (shares(*low, *high).replace(' ', "\u{a0}"))
        },
        Cell::Link { text, target } => html! { a href=(target) { (text) } },
        Cell::Measured {
            value,
            digits,
            label,
        } => html! {
            (format!("{value:.digits$}"))
            br;
            span.soft title=[labels::meaning(label)] { (translated(label)) }
        },
        other => html! { (other.text()) },
    }
}

/// Renders the labels of several trials: a single one if all agree, otherwise each with its number
/// of trials. Borders distinguish them as well as colours.
fn labels(labels: &Labels) -> Markup {
    let counts = labels.counts();
    html! {
        @for (name, n) in &counts {
            span class={ "label " (name) } {
                (labels.describe(name))
                @if counts.len() > 1 { ", " (counted!(*n, "{n} trial", "{n} trials")) }
            }
            " "
        }
    }
}

/// Maximum size of the archive: browsers follow links of up to 2 MiB, and base64 enlarges it by a
/// third.
const LARGEST: usize = 1_500_000;

/// Archive of a page's data. It is a ZIP archive in the page: every chart as CSV, and the whole as
/// JSON. The link works without scripts; the script extracts single files.
pub struct Archive {
    /// File name when the archive is saved.
    pub name: String,
    bytes: Vec<u8>,
    /// Description of the omitted contents, and of where to get them.
    pub note: Option<String>,
}

/// Document with variants that omit parts of it.
pub struct ArchivedDocument<'a> {
    /// Name of the document in the archive.
    pub name: &'a str,
    /// Variants, the most complete first.
    pub ways: Vec<Way<'a>>,
}

/// Writes a document as a whole.
pub type WriteWhole<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

/// Variant of a document.
pub struct Way<'a> {
    /// Writes the variant.
    pub write: Box<WriteWhole<'a>>,
    /// Description of the contents that this variant omits.
    pub note: Option<String>,
}

impl Archive {
    /// Packs charts and a document into an archive. The document is the most complete variant that
    /// fits.
    ///
    /// # Errors
    /// If a part cannot be written.
    pub fn of(
        name: String,
        charts: &[&Chart],
        document: &ArchivedDocument<'_>,
    ) -> io::Result<Self> {
        for way in &document.ways {
            let bytes = packed(charts, Some((document.name, way)))?;
            if bytes.len() <= LARGEST {
                let note = way.note.clone();
                return Ok(Self { name, bytes, note });
            }
        }
        let bytes = packed(charts, None)?;
        let note = Some(tr!("{name} is too large to be in it", name = document.name));
        Ok(Self { name, bytes, note })
    }

    /// Renders the link.
    pub fn markup(&self) -> Markup {
        let kilobytes = self.bytes.len().div_ceil(1000);
        html! {
            p {
                a #data download=(self.name) href={ "data:application/zip;base64," (STANDARD.encode(&self.bytes)) } {
                    (tr!("Download the data of this page"))
                }
                (tr!(" (ZIP, {kilobytes} kB): every chart as CSV, and all of it as JSON.", kilobytes))
                @if let Some(note) = &self.note { " " (sentence(note)) }
            }
        }
    }
}

fn packed(charts: &[&Chart], document: Option<(&str, &Way<'_>)>) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for chart in charts {
        let name = format!("{}.csv", chart.name);
        add(&mut archive, &name, |out| draw::write(chart, out))?;
    }
    if let Some((name, way)) = document {
        add(&mut archive, name, |out| (way.write)(out))?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Adds a file. The compressor clears a buffer of 32 KiB for each write, and serde writes a few
/// bytes at a time: a buffer makes the writes large.
fn add(
    archive: &mut ZipWriter<Cursor<Vec<u8>>>,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    const PIECE: usize = 64 << 10;
    /// Compression level; takes less than half the time of the default (6) for a sixth more bytes.
    const LEVEL: i64 = 2;
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default());
    archive.start_file(name, options)?;
    let mut pieces = BufWriter::with_capacity(PIECE, archive);
    write(&mut pieces)?;
    pieces.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::Gallery;
    use crate::testing::samples;
    use std::io::Read;
    use zip::ZipArchive;

    fn way(bytes: usize, note: Option<&str>) -> Way<'static> {
        Way {
            // Incompressible data, so that every byte counts.
            write: Box::new(move |out| {
                let mut state = 1_u64;
                let noise = (0..bytes).map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 56) as u8
                });
                out.write_all(&noise.collect::<Vec<u8>>())
            }),
            note: note.map(str::to_owned),
        }
    }

    #[test]
    fn what_does_not_fit_is_written_with_less_and_says_so() {
        let document = |ways| ArchivedDocument {
            name: "run.json",
            ways,
        };
        let archive = |ways| Archive::of("x".to_owned(), &[], &document(ways)).unwrap();
        let small = archive(vec![way(10, None), way(5, Some("less"))]);
        assert_eq!(small.note, None);
        let large = archive(vec![way(LARGEST + 1, None), way(5, Some("less"))]);
        assert_eq!(large.note.as_deref(), Some("less"));
        let none = archive(vec![way(LARGEST + 1, None)]);
        assert!(none.note.is_some() && none.bytes.len() < 100);
    }

    #[test]
    fn every_chart_is_there_as_a_table() {
        let run = samples::with_sustained();
        let gallery = Gallery::of(&run);
        let document = ArchivedDocument {
            name: "run.json",
            ways: vec![way(1, None)],
        };
        let archive = Archive::of(
            "x".to_owned(),
            &gallery.iter().collect::<Vec<_>>(),
            &document,
        )
        .unwrap();
        let mut zip = ZipArchive::new(Cursor::new(archive.bytes)).unwrap();
        assert_eq!(zip.len(), gallery.iter().count() + 1);
        let mut text = String::new();
        let mut file = zip.by_name("rate-sustained-write-1.csv").unwrap();
        file.read_to_string(&mut text).unwrap();
        assert!(
            text.starts_with("panel,series,time (s),y,unit,low,high,note\n"),
            "{text}"
        );
    }
}

//! A run, a sweep or a comparison as a workbook: a sheet of findings, a sheet for each group of
//! metrics, a sheet with a surface for each matrix, conditions, the evidence of every trial, and
//! every metric.
//!
//! `page` writes documents; the other modules write sheets of figures with formulas, surfaces and
//! raw trials. Figures are numbers and text is text: only `figures` writes formulas, and no foreign
//! text, such as the name of a device, can become one.

mod comparison;
mod crossing;
mod look;
mod matrix;
mod page;
mod run;
mod surface;
mod trials;

pub(crate) use surface::part;

use crate::charts::Gallery;
use crate::results::comparison::{Compared, ComparedSource, Ranked};
use crate::results::matrix::{Matrix, matrices};
use crate::results::sweep::Sweep;
use crate::views;
use assay_lang::tr;
use assay_model::figures::Import;
use assay_model::run::Run;
use page::FigureRow;
use run::{by_metric, heads, said};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use std::ffi::OsStr;
use std::io;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Author in the properties of a workbook.
const AUTHOR: &str = "assay";

/// Writes the workbook of a run.
///
/// # Errors
/// If the run does not fit a workbook, or `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_matrices(run, &matrices(run), out)
}

/// Writes the workbook of a run with the matrices in another unit
/// ([`crate::results::matrix::matrices_in`]).
///
/// # Errors
/// As [`write()`].
pub fn write_matrices(run: &Run, matrices: &[Matrix], out: &mut dyn Write) -> io::Result<()> {
    save(properties(run), out, |workbook| {
        run::fill(workbook, run, matrices)
    })
}

/// Writes the workbook of a run under several conditions with their ranking.
///
/// # Errors
/// As [`write()`].
pub fn write_sweep(run: &Run, ranked: &Ranked<'_>, out: &mut dyn Write) -> io::Result<()> {
    save(properties(run), out, |workbook| {
        run::fill_swept(workbook, run, ranked)
    })
}

/// Writes the workbook of an import; `ranked` exists if it has several conditions.
///
/// # Errors
/// If the results do not fit a workbook, or `out` cannot be written.
pub fn write_import(
    import: &Import,
    ranked: Option<&Ranked<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let properties = titled(
        crate::words::clean(&import.results.tool),
        import.imported_unix_ms,
    );
    save(properties, out, |workbook| {
        fill(workbook, import, ranked)?;
        Ok(Vec::new())
    })
}

/// Writes the workbook of a comparison.
///
/// # Errors
/// If it does not fit a workbook, or `out` cannot be written.
pub fn write_comparison(compared: &Compared<'_>, out: &mut dyn Write) -> io::Result<()> {
    let newest = compared.b_sources.iter().find_map(|source| source.run);
    let title = views::comparison::title(compared);
    let properties = newest.map_or_else(|| Ok(DocProperties::new().set_author(AUTHOR)), properties);
    let properties = properties.map(|properties| properties.set_title(title));
    save(properties, out, |workbook| {
        comparison::fill(workbook, compared)?;
        Ok(Vec::new())
    })
}

/// Returns the name of the workbook for a requested name, and a message if the two differ: `a.xls`
/// becomes `a.xlsx`.
pub fn file_name(asked: &Path) -> (PathBuf, Option<String>) {
    let ending = asked.extension().and_then(OsStr::to_str);
    let name = match ending {
        Some(ending) if ending.eq_ignore_ascii_case("xlsx") => return (asked.to_owned(), None),
        Some(ending) if ending.eq_ignore_ascii_case("xls") => asked.with_extension("xlsx"),
        _ => {
            let mut name = asked.as_os_str().to_owned();
            name.push(".xlsx");
            PathBuf::from(name)
        }
    };
    let note = format!(
        "the workbook is {}: it has the format of .xlsx, not the one that {} stood for",
        name.display(),
        asked.display()
    );
    (name, Some(note))
}

/// Returns true if a file is a workbook written by assay and not saved since: its core properties
/// (ECMA-376 part 2, 11) name only assay, and only one time. False for all other files.
pub fn is_untouched(workbook: impl Read + Seek) -> bool {
    let Ok(properties) = part(workbook, "docProps/core.xml") else {
        return false;
    };
    let value = |name: &str| -> Option<&str> {
        let (_, rest) = properties.split_once(&format!("<{name}"))?;
        let (_, rest) = rest.split_once('>')?;
        rest.split('<').next()
    };
    let author = Some(AUTHOR);
    value("dc:creator") == author
        && value("cp:lastModifiedBy") == author
        && value("dcterms:created").is_some()
        && value("dcterms:created") == value("dcterms:modified")
}

/// Fills a workbook and writes it with its charts.
fn save(
    properties: Result<DocProperties, XlsxError>,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut Workbook) -> Result<Vec<String>, XlsxError>,
) -> io::Result<()> {
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties.map_err(io::Error::other)?);
    let charts = fill(&mut workbook).map_err(io::Error::other)?;
    let bytes = workbook.save_to_buffer().map_err(io::Error::other)?;
    out.write_all(&surface::with_charts(bytes, &charts)?)
}

/// Returns the properties. The time is that of the run, so that writing the workbook again gives
/// the same bytes.
fn properties(run: &Run) -> Result<DocProperties, XlsxError> {
    let header = &run.header;
    titled(
        crate::words::labels::name(&header.storage),
        header.started_unix_ms,
    )
}

fn titled(title: String, unix_ms: u64) -> Result<DocProperties, XlsxError> {
    let seconds = i64::try_from(unix_ms / 1000).unwrap_or(i64::MAX);
    Ok(DocProperties::new()
        .set_title(title)
        .set_author(AUTHOR)
        .set_creation_datetime(&ExcelDateTime::from_timestamp(seconds)?))
}

/// Fills all sheets; `ranked` exists if there are several conditions.
///
/// # Errors
/// If they do not fit a workbook.
fn fill(
    workbook: &mut Workbook,
    import: &Import,
    ranked: Option<&Ranked<'_>>,
) -> Result<(), XlsxError> {
    let verdict = ranked.map_or_else(Vec::new, |ranked| {
        views::ranking::sections(ranked, &Sweep::default())
    });
    let document = views::import::page(import, &Gallery::default(), verdict);
    page::write(
        workbook.add_worksheet(),
        look::SUMMARY,
        &document,
        &["results"],
    )?;
    let results = &import.results;
    let rows = by_metric(&results.figures)
        .into_iter()
        .map(|figure| FigureRow {
            series: figure.condition.clone(),
            figure,
            said: ranked.map_or_else(Vec::new, |ranked| said(figure, ranked)),
        });
    page::write_figure_sheets(
        workbook.add_worksheet(),
        "Figures",
        tr!("Figures"),
        &heads(ranked.is_some()),
        &rows.collect::<Vec<_>>(),
    )?;
    let source = ComparedSource {
        name: &import.id,
        figures: &results.figures,
        run: None,
        circumstances: &results.circumstances,
    };
    trials::write(workbook.add_worksheet(), &[], &[source])
}

#[cfg(test)]
mod tests;

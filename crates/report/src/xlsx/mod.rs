//! A run as a workbook: a sheet that says what was run where, a sheet with a
//! surface for each matrix, the evidence of every trial, and every metric.
//!
//! Each sheet is a module. Figures are numbers and text is text; no cell holds
//! a formula, whatever a name on a device looks like.

mod evidence;
mod look;
mod matrix;
mod package;
mod summary;
mod surface;
#[cfg(test)]
mod tests;
mod trials;

use crate::matrix::{Matrix, matrices};
use crate::summary::Summary;
use assay_model::run::Run;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use std::ffi::OsStr;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Who made a workbook, in its properties.
const AUTHOR: &str = "assay";

/// Writes the workbook of a run.
///
/// # Errors
/// When the run does not fit a workbook, or `out` cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write_matrices(run, &matrices(run), out)
}

/// The same with the matrices in a unit of choice
/// ([`crate::matrix::matrices_in`]).
///
/// # Errors
/// As [`write()`].
pub fn write_matrices(run: &Run, matrices: &[Matrix], out: &mut dyn Write) -> io::Result<()> {
    let bytes = workbook(run, matrices)?;
    out.write_all(&bytes)
}

/// The name of the workbook that someone asked for under the name of an old
/// spreadsheet, and a line that tells so: `a.xls` becomes `a.xlsx`.
#[must_use]
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

/// Whether a file is a workbook of assay's that nobody has saved since: its core
/// properties (ECMA-376 part 2, 11) name assay alone, and one time. False for
/// everything else.
#[must_use]
pub fn is_untouched(workbook: impl Read + Seek) -> bool {
    let Ok(properties) = package::part(workbook, "docProps/core.xml") else {
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

fn workbook(run: &Run, matrices: &[Matrix]) -> io::Result<Vec<u8>> {
    let summary = Summary::of(run);
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties(&summary).map_err(io::Error::other)?);
    let charts = fill(&mut workbook, &summary, matrices).map_err(io::Error::other)?;
    let bytes = workbook.save_to_buffer().map_err(io::Error::other)?;
    package::with_charts(bytes, &charts)
}

/// Makes all sheets; what comes back are the charts in their order.
fn fill(
    workbook: &mut Workbook,
    summary: &Summary<'_>,
    matrices: &[Matrix],
) -> Result<Vec<String>, XlsxError> {
    summary::write(workbook.add_worksheet(), summary, !matrices.is_empty())?;
    let names = look::sheet_names(matrices.iter().map(|matrix| matrix.title.as_str()));
    let mut charts = Vec::new();
    for (matrix, name) in matrices.iter().zip(&names) {
        let sheet = workbook.add_worksheet();
        sheet.set_name(name)?;
        charts.extend(matrix::write(sheet, matrix, name)?);
    }
    evidence::write(workbook.add_worksheet(), summary)?;
    trials::write(workbook.add_worksheet(), summary)?;
    Ok(charts)
}

/// The workbook is as old as its run, so that writing it again gives the same
/// bytes.
fn properties(summary: &Summary<'_>) -> Result<DocProperties, XlsxError> {
    let header = &summary.run.header;
    let seconds = i64::try_from(header.started_unix_ms / 1000).unwrap_or(i64::MAX);
    Ok(DocProperties::new()
        .set_title(crate::identity::name(&header.storage))
        .set_author(AUTHOR)
        .set_creation_datetime(&ExcelDateTime::from_timestamp(seconds)?))
}

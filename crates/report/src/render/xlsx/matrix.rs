//! The sheet of a matrix: the figures, what each measured, and a surface.

use super::look::{self, SHADES, Shade, number};
use super::surface::{self, Axes, Grid, MatrixPosition};
use crate::results::cache_edge;
use crate::results::matrix::{Cell, Matrix};
use crate::words::text::clean;
use assay_lang::{key, tr, translated};
use assay_model::work::iozone::RateUnit;
use rust_xlsxwriter::{Format, Worksheet, XlsxError};

const FILE_SIZE: &str = key!("File size, KiB");
const RECORD_SIZE: &str = key!("Record size, KiB");

/// Writes the sheet; what comes back is its chart, if it has one.
///
/// # Errors
/// When the matrix does not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    matrix: &Matrix,
    name: &str,
) -> Result<Option<String>, XlsxError> {
    look::on_paper(sheet);
    // A surface that is cut in two is none.
    sheet.set_print_fit_to_pages(1, 1);
    sheet.set_column_width(0, 18)?;
    for column in 1..=u16::try_from(matrix.columns.len()).unwrap_or(u16::MAX) {
        sheet.set_column_width(column, 16)?;
    }
    let digits = match matrix.unit {
        RateUnit::MicrosPerOp => "#,##0.00",
        RateUnit::KibPerSec | RateUnit::OpsPerSec => "#,##0",
    };
    let figures = write_head(sheet, matrix)?;
    let mut row = figures + 1;
    row = write_grid(sheet, matrix, row, |sheet, row, column, cell| {
        let format = Shade::of(cell.label.as_deref()).number(digits);
        sheet.write_number_with_format(row, column, cell.value, &format)?;
        Ok(())
    })?;
    row += 1;
    sheet.write_string_with_format(row, 0, tr!("What each figure measured"), &look::name())?;
    row = write_grid(sheet, matrix, row + 1, |sheet, row, column, cell| {
        let label = cell.label.as_deref().unwrap_or("unknown");
        let format = Shade::of(cell.label.as_deref()).text();
        sheet.write_string_with_format(row, column, clean(translated(label)), &format)?;
        Ok(())
    })?;
    write_surface(sheet, matrix, name, figures + 1, row + 1)
}

/// Title, the sentence, what marks mean; the row after it comes back.
fn write_head(sheet: &mut Worksheet, matrix: &Matrix) -> Result<u32, XlsxError> {
    sheet.write_string_with_format(0, 0, clean(&matrix.title), &look::title())?;
    let how = tr!(
        "In {unit}. Down: size of the file. Across: size of a record. An empty cell was not measured.",
        unit = matrix.unit.name()
    );
    sheet.write_string(1, 0, how)?;
    sheet.write_string_with_format(2, 0, cache_edge::sentence(matrix), &look::name())?;
    let mut row = 3;
    for shade in SHADES.iter().filter(|shade| occurs(matrix, shade)) {
        let meaning = crate::words::labels::meaning(shade.label).unwrap_or_default();
        sheet.write_string_with_format(row, 0, translated(shade.label), &shade.text())?;
        sheet.write_string(row, 1, format!("{}: {meaning}", translated(shade.words)))?;
        row += 1;
    }
    Ok(row)
}

fn occurs(matrix: &Matrix, shade: &Shade) -> bool {
    let mut cells = matrix.cells.iter().flatten().flatten();
    cells.any(|cell| Shade::of(cell.label.as_deref()) == shade)
}

/// Writes headings and cells from `top` on; the row after them comes back.
fn write_grid(
    sheet: &mut Worksheet,
    matrix: &Matrix,
    top: u32,
    write: impl Fn(&mut Worksheet, u32, u16, &Cell) -> Result<(), XlsxError>,
) -> Result<u32, XlsxError> {
    let head = look::head();
    let size = Format::new().set_bold().set_num_format("#,##0");
    sheet.write_string_with_format(top, 0, tr!("file \\ record, KiB"), &head)?;
    for (column, kib) in (1..).zip(&matrix.columns) {
        sheet.write_number_with_format(top, column, number(*kib), &head)?;
    }
    let mut row = top;
    for (kib, cells) in matrix.rows.iter().zip(&matrix.cells) {
        row += 1;
        sheet.write_number_with_format(row, 0, number(*kib), &size)?;
        for (column, cell) in (1..).zip(cells) {
            if let Some(cell) = cell {
                write(sheet, row, column, cell)?;
            }
        }
    }
    Ok(row + 1)
}

fn write_surface(
    sheet: &mut Worksheet,
    matrix: &Matrix,
    name: &str,
    head_row: u32,
    below: u32,
) -> Result<Option<String>, XlsxError> {
    let place = MatrixPosition {
        sheet: name,
        head_row,
        head_column: 0,
    };
    let axes = Axes {
        columns: translated(RECORD_SIZE),
        rows: translated(FILE_SIZE),
        values: matrix.unit.name(),
    };
    let chart = surface::insert(sheet, &Grid::from(matrix), place, axes, below)?;
    if chart.is_none() {
        let why = tr!("No surface: it needs two file sizes and two record sizes, or more.");
        sheet.write_string(below, 0, why)?;
    }
    Ok(chart)
}

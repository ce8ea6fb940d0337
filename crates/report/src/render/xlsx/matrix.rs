//! Sheet of a matrix: the figures, the label of each, and a surface.

use super::look::{SHADES, Shade};
use super::page::Page;
use super::surface::{self, Axes, Grid, MatrixPosition};
use crate::document::{Cell, Column, Table, TableRow};
use crate::results::cache_edge;
use crate::results::matrix::{self, Matrix};
use crate::words::clean;
use crate::words::labels::meaning;
use assay_lang::{key, tr, translated};
use rust_xlsxwriter::{Worksheet, XlsxError};

const FILE_SIZE: &str = key!("File size, KiB");
const RECORD_SIZE: &str = key!("Record size, KiB");

/// Writes the sheet and returns its chart, if it has one.
///
/// # Errors
/// If the matrix does not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    matrix: &Matrix,
    name: &str,
) -> Result<Option<String>, XlsxError> {
    // Print on one page, because a surface cannot be divided.
    let mut page = Page::new(sheet, name)?;
    page.sheet.set_print_fit_to_pages(1, 1);
    page.title(&clean(&matrix.title))?;
    page.text(&tr!(
        "In {unit}. Down: size of the file. Across: size of a record. An empty cell was not measured.",
        unit = matrix.unit.name()
    ))?;
    page.heading(&cache_edge::sentence(matrix))?;
    for shade in SHADES.iter().filter(|shade| occurs(matrix, shade)) {
        let meaning = meaning(shade.label).unwrap_or_default();
        let words = format!("{}: {meaning}", translated(shade.words));
        page.shaded(shade, &words)?;
    }
    page.row += 1;
    let head_row = page.row;
    page.table(&by_size(matrix, |cell| Cell::Measured {
        value: cell.value,
        digits: matrix.digits(),
        label: label(cell).to_owned(),
    }))?;
    page.row += 1;
    page.heading(tr!("What each figure measured"))?;
    page.table(&by_size(matrix, |cell| {
        clean(translated(label(cell))).into()
    }))?;
    let below = page.row + 1;
    page.set_widths()?;
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

fn label(cell: &matrix::Cell) -> &str {
    cell.label.as_deref().unwrap_or("unknown")
}

fn occurs(matrix: &Matrix, shade: &Shade) -> bool {
    let mut cells = matrix.cells.iter().flatten().flatten();
    cells.any(|cell| Shade::of(cell.label.as_deref()) == shade)
}

/// Returns a table with file sizes as rows and record sizes as columns.
fn by_size(matrix: &Matrix, shown: impl Fn(&matrix::Cell) -> Cell) -> Table {
    let rows = matrix.rows.iter().zip(&matrix.cells).map(|(kib, cells)| {
        let cells = cells
            .iter()
            .map(|cell| cell.as_ref().map_or(Cell::Empty, &shown));
        TableRow::new(std::iter::once(Cell::count(*kib)).chain(cells).collect())
    });
    let sizes = matrix
        .columns
        .iter()
        .map(|kib| Column::number(kib.to_string()));
    let columns = std::iter::once(Column::text(tr!("file \\ record, KiB"))).chain(sizes);
    Table {
        columns: columns.collect(),
        rows: rows.collect(),
    }
}

//! Tables of documents as cells of a sheet: numbers stay numbers.

use super::look;
use crate::document::{Cell, Column, Keep, Table};
use crate::words::text::width;
use assay_lang::{tr, translated};
use rust_xlsxwriter::{Worksheet, XlsxError};

/// Longest text that a column is made wide for.
const WIDEST: usize = 60;
const NARROWEST: usize = 9;

/// Writes a table with its headings from `row` on, with a filter; the row below it.
///
/// # Errors
/// When it does not fit the sheet.
pub fn write(sheet: &mut Worksheet, row: u32, table: &Table) -> Result<u32, XlsxError> {
    let mut at = 0;
    for (index, column) in table.columns.iter().enumerate() {
        for head in heads(column, table, index) {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(index));
            let widest = cells.map(|cell| width(&cell.text())).max().unwrap_or(0);
            let columns = widest.max(width(&head)).clamp(NARROWEST, WIDEST) + 2;
            sheet.set_column_width(at, u16::try_from(columns).unwrap_or(u16::MAX))?;
            sheet.write_string_with_format(row, at, head, &look::head())?;
            at += 1;
        }
    }
    let mut below = row;
    for one in &table.rows {
        below += 1;
        let mut at = 0;
        for (index, cell) in one.cells.iter().enumerate() {
            let ends = table
                .columns
                .get(index)
                .is_some_and(|column| heads(column, table, index).len() == 2);
            at += write_cell(sheet, (below, at), cell, ends)?;
        }
        // Columns for workbooks have the reasons already.
        let has_reasons = table
            .columns
            .iter()
            .any(|column| column.keep == Keep::Workbook);
        if let Some(note) = one.note.as_ref().filter(|_| !has_reasons) {
            sheet.write_string(below, at, note)?;
        }
    }
    sheet.autofilter(row, 0, below, at.saturating_sub(1))?;
    Ok(below + 1)
}

/// An interval takes two columns.
fn heads(column: &Column, table: &Table, index: usize) -> Vec<String> {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(index));
    match cells.any(|cell| matches!(cell, Cell::Interval(..))) {
        true => vec![tr!("95 % low").to_owned(), tr!("95 % high").to_owned()],
        false => vec![column.head.clone()],
    }
}

/// Writes a cell; the columns that it takes.
fn write_cell(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    cell: &Cell,
    ends: bool,
) -> Result<u16, XlsxError> {
    match cell {
        Cell::Empty | Cell::Unknown => {}
        Cell::Quantity { value, unit } if value.is_finite() => {
            sheet.write_number_with_format(row, column, *value, &look::quantity(unit))?;
        }
        Cell::Change(percent) => {
            sheet.write_number_with_format(row, column, *percent, &look::percent())?;
        }
        Cell::Interval(low, high) => {
            sheet.write_number_with_format(row, column, *low, &look::percent())?;
            sheet.write_number_with_format(row, column + 1, *high, &look::percent())?;
        }
        Cell::Count(n) => {
            let n = u32::try_from(*n).unwrap_or(u32::MAX);
            sheet.write_number_with_format(row, column, n, &look::count())?;
        }
        Cell::Probability(p) => {
            sheet.write_number_with_format(row, column, *p, &look::probability())?;
        }
        Cell::Verdict(word) => {
            sheet.write_string_with_format(row, column, translated(word), &look::verdict(word))?;
        }
        Cell::Text(_) | Cell::Labels(_) | Cell::Quantity { .. } => {
            sheet.write_string(row, column, cell.text())?;
        }
    }
    Ok(if ends { 2 } else { 1 })
}

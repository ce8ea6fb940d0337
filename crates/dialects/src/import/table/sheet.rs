//! Cells of a table with their line numbers.

use super::decimal::{Marks, Quantity};
use crate::import::error::ImportError;
use csv::{ReaderBuilder, StringRecord, Trim};

/// Row of cells.
#[derive(Debug)]
pub(super) struct SheetRow {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// Table as cells.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) head: Vec<String>,
    pub(super) head_line: usize,
    pub(super) rows: Vec<SheetRow>,
    /// Lines that begin with `#`.
    pub(super) comments: Vec<String>,
    marks: Marks,
}

/// Returns the cells of the first line that is no comment; `None` without a separator.
pub(super) fn head(text: &str) -> Option<Vec<String>> {
    let line = text.lines().find(|line| is_row(line))?;
    let separator = separator(line)?;
    let mut reader = reader(separator).from_reader(line.as_bytes());
    let cells = reader.records().next()?.ok()?;
    Some(cells.iter().map(str::to_owned).collect())
}

fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// Detects the cell separator. A comma is used only without another candidate, because it is
/// the decimal mark of many languages.
fn separator(head: &str) -> Option<u8> {
    [b'\t', b';', b',']
        .into_iter()
        .find(|separator| head.as_bytes().contains(separator))
}

fn reader(separator: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'));
    builder
}

impl Sheet {
    pub(super) fn read(text: &str) -> Result<Self, ImportError> {
        let first = text.lines().find(|line| is_row(line)).unwrap_or_default();
        let separator = separator(first).ok_or_else(|| {
            ImportError::at(
                None,
                "its first line has no separator: cells are separated by tabs, semicolons or \
                 commas",
            )
        })?;
        let mut rows = Vec::new();
        for record in reader(separator).from_reader(text.as_bytes()).records() {
            let record = record.map_err(|error| broken(&error))?;
            if record.iter().any(|cell| !cell.is_empty()) {
                rows.push(row(&record));
            }
        }
        let comments = text.lines().filter_map(|line| line.strip_prefix('#'));
        let comments = comments.map(str::trim).filter(|line| !line.is_empty());
        let comments = comments.map(str::to_owned).collect();
        if rows.is_empty() {
            return Err(ImportError::Empty);
        }
        let head = rows.remove(0);
        same_length(&head, &mut rows)?;
        let cells = rows.iter().flat_map(|row| row.cells.iter());
        let marks = Marks::of(cells.map(String::as_str), separator == b';');
        Ok(Self {
            head: head.cells,
            head_line: head.line,
            rows,
            comments,
            marks,
        })
    }

    /// Parses a number of this table.
    pub(super) fn quantity(&self, cell: &str, line: usize) -> Result<Quantity, ImportError> {
        self.marks
            .quantity(cell)
            .map_err(|problem| ImportError::at(Some(line), problem))
    }
}

fn row(record: &StringRecord) -> SheetRow {
    let line = record.position().map_or(0, csv::Position::line);
    SheetRow {
        line: usize::try_from(line).unwrap_or(usize::MAX),
        cells: record
            .iter()
            .map(|cell| unguarded(cell).to_owned())
            .collect(),
    }
}

/// Removes the apostrophe by which a spreadsheet treats a name as text instead of a formula.
fn unguarded(cell: &str) -> &str {
    let guarded = cell.strip_prefix('\'');
    let guarded = guarded.filter(|rest| rest.starts_with(['=', '+', '-', '@', '\t', '\r']));
    guarded.unwrap_or(cell)
}

/// Pads rows with empty cells, which may be omitted at the end.
fn same_length(head: &SheetRow, rows: &mut [SheetRow]) -> Result<(), ImportError> {
    let wanted = head.cells.len();
    for row in rows {
        while row.cells.len() > wanted && row.cells.last().is_some_and(String::is_empty) {
            row.cells.pop();
        }
        if row.cells.len() == wanted {
            continue;
        }
        let hint = if row.cells.len() > wanted {
            "numbers with a decimal comma need another separator, or quotes"
        } else {
            "the table may be cut off here"
        };
        let problem = format!("{} cells below {wanted} columns: {hint}", row.cells.len());
        return Err(ImportError::at(Some(row.line), problem));
    }
    Ok(())
}

fn broken(error: &csv::Error) -> ImportError {
    let line = error.position().map(csv::Position::line);
    let line = line.and_then(|line| usize::try_from(line).ok());
    ImportError::at(line, format!("this is not a row of a table: {error}"))
}

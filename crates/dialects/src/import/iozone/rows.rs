//! The table: rows of figures below the names of tests.

use super::{Heading, IozoneFigure, cell, sizes};
use crate::import::error::ImportError;
use crate::import::lines::NumberedLine;
use crate::iozone::table::width;
use assay_model::work::iozone::Test;

/// Widths of columns: of 3.489, and from 3.498 on.
const WIDTHS: [fn(Test) -> usize; 2] = [width, |_| 10];
/// Width of file and record size together.
const SIZES: usize = 24;

/// The table under way.
#[derive(Debug, Default)]
pub(super) struct IozoneTable {
    columns: Vec<Test>,
    pub(super) cells: Vec<IozoneFigure>,
}

impl IozoneTable {
    pub(super) fn line(
        &mut self,
        line: &NumberedLine<'_>,
        heading: &Heading,
    ) -> Result<(), ImportError> {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if let ["kB", "reclen", tests @ ..] = &words[..] {
            self.columns = columns(tests);
            return Ok(());
        }
        if self.columns.is_empty() {
            return Ok(());
        }
        let [file, record, figures @ ..] = &words[..] else {
            return Ok(());
        };
        let is_size = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if !is_size(file) || !is_size(record) || figures.is_empty() {
            return Ok(());
        }
        let tests = self.tests_of(line.text, figures.len(), heading);
        let tests = tests.ok_or_else(|| {
            ImportError::at(
                Some(line.number),
                format!(
                    "{} figures for {} columns, and nothing tells which they are: keep the \
                     blanks, or the line 'Command line used'",
                    figures.len(),
                    self.columns.len()
                ),
            )
        })?;
        for (figure, test) in figures.iter().zip(tests) {
            let of = sizes(file, record);
            let cell = cell(of, test, figure, heading.unit(), line.number)?;
            self.cells.extend(cell);
        }
        Ok(())
    }

    /// Which tests the figures of a row are of: all, or those that were asked
    /// for, or those in whose place they stand.
    fn tests_of(&self, row: &str, count: usize, heading: &Heading) -> Option<Vec<Test>> {
        if count == self.columns.len() {
            return Some(self.columns.clone());
        }
        if let Some(asked) = heading.tests.as_ref().filter(|tests| !tests.is_empty()) {
            let columns = self.columns.iter().copied();
            let columns: Vec<Test> = columns.filter(|t| asked.contains(&t.number())).collect();
            if count == columns.len() {
                return Some(columns);
            }
        }
        let mut layouts = WIDTHS.iter().filter_map(|width| self.by_place(row, *width));
        layouts.find(|tests| tests.len() == count)
    }

    /// Each figure ends where its column ends.
    fn by_place(&self, row: &str, width: fn(Test) -> usize) -> Option<Vec<Test>> {
        let mut end = SIZES;
        let mut tests = Vec::new();
        for &test in &self.columns {
            let start = end;
            end += width(test);
            let Some(cell) = row.get(start..end.min(row.len())) else {
                break;
            };
            match cell.trim().is_empty() {
                true => {}
                false if cell.ends_with(' ') || cell.trim().contains(' ') => return None,
                false => tests.push(test),
            }
        }
        Some(tests)
    }
}

/// The columns by how many names there are: some names are of two lines.
fn columns(tests: &[&str]) -> Vec<Test> {
    let mut columns: Vec<Test> = super::tests().collect();
    // -E is not given with vectors always.
    match tests.get(13) {
        Some(&"pwritev") => drop(columns.drain(13..17)),
        _ => columns.truncate(tests.len()),
    }
    columns
}

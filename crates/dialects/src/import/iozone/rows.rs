//! The table: rows of figures below the names of tests.

use super::heading::Heading;
use super::{IozoneFigure, sizes};
use crate::import::error::ImportError;
use crate::import::lines::NumberedLine;

/// Columns of iozone's table: their names, and the number of `-i` that asks
/// for them.
const COLUMNS: [(&str, u32); 21] = [
    ("write", 0),
    ("rewrite", 0),
    ("read", 1),
    ("reread", 1),
    ("random read", 2),
    ("random write", 2),
    ("bkwd read", 3),
    ("record rewrite", 4),
    ("stride read", 5),
    ("fwrite", 6),
    ("frewrite", 6),
    ("fread", 7),
    ("freread", 7),
    ("pwrite", 9),
    ("repwrite", 9),
    ("pread", 10),
    ("repread", 10),
    ("pwritev", 11),
    ("repwritev", 11),
    ("preadv", 12),
    ("repreadv", 12),
];
/// Widths of columns: of 3.489, and from 3.498 on.
const WIDTHS: [fn(&str) -> usize; 2] = [old_width, new_width];
/// Width of file and record size together.
const SIZES: usize = 24;

fn old_width(test: &str) -> usize {
    match test {
        "record rewrite" | "stride read" => 10,
        "pread" => 8,
        _ => 9,
    }
}

fn new_width(_test: &str) -> usize {
    10
}

/// The table under way.
#[derive(Debug, Default)]
pub(super) struct IozoneTable {
    columns: Vec<(&'static str, u32)>,
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
            let value: f64 = figure.parse().map_err(|_| {
                let problem = format!("'{figure}' is not a figure of iozone");
                ImportError::at(Some(line.number), problem)
            })?;
            // 0 stands for what was not run.
            if value != 0.0 {
                self.cells.push(IozoneFigure {
                    of: sizes(file, record),
                    test: test.to_owned(),
                    value,
                    unit: heading.unit(),
                    line: line.number,
                });
            }
        }
        Ok(())
    }

    /// Which tests the figures of a row are of: all, or those that were asked
    /// for, or those in whose place they stand.
    fn tests_of(&self, row: &str, count: usize, heading: &Heading) -> Option<Vec<&'static str>> {
        let names = |columns: &[(&'static str, u32)]| -> Vec<&'static str> {
            columns.iter().map(|(name, _)| *name).collect()
        };
        if count == self.columns.len() {
            return Some(names(&self.columns));
        }
        if let Some(asked) = heading.tests.as_ref().filter(|tests| !tests.is_empty()) {
            let columns = self.columns.iter().filter(|(_, test)| asked.contains(test));
            let columns: Vec<(&'static str, u32)> = columns.copied().collect();
            if count == columns.len() {
                return Some(names(&columns));
            }
        }
        let mut layouts = WIDTHS.iter().filter_map(|width| self.by_place(row, *width));
        layouts.find(|tests| tests.len() == count)
    }

    /// Each figure ends where its column ends.
    fn by_place(&self, row: &str, width: fn(&str) -> usize) -> Option<Vec<&'static str>> {
        let mut end = SIZES;
        let mut tests = Vec::new();
        for (name, _) in &self.columns {
            let start = end;
            end += width(name);
            let Some(cell) = row.get(start..end.min(row.len())) else {
                break;
            };
            match cell.trim().is_empty() {
                true => {}
                false if cell.ends_with(' ') || cell.trim().contains(' ') => return None,
                false => tests.push(*name),
            }
        }
        Some(tests)
    }
}

/// The columns by how many names there are: some names are of two lines.
fn columns(tests: &[&str]) -> Vec<(&'static str, u32)> {
    let mut columns = COLUMNS[..COLUMNS.len().min(tests.len())].to_vec();
    // -E is not given with vectors always.
    if tests.get(13) == Some(&"pwritev") {
        columns.truncate(13);
        columns.extend(&COLUMNS[17..]);
    }
    columns
}

//! Table: rows of figures below the names of tests.

use super::{Heading, IozoneFigure, cell, is_columns, sizes};
use crate::import::error::ImportError;
use crate::import::lines::NumberedLine;
use assay_model::work::iozone::Test;

/// Table read so far.
#[derive(Debug, Default)]
pub(super) struct IozoneTable {
    columns: Vec<Test>,
    /// Columns of text at which the tests' names end.
    ends: Vec<usize>,
    pub(super) cells: Vec<IozoneFigure>,
}

impl IozoneTable {
    pub(super) fn line(
        &mut self,
        line: &NumberedLine<'_>,
        heading: &Heading,
    ) -> Result<(), ImportError> {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if is_columns(&words) {
            self.columns = columns(&words[2..]);
            self.ends = ends(line.text).skip(2).collect();
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

    /// Returns the tests of a row's figures: all columns, or the requested tests, or
    /// those with a matching position.
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
        self.by_place(row).filter(|tests| tests.len() == count)
    }

    /// Matches figures to tests by position: in all versions of iozone, a figure ends
    /// near the end of its column's name.
    fn by_place(&self, row: &str) -> Option<Vec<Test>> {
        let mut tests: Vec<Test> = Vec::new();
        let mut next = 0;
        for end in ends(row).skip(2) {
            let distance = |at: &usize| self.ends[*at].abs_diff(end);
            let at = (next..self.ends.len().min(self.columns.len())).min_by_key(distance)?;
            if distance(&at) > NEAR {
                return None;
            }
            tests.push(self.columns[at]);
            next = at + 1;
        }
        Some(tests)
    }
}

/// Largest distance between the ends of a figure and of its column's name, in
/// characters.
const NEAR: usize = 4;

/// Returns positions of the words' last characters.
fn ends(line: &str) -> impl Iterator<Item = usize> {
    let bytes = line.as_bytes();
    let is_end = |at: usize| bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    (0..bytes.len()).filter(move |&at| !bytes[at].is_ascii_whitespace() && is_end(at))
}

/// Returns the columns by the number of names; some names occupy two lines.
fn columns(tests: &[&str]) -> Vec<Test> {
    let mut columns: Vec<Test> = super::tests().collect();
    // With vectors, `-E` may be absent.
    match tests.get(13) {
        Some(&"pwritev") => drop(columns.drain(13..17)),
        _ => columns.truncate(tests.len()),
    }
    columns
}

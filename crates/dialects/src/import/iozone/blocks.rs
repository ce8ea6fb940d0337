//! Blocks of `-R`: one per test, with record sizes above and file sizes at the
//! left.

use super::{IozoneFigure, cell, sizes};
use crate::import::error::ImportError;
use crate::import::lines::NumberedLine;
use assay_model::work::iozone::Test;

/// Blocks read so far.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    test: Option<Test>,
    records: Vec<String>,
    unit: &'static str,
    pub(super) cells: Vec<IozoneFigure>,
}

impl Blocks {
    pub(super) fn line(
        &mut self,
        line: &NumberedLine<'_>,
        unit: &'static str,
    ) -> Result<(), ImportError> {
        self.unit = unit;
        let text = line.text.trim();
        if let Some(title) = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix(" report\""))
        {
            // CPU utilization is no figure of storage, so its block is skipped.
            self.test = super::tests().find(|test| test.title() == title.trim());
            self.records.clear();
            return Ok(());
        }
        let Some(test) = self.test else {
            return Ok(());
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let quoted: Option<Vec<String>> = words.iter().map(|word| size(word)).collect();
        match (quoted, words.split_first()) {
            (_, None) => {}
            (Some(records), _) if self.records.is_empty() => self.records = records,
            (_, Some((file, figures))) => match size(file) {
                Some(file) => self.row(test, &file, figures, line.number)?,
                None => self.test = None,
            },
        }
        Ok(())
    }

    fn row(
        &mut self,
        test: Test,
        file: &str,
        figures: &[&str],
        line: usize,
    ) -> Result<(), ImportError> {
        if figures.len() > self.records.len() {
            let problem = format!(
                "{} figures for {} record sizes",
                figures.len(),
                self.records.len()
            );
            return Err(ImportError::at(Some(line), problem));
        }
        for (figure, record) in figures.iter().zip(&self.records) {
            let cell = cell(sizes(file, record), test, figure, self.unit, line)?;
            self.cells.extend(cell);
        }
        Ok(())
    }
}

/// Parses a size such as `"1024"`.
fn size(word: &str) -> Option<String> {
    let inner = word.strip_prefix('"')?.strip_suffix('"')?;
    let is_number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| inner.to_owned())
}

//! The blocks of `-R`: a test each, with record sizes above and file sizes at
//! the left.

use super::{IozoneFigure, sizes};
use crate::import::error::ImportError;
use crate::import::lines::NumberedLine;

/// Titles, and the columns of the table that have the same figures.
const TITLES: [(&str, &str); 21] = [
    ("Writer", "write"),
    ("Re-writer", "rewrite"),
    ("Reader", "read"),
    ("Re-Reader", "reread"),
    ("Random read", "random read"),
    ("Random write", "random write"),
    ("Backward read", "bkwd read"),
    ("Record rewrite", "record rewrite"),
    ("Stride read", "stride read"),
    ("Fwrite", "fwrite"),
    ("Re-Fwrite", "frewrite"),
    ("Fread", "fread"),
    ("Re-Fread", "freread"),
    ("Pwrite", "pwrite"),
    ("Re-Pwrite", "repwrite"),
    ("Pread", "pread"),
    ("Re-Pread", "repread"),
    ("Pwritev", "pwritev"),
    ("Re-Pwritev", "repwritev"),
    ("Preadv", "preadv"),
    ("Re-Preadv", "repreadv"),
];

/// The blocks under way.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    test: Option<&'static str>,
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
            // CPU utilization is no figure of storage.
            let known = TITLES.iter().find(|(known, _)| *known == title.trim());
            self.test = known.map(|(_, test)| *test);
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
        test: &str,
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
            let value: f64 = figure.parse().map_err(|_| {
                ImportError::at(Some(line), format!("'{figure}' is not a figure of iozone"))
            })?;
            // 0 stands for what was not run.
            if value != 0.0 {
                self.cells.push(IozoneFigure {
                    of: sizes(file, record),
                    test: test.to_owned(),
                    value,
                    unit: self.unit,
                    line,
                });
            }
        }
        Ok(())
    }
}

/// `"1024"`.
fn size(word: &str) -> Option<String> {
    let inner = word.strip_prefix('"')?.strip_suffix('"')?;
    let is_number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| inner.to_owned())
}

//! Figures in columns, each row with what it measured at its end. Columns are
//! as wide as their widest cell; what does not fit goes below its row.

use super::Page;
use super::style::Tone;
use crate::words::labels::Labels;
use crate::words::text::{pad, width};
use assay_lang::tr;
use std::io;

/// Blanks before a row.
const INDENT: usize = 2;
/// Blanks between columns.
const GAP: usize = 2;

/// Head of the labels.
/// One column before the labels.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// Numbers stand right.
    pub(crate) right: bool,
}

/// One row.
pub(crate) struct Row {
    /// One per column; a row without a figure has fewer, the last of which is
    /// as wide as it is.
    pub(crate) cells: Vec<String>,
    pub(crate) labels: Labels,
    /// What the row means.
    pub(crate) sentence: Option<String>,
}

/// All of them.
pub(crate) struct Table<const N: usize> {
    pub(crate) columns: [Column; N],
    pub(crate) rows: Vec<Row>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let widths = self.widths();
        let width = INDENT + widths.iter().sum::<usize>() + GAP * (N - 1);
        let in_columns = width <= page.style.columns();
        if in_columns {
            self.header(&widths, page)?;
        }
        for row in &self.rows {
            if in_columns {
                let line = self.line(&row.cells, &widths);
                labelled(&line, width, row, page)?;
            } else {
                self.stacked(row, page)?;
            }
            if let Some(sentence) = &row.sentence {
                page.paragraph("      ".into(), sentence, Some(Tone::Soft))?;
            }
        }
        Ok(())
    }

    /// Columns that a row takes beside its first cell.
    pub(crate) fn width_without_names(&self) -> usize {
        let [_, others @ ..] = &self.widths()[..] else {
            return INDENT;
        };
        INDENT + others.iter().sum::<usize>() + GAP * others.len()
    }

    fn widths(&self) -> [usize; N] {
        let mut widths = self.columns.map(|column| width(column.head));
        for row in self.rows.iter().filter(|row| row.cells.len() == N) {
            for (widest, cell) in widths.iter_mut().zip(&row.cells) {
                *widest = (*widest).max(width(cell));
            }
        }
        // A row without a figure needs room for its name only, a heading none.
        let unfinished = |row: &&Row| (2..N).contains(&row.cells.len());
        for row in self.rows.iter().filter(unfinished) {
            let name = row.cells.first().map_or(0, |name| width(name));
            widths[0] = widths[0].max(name);
        }
        widths
    }

    fn header(&self, widths: &[usize; N], page: &mut Page<'_>) -> io::Result<()> {
        let mut heads = self.columns.map(|column| column.head.to_owned()).to_vec();
        let columns = width(&self.line(&heads, widths));
        let measured = tr!("measured");
        let labelled = self.rows.iter().any(|row| !row.labels.is_empty());
        if labelled && columns + GAP + width(measured) <= page.style.columns() {
            heads.push(measured.to_owned());
        }
        let header = page.style.paint(Tone::Soft, &self.line(&heads, widths));
        page.line(&header)
    }

    fn line(&self, cells: &[String], widths: &[usize; N]) -> String {
        let mut line = " ".repeat(INDENT);
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let blanks = widths
                .get(index)
                .map_or(0, |columns| columns.saturating_sub(width(cell)));
            let right = self.columns.get(index).is_some_and(|column| column.right);
            let (before, after) = if right { (blanks, 0) } else { (0, blanks) };
            line.push_str(&" ".repeat(before));
            line.push_str(cell);
            line.push_str(&" ".repeat(after));
        }
        line
    }

    /// For narrow terminals: the name, and its figures below.
    fn stacked(&self, row: &Row, page: &mut Page<'_>) -> io::Result<()> {
        let name = row.cells.first().map_or("", String::as_str);
        page.paragraph("  ".into(), name, None)?;
        let named = row.cells.iter().zip(&self.columns).skip(1);
        let figures = named.filter(|(cell, _)| !cell.is_empty());
        let figures = figures.map(|(cell, column)| format!("{} {cell}", column.head));
        let figures: Vec<String> = figures.collect();
        page.paragraph("    ".into(), &figures.join("; "), None)?;
        if row.labels.is_empty() {
            return Ok(());
        }
        label_below(row, page)
    }
}

/// A line with its label in the last column, or below where it does not fit.
fn labelled(line: &str, columns: usize, row: &Row, page: &mut Page<'_>) -> io::Result<()> {
    if row.labels.is_empty() {
        return page.line(line);
    }
    let label = row.labels.to_string();
    if columns + GAP + width(&label) > page.style.columns() {
        page.line(line)?;
        return label_below(row, page);
    }
    let tone = Tone::of_label(row.labels.agreed());
    let label = page.style.paint(tone, &label);
    page.line(&format!("{}{}{label}", pad(line, columns), " ".repeat(GAP)))
}

fn label_below(row: &Row, page: &mut Page<'_>) -> io::Result<()> {
    let tone = Tone::of_label(row.labels.agreed());
    let before = format!("    {}: ", tr!("measured"));
    page.paragraph(before.as_str().into(), &row.labels.to_string(), Some(tone))
}

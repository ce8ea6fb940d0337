//! Renders tables on a terminal. A last cell that is too wide is moved below its row.

use super::Page;
use crate::document::Table;
use crate::render::{Room, TextRow, TextTable};
use crate::words::{Tone, width};
use std::io;

/// Blanks before a row.
const INDENT: usize = 2;

impl Page<'_> {
    /// Writes a table. If even its narrowest form does not fit, each row becomes a name with its
    /// figures below.
    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        let room = Room {
            columns: self.style.columns(),
            width,
            around: |cells, gap| INDENT + gap * cells.saturating_sub(1),
            gaps: &[2, 1],
            shortens: self.strict,
            spills: true,
        };
        let table = TextTable::fitting(table, &room);
        if table.fits {
            let heads = table.heads.iter().zip(&table.heads);
            let heads: Vec<(&str, Option<Tone>)> =
                heads.map(|(head, _)| (head.as_str(), None)).collect();
            let line = line(self, &heads, &table);
            let line = self.style.paint(Tone::Soft, line.trim_end());
            self.line(&line)?;
        }
        for row in &table.rows {
            if table.fits {
                self.row(row, &table)?;
            } else {
                self.stacked(row, &table)?;
            }
            if let Some(note) = &row.note {
                self.paragraph("      ".into(), note, Some(Tone::Soft))?;
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &TextRow, table: &TextTable) -> io::Result<()> {
        let cells = row.cells.iter().zip(&row.tones);
        let cells: Vec<(&str, Option<Tone>)> =
            cells.map(|(cell, tone)| (cell.as_str(), *tone)).collect();
        let line = line(self, &cells, table);
        self.line(&line)
    }

    fn stacked(&mut self, row: &TextRow, table: &TextTable) -> io::Result<()> {
        let name = row.cells.first().map_or("", String::as_str);
        self.paragraph("  ".into(), name, None)?;
        let named = row.cells.iter().zip(&table.heads).skip(1);
        let figures = named.filter(|(cell, _)| !cell.is_empty());
        let figures = figures.map(|(cell, head)| format!("{head} {cell}"));
        let figures: Vec<String> = figures.collect();
        self.paragraph("    ".into(), &figures.join("; "), None)
    }
}

fn line(page: &Page<'_>, cells: &[(&str, Option<Tone>)], table: &TextTable) -> String {
    let mut line = " ".repeat(INDENT);
    for (index, (cell, tone)) in cells.iter().enumerate() {
        if index > 0 {
            line.push_str(&" ".repeat(table.gap));
        }
        let columns = table.widths.get(index).copied().unwrap_or_default();
        let blanks = " ".repeat(columns.saturating_sub(width(cell)));
        let painted = tone.map_or_else(|| (*cell).to_owned(), |tone| page.style.paint(tone, cell));
        match table.right.get(index) {
            Some(true) => line.push_str(&format!("{blanks}{painted}")),
            _ => line.push_str(&format!("{painted}{blanks}")),
        }
    }
    line
}

//! Tables as text: the columns that fit, with the other cells below each row.

use crate::document::{Cell, Column, Keep, Table, TableRow};
use crate::words::style::Tone;
use crate::words::text::shorten;

/// Minimum width of a shortened name, in columns.
const SHORTEST_NAME: usize = 12;

/// Space for a table, and rules for using it.
pub(super) struct Room {
    /// Columns of the page.
    pub(super) columns: usize,
    /// Returns the width of a text, in columns.
    pub(super) width: fn(&str) -> usize,
    /// Returns the columns taken by borders and blanks, for a number of cells and of blanks between
    /// two.
    pub(super) around: fn(usize, usize) -> usize,
    /// Blanks between two cells, with enough space and without.
    pub(super) gaps: &'static [usize],
    /// True if names may be shortened to make a table fit.
    pub(super) shortens: bool,
    /// True if a single long text in the last column may be moved below its row.
    pub(super) spills: bool,
}

/// Table whose cells are texts.
pub(super) struct TextTable {
    pub(super) heads: Vec<String>,
    pub(super) right: Vec<bool>,
    pub(super) widths: Vec<usize>,
    /// Blanks between two cells.
    pub(super) gap: usize,
    pub(super) rows: Vec<TextRow>,
    /// True if it fits the page.
    pub(super) fits: bool,
}

/// Row whose cells are texts.
pub(super) struct TextRow {
    pub(super) cells: Vec<String>,
    pub(super) tones: Vec<Option<Tone>>,
    /// Explanation below the row.
    pub(super) note: Option<String>,
    pub(super) is_heading: bool,
}

impl TextTable {
    /// Returns the columns of `table` that fit. The cells of others are moved below their rows.
    pub(super) fn fitting(table: &Table, room: &Room) -> Self {
        let shown = table.shown(|keep| !matches!(keep, Keep::Page | Keep::Screen | Keep::Workbook));
        let mut shown: Vec<usize> = shown.map(|(at, _)| at).collect();
        let mut dropped = Vec::new();
        let of = |shown: &[usize], dropped: &[usize]| {
            let gaps = room.gaps.iter();
            let mut found = gaps.map(|gap| Self::of(table, shown, dropped, room, *gap));
            let narrow = found.find(|found| found.fits);
            narrow.unwrap_or_else(|| Self::of(table, shown, dropped, room, 1))
        };
        let mut found = of(&shown, &dropped);
        while !found.fits {
            let last = |keep: Keep| {
                let mut shown = shown.iter();
                shown.rposition(|at| table.columns[*at].keep == keep)
            };
            if let Some(spare) = last(Keep::Spare) {
                shown.remove(spare);
            } else if let Some(last) = last(Keep::IfRoom) {
                dropped.insert(0, shown.remove(last));
            } else {
                break;
            }
            found = of(&shown, &dropped);
        }
        if !found.fits && room.shortens {
            found.shorten_names(room);
        }
        found
    }

    fn of(table: &Table, shown: &[usize], dropped: &[usize], room: &Room, gap: usize) -> Self {
        let columns: Vec<&Column> = shown.iter().map(|at| &table.columns[*at]).collect();
        let rows = table.rows.iter();
        let mut rows: Vec<TextRow> = rows
            .map(|row| text_row(row, table, shown, dropped))
            .collect();
        let heads: Vec<String> = columns.iter().map(|column| column.head.clone()).collect();
        let mut widths: Vec<usize> = heads.iter().map(|head| (room.width)(head)).collect();
        let full = |row: &&TextRow| row.cells.len() == shown.len();
        for row in rows.iter().filter(full) {
            for (widest, cell) in widths.iter_mut().zip(&row.cells) {
                *widest = (*widest).max((room.width)(cell));
            }
        }
        // A row without figures needs space only for its name, a heading none.
        for row in rows.iter().filter(|row| !row.is_heading && !full(row)) {
            let name = row.cells.first().map_or(0, |name| (room.width)(name));
            widths[0] = widths[0].max(name);
        }
        let last = columns
            .last()
            .filter(|last| last.keep == Keep::IfRoom && !last.right);
        if let (Some(last), true) = (last, room.spills) {
            let widest = widths.pop().unwrap_or_default();
            let taken = widths.iter().sum::<usize>() + (room.around)(shown.len(), gap);
            let left = room.columns.saturating_sub(taken);
            for row in rows.iter_mut().filter(|row| row.cells.len() == shown.len()) {
                row.spill(&last.head, left, room.width);
            }
            widths.push(widest.min(left.max((room.width)(&last.head))));
        }
        let taken = widths.iter().sum::<usize>() + (room.around)(shown.len(), gap);
        Self {
            right: columns.iter().map(|column| column.right).collect(),
            heads,
            fits: taken <= room.columns,
            gap,
            widths,
            rows,
        }
    }

    fn shorten_names(&mut self, room: &Room) {
        let others: usize = self.widths[1..].iter().sum();
        let taken = others + (room.around)(self.widths.len(), self.gap);
        let names = room.columns.saturating_sub(taken);
        if names < SHORTEST_NAME {
            return;
        }
        for row in self.rows.iter_mut().filter(|row| !row.is_heading) {
            if let Some(name) = row.cells.first_mut() {
                *name = shorten(name, names);
            }
        }
        self.widths[0] = names;
        self.fits = true;
    }
}

impl TextRow {
    /// Moves the last cell below the row if it is wider than `left`.
    fn spill(&mut self, head: &str, left: usize, width: fn(&str) -> usize) {
        let Some(cell) = self.cells.pop_if(|cell| width(cell) > left) else {
            return;
        };
        let below = std::iter::once(format!("{head}: {cell}"));
        let below: Vec<String> = below.chain(self.note.take()).collect();
        self.note = Some(below.join("; "));
    }
}

fn text_row(row: &TableRow, table: &Table, shown: &[usize], dropped: &[usize]) -> TextRow {
    let short = row.cells.len() < table.columns.len();
    let cells = || shown.iter().filter_map(|at| row.cells.get(*at));
    // A dropped column does not move the text that replaces missing figures.
    let cells: Vec<&Cell> = if short {
        row.cells.iter().collect()
    } else {
        cells().collect()
    };
    let below = dropped.iter().filter(|_| !short).filter_map(|at| {
        let (cell, head) = (row.cells.get(*at)?.text(), &table.columns[*at].head);
        (!cell.is_empty() && cell != "-").then(|| format!("{head} {cell}"))
    });
    let below: Vec<String> = below.chain(row.note.clone()).collect();
    TextRow {
        tones: cells.iter().map(|cell| cell.tone()).collect(),
        cells: cells.iter().map(|cell| cell.text()).collect(),
        note: (!below.is_empty()).then(|| below.join("; ")),
        is_heading: row.is_heading(),
    }
}

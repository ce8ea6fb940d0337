//! Plain text: what a narrow terminal would get.

use super::{COLUMNS, SHORTEST_NAME, Sheet};
use crate::render::terminal::table::{Row, Table};
use crate::render::terminal::{Page, Style};
use crate::words::text::{break_long, pad, shorten, width};
use std::io::{self, Write};

/// Of a fact; longer ones are shortened.
const LONGEST_NAME: usize = 28;

/// A mail in plain text.
pub(super) struct Plain<'a> {
    page: Page<'a>,
    /// The last line was a heading.
    headed: bool,
}

impl<'a> Plain<'a> {
    pub(super) fn to(out: &'a mut dyn Write) -> Self {
        let style = Style {
            color: false,
            width: COLUMNS,
            ascii: false,
        };
        Self {
            page: Page { style, out },
            headed: false,
        }
    }

    /// A paragraph behind `first`.
    fn behind(&mut self, first: &str, text: &str) -> io::Result<()> {
        let room = COLUMNS - width(first).min(COLUMNS / 2);
        self.headed = false;
        self.page
            .paragraph(first.into(), &break_long(text, room), None)
    }
}

impl Sheet for Plain<'_> {
    fn title(&mut self, text: &str) -> io::Result<()> {
        self.behind("", text)
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        self.page.title(&shorten(text, COLUMNS))?;
        self.headed = true;
        Ok(())
    }

    fn paragraph(&mut self, text: &str) -> io::Result<()> {
        if !self.headed {
            self.page.blank()?;
        }
        self.behind("", text)
    }

    fn facts(&mut self, facts: &[(String, String)]) -> io::Result<()> {
        let widths = facts.iter().map(|(name, _)| width(name));
        let columns = widths.max().unwrap_or_default().min(LONGEST_NAME);
        for (name, text) in facts {
            let name = pad(&shorten(name, columns), columns);
            self.behind(&format!("  {name}  "), text)?;
        }
        Ok(())
    }

    fn list(&mut self, points: &[String]) -> io::Result<()> {
        for point in points {
            self.behind("  - ", point)?;
        }
        Ok(())
    }

    fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        for line in lines {
            self.page.line(&format!("  {line}"))?;
        }
        Ok(())
    }

    fn table<const N: usize>(&mut self, mut table: Table<N>) -> io::Result<()> {
        let is_heading = |row: &Row| row.cells.len() == 1;
        let below_headings = if table.rows.iter().any(is_heading) {
            " "
        } else {
            ""
        };
        let room = COLUMNS.saturating_sub(table.width_without_names() + below_headings.len());
        let room = room.max(SHORTEST_NAME);
        for row in &mut table.rows {
            if let [name, _, ..] = row.cells.as_mut_slice() {
                *name = format!("{below_headings}{}", shorten(name, room));
            }
            row.sentence = row
                .sentence
                .take()
                .map(|text| break_long(&text, COLUMNS - 6));
        }
        self.headed = false;
        table.write(&mut self.page)
    }
}

//! Markdown (GitHub's, with tables), still within the columns of a mail.

use super::{COLUMNS, SHORTEST_NAME, Sheet};
use crate::render::terminal::table::{Row, Table};
use crate::words::text::{break_long, pad, pad_left, shorten, width, wrap};
use assay_lang::tr;
use std::io::{self, Write};

/// A mail in Markdown.
pub(super) struct Markdown<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Markdown<'a> {
    pub(super) fn to(out: &'a mut dyn Write) -> Self {
        Self { out }
    }

    /// Escaped text behind `first`; further lines stand below its beginning.
    fn behind(&mut self, first: &str, text: &str) -> io::Result<()> {
        let indent = width(first);
        let room = COLUMNS - indent;
        let mut start = first.to_owned();
        for line in wrap(&break_long(text, room), room) {
            writeln!(self.out, "{start}{}", at_start(&line))?;
            start = " ".repeat(indent);
        }
        Ok(())
    }
}

impl Sheet for Markdown<'_> {
    fn title(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(b"## ")?;
        // A heading is one line, and cannot go on in the next one.
        writeln!(self.out, "{}", fitting(text, COLUMNS - 3))
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n### {}", fitting(text, COLUMNS - 4))
    }

    fn paragraph(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out)?;
        self.behind("", &escaped(text))
    }

    fn facts(&mut self, facts: &[(String, String)]) -> io::Result<()> {
        writeln!(self.out)?;
        for (name, text) in facts {
            // A name is one word to who breaks lines: it has to fit.
            let name = fitting(name, COLUMNS - "- ****:".len());
            self.behind("- ", &format!("**{name}**: {}", escaped(text)))?;
        }
        Ok(())
    }

    fn list(&mut self, points: &[String]) -> io::Result<()> {
        writeln!(self.out)?;
        for point in points {
            self.behind("- ", &escaped(point))?;
        }
        Ok(())
    }

    fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        let fence = fence(lines);
        writeln!(self.out, "\n{fence}")?;
        for line in lines {
            writeln!(self.out, "{line}")?;
        }
        writeln!(self.out, "{fence}")
    }

    fn table<const N: usize>(&mut self, table: Table<N>) -> io::Result<()> {
        let mut heads: Vec<&str> = table.columns.iter().map(|column| column.head).collect();
        let mut right: Vec<bool> = table.columns.iter().map(|column| column.right).collect();
        if table.rows.iter().any(|row| !row.labels.is_empty()) {
            heads.push(tr!("measured"));
            right.push(false);
        }
        // A heading within it would be cut to the width of names.
        let rows = table.rows.iter().filter(|row| row.cells.len() > 1);
        let rows: Vec<Vec<String>> = rows.map(|row| cells(row, heads.len())).collect();
        let grid = Grid::of(&heads, &rows);
        writeln!(self.out)?;
        match grid {
            Some(grid) => grid.write(&heads, &right, &rows, self.out)?,
            None => {
                for row in &rows {
                    self.behind("- ", &escaped(&as_point(&heads, row)))?;
                }
            }
        }
        let said = table.rows.iter().filter_map(|row| {
            let name = row.cells.first()?;
            Some(format!("{name}: {}", row.sentence.as_ref()?))
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() {
            Ok(())
        } else {
            self.list(&said)
        }
    }
}

/// The cells of a row, with the label where it has one.
fn cells(row: &Row, columns: usize) -> Vec<String> {
    let mut cells = row.cells.clone();
    if !row.labels.is_empty() {
        cells.resize(columns - 1, String::new());
        cells.push(row.labels.to_string());
    }
    cells.resize(columns, String::new());
    cells
}

/// A row that no table of this width can have.
fn as_point(heads: &[&str], row: &[String]) -> String {
    let cells = heads.iter().zip(row).skip(1);
    let cells = cells.filter(|(_, cell)| !cell.is_empty());
    let cells: Vec<String> = cells.map(|(head, cell)| format!("{head} {cell}")).collect();
    format!("{}: {}", row[0], cells.join("; "))
}

/// How a table is set.
struct Grid {
    widths: Vec<usize>,
    /// Beside the bars, where there is room for it.
    gap: &'static str,
}

impl Grid {
    /// With names as short as they must be; `None` where that is not enough.
    fn of(heads: &[&str], rows: &[Vec<String>]) -> Option<Self> {
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| width(&escaped(&row[column])));
            cells.chain([width(heads[column]), 3]).max().unwrap_or(3)
        };
        let mut widths: Vec<usize> = (0..heads.len()).map(widest).collect();
        let others: usize = widths[1..].iter().sum();
        let names = widths[0];
        // `| a | b |`, else `|a|b|`.
        for (gap, bars) in [(" ", 3 * heads.len() + 1), ("", heads.len() + 1)] {
            let room = COLUMNS.saturating_sub(others + bars);
            if room >= names || (gap.is_empty() && room >= SHORTEST_NAME) {
                widths[0] = names.min(room);
                return Some(Self { widths, gap });
            }
        }
        None
    }

    fn write(
        &self,
        heads: &[&str],
        right: &[bool],
        rows: &[Vec<String>],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.line(heads.iter().copied(), right, out)?;
        let rules = self
            .widths
            .iter()
            .zip(right)
            .map(|(width, right)| match right {
                true => format!("{}:", "-".repeat(width - 1)),
                false => "-".repeat(*width),
            });
        let rules: Vec<String> = rules.collect();
        self.line(rules.iter().map(String::as_str), right, out)?;
        for row in rows {
            self.line(row.iter().map(String::as_str), right, out)?;
        }
        Ok(())
    }

    fn line<'a>(
        &self,
        cells: impl Iterator<Item = &'a str>,
        right: &[bool],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for ((cell, width), right) in cells.zip(&self.widths).zip(right) {
            let cell = fitting(cell, *width);
            let gap = self.gap;
            match right {
                true => write!(out, "|{gap}{}{gap}", pad_left(&cell, *width))?,
                false => write!(out, "|{gap}{}{gap}", pad(&cell, *width))?,
            }
        }
        writeln!(out, "|")
    }
}

/// Escaped text in so many columns; it is shortened before it is escaped, so that no
/// escape is cut in two.
fn fitting(text: &str, columns: usize) -> String {
    let shortened = (0..=columns)
        .rev()
        .map(|columns| escaped(&shorten(text, columns)));
    let mut fits = shortened.filter(|text| width(text) <= columns);
    fits.next().unwrap_or_default()
}

/// A fence that no line in it can end.
fn fence(lines: &[String]) -> String {
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`'));
    let longest = runs.map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

/// Text that stays text: no emphasis, no links, no tags, no cells.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let inner = before.is_alphanumeric() && rest.peek().is_some_and(|c| c.is_alphanumeric());
        let special = matches!(
            c,
            '\\' | '`' | '*' | '<' | '>' | '[' | ']' | '|' | '~' | '&'
        );
        // Within a word an underscore is one.
        if special || (c == '_' && !inner) {
            escaped.push('\\');
        }
        escaped.push(c);
        before = c;
    }
    escaped
}

/// A line that does not begin a list, a heading or a rule.
fn at_start(line: &str) -> String {
    match line.split(' ').next() {
        Some("-" | "+" | "#" | "##" | "###" | "=" | "==") => {
            format!("\\{line}")
        }
        Some(word) if is_number_of_list(word) => line.replacen('.', "\\.", 1),
        _ => line.to_owned(),
    }
}

fn is_number_of_list(word: &str) -> bool {
    let digits = word.strip_suffix('.').unwrap_or_default();
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_mark_up() {
        assert_eq!(
            escaped("rand_read *b* <i>|[x](y)"),
            "rand_read \\*b\\* \\<i\\>\\|\\[x\\](y)"
        );
        assert_eq!(escaped("_a_ `b`"), "\\_a\\_ \\`b\\`");
        assert_eq!(at_start("- not a point"), "\\- not a point");
        assert_eq!(at_start("3. not a point"), "3\\. not a point");
        assert_eq!(at_start("-3.9 % of it"), "-3.9 % of it");
    }

    #[test]
    fn what_is_shortened_stays_escaped() {
        assert_eq!(fitting("<<<<<<<<", 10), "\\<\\<…\\<\\<");
        assert_eq!(fitting("rand-read-4k", 12), "rand-read-4k");
    }

    #[test]
    fn a_fence_is_longer_than_what_is_in_it() {
        assert_eq!(fence(&["$ assay".to_owned()]), "```");
        assert_eq!(fence(&["echo ```` x".to_owned()]), "`````");
    }
}

//! Renders documents as Markdown (GitHub's, with tables) within the columns of a mail.

use super::columns::{Room, TextTable};
use crate::document::{Block, Document, Fact, Section, Table};
use crate::words::text::{
    MAIL_COLUMNS as COLUMNS, break_long, pad, pad_left, shorten, width, wrap,
};
use std::io::{self, Write};

/// Writes a document.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    // A heading is a single line and cannot be wrapped.
    let title = fitting(&document.title, COLUMNS - 3);
    writeln!(out, "## {title}")?;
    let mut page = Markdown { out };
    if title != escaped(&document.title) {
        writeln!(page.out)?;
        page.behind("", &document.title)?;
    }
    let mut header = document.header.iter();
    header.try_for_each(|block| page.block(block))?;
    let mut sections = document.sections.iter();
    sections.try_for_each(|section| page.section(section))
}

struct Markdown<'a> {
    out: &'a mut dyn Write,
}

impl Markdown<'_> {
    /// Writes escaped text after `first`; further lines are indented by its width.
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

    fn section(&mut self, section: &Section) -> io::Result<()> {
        if !section.title.is_empty() {
            writeln!(self.out, "\n### {}", fitting(&section.title, COLUMNS - 4))?;
        }
        section
            .blocks
            .iter()
            .try_for_each(|block| self.block(block))
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        match block {
            Block::Paragraph { text, .. } => {
                writeln!(self.out)?;
                self.behind("", &escaped(text))
            }
            Block::Heading(title) => {
                writeln!(self.out, "\n#### {}", fitting(title, COLUMNS - 5))
            }
            Block::Facts(facts) => self.facts(facts),
            Block::List(points) => self.list(points),
            Block::Lines(lines) => self.lines(lines),
            Block::Findings(findings) => {
                let points = findings.iter().flat_map(|finding| {
                    let subject = finding.subject.iter().map(|subject| format!("{subject}: "));
                    let mut before = subject.collect::<String>();
                    let sentences = finding.sentences.iter();
                    sentences.map(move |one| format!("{}{}", std::mem::take(&mut before), one.text))
                });
                self.list(&points.collect::<Vec<_>>())
            }
            Block::Table(table) => self.table(table),
            Block::Chart(chart) => {
                writeln!(self.out)?;
                self.behind("", &escaped(&chart.description))
            }
            Block::Warning {
                message, remedy, ..
            } => {
                let remedy = remedy.iter().map(|remedy| format!(" -> {remedy}"));
                let point = format!("{message}{}", remedy.collect::<String>());
                self.behind("- ", &escaped(&point))
            }
            Block::Curve { .. } => Ok(()),
            Block::Details(section) => self.section(section),
        }
    }

    fn facts(&mut self, facts: &[Fact]) -> io::Result<()> {
        writeln!(self.out)?;
        for fact in facts {
            // Wrapping treats a name as one word: it has to fit.
            let name = fitting(&fact.name, COLUMNS - "- ****:".len());
            self.behind("- ", &format!("**{name}**: {}", escaped(&fact.text)))?;
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

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let grid = TextTable::fitting(table, &ROOM);
        let gap = if grid.gap > 1 { " " } else { "" };
        // Notes start with the names of their rows, and a heading would end the table.
        let rows = grid.rows.iter().filter(|row| !row.is_heading);
        let said = rows.clone().filter_map(|row| {
            let name = row.cells.first()?;
            Some(format!("{name}: {}", row.note.as_ref()?))
        });
        let said: Vec<String> = said.collect();
        writeln!(self.out)?;
        if grid.fits {
            grid_line(self.out, &grid, gap, grid.heads.iter().map(String::as_str))?;
            let columns = grid.widths.iter().zip(&grid.right);
            let rules = columns.map(|(width, right)| match right {
                true => format!("{}:", "-".repeat(width - 1)),
                false => "-".repeat(*width),
            });
            let rules: Vec<String> = rules.collect();
            grid_line(self.out, &grid, gap, rules.iter().map(String::as_str))?;
            for row in rows {
                let blanks = std::iter::repeat("");
                let cells = row.cells.iter().map(String::as_str).chain(blanks);
                grid_line(self.out, &grid, gap, cells.take(grid.heads.len()))?;
            }
        } else {
            for row in rows {
                self.behind("- ", &escaped(&as_point(&grid.heads, &row.cells)))?;
            }
        }
        match said.is_empty() {
            true => Ok(()),
            false => self.list(&said),
        }
    }
}

const ROOM: Room = Room {
    columns: COLUMNS,
    width: escaped_width,
    // Rows are `| a | b |`, or `|a|b|` if space is limited.
    around: |cells, gap| cells * (1 + 2 * (gap - 1)) + 1,
    gaps: &[2, 1],
    shortens: true,
    spills: false,
};

/// Returns the width of an escaped text; a column has at least three characters for its rule.
fn escaped_width(text: &str) -> usize {
    width(&escaped(text)).max(3)
}

/// Renders a row as a list item, for tables that do not fit the width.
fn as_point(heads: &[String], cells: &[String]) -> String {
    let named = heads.iter().zip(cells).skip(1);
    let named = named.filter(|(_, cell)| !cell.is_empty());
    let named: Vec<String> = named.map(|(head, cell)| format!("{head} {cell}")).collect();
    let name = cells.first().map_or("", String::as_str);
    format!("{name}: {}", named.join("; "))
}

fn grid_line<'a>(
    out: &mut dyn Write,
    grid: &TextTable,
    gap: &str,
    cells: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    for ((cell, width), right) in cells.zip(&grid.widths).zip(&grid.right) {
        let cell = fitting(cell, *width);
        match right {
            true => write!(out, "|{gap}{}{gap}", pad_left(&cell, *width))?,
            false => write!(out, "|{gap}{}{gap}", pad(&cell, *width))?,
        }
    }
    writeln!(out, "|")
}

/// Shortens a text to a number of columns and escapes it, in this order, so that no escape sequence
/// is cut in two.
fn fitting(text: &str, columns: usize) -> String {
    let shortened = (0..=columns)
        .rev()
        .map(|columns| escaped(&shorten(text, columns)));
    let mut fits = shortened.filter(|text| width(text) <= columns);
    fits.next().unwrap_or_default()
}

/// Returns a fence that no line within it can end.
fn fence(lines: &[String]) -> String {
    let runs = lines.iter().flat_map(|line| line.split(|c| c != '`'));
    let longest = runs.map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

/// Escapes a text, so that it forms no emphasis, link, tag or cell.
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
        // An underscore within a word is not special.
        if special || (c == '_' && !inner) {
            escaped.push('\\');
        }
        escaped.push(c);
        before = c;
    }
    escaped
}

/// Escapes the beginning of a line, so that it forms no list, heading or rule.
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

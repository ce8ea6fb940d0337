//! Formats for readers. Tables as text contain the columns that fit, with the other cells below
//! each row.

pub mod html;
pub mod terminal;
pub mod xlsx;

use crate::document::{Block, Cell, Column, Document, Fact, Keep, Section, Table, TableRow};
use crate::words::{
    MAIL_COLUMNS, MAIL_COLUMNS as COLUMNS, Style, Tone, break_long, pad, pad_left, shorten, width,
    wrap,
};
use std::io::{self, Write};
use terminal::Page;

/// Format of a text within the columns of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain text for mailing lists.
    Text,
    /// Markdown for issue trackers.
    Markdown,
}

/// Writes a document as text for a mail.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_mail(document: &Document, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text => write_text(document, out),
        Form::Markdown => write(document, out),
    }
}

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

/// Writes a document as a note for a patch: text for mails without empty lines. No line begins so that
/// git takes it for the end of the note or for a patch.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_patch(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    write_text(document, &mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        if !line.trim().is_empty() {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Writes a document as plain text for mails and tickets, with at most 72 columns so that quoting
/// does not wrap lines.
///
/// # Errors
/// If `out` cannot be written.
fn write_text(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let style = Style {
        color: false,
        width: MAIL_COLUMNS,
        ascii: false,
    };
    Page::strict(style, out).document(document)
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
            Some(format!("{}: {}", name.trim_end(), row.note.as_ref()?))
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

/// Minimum width of a shortened name, in columns.
const SHORTEST_NAME: usize = 12;

/// Space for a table, and rules for using it.
struct Room {
    /// Columns of the page.
    columns: usize,
    /// Returns the width of a text, in columns.
    width: fn(&str) -> usize,
    /// Returns the columns taken by borders and blanks, for a number of cells and of blanks between
    /// two.
    around: fn(usize, usize) -> usize,
    /// Blanks between two cells, with enough space and without.
    gaps: &'static [usize],
    /// True if names may be shortened to make a table fit.
    shortens: bool,
    /// True if a single long text in the last column may be moved below its row.
    spills: bool,
}

/// Table whose cells are texts.
struct TextTable {
    heads: Vec<String>,
    right: Vec<bool>,
    widths: Vec<usize>,
    /// Blanks between two cells.
    gap: usize,
    rows: Vec<TextRow>,
    /// True if it fits the page.
    fits: bool,
}

/// Row whose cells are texts.
struct TextRow {
    cells: Vec<String>,
    tones: Vec<Option<Tone>>,
    /// Explanation below the row.
    note: Option<String>,
    is_heading: bool,
}

impl TextTable {
    /// Returns the columns of `table` that fit. The cells of others are moved below their rows.
    fn fitting(table: &Table, room: &Room) -> Self {
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
                *name = shorten(name.trim_end(), names);
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

#[cfg(test)]
mod tests {
    use super::{Form, write_mail, *};
    use crate::testing::comparison_fixture::{Sides, ranked, ranking, swept};
    use crate::testing::{fixture, samples};
    use crate::views;
    use assay_model::run::Run;
    use assay_stats::verdict::Options;

    fn of_comparison(sides: &Sides, form: Form) -> String {
        let mut out = Vec::new();
        write_mail(&views::comparison::mail(&sides.compared()), form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn of_run(run: &Run, form: Form) -> String {
        let mut out = Vec::new();
        write_mail(&views::run::mail(run), form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn of_sweep(run: &Run, form: Form) -> String {
        let options = Options::default();
        let ranking = ranking(run, &options);
        let mut out = Vec::new();
        let document = views::ranking::mail(run, &ranked(&ranking, &options));
        write_mail(&document, form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_comparison_answers_what_maintainers_ask() {
        let text = of_comparison(&Sides::new(), Form::Text);
        for asked in [
            "seq-read-1m",
            "sequential read, 1 MiB blocks",
            "$ assay qualify /data/assay --quick",
            "assay 0.1.0",
            "kernel, 6.6.8-board",
            " a side",
            "interval",
        ] {
            assert!(text.contains(asked), "{asked}: {text}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_comparison_is_a_table_in_markdown() {
        insta::assert_snapshot!(of_comparison(&Sides::new(), Form::Markdown));
    }

    #[test]
    fn a_run_reads_well() {
        insta::assert_snapshot!(of_run(&fixture::run(), Form::Text));
    }

    #[test]
    fn a_sweep_has_a_table_for_each_metric() {
        let text = of_sweep(&swept(), Form::Markdown);
        let to = text.find("### Warnings").unwrap();
        insta::assert_snapshot!(&text[..to]);
    }

    #[test]
    fn nothing_is_wider_than_a_mail() {
        let mut texts = Vec::new();
        for form in [Form::Text, Form::Markdown] {
            for run in [
                fixture::run(),
                samples::with_sustained(),
                samples::empty(),
                samples::void(),
                samples::only_failures(),
                samples::large(),
                samples::hostile(),
                samples::with_matrix(),
            ] {
                texts.push(of_run(&run, form));
                let mut other = run.clone();
                other.header.id = "z".repeat(100);
                other.header.command.push("word ".repeat(40));
                texts.push(of_comparison(&Sides::of(run, other), form));
            }
            texts.push(of_comparison(&Sides::new(), form));
            texts.push(of_sweep(&swept(), form));
        }
        for text in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= MAIL_COLUMNS, "too wide: {line}");
            }
        }
    }

    #[test]
    fn names_neither_steer_a_terminal_nor_mark_up() {
        for form in [Form::Text, Form::Markdown] {
            let text = of_run(&samples::hostile(), form);
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        }
        let text = of_run(&samples::hostile(), Form::Markdown);
        let outside: String = text.split("```").step_by(2).collect();
        assert!(
            outside.contains("\\<script\\>") && !outside.contains(" <script"),
            "{outside}"
        );
    }

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

//! Renders documents on a terminal, in plain lines within the given width. Colour only repeats what
//! the words express. [`write_list`] writes the list of stored runs.

pub use crate::words::Style;

use crate::charts::draw;
use crate::document::{Block, Document, Fact, Section, Table};
use crate::render::{Room, TextRow, TextTable};
use crate::results::findings::Finding;
use crate::views;
use crate::words::{Tone, beginning, break_long, clean, pad, shorten, utc, width, wrap};
use assay_lang::{key, tr, translated};
use assay_model::run::Run;
use assay_model::units::as_usize;
use std::io::{self, Write};

/// Writes a document, followed by the `closing` lines: where a run is stored, how to see more.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    document: &Document,
    style: Style,
    closing: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page::to(style, out);
    page.document(document)?;
    page.closing(closing)
}

/// Writes the summary of a run.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_summary(
    run: &Run,
    style: Style,
    closing: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    write(&views::run::document(run), style, closing, out)
}

/// Lines of a summary that a terminal shows without scrolling.
const SCREEN: usize = 20;

/// Writes the summary of a run at the end of its command on a terminal: all of it if it fits on a
/// screen, else the key figures, with the answer last.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_ending(
    run: &Run,
    style: Style,
    closing: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut whole = Vec::new();
    write_summary(run, style, closing, &mut whole)?;
    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    match views::run::brief(run, closing).filter(|_| lines > SCREEN) {
        Some(brief) => write(&brief, style, &[], out),
        None => out.write_all(&whole),
    }
}

/// Output with a style.
pub(crate) struct Page<'a> {
    pub(crate) style: Style,
    /// True if no line may exceed the width, even if a word has to be cut.
    strict: bool,
    pub(crate) out: &'a mut dyn Write,
}

/// Text before a paragraph.
#[derive(Clone, Copy)]
pub(crate) struct ParagraphPrefix<'a> {
    text: &'a str,
    tone: Option<Tone>,
}

impl<'a> From<&'a str> for ParagraphPrefix<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, tone: None }
    }
}

/// Maximum width of a fact's name in a mail.
const LONGEST_NAME: usize = 28;

impl<'a> Page<'a> {
    pub(crate) fn to(style: Style, out: &'a mut dyn Write) -> Self {
        Self {
            style,
            strict: false,
            out,
        }
    }

    /// Returns a page whose lines never exceed the width of the style.
    pub(crate) fn strict(style: Style, out: &'a mut dyn Write) -> Self {
        Self {
            strict: true,
            ..Self::to(style, out)
        }
    }
}

impl Page<'_> {
    /// Writes the document with all its sections. On a terminal the answer is last, where the reader's
    /// eyes are.
    pub(crate) fn document(&mut self, document: &Document) -> io::Result<()> {
        self.paragraph("".into(), &document.title, Some(Tone::Strong))?;
        let mut header = document.header.iter();
        header.try_for_each(|block| self.block(block))?;
        let is_answer = |section: &&Section| section.id == "verdict" && !self.strict;
        let (answer, others): (Vec<&Section>, Vec<&Section>) =
            document.sections.iter().partition(is_answer);
        others
            .iter()
            .try_for_each(|section| self.section(section))?;
        if !others.is_empty() && answer.iter().any(|section| section.title.is_empty()) {
            self.title(tr!("Answer"))?;
        }
        answer.iter().try_for_each(|section| self.section(section))
    }

    pub(crate) fn section(&mut self, section: &Section) -> io::Result<()> {
        if !section.title.is_empty() {
            self.title(&section.title)?;
        }
        let mut table = false;
        for block in &section.blocks {
            // A blank line separates a table from the text above it.
            let below = matches!(block, Block::Paragraph { .. } | Block::List(_));
            if table && below {
                self.blank()?;
            }
            table = matches!(block, Block::Table(_));
            self.block(block)?;
        }
        Ok(())
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        match block {
            Block::Paragraph { text, tone } => self.paragraph("  ".into(), text, *tone),
            Block::Heading(title) => self.title(title),
            Block::Facts(facts) => self.facts(facts),
            Block::List(points) => points
                .iter()
                .try_for_each(|point| self.paragraph("  - ".into(), point, None)),
            Block::Lines(lines) => lines
                .iter()
                .try_for_each(|line| self.line(&format!("  {line}"))),
            Block::Findings(findings) => findings
                .iter()
                .try_for_each(|finding| self.finding(finding)),
            Block::Table(table) => self.table(table),
            Block::Chart(chart) if self.strict => {
                self.paragraph("  ".into(), &chart.description, None)
            }
            Block::Chart(chart) => draw::terminal::write(chart, self.style, self.out),
            Block::Warning {
                message,
                remedy,
                severe,
            } => self.warning(message, remedy.as_deref(), *severe),
            Block::Details(section) => self.section(section),
            Block::Curve { .. } if self.strict => Ok(()),
            Block::Curve { name, values, end } => self.curve(name, values, end),
        }
    }

    fn facts(&mut self, facts: &[Fact]) -> io::Result<()> {
        let widths = facts.iter().map(|fact| width(&fact.name));
        let columns = widths.max().unwrap_or_default().min(LONGEST_NAME);
        for fact in facts {
            let name = pad(&shorten(&fact.name, columns), columns);
            let name = format!("  {name}  ");
            let mark = ParagraphPrefix {
                text: &name,
                tone: fact.tone.map(|_| Tone::Strong),
            };
            self.paragraph(mark, &fact.text, fact.tone)?;
        }
        Ok(())
    }

    /// Writes a finding; the conclusion about a trial follows the trial's name.
    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let (name, indent) = match &finding.subject {
            Some(subject) => (format!("  {subject:<11}"), "             "),
            None => ("  ".to_owned(), "  "),
        };
        let mut before = name.as_str();
        for (index, sentence) in finding.sentences.iter().enumerate() {
            let concludes = index == 0 && finding.subject.is_some();
            let tone = match sentence.bad {
                true => Some(Tone::Bad),
                false => concludes.then_some(Tone::Good),
            };
            self.paragraph(before.into(), &sentence.text, tone)?;
            before = indent;
        }
        Ok(())
    }

    fn warning(&mut self, message: &str, remedy: Option<&str>, severe: bool) -> io::Result<()> {
        let tone = if severe { Tone::Bad } else { Tone::Care };
        let mark = ParagraphPrefix {
            text: "  ! ",
            tone: Some(tone),
        };
        self.paragraph(mark, message, None)?;
        let arrow = ParagraphPrefix {
            text: "    -> ",
            tone: Some(Tone::Soft),
        };
        remedy.map_or(Ok(()), |remedy| {
            self.paragraph(arrow, remedy, Some(Tone::Soft))
        })
    }

    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", text.trim_end())
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.line("")
    }

    pub(crate) fn title(&mut self, text: &str) -> io::Result<()> {
        self.blank()?;
        let text = match self.strict {
            true => shorten(text, self.style.columns()),
            false => text.to_owned(),
        };
        let text = self.style.paint(Tone::Strong, &text);
        self.line(&text)
    }

    /// Writes the last lines.
    fn closing(&mut self, lines: &[String]) -> io::Result<()> {
        if !lines.is_empty() {
            self.blank()?;
        }
        for line in lines {
            self.paragraph("".into(), &clean(line), None)?;
        }
        Ok(())
    }

    /// Writes wrapped text with `first` before the first line, and as many spaces before the
    /// others.
    pub(crate) fn paragraph(
        &mut self,
        first: ParagraphPrefix<'_>,
        text: &str,
        tone: Option<Tone>,
    ) -> io::Result<()> {
        let indent = width(first.text);
        let room = self.style.columns().saturating_sub(indent);
        let cut = self.strict.then(|| break_long(text, room));
        let lines = wrap(cut.as_deref().unwrap_or(text), room);
        let paint = |text: &str, tone: Option<Tone>| match tone {
            Some(tone) => self.style.paint(tone, text),
            None => text.to_owned(),
        };
        let mut start = paint(first.text, first.tone);
        for line in lines {
            writeln!(self.out, "{start}{}", paint(&line, tone))?;
            start = " ".repeat(indent);
        }
        Ok(())
    }
}

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['.', ':', '-', '=', '+', '*', '%', '#'];
/// Minimum width of a name, in columns.
const NAME: usize = 3;

impl Page<'_> {
    fn curve(&mut self, name: &str, values: &[Option<f64>], end: &str) -> io::Result<()> {
        let before = (width(name) + 1).max(NAME) + 2;
        let room = self.style.columns().saturating_sub(before + width(end) + 4);
        let blocks = if self.style.ascii { &ASCII } else { &BLOCKS };
        let (curve, marks) = spark(values, room, blocks);
        let blanks = " ".repeat(before - 2 - width(name));
        self.line(&format!("  {name}{blanks}{curve}  {end}"))?;
        if marks.contains('x') {
            let marks = self.style.paint(Tone::Bad, &marks);
            self.line(&format!("{}{marks}", " ".repeat(before)))?;
        }
        Ok(())
    }
}

/// Returns a block for the mean of each stretch of values, and an `x` below each stretch with a
/// stall.
fn spark(values: &[Option<f64>], room: usize, blocks: &[char; 8]) -> (String, String) {
    let peak = values.iter().flatten().copied().fold(0.0, f64::max);
    let per_block = values.len().div_ceil(room.max(1)).max(1);
    let (mut curve, mut marks) = (String::new(), String::new());
    for stretch in values.chunks(per_block) {
        let known: Vec<f64> = stretch.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        curve.push(block(mean, peak, blocks));
        let stalled = known.iter().any(|rate| *rate <= 0.0);
        marks.push(if stalled { 'x' } else { ' ' });
    }
    (curve, marks.trim_end().to_owned())
}

fn block(rate: f64, peak: f64, blocks: &[char; 8]) -> char {
    if rate <= 0.0 || peak <= 0.0 {
        return ' ';
    }
    let index = as_usize(rate / peak * 8.0);
    blocks[index.min(blocks.len() - 1)]
}

/// Blanks before a row.
const ROW_INDENT: usize = 2;

impl Page<'_> {
    /// Writes a table. If even its narrowest form does not fit, each row becomes a name with its
    /// figures below. A last cell that is too wide is moved below its row.
    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        let room = Room {
            columns: self.style.columns(),
            width,
            around: |cells, gap| ROW_INDENT + gap * cells.saturating_sub(1),
            gaps: &[2, 1],
            shortens: self.strict,
            spills: true,
        };
        let table = TextTable::fitting(table, &room);
        if table.fits {
            let heads = table.heads.iter().zip(&table.heads);
            let heads: Vec<(&str, Option<Tone>)> =
                heads.map(|(head, _)| (head.as_str(), None)).collect();
            let line = format_row(self, &heads, &table);
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
        let line = format_row(self, &cells, table);
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

fn format_row(page: &Page<'_>, cells: &[(&str, Option<Tone>)], table: &TextTable) -> String {
    let mut line = " ".repeat(ROW_INDENT);
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

/// Stored run or import in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRow {
    /// Id of the run.
    pub id: String,
    /// Name given by the user; empty without one.
    pub name: String,
    /// Start, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Command that started the run.
    pub command: String,
    /// Measured path.
    pub path: String,
    /// Description of the device in a few words.
    pub device: String,
    /// `running`, `finished`, `interrupted`, `failed` or `imported`.
    pub status: String,
    /// Trials stored.
    pub trials: u64,
    /// Trials planned.
    pub planned: u64,
    /// True if data was lost.
    pub data_lost: bool,
    /// Key figure with its unit, or a finding; empty before there is any.
    pub figure: String,
    /// Label of the key figure; empty if it is not known.
    pub measured: String,
    /// Size of the measured device; empty if it is not known.
    pub size: String,
    /// Tags, separated by commas.
    pub tags: String,
}

const HEADER: [&str; COLUMNS] = [
    key!("RUN"),
    key!("NAME"),
    key!("STARTED (UTC)"),
    key!("COMMAND"),
    key!("STATUS"),
    key!("PATH"),
    key!("DEVICE"),
    key!("KEY FIGURE"),
    key!("MEASURED"),
    key!("SIZE"),
    key!("TAGS"),
];
const COLUMNS: usize = 11;
const RUN_NAME: usize = 1;
const STARTED: usize = 2;
const COMMAND: usize = 3;
const STATUS: usize = 4;
const PATH: usize = 5;
const DEVICE: usize = 6;
const FIGURE: usize = 7;
const MEASURED: usize = 8;
const SIZE: usize = 9;
const TAGS: usize = 10;
/// Gap between columns.
const GAP: usize = 2;
/// Columns that are dropped if space is limited, in this order. The status is never dropped if a
/// run did not end normally.
const DISPENSABLE: [usize; 9] = [
    TAGS, PATH, STATUS, SIZE, COMMAND, STARTED, MEASURED, DEVICE, RUN_NAME,
];
/// Columns that can be narrowed, with their minimum width.
const YIELDING: [(usize, usize); 6] = [
    (TAGS, 8),
    (PATH, 12),
    (DEVICE, 9),
    (RUN_NAME, 8),
    (COMMAND, 7),
    (FIGURE, 20),
];
/// Width of a date without the time.
const DATE: usize = 10;

/// Writes one line per run under a header, in the given order. Columns are shortened and dropped to
/// fit `columns`; `None` writes all in full.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_list(
    rows: &[ListRow],
    style: Style,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cells: Vec<[String; COLUMNS]> = rows.iter().map(list_cells).collect();
    let regular = |row: &ListRow| {
        let ended = matches!(row.status.as_str(), "finished" | "imported");
        ended && row.trials == row.planned && !row.data_lost
    };
    let widths = list_widths(&cells, columns, rows.iter().all(regular));
    let mut titles = list_header();
    if widths[STARTED] < width(&titles[STARTED]) {
        titles[STARTED] = tr!("STARTED").to_owned();
    }
    let header = list_line(&titles, &widths);
    writeln!(out, "{}", style.paint(Tone::Strong, &header))?;
    for row in &cells {
        writeln!(out, "{}", list_line(row, &widths))?;
    }
    Ok(())
}

fn list_header() -> [String; COLUMNS] {
    HEADER.map(|name| translated(name).to_owned())
}

fn list_cells(row: &ListRow) -> [String; COLUMNS] {
    let mut status = clean(translated(&row.status));
    if row.trials != row.planned {
        status.push_str(&format!(" {}/{}", row.trials, row.planned));
    }
    if row.data_lost {
        status = tr!("{status}, DATA LOST", status);
    }
    let started = utc(row.started_unix_ms);
    [
        clean(&row.id),
        clean(&row.name),
        started.trim_end_matches(" UTC").to_owned(),
        clean(&row.command),
        status,
        clean(&row.path),
        clean(&row.device),
        clean(&row.figure),
        clean(translated(&row.measured)),
        clean(&row.size),
        clean(&row.tags),
    ]
}

/// Returns the width of each column; 0 for a dropped one.
fn list_widths(
    cells: &[[String; COLUMNS]],
    columns: Option<usize>,
    regular: bool,
) -> [usize; COLUMNS] {
    let mut widths = [0; COLUMNS];
    for row in cells {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let titles = list_header().map(|name| width(&name));
    for (index, widest) in widths.iter_mut().enumerate() {
        // Names and tags are optional: without any, their columns are dropped.
        if !cells.is_empty() && (*widest > 0 || !matches!(index, RUN_NAME | TAGS)) {
            *widest = (*widest).max(titles[index]);
        }
    }
    let Some(columns) = columns else {
        return widths;
    };
    let total = |widths: &[usize; COLUMNS]| {
        let shown = widths.iter().filter(|width| **width > 0);
        let count = shown.clone().count();
        shown.sum::<usize>() + GAP * count.saturating_sub(1)
    };
    let least = |widths: &[usize; COLUMNS]| {
        let mut least = *widths;
        for (index, narrowest) in YIELDING {
            least[index] = least[index].min(narrowest);
        }
        total(&least)
    };
    for index in DISPENSABLE {
        if index == SIZE && least(&widths) > columns {
            widths[STARTED] = widths[STARTED].min(DATE);
        }
        if least(&widths) > columns && (index != STATUS || regular) {
            widths[index] = 0;
        }
    }
    for (index, narrowest) in YIELDING {
        let over = total(&widths).saturating_sub(columns);
        let can = widths[index].saturating_sub(narrowest);
        widths[index] -= over.min(can);
    }
    widths
}

fn list_line(cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let shown = cells.iter().zip(widths).enumerate();
    let shown = shown.filter(|(_, (_, columns))| **columns > 0);
    let padded = shown.map(|(index, (cell, columns))| {
        let cell = match index {
            // Both ends of a path identify it better than its beginning.
            PATH => shorten(cell, *columns),
            STARTED => beginning(cell, *columns),
            _ => cut(cell, *columns),
        };
        pad(&cell, *columns)
    });
    let joined = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
    joined.trim_end().to_owned()
}

/// Cuts a device's description at the end, because its beginning identifies the device.
fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = beginning(text, columns.saturating_sub(1));
    format!("{}…", kept.trim_end_matches([',', ' ']))
}

#[cfg(test)]
mod tests {
    use super::{Style, write_summary, *};
    use crate::testing::comparison_fixture::{ranked, ranking, swept};
    use crate::testing::{fixture, samples};
    use assay_stats::verdict::Options;

    fn written(run: &Run, style: Style) -> String {
        let mut out = Vec::new();
        let closing = ["stored in /home/a/assay.db".to_owned()];
        write_summary(run, style, &closing, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    const PLAIN: Style = Style {
        color: false,
        width: 80,
        ascii: false,
    };

    #[test]
    fn the_fixture_reads_well() {
        insta::assert_snapshot!(written(&fixture::run(), PLAIN));
    }

    #[test]
    fn a_command_ends_with_the_answer_on_one_screen() {
        let closing = ["Stored as run k3v9d2ma: assay report k3v9d2ma".to_owned()];
        for run in [fixture::run(), samples::large(), samples::with_sustained()] {
            let mut out = Vec::new();
            write_ending(&run, PLAIN, &closing, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let lines: Vec<&str> = text.trim_end().lines().collect();
            assert!(lines.len() <= SCREEN, "{text}");
            let last = lines[lines.len() - 5..].join(" ");
            assert!(last.contains("Believe it?"), "{text}");
            assert!(text.contains("assay report k3v9d2ma"), "{text}");
        }
    }

    #[test]
    fn the_answer_is_the_last_section_on_a_terminal() {
        let (run, options) = (swept(), Options::default());
        let ranking = ranking(&run, &options);
        let document = views::ranking::document(&ranked(&ranking, &options));
        assert_eq!(document.sections[0].id, "verdict", "it is first elsewhere");
        let mut out = Vec::new();
        write(&document, PLAIN, &[], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (_, answer) = text.rsplit_once("\n\n").unwrap();
        assert!(answer.starts_with("Answer\n"), "{text}");
        let sentence = ranking.sentence.to_string();
        assert!(answer.contains(&sentence[..20]), "{text}");
    }

    #[test]
    fn the_last_lines_are_broken_between_words() {
        let line = format!("Stored as run k3v9d2ma: {}", "evidence ".repeat(12));
        let mut out = Vec::new();
        write_summary(&fixture::run(), PLAIN, &[line], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn a_sustained_write_shows_its_cliff_and_its_stalls() {
        let text = written(&samples::with_sustained(), PLAIN);
        let from = text.find("sustained-write over time").unwrap();
        let to = text.find("\nWarnings").unwrap();
        insta::assert_snapshot!(&text[from..to]);
    }

    #[test]
    fn tails_of_all_trials_and_of_the_worst_one_stand_side_by_side() {
        let text = written(&samples::with_tails(), PLAIN);
        let from = text.find("Tail latency").unwrap();
        let to = text.find("\nWarnings").unwrap();
        insta::assert_snapshot!(&text[from..to]);
        assert!(!written(&fixture::run(), PLAIN).contains("Tail latency"));
    }

    #[test]
    fn every_run_fits_80_columns() {
        let runs = [
            samples::with_tails(),
            fixture::run(),
            samples::with_sustained(),
            samples::empty(),
            samples::void(),
            samples::only_failures(),
            samples::large(),
        ];
        for run in runs {
            let text = written(&run, PLAIN);
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "too wide: {line}");
            }
        }
    }

    #[test]
    fn three_ways_to_read_stand_together_and_not_among_the_results() {
        let text = written(&samples::with_read_ladder(), PLAIN);
        let from = text.find("Three ways to read").unwrap();
        let to = text.find("\nResults").unwrap();
        insta::assert_snapshot!(&text[from..to]);
        assert!(!text[to..].contains("seq-read-1m "), "{text}");
    }

    #[test]
    fn columns_are_two_blanks_apart_whatever_is_in_them() {
        let mut run = fixture::run();
        let rename = |name: &mut String| {
            if name == "rand-rw-4k" {
                *name = "mixed-4k-70-30-qd32".to_owned();
            }
        };
        for planned in &mut run.header.plan.jobs {
            rename(&mut planned.job.name);
        }
        let mut factor = 1;
        for trial in &mut run.trials {
            rename(&mut trial.job.name);
            // 550 kIOPS .. 6 IOPS: every prefix there is.
            factor *= 3;
            if let Some(measured) = &mut trial.measured {
                measured.elapsed_ns = measured.elapsed_ns / 1000 * (factor % 9_973);
            }
        }
        let text = written(&run, PLAIN);
        let results = &text[text.find("\nResults").unwrap()..text.find("\nWarnings").unwrap()];
        let figures = results.lines().filter(|line| line.contains(" .. "));
        let figures: Vec<&str> = figures.skip(1).collect();
        assert_eq!(figures.len(), 4, "{results}");
        for row in figures {
            let cells: Vec<&str> = row.trim().split("  ").filter(|c| !c.is_empty()).collect();
            assert!(cells.len() >= 3, "{row}");
        }
        assert!(
            results.lines().all(|l| l.chars().count() <= 80),
            "{results}"
        );
    }

    #[test]
    fn narrow_terminals_get_one_figure_below_the_other() {
        let narrow = Style {
            color: false,
            width: 50,
            ascii: false,
        };
        let text = written(&fixture::run(), narrow);
        let stacked = "\n  fdatasync\n    median 15.9 MB/s; low .. high 15.8 .. 16.0;";
        assert!(text.contains(stacked), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 50), "{text}");
    }

    #[test]
    fn colour_only_repeats_what_the_words_say() {
        let run = samples::with_sustained();
        let colored = written(
            &run,
            Style {
                color: true,
                ..PLAIN
            },
        );
        assert!(colored.contains("\u{1b}[31m"));
        let mut stripped = String::new();
        let mut rest = colored.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            stripped.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        stripped.push_str(rest);
        assert_eq!(stripped, written(&run, PLAIN));
    }

    #[test]
    fn hostile_names_cannot_steer_the_terminal() {
        let text = written(&samples::hostile(), PLAIN);
        assert!(text.contains("\\u{1b}[2J"), "{text}");
        for forbidden in ['\u{1b}', '\u{202e}'] {
            assert!(!text.contains(forbidden));
        }
    }

    #[test]
    fn a_run_without_trials_says_so() {
        let text = written(&samples::empty(), PLAIN);
        assert!(text.contains("trials: none of 24"), "{text}");
        let nothing = "Nothing was measured: the run was stopped before its first trial";
        assert!(text.contains(nothing), "{text}");
        assert!(
            !text.contains("not run") && !text.contains("Believe"),
            "{text}"
        );
    }

    #[test]
    fn failures_are_named_and_give_no_figures() {
        let text = written(&samples::only_failures(), PLAIN);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(
            words.join(" ").contains("No space left on device"),
            "{text}"
        );
        assert!(!text.contains("IOPS") && !text.contains("MB/s"), "{text}");
    }

    #[test]
    fn a_stall_between_fast_intervals_is_marked() {
        let mut rates = vec![Some(80e6); 200];
        rates[100] = Some(0.0);
        let (blocks, marks) = spark(&rates, 50, &BLOCKS);
        assert_eq!(blocks.chars().count(), 50);
        assert_eq!(marks.matches('x').count(), 1);
        assert_eq!(marks.find('x'), Some(25));
    }

    #[test]
    fn a_cliff_is_seen_and_gaps_stay_empty() {
        let rates = [80e6, 80e6, 20e6, 20e6].map(Some);
        assert_eq!(spark(&rates, 10, &BLOCKS).0, "██▃▃");
        let curve = [Some(80.0), None, Some(40.0), Some(1.0)];
        assert_eq!(spark(&curve, 4, &BLOCKS).0, "█ ▅▁");
        assert_eq!(spark(&curve, 4, &ASCII).0, "# +.");
    }

    fn row(path: &str, device: &str) -> ListRow {
        ListRow {
            id: "k3v9d2ma".to_owned(),
            started_unix_ms: 1_773_480_413_589,
            command: "androbench".to_owned(),
            path: path.to_owned(),
            device: device.to_owned(),
            status: "finished".to_owned(),
            trials: 24,
            planned: 24,
            figure: "seq-read-1m 166 MB/s".to_owned(),
            measured: "device-unflushed".to_owned(),
            size: "256 MiB".to_owned(),
            ..ListRow::default()
        }
    }

    fn written_in(rows: &[ListRow], columns: Option<usize>) -> String {
        let style = Style {
            color: false,
            width: 80,
            ascii: false,
        };
        let mut out = Vec::new();
        write_list(rows, style, columns, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn written_list(rows: &[ListRow]) -> String {
        written_in(rows, Some(80))
    }

    #[test]
    fn every_width_is_kept_and_a_pipe_gets_all() {
        let named = ListRow {
            name: "before the patch of the scheduler".to_owned(),
            tags: "nightly, lab-3".to_owned(),
            data_lost: true,
            ..row("/mnt/somewhere/deep/down", "eMMC SanDisk DG4032, 29 GiB")
        };
        for columns in [40, 60, 80, 100, 120, 200] {
            let text = written_in(&[named.clone(), row("/data", "")], Some(columns));
            for line in text.lines() {
                let count = line.chars().count();
                assert!(count <= columns.max(80), "{columns}: {count}\n{text}");
            }
            assert!(text.contains("DATA LOST"), "{text}");
        }
        let all = written_in(std::slice::from_ref(&named), None);
        for cell in [
            &named.name,
            &named.path,
            &named.device,
            &named.tags,
            &named.size,
        ] {
            assert!(all.contains(cell.as_str()), "{all}");
        }
    }

    #[test]
    fn a_narrow_terminal_shows_fewer_columns_and_not_stumps_of_all() {
        let rows = [row("/data", "eMMC SanDisk DG4032, 29 GiB")];
        let titles = |columns| {
            let text = written_in(&rows, Some(columns));
            assert!(text.contains("seq-read-1m 166 MB/s"), "{columns}: {text}");
            let titles = text.lines().next().unwrap_or_default();
            titles.split("  ").filter(|title| !title.is_empty()).count()
        };
        assert_eq!([80, 60, 50, 40].map(titles), [6, 4, 3, 2]);
    }

    #[test]
    fn rows_fit_the_width_and_line_up() {
        let text = written_list(&[
            row("/data", "eMMC DG4032"),
            row(
                "/a/very/long/path/that/does/not/fit/anywhere/at/all",
                "A maker with a long name and a model with one too",
            ),
        ]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let lines: Vec<&str> = text.lines().collect();
        let column = |line: &str, word| line.find(word).map(|at| line[..at].chars().count());
        let devices = [column(lines[1], "eMMC"), column(lines[0], "DEVICE")];
        assert_eq!(devices[0], devices[1], "{text}");
        assert!(lines[2].contains('…'), "{text}");
        assert!(lines[1].contains("166 MB/s"), "{text}");
    }

    #[test]
    fn hostile_names_in_a_list_cannot_steer_the_terminal() {
        let text = written_list(&[row("/mnt/\u{1b}[2J", "x\ny")]);
        assert!(
            !text.contains('\u{1b}') && text.lines().count() == 2,
            "{text}"
        );
    }

    #[test]
    fn an_unfinished_run_tells_how_far_it_came() {
        let unfinished = ListRow {
            trials: 5,
            status: "interrupted".to_owned(),
            ..row("/data", "eMMC")
        };
        assert!(written_list(&[unfinished]).contains("interrupted 5/24"));
    }
}

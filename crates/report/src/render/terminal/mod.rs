//! Renders documents on a terminal, in plain lines within the given width. Colour only repeats what
//! the words express.

mod list;
mod table;

pub use crate::words::Style;
pub use list::{ListRow, write_list};

use crate::charts::draw;
use crate::document::{Block, Document, Fact, Section};
use crate::results::findings::Finding;
use crate::views;
use crate::words::{Tone, break_long, clean, pad, shorten, width, wrap};
use assay_model::run::Run;
use assay_model::units::as_usize;
use std::io;
use std::io::Write;

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
    /// Writes the document with all its sections.
    pub(crate) fn document(&mut self, document: &Document) -> io::Result<()> {
        self.paragraph("".into(), &document.title, Some(Tone::Strong))?;
        let mut header = document.header.iter();
        header.try_for_each(|block| self.block(block))?;
        let mut sections = document.sections.iter();
        sections.try_for_each(|section| self.section(section))
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

#[cfg(test)]
mod tests;

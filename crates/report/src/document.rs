//! Format-independent documents for readers: sections of paragraphs, facts, lists, tables and
//! charts.
//!
//! A view builds a [`Document`], a renderer writes it. All texts in it are already safe to display
//! (`clean`). Numbers remain numbers, so that a workbook can compute with them.

use crate::charts::draw::Chart;
use crate::results::findings::Finding;
use crate::results::warnings::{NAMES, Warning};
use crate::words;
use crate::words::Tone;
use crate::words::labels::Labels;
use assay_lang::translated;
use assay_model::figures::{Change, Unit};
use assay_model::units::{Bytes, as_usize};

/// Amount of detail in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The answer and its basis, about a screen.
    Brief,
    /// Every figure with its reasons.
    Full,
}

/// Text for readers.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The first line.
    pub title: String,
    /// Contents directly below the title.
    pub header: Vec<Block>,
    /// Sections in reading order.
    pub sections: Vec<Section>,
}

/// A part of a document.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Anchor for links.
    pub id: &'static str,
    /// Heading; empty for the section directly below the title.
    pub title: String,
    /// Contents in reading order.
    pub blocks: Vec<Block>,
    /// True if a page shows only the heading until the reader opens it.
    pub folded: bool,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Wrapped text.
    Paragraph {
        /// The text.
        text: String,
        /// Emphasis of the text.
        tone: Option<Tone>,
    },
    /// A heading within a section.
    Heading(String),
    /// Names with their values.
    Facts(Vec<Fact>),
    /// Points.
    List(Vec<String>),
    /// Preformatted lines, such as a command.
    Lines(Vec<String>),
    /// Sentences about what trials found.
    Findings(Vec<Finding>),
    /// Rows and columns.
    Table(Table),
    /// A drawing.
    Chart(Box<Chart>),
    /// Something that puts the result in doubt.
    Warning {
        /// Description of the problem.
        message: String,
        /// Remedy for the problem.
        remedy: Option<String>,
        /// True if the result cannot be used.
        severe: bool,
    },
    /// Rate over time or position in one line, for terminals. Pages have charts instead.
    Curve {
        /// Text before the line.
        name: String,
        /// Rates from left to right, in any unit; 0 is a stall, `None` is not measured.
        values: Vec<Option<f64>>,
        /// Text after the line.
        end: String,
    },
    /// Section that a page can fold.
    Details(Section),
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value in words.
    pub text: String,
    /// Emphasis of the value.
    pub tone: Option<Tone>,
}

/// Figures in columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows from top to bottom.
    pub rows: Vec<TableRow>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading.
    pub head: String,
    /// True for numbers, which are aligned to the right.
    pub right: bool,
    /// Priority of the column if space is limited.
    pub keep: Keep,
}

/// Visibility of a column. Text formats omit a column whose cells are all empty or unknown. If a
/// table is too wide, they first drop the last `Spare` column, then the last `IfRoom` one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Shown in every format.
    Always,
    /// Shown if it fits; otherwise its cells are below their rows.
    IfRoom,
    /// Shown if it fits, otherwise omitted.
    Spare,
    /// Shown on pages and in workbooks.
    Page,
    /// Shown on pages, but not in print, and in workbooks.
    Screen,
    /// Shown only in workbooks.
    Workbook,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub struct TableRow {
    /// One cell per column, in their order. A row may be shorter: its last cell then spans
    /// the remaining columns. A row of one cell is a heading.
    pub cells: Vec<Cell>,
    /// Explanation of the row. Text shows it below the row, a page in the last cell. A workbook
    /// shows it unless the table has a `Workbook` column.
    pub note: Option<String>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Not known.
    Unknown,
    /// Words.
    Text(String),
    /// Value with the unit of its source.
    Quantity {
        /// The value.
        value: f64,
        /// Unit of the value.
        unit: String,
    },
    /// Median, lowest and highest value of several trials, printed with the median's prefix.
    Spread {
        /// The unit of all values.
        unit: Unit,
        /// The median.
        median: f64,
        /// The lowest value.
        low: f64,
        /// The highest value.
        high: f64,
    },
    /// A share, 0 to 1.
    Ratio(f64),
    /// Smallest and largest share of several trials, 0 to 1, as a bar.
    Shares(f64, f64),
    /// A number of bytes.
    Bytes(u64),
    /// Number of a matrix with the label of its measurement.
    Measured {
        /// The number.
        value: f64,
        /// Number of decimals.
        digits: usize,
        /// The label, not yet translated.
        label: String,
    },
    /// A text with a link to a page.
    Link {
        /// The text.
        text: String,
        /// The page.
        target: String,
    },
    /// A change in percent.
    Change(f64),
    /// Both ends of an interval, in percent.
    Interval(f64, f64),
    /// A number of things.
    Count(usize),
    /// A probability.
    Probability(f64),
    /// The word of a verdict, not yet translated.
    Verdict(&'static str),
    /// Labels of the trials behind a figure.
    Labels(Labels),
}

impl Document {
    /// Returns a document without sections.
    pub const fn new(title: String) -> Self {
        Self {
            title,
            header: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Adds a section unless it is empty.
    pub fn push(&mut self, section: Section) {
        if !section.blocks.is_empty() {
            self.sections.push(section);
        }
    }

    /// Adds a section, even an empty one, after the one with this id, or after all others.
    pub fn push_after(&mut self, id: &str, section: Section) {
        let found = self.sections.iter().position(|before| before.id == id);
        let at = found.map_or(self.sections.len(), |at| at + 1);
        self.sections.insert(at, section);
    }
}

impl Section {
    /// Returns a section without blocks.
    pub fn new(id: &'static str, title: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            ..Self::default()
        }
    }

    /// Returns the section folded on pages.
    #[must_use]
    pub fn folded(self) -> Self {
        Self {
            folded: true,
            ..self
        }
    }

    /// Adds a paragraph.
    pub fn say(&mut self, text: impl Into<String>, tone: Option<Tone>) {
        self.blocks.push(Block::Paragraph {
            text: text.into(),
            tone,
        });
    }

    /// Adds points unless there are none.
    pub fn list(&mut self, points: Vec<String>) {
        if !points.is_empty() {
            self.blocks.push(Block::List(points));
        }
    }

    /// Adds a heading within the section.
    pub fn heading(&mut self, title: impl Into<String>) {
        self.blocks.push(Block::Heading(title.into()));
    }

    /// Adds facts unless there are none.
    pub fn facts<N: Into<String>>(&mut self, facts: impl IntoIterator<Item = (N, String)>) {
        let facts = facts.into_iter();
        self.toned_facts(
            facts
                .map(|(name, text)| (name.into(), text, None))
                .collect(),
        );
    }

    /// Adds facts with the emphasis of each unless there are none.
    pub fn toned_facts(&mut self, facts: Vec<(String, String, Option<Tone>)>) {
        let facts = facts.into_iter();
        let facts: Vec<Fact> = facts
            .map(|(name, text, tone)| Fact { name, text, tone })
            .collect();
        if !facts.is_empty() {
            self.blocks.push(Block::Facts(facts));
        }
    }

    /// Adds a table unless it has no rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// Adds charts.
    pub fn charts(&mut self, charts: &[Chart]) {
        let charts = charts.iter().cloned().map(Box::new);
        self.blocks.extend(charts.map(Block::Chart));
    }

    /// Adds warnings with their remedies.
    pub fn warnings(&mut self, warnings: &[Warning]) {
        let blocks = warnings.iter().map(|warning| Block::Warning {
            message: warning.message(NAMES),
            remedy: Some(warning.remedy()),
            severe: warning.is_severe(),
        });
        self.blocks.extend(blocks);
    }
}

impl Column {
    /// Returns a column of words.
    pub fn text(head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            right: false,
            keep: Keep::Always,
        }
    }

    /// Returns a column of numbers.
    pub fn number(head: impl Into<String>) -> Self {
        Self {
            right: true,
            ..Self::text(head)
        }
    }

    /// Returns the column with another priority.
    #[must_use]
    pub fn keep(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }
}

impl Table {
    /// Returns the columns that a format shows, with their indices; columns without figures are
    /// left out.
    pub fn shown(&self, is_shown: impl Fn(Keep) -> bool) -> impl Iterator<Item = (usize, &Column)> {
        let filled = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
            let mut cells = cells.map(Cell::text);
            at == 0 || cells.any(|text| !text.is_empty() && text != "-")
        };
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(at, column)| is_shown(column.keep) && filled(*at))
    }
}

impl TableRow {
    /// Returns a row without a note.
    pub const fn new(cells: Vec<Cell>) -> Self {
        Self { cells, note: None }
    }

    /// Returns a heading for the rows below it.
    pub fn heading(title: impl Into<String>) -> Self {
        Self::new(vec![Cell::Text(title.into())])
    }

    /// Returns true if the row is a heading.
    pub const fn is_heading(&self) -> bool {
        self.cells.len() == 1
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Cell {
    /// Returns a value with any unit.
    pub fn quantity(value: f64, unit: impl Into<String>) -> Self {
        Self::Quantity {
            value,
            unit: unit.into(),
        }
    }

    /// Returns a count.
    pub fn count(n: impl TryInto<usize>) -> Self {
        Self::Count(n.try_into().unwrap_or(usize::MAX))
    }

    /// Returns a text, or the unknown value.
    pub fn known(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Unknown, |text| Self::Text(text.into()))
    }

    /// Returns the percentage of a change.
    pub fn change(change: Option<Change>) -> Self {
        change.map_or(Self::Unknown, |change| Self::Change(change.percent))
    }

    /// Returns the interval of a change.
    pub fn interval(change: Option<Change>) -> Self {
        let interval = change.and_then(|change| change.interval);
        interval.map_or(Self::Unknown, |(low, high)| Self::Interval(low, high))
    }

    /// Formats the cell as text.
    pub fn text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Unknown => "-".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Quantity { value, unit } => words::value(unit, *value),
            Self::Spread {
                unit,
                median,
                low,
                high,
            } => words::spread(*unit, *median, *low, *high),
            Self::Ratio(share) => words::percent(*share),
            Self::Shares(low, high) => bar(*low, *high),
            Self::Bytes(bytes) => Bytes(*bytes).to_string(),
            Self::Measured {
                value,
                digits,
                label,
            } => format!("{value:.digits$} {}", translated(label)),
            Self::Link { text, .. } => text.clone(),
            Self::Change(percent) => words::change(*percent),
            Self::Interval(low, high) => format!("{low:+.1}..{high:+.1}"),
            Self::Count(n) => n.to_string(),
            Self::Probability(p) => format!("{p:.4}"),
            Self::Verdict(word) => translated(word).to_owned(),
            Self::Labels(labels) if labels.is_empty() => String::new(),
            Self::Labels(labels) => labels.to_string(),
        }
    }

    /// Returns the emphasis of the cell; colour only repeats the text.
    pub fn tone(&self) -> Option<Tone> {
        match self {
            Self::Verdict("faster" | "pass") => Some(Tone::Good),
            Self::Verdict("slower" | "fail") => Some(Tone::Bad),
            Self::Verdict("equivalent") => None,
            Self::Verdict(_) => Some(Tone::Soft),
            Self::Labels(labels) if !labels.is_empty() => Some(Tone::of_label(labels.agreed())),
            _ => None,
        }
    }
}

/// Draws a bar of the smallest share, followed by the share or the range of shares.
fn bar(low: f64, high: f64) -> String {
    /// Number of characters of the bar.
    const CELLS: usize = 10;
    let filled = as_usize(low.clamp(0.0, 1.0) * CELLS as f64);
    let bar = format!("{}{}", "█".repeat(filled), "·".repeat(CELLS - filled));
    format!("{bar} {:>6}", shares(low, high))
}

/// Formats shares: `40 %`, or `40-60 %`.
pub(crate) fn shares(low: f64, high: f64) -> String {
    let (low, high) = (words::percent(low), words::percent(high));
    match low == high {
        true => low,
        false => format!("{}-{high}", low.trim_end_matches(" %")),
    }
}

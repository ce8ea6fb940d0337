//! Documents as cells of a sheet; numbers remain numbers.

use super::look;
use super::look::Shade;
use crate::document::{Block, Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::machine::import::moments;
use crate::words::{clean, width, wrap};
use assay_lang::{tr, translated};
use assay_model::figures::{Figure, Sample};
use assay_stats::figures::measured_in_words;
use assay_stats::summary::Summary;
use rust_xlsxwriter::utility::column_number_to_name;
use rust_xlsxwriter::{Formula, Worksheet, XlsxError};

/// Maximum width of a column, in characters; longer texts wrap.
const WIDEST: usize = 60;
const NARROWEST: usize = 9;
/// Height of a line, in points.
const LINE: f64 = 15.0;

/// Sheet that is written from top to bottom.
pub struct Page<'a> {
    pub sheet: &'a mut Worksheet,
    /// Next row to write.
    pub row: u32,
    /// Width of the widest text in each column.
    widths: Vec<usize>,
}

/// Writes a document with its sections below each other, except those with a separate sheet.
///
/// # Errors
/// If it does not fit the sheet.
pub fn write(
    sheet: &mut Worksheet,
    name: &str,
    document: &Document,
    elsewhere: &[&str],
) -> Result<(), XlsxError> {
    let mut page = Page::new(sheet, name)?;
    page.title(&document.title)?;
    page.blocks(&document.header)?;
    let sections = document.sections.iter();
    for section in sections.filter(|section| !elsewhere.contains(&section.id)) {
        page.row += 1;
        page.section(section)?;
    }
    page.set_widths()
}

/// Writes one table with frozen headings and a filter.
///
/// # Errors
/// If it does not fit the sheet.
pub fn write_table(sheet: &mut Worksheet, name: &str, table: &Table) -> Result<(), XlsxError> {
    let mut page = Page::new(sheet, name)?;
    let columns = page.table(table)?;
    let last = page.row.saturating_sub(1);
    page.set_widths()?;
    sheet.autofilter(0, 0, last, columns.last().copied().unwrap_or_default())?;
    sheet.set_freeze_panes(1, 1)?;
    sheet.set_repeat_rows(0, 0)?;
    Ok(())
}

/// Position of a table on its sheet.
pub struct TablePosition {
    /// Row below the headings.
    pub first_row: u32,
    /// First sheet column of each column of the table.
    pub columns: Vec<u16>,
}

/// Writes a table below a title and a sentence.
///
/// # Errors
/// If it does not fit the sheet.
pub fn write_figures(
    sheet: &mut Worksheet,
    name: &str,
    [title, words]: [&str; 2],
    table: &Table,
) -> Result<TablePosition, XlsxError> {
    let mut page = Page::new(sheet, name)?;
    page.title(title)?;
    page.text(words)?;
    page.row += 1;
    let head = page.row;
    let columns = page.table(table)?;
    page.set_widths()?;
    sheet.set_freeze_panes(head + 1, 2)?;
    sheet.set_repeat_rows(head, head)?;
    Ok(TablePosition {
        first_row: head + 1,
        columns,
    })
}

impl<'a> Page<'a> {
    /// Returns an empty sheet with a name.
    pub fn new(sheet: &'a mut Worksheet, name: &str) -> Result<Self, XlsxError> {
        sheet.set_name(name)?;
        look::on_paper(sheet);
        Ok(Self {
            sheet,
            row: 0,
            widths: Vec::new(),
        })
    }
}

impl Page<'_> {
    fn section(&mut self, section: &Section) -> Result<(), XlsxError> {
        if !section.title.is_empty() {
            self.heading(&section.title)?;
        }
        self.blocks(&section.blocks)
    }

    fn blocks(&mut self, blocks: &[Block]) -> Result<(), XlsxError> {
        blocks.iter().try_for_each(|block| self.block(block))
    }

    fn block(&mut self, block: &Block) -> Result<(), XlsxError> {
        match block {
            Block::Paragraph { text, .. } => self.text(text),
            Block::Heading(title) => self.heading(title),
            Block::Facts(facts) => facts.iter().try_for_each(|fact| {
                self.widen(0, width(&fact.name));
                self.sheet.write_string(self.row, 1, &fact.text)?;
                self.text(&fact.name)
            }),
            Block::List(lines) | Block::Lines(lines) => {
                lines.iter().try_for_each(|line| self.text(line))
            }
            Block::Findings(findings) => {
                let sentences = findings.iter().flat_map(|finding| {
                    let subject = finding.subject.iter().cloned();
                    subject.chain(finding.sentences.iter().map(|one| one.text.clone()))
                });
                sentences.into_iter().try_for_each(|text| self.text(&text))
            }
            Block::Table(table) => self.table(table).map(|_| ()),
            Block::Warning {
                message, remedy, ..
            } => {
                self.text(&format!("! {message}"))?;
                let mut remedy = remedy.iter();
                remedy.try_for_each(|remedy| self.text(&format!("-> {remedy}")))
            }
            Block::Details(section) => self.section(section),
            Block::Chart(_) | Block::Curve { .. } => Ok(()),
        }
    }

    /// Writes a line of text.
    pub fn text(&mut self, text: &str) -> Result<(), XlsxError> {
        self.sheet.write_string(self.row, 0, text)?;
        self.row += 1;
        Ok(())
    }

    /// Writes a title.
    pub fn title(&mut self, title: &str) -> Result<(), XlsxError> {
        self.sheet
            .write_string_with_format(self.row, 0, title, &look::title())?;
        self.row += 1;
        Ok(())
    }

    /// Writes a shade with its meaning.
    pub fn shaded(&mut self, shade: &Shade, words: &str) -> Result<(), XlsxError> {
        let label = translated(shade.label);
        self.sheet
            .write_string_with_format(self.row, 0, label, &shade.text())?;
        self.sheet.write_string(self.row, 1, words)?;
        self.row += 1;
        Ok(())
    }

    /// Writes a heading.
    pub fn heading(&mut self, title: &str) -> Result<(), XlsxError> {
        self.sheet
            .write_string_with_format(self.row, 0, title, &look::name())?;
        self.row += 1;
        Ok(())
    }

    /// Widens a column to at least that width.
    fn widen(&mut self, column: u16, columns: usize) {
        let column = usize::from(column);
        if self.widths.len() <= column {
            self.widths.resize(column + 1, NARROWEST);
        }
        let widest = &mut self.widths[column];
        *widest = columns.min(WIDEST).max(*widest);
    }

    /// Sets the widths of the columns to their contents.
    pub fn set_widths(&mut self) -> Result<(), XlsxError> {
        for (column, width) in (0..).zip(&self.widths) {
            let width = u16::try_from(width + 2).unwrap_or(u16::MAX);
            self.sheet.set_column_width(column, width)?;
        }
        Ok(())
    }

    /// Writes a table with its headings; returns the first sheet column of each of its columns.
    pub fn table(&mut self, table: &Table) -> Result<Vec<u16>, XlsxError> {
        let mut first = Vec::new();
        let mut at = 0;
        for (index, column) in table.columns.iter().enumerate() {
            first.push(at);
            for head in heads(column, table, index) {
                self.widen(at, width(&head));
                // Numeric headings are the axis of a surface.
                match look::numeric_heading(&head) {
                    Some(number) => {
                        self.sheet
                            .write_number_with_format(self.row, at, number, &look::head())?
                    }
                    None => {
                        self.sheet
                            .write_string_with_format(self.row, at, head, &look::head())?
                    }
                };
                at += 1;
            }
        }
        // The columns for workbooks already contain the reasons.
        let has_reasons = table
            .columns
            .iter()
            .any(|column| column.keep == Keep::Workbook);
        for one in &table.rows {
            self.row += 1;
            if one.is_heading() {
                let title = one.cells.first().map(Cell::text).unwrap_or_default();
                self.sheet
                    .write_string_with_format(self.row, 0, title, &look::name())?;
                continue;
            }
            let lines = one
                .cells
                .iter()
                .map(|cell| wrap(&cell.text(), WIDEST).len());
            let lines = u32::try_from(lines.max().unwrap_or(1)).unwrap_or(1);
            if lines > 1 {
                // Spreadsheets do not adapt the height of a row to wrapped text.
                self.sheet
                    .set_row_height(self.row, LINE * f64::from(lines))?;
            }
            // Text that replaces figures follows the name.
            let short = one.cells.len() < table.columns.len();
            for (index, cell) in one.cells.iter().enumerate() {
                let column = if short {
                    index.try_into().ok()
                } else {
                    first.get(index).copied()
                };
                self.cell(column.unwrap_or(at), cell)?;
            }
            if let Some(note) = one.note.as_ref().filter(|_| !has_reasons) {
                self.sheet.write_string(self.row, at, note)?;
            }
        }
        self.row += 1;
        Ok(first)
    }

    fn cell(&mut self, column: u16, cell: &Cell) -> Result<(), XlsxError> {
        let row = self.row;
        let text = cell.text();
        self.widen(column, width(&text));
        let (number, format) = match cell {
            Cell::Empty | Cell::Unknown => return Ok(()),
            Cell::Interval(low, high) => {
                self.widen(column + 1, width(&format!("{high:+.1} %")));
                self.sheet
                    .write_number_with_format(row, column + 1, *high, &look::percent())?;
                (*low, look::percent())
            }
            Cell::Spread {
                unit, low, high, ..
            } => {
                let format = look::quantity(unit.name());
                self.widen(column + 1, look::columns_of(*high, unit.name()));
                self.sheet
                    .write_number_with_format(row, column + 1, *high, &format)?;
                (*low, format)
            }
            Cell::Quantity { value, unit } if value.is_finite() => (*value, look::quantity(unit)),
            Cell::Change(percent) => (*percent, look::percent()),
            Cell::Ratio(share) | Cell::Shares(share, _) => (*share, look::share()),
            Cell::Count(n) => (look::number(*n as u64), look::count()),
            Cell::Bytes(n) => (look::number(*n), look::count()),
            Cell::Probability(p) => (*p, look::probability()),
            Cell::Measured {
                value,
                digits,
                label,
            } => {
                let digits = if *digits > 0 { "#,##0.00" } else { "#,##0" };
                (*value, Shade::of(Some(label)).number(digits))
            }
            Cell::Verdict(word) => {
                let format = look::verdict(word);
                self.sheet
                    .write_string_with_format(row, column, text, &format)?;
                return Ok(());
            }
            Cell::Text(_) | Cell::Labels(_) | Cell::Link { .. } | Cell::Quantity { .. } => {
                match width(&text) > WIDEST {
                    true => {
                        self.sheet
                            .write_string_with_format(row, column, text, &look::wrapped())?
                    }
                    false => self.sheet.write_string(row, column, text)?,
                };
                return Ok(());
            }
        };
        let unit = match cell {
            Cell::Quantity { unit, .. } => unit,
            Cell::Spread { unit, .. } => unit.name(),
            _ => "",
        };
        self.widen(column, look::columns_of(number, unit));
        self.sheet
            .write_number_with_format(row, column, number, &format)?;
        Ok(())
    }
}

/// Returns the headings of a column; both ends of an interval or a spread have one.
fn heads(column: &Column, table: &Table, index: usize) -> Vec<String> {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(index));
    let ends = cells.find_map(|cell| match cell {
        Cell::Interval(..) => Some([tr!("interval from"), tr!("interval to")]),
        Cell::Spread { .. } => Some([tr!("Lowest"), tr!("Highest")]),
        _ => None,
    });
    ends.map_or_else(
        || vec![column.head.clone()],
        |ends| ends.map(str::to_owned).into(),
    )
}

/// Column of the mean; standard deviation and geometric mean follow.
const MEAN: u16 = 3;
/// Number of columns before the results of a line.
const FIXED: usize = 8;

/// Headings of the second column and of the results before the trials.
#[derive(Clone, Debug)]
pub struct Heads {
    /// Heading of the second column, for example `Condition`.
    pub series: &'static str,
    /// Columns of the results ([`FigureRow::said`]).
    pub said: Vec<Column>,
}

/// Line of the sheet.
#[derive(Clone, Debug)]
pub struct FigureRow<'a> {
    /// Name of the condition or side.
    pub series: String,
    /// Figure with its trials.
    pub figure: &'a Figure,
    /// Results for the line, in the order of [`Heads::said`]; trailing ones may be missing.
    pub said: Vec<Cell>,
}

/// Writes the sheet. The sheet of a group of metrics has a line for each metric and condition or
/// side, with its trials and the values computed from them. Mean, standard deviation and geometric
/// mean are formulas over the trials. The file also contains their values as computed by assay, for
/// programs that do not calculate.
///
/// # Errors
/// If the lines do not fit a sheet.
pub fn write_figure_sheets(
    sheet: &mut Worksheet,
    name: &str,
    title: &str,
    heads: &Heads,
    rows: &[FigureRow<'_>],
) -> Result<(), XlsxError> {
    let how = tr!(
        "One value per trial. Mean, standard deviation (n - 1) and geometric mean are \
               formulas over the trials to the right."
    );
    let written = write_figures(sheet, name, [title, how], &table(heads, rows))?;
    let first = written.columns.get(FIXED + heads.said.len());
    let first = first.copied().unwrap_or_default();
    for (row, line) in (written.first_row..).zip(rows) {
        write_formulas(sheet, row, first, line.figure)?;
    }
    Ok(())
}

fn table(heads: &Heads, rows: &[FigureRow<'_>]) -> Table {
    let most = rows.iter().map(|row| row.figure.sample.n()).max();
    let most = most.unwrap_or_default();
    let fixed = [
        tr!("Metric"),
        heads.series,
        "n",
        tr!("Mean"),
        tr!("Standard deviation"),
        tr!("Geometric mean"),
        tr!("Unit of the cells"),
        tr!("Measured"),
    ];
    let trials = (1..=most).map(|trial| Column::number(tr!("Trial {trial}", trial)));
    let columns = fixed.map(Column::text).into_iter();
    let columns = columns.chain(heads.said.iter().cloned()).chain(trials);
    let columns: Vec<Column> = columns.collect();
    let rows = rows.iter().map(|row| {
        let mut cells = fixed_cells(row);
        cells.extend(row.said.iter().cloned());
        cells.resize(FIXED + heads.said.len(), Cell::Empty);
        if let Sample::Values { values, .. } = &row.figure.sample {
            let unit = clean(&row.figure.unit);
            cells.extend(
                values
                    .iter()
                    .map(|value| Cell::quantity(*value, unit.as_str())),
            );
        }
        cells.resize(columns.len(), Cell::Empty);
        TableRow::new(cells)
    });
    Table {
        rows: rows.collect(),
        columns,
    }
}

fn fixed_cells(row: &FigureRow<'_>) -> Vec<Cell> {
    let figure = row.figure;
    let unit = clean(&figure.unit);
    let moments = moments(&figure.sample);
    let quantity = |value: Option<f64>| {
        value.map_or(Cell::Empty, |value| Cell::quantity(value, unit.as_str()))
    };
    let measured = figure.measured.as_deref();
    let measured = measured.map_or(tr!("not stated").to_owned(), measured_in_words);
    vec![
        clean(&figure.metric).into(),
        clean(&row.series).into(),
        Cell::count(moments.n),
        quantity(Some(moments.mean)),
        quantity(moments.stdev),
        quantity(geometric(&figure.sample)),
        unit.as_str().into(),
        measured.into(),
    ]
}

fn geometric(sample: &Sample) -> Option<f64> {
    match sample {
        Sample::Values { values, .. } => Summary::of(values)?.geometric_mean,
        Sample::Moments { .. } => None,
    }
}

/// Writes formulas over the trials, the first of which is in the column `first`. A summary has no
/// trials and therefore no formulas.
fn write_formulas(
    sheet: &mut Worksheet,
    row: u32,
    first: u16,
    figure: &Figure,
) -> Result<(), XlsxError> {
    let Sample::Values { values, .. } = &figure.sample else {
        return Ok(());
    };
    let last = first + u16::try_from(values.len().saturating_sub(1)).unwrap_or_default();
    let [first, last] = [first, last].map(column_number_to_name);
    let range = format!("{first}{row}:{last}{row}", row = row + 1);
    let moments = moments(&figure.sample);
    let formulas = [
        ("AVERAGE", Some(moments.mean)),
        ("STDEV", moments.stdev),
        ("GEOMEAN", geometric(&figure.sample)),
    ];
    for (column, (function, value)) in (MEAN..).zip(formulas) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let formula = Formula::new(format!("={function}({range})"));
            let formula = formula.set_result(value.to_string());
            let format = look::quantity(&figure.unit);
            sheet.write_formula_with_format(row, column, formula, &format)?;
        }
    }
    Ok(())
}

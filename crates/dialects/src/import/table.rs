//! Tables with separators: figures below column names.
//!
//! With one figure per row, the columns are `condition`, `metric`, `unit`, and `n`,
//! `mean`, `stdev`, or `value` and optionally `trial`. With one metric per row, the
//! cells before the column `unit` name the metric, and each column after it is a
//! condition. With one condition per row, each column is a metric with its unit in
//! brackets, as in reports of AndroBench. With one copy per row, the columns are
//! `operands`, `seconds`, `reported` of dd.

use super::ImportError;
use super::collect::{Collector, Key, ReportedMean};
use assay_judge::Measured;
use assay_model::figures::Results;
use csv::{ReaderBuilder, StringRecord, Trim};

/// Returns true if the text begins like a table of figures.
pub(super) fn has_columns(text: &str) -> bool {
    head(text).is_some_and(|cells| Head::of(&cells).shape().is_some() && cells.len() > 1)
}

/// Number of leading characters to check for binary data.
const LOOKED_AT: usize = 4096;

/// Returns true if the text's first lines have several cells, the same number in
/// each.
pub(super) fn is_separated(text: &str) -> bool {
    let mut start = text.chars().take(LOOKED_AT);
    if start.any(|c| c.is_control() && !c.is_whitespace()) {
        return false;
    }
    let cells = |text| head(text).map_or(0, |cells| cells.len());
    let below = text
        .trim_start()
        .split_once('\n')
        .map_or("", |(_, below)| below);
    cells(text) > 1 && cells(text) == cells(below)
}

/// Subject of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Figures,
    Metrics,
    Conditions,
    Copies,
}

pub(super) fn read(text: &str) -> Result<Results, ImportError> {
    let sheet = Sheet::read(text)?;
    let head = Head::of(&sheet.head);
    let shape = head
        .shape()
        .ok_or_else(|| ImportError::at(Some(sheet.head_line), super::COLUMNS))?;
    let mut all = Collector::new("table");
    if shape == Shape::Copies {
        all = Collector::new("dd");
    }
    for comment in &sheet.comments {
        all.circumstance(comment);
    }
    let mut reader = TableReader {
        sheet: &sheet,
        head: &head,
        all: &mut all,
        without_figure: 0,
    };
    for row in &sheet.rows {
        match shape {
            Shape::Figures => reader.figure(row)?,
            Shape::Metrics => reader.metric(row)?,
            Shape::Conditions => reader.condition(row)?,
            Shape::Copies => reader.copy(row)?,
        }
    }
    reader.close();
    all.check_order();
    if all.has_unrecorded() {
        all.note("What was measured, device or page cache, is not recorded.");
    }
    Ok(all.finish())
}

/// Reads the rows of a table.
struct TableReader<'a> {
    sheet: &'a Sheet,
    head: &'a Head,
    all: &'a mut Collector,
    /// Number of empty cells.
    without_figure: usize,
}

impl TableReader<'_> {
    /// Adds notes on omitted cells and columns.
    fn close(self) {
        if self.without_figure > 0 {
            self.all.note(format!(
                "Cells without a figure: {}; they were left out.",
                self.without_figure
            ));
        }
        let left_out = self.head.left_out();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            self.all.note(format!("Columns left out: {names}."));
        }
    }

    /// Returns the label of a figure, if the table gives it in assay's words.
    fn measured(&self, row: &SheetRow) -> Result<Option<String>, ImportError> {
        let Some(word) = self.head.cell(row, Role::Measured) else {
            return Ok(None);
        };
        if Measured::LABELS.contains(&word) {
            return Ok(Some(word.to_owned()));
        }
        let problem = format!(
            "column {} says that '{word}' was measured, which is not a label: use {}, or leave it empty",
            self.head.column_of(Role::Measured),
            Measured::LABELS.join(", ")
        );
        Err(ImportError::at(Some(row.line), problem))
    }

    /// Returns the position of a trial in the order of all trials.
    fn position(&self, row: &SheetRow) -> Result<Option<f64>, ImportError> {
        let cell = self.head.cell(row, Role::Position);
        let position = cell.map(|cell| self.sheet.quantity(cell, row.line));
        Ok(position.transpose()?.map(|quantity| quantity.value))
    }

    fn figure(&mut self, row: &SheetRow) -> Result<(), ImportError> {
        let of = |role| self.head.cell(row, role);
        let mut metric: Vec<&str> = self.head.before(Role::Metric, row);
        metric.extend(of(Role::Metric));
        let key = Key {
            condition: of(Role::Condition).unwrap_or_default().to_owned(),
            metric: metric.join(" "),
            unit: of(Role::Unit).unwrap_or_default().to_owned(),
            primary: true,
            measured: self.measured(row)?,
        };
        if key.metric.is_empty() {
            return Err(ImportError::at(Some(row.line), "the metric has no name"));
        }
        if let Some(cell) = of(Role::Value) {
            let quantity = self.sheet.quantity(cell, row.line)?;
            let position = self.position(row)?;
            return self
                .all
                .value(key, quantity.value, position, Some(row.line));
        }
        let Some(cell) = of(Role::Mean) else {
            self.without_figure += 1;
            return Ok(());
        };
        let quantity = self.sheet.quantity(cell, row.line)?;
        let stdev = of(Role::Stdev).map(|cell| self.sheet.quantity(cell, row.line));
        let stdev = stdev.transpose()?.map(|quantity| quantity.value);
        self.mean(key, quantity.value, stdev.or(quantity.stdev), row)
    }

    /// Adds a mean of as many trials as the table states.
    fn mean(
        &mut self,
        key: Key,
        mean: f64,
        stdev: Option<f64>,
        row: &SheetRow,
    ) -> Result<(), ImportError> {
        let n = match self.head.cell(row, Role::Count) {
            Some(cell) => cell.parse().map_err(|_| {
                let problem = format!("'{cell}' is not a number of trials");
                ImportError::at(Some(row.line), problem)
            })?,
            None => {
                self.all.note(
                    "The number of trials is not given, so each mean counts as one trial: add a \
                     column n.",
                );
                1
            }
        };
        let moments = ReportedMean { n, mean, stdev };
        self.all.moments(key, moments, Some(row.line))
    }

    fn metric(&mut self, row: &SheetRow) -> Result<(), ImportError> {
        let unit = self.head.cell(row, Role::Unit).unwrap_or_default();
        let metric = self.head.before(Role::Unit, row).join(" ");
        if metric.is_empty() {
            return Err(ImportError::at(Some(row.line), "the metric has no name"));
        }
        for (condition, cell) in self.head.after_unit(row) {
            if cell.is_empty() {
                self.without_figure += 1;
                continue;
            }
            let key = Key {
                condition: condition.to_owned(),
                metric: metric.clone(),
                unit: unit.to_owned(),
                primary: true,
                measured: self.measured(row)?,
            };
            let quantity = self.sheet.quantity(cell, row.line)?;
            // The conditions of a row have no order in time.
            self.cell(key, &quantity, None, row)?;
        }
        Ok(())
    }

    fn condition(&mut self, row: &SheetRow) -> Result<(), ImportError> {
        let condition = row.cells.first().cloned().unwrap_or_default();
        for (metric, unit, cell) in self.head.metrics(row) {
            if cell.is_empty() {
                self.without_figure += 1;
                continue;
            }
            let quantity = self.sheet.quantity(cell, row.line)?;
            let unit = if unit.is_empty() {
                quantity.unit.as_str()
            } else {
                unit
            };
            let key = Key {
                condition: condition.clone(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                primary: true,
                measured: self.measured(row)?,
            };
            self.cell(key, &quantity, self.position(row)?, row)?;
        }
        Ok(())
    }

    /// Adds a cell of a wide table: `65.28 ± 0.77` is a mean, a number is a trial.
    fn cell(
        &mut self,
        key: Key,
        quantity: &Quantity,
        position: Option<f64>,
        row: &SheetRow,
    ) -> Result<(), ImportError> {
        if quantity.stdev.is_some() || self.head.cell(row, Role::Count).is_some() {
            return self.mean(key, quantity.value, quantity.stdev, row);
        }
        self.all
            .value(key, quantity.value, position, Some(row.line))
    }

    fn copy(&mut self, row: &SheetRow) -> Result<(), ImportError> {
        let of = |role| self.head.cell(row, role);
        let condition = of(Role::Operands).unwrap_or_default();
        let key = |metric: &str, unit: &str, primary| Key {
            condition: condition.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            primary,
            measured: None,
        };
        let Some(reported) = of(Role::Reported) else {
            self.without_figure += 1;
            return Ok(());
        };
        let rate = self.sheet.quantity(reported, row.line)?;
        let rate_key = key("rate", &rate.unit, true);
        self.all.value(rate_key, rate.value, None, Some(row.line))?;
        if let Some(seconds) = of(Role::Seconds) {
            let time = self.sheet.quantity(seconds, row.line)?;
            let time_key = key("time", "s", false);
            self.all.value(time_key, time.value, None, Some(row.line))?;
        }
        let others = self.head.others(row);
        if !others.is_empty() {
            let line = format!("{condition}: {}", others.join(" "));
            self.all.circumstance(line);
        }
        Ok(())
    }
}

/// Number, with its deviation and unit.
#[derive(Clone, Debug, PartialEq)]
struct Quantity {
    value: f64,
    /// Number after `±`.
    stdev: Option<f64>,
    /// Unit; empty without one.
    unit: String,
}

/// Meaning of commas and points in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    /// Set if a comma is certainly a decimal mark in some cell.
    comma: bool,
    /// Set if a point is certainly a decimal mark in some cell.
    point: bool,
    /// Set if semicolons separate the cells, as spreadsheets write if the comma
    /// is the decimal mark.
    semicolons: bool,
}

impl Marks {
    /// Determines the marks from all cells.
    fn of<'a>(cells: impl Iterator<Item = &'a str>, semicolons: bool) -> Self {
        let mut marks = Self {
            comma: false,
            point: false,
            semicolons,
        };
        for number in cells.filter_map(|cell| cell.split(['±', ' ']).next()) {
            if !number
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b',' || b == b'.')
            {
                continue;
            }
            match number.rfind([',', '.']) {
                // It occurs once and is not followed by three digits, or it
                // follows the other mark.
                Some(at) if is_decimal(number, at) => {
                    marks.comma |= number.as_bytes()[at] == b',';
                    marks.point |= number.as_bytes()[at] == b'.';
                }
                _ => {}
            }
        }
        marks
    }

    /// Parses `65.28`, `65,28`, `65.28 ± 0.77`, `11.8 MB/s`.
    fn quantity(self, cell: &str) -> Result<Quantity, String> {
        let mut parts = cell.splitn(2, '±');
        let (mean, behind) = match (parts.next(), parts.next()) {
            (Some(mean), Some(stdev)) => (mean.trim(), Some(stdev.trim())),
            _ => (cell, None),
        };
        let (value, unit) = self.number_and_unit(mean, cell)?;
        let stdev = behind.map(|stdev| self.number_and_unit(stdev, cell));
        let (stdev, later) = stdev.transpose()?.unzip();
        Ok(Quantity {
            value,
            stdev,
            unit: later.filter(|_| unit.is_empty()).unwrap_or(unit).to_owned(),
        })
    }

    fn number_and_unit<'a>(self, text: &'a str, cell: &str) -> Result<(f64, &'a str), String> {
        let odd = || format!("'{cell}' is not a number");
        let number = text.split_whitespace().next().unwrap_or_default();
        let unit = text[number.len()..].trim();
        let is_number = |c: char| c.is_ascii_digit() || ",.-+eE".contains(c);
        if !number.contains(|c: char| c.is_ascii_digit()) || !number.chars().all(is_number) {
            return Err(odd());
        }
        let plain = self.plain(number)?;
        let value: f64 = plain.parse().map_err(|_| odd())?;
        Ok((value, unit))
    }

    /// Converts to a point as decimal mark, without separators of thousands.
    fn plain(self, number: &str) -> Result<String, String> {
        let Some(last) = number.rfind([',', '.']) else {
            return Ok(number.to_owned());
        };
        let mark = number.as_bytes()[last];
        let here = if mark == b',' {
            self.comma || self.semicolons
        } else {
            self.point
        };
        let other = if mark == b',' { self.point } else { self.comma };
        let many = number.matches(char::from(mark)).count() > 1;
        let decimal = !many
            && (is_decimal(number, last)
                || match (here, other) {
                    (true, false) => true,
                    (false, true) => false,
                    // A single point is the programs' decimal mark.
                    (false, false) if mark == b'.' => true,
                    _ => {
                        let without = number.replace([',', '.'], "");
                        return Err(format!(
                            "'{number}' may be {without} or a fraction: write it without the mark"
                        ));
                    }
                });
        if !decimal && !has_groups(number) {
            return Err(format!("'{number}' is not a number"));
        }
        let (whole, fraction) = number.split_at(last);
        let whole = whole.replace([',', '.'], "");
        let fraction = &fraction[1..];
        Ok(if decimal {
            format!("{whole}.{fraction}")
        } else {
            format!("{whole}{fraction}")
        })
    }
}

/// Returns true if the mark at that position can only be a decimal mark.
fn is_decimal(number: &str, at: usize) -> bool {
    let mark = &number[at..=at];
    let other = if mark == "," { "." } else { "," };
    let digits = number[at + 1..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let once = number.matches(mark).count() == 1;
    let small = number[..at].trim_start_matches(['-', '+']) == "0";
    once && (digits != 3 || small || number[..at].contains(other) || at > 3 + signs(number))
}

/// Returns true if the marks separate groups of three digits.
fn has_groups(number: &str) -> bool {
    let groups = number.split([',', '.']).skip(1);
    groups.into_iter().all(|group| group.len() == 3)
}

fn signs(number: &str) -> usize {
    usize::from(number.starts_with(['-', '+']))
}

/// Role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Condition,
    Metric,
    Unit,
    Count,
    Mean,
    Stdev,
    Value,
    Trial,
    Position,
    Measured,
    Operands,
    Seconds,
    Reported,
}

/// Usual names of columns.
const NAMES: [(Role, &[&str]); 13] = [
    (
        Role::Condition,
        &[
            "condition",
            "setting",
            "config",
            "configuration",
            "governor",
            "scheduler",
            "variant",
        ],
    ),
    (Role::Metric, &["metric", "test", "benchmark"]),
    (Role::Unit, &["unit", "units"]),
    (Role::Count, &["n", "trials", "runs"]),
    (Role::Mean, &["mean", "average", "avg"]),
    (
        Role::Stdev,
        &[
            "stdev",
            "stddev",
            "sd",
            "std",
            "std dev",
            "standard deviation",
        ],
    ),
    (Role::Value, &["value", "result"]),
    (Role::Trial, &["trial", "run", "repetition", "iteration"]),
    (Role::Position, &["position"]),
    (Role::Measured, &["measured", "label"]),
    (Role::Operands, &["operands"]),
    (Role::Seconds, &["seconds"]),
    (Role::Reported, &["reported"]),
];

/// Column of a table.
#[derive(Debug)]
struct Column {
    name: String,
    /// Unit in brackets after the name; empty without one.
    unit: String,
    role: Option<Role>,
}

/// Roles of all columns.
#[derive(Debug)]
struct Head {
    columns: Vec<Column>,
}

impl Head {
    fn of(cells: &[String]) -> Self {
        let columns = cells.iter().map(|cell| column(cell));
        Self {
            columns: columns.collect(),
        }
    }

    /// Returns the layout of figures below these columns; `None` if they have none.
    fn shape(&self) -> Option<Shape> {
        let has = |role| self.place(role).is_some();
        if has(Role::Operands) && has(Role::Reported) {
            return Some(Shape::Copies);
        }
        if has(Role::Metric) && (has(Role::Value) || has(Role::Mean)) {
            return Some(Shape::Figures);
        }
        let unit = self.place(Role::Unit);
        if unit.is_some_and(|unit| unit > 0 && unit + 1 < self.columns.len()) {
            return Some(Shape::Metrics);
        }
        let mut metrics = self
            .columns
            .iter()
            .skip(1)
            .filter(|column| column.role.is_none());
        let with_units = metrics.any(|column| !column.unit.is_empty());
        let named = self.place(Role::Condition) == Some(0) && self.columns.len() > 1;
        (with_units || named).then_some(Shape::Conditions)
    }

    fn place(&self, role: Role) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.role == Some(role))
    }

    /// Returns the number of the column with this role as text, from 1.
    fn column_of(&self, role: Role) -> String {
        let place = self.place(role).map(|place| place + 1);
        place.map_or_else(|| "?".to_owned(), |number| number.to_string())
    }

    /// Returns a row's cell in the column with this role; `None` if it is empty.
    fn cell<'a>(&self, row: &'a SheetRow, role: Role) -> Option<&'a str> {
        let cell = row.cells.get(self.place(role)?)?;
        (!cell.is_empty()).then_some(cell)
    }

    /// Returns cells before a column that have no role: they are part of the metric's
    /// name.
    fn before<'a>(&self, role: Role, row: &'a SheetRow) -> Vec<&'a str> {
        let end = self.place(role).unwrap_or(0);
        let cells = self.columns.iter().zip(&row.cells).take(end);
        cells
            .filter(|(column, cell)| {
                !cell.is_empty() && (column.role.is_none() || column.role == Some(Role::Metric))
            })
            .map(|(_, cell)| cell.as_str())
            .collect()
    }

    /// Returns conditions with their cells.
    fn after_unit<'a>(&'a self, row: &'a SheetRow) -> Vec<(&'a str, &'a str)> {
        let start = self.place(Role::Unit).map_or(0, |unit| unit + 1);
        let cells = self.columns.iter().zip(&row.cells).skip(start);
        cells
            .filter(|(column, _)| {
                let of_row = [Role::Count, Role::Position, Role::Measured];
                column.role.is_none_or(|role| !of_row.contains(&role))
            })
            .map(|(column, cell)| (column.name.as_str(), cell.as_str()))
            .collect()
    }

    /// Returns metrics with their units and cells.
    fn metrics<'a>(&'a self, row: &'a SheetRow) -> Vec<(&'a str, &'a str, &'a str)> {
        let cells = self.columns.iter().zip(&row.cells).skip(1);
        cells
            .filter(|(column, _)| column.role.is_none())
            .map(|(column, cell)| (&*column.name, &*column.unit, cell.as_str()))
            .collect()
    }

    /// Returns names and cells of columns without a role.
    fn others(&self, row: &SheetRow) -> Vec<String> {
        let cells = self.columns.iter().zip(&row.cells);
        cells
            .filter(|(column, cell)| column.role.is_none() && !cell.is_empty())
            .map(|(column, cell)| format!("{}={cell}", column.name))
            .collect()
    }

    /// Returns columns whose cells are not imported.
    fn left_out(&self) -> Vec<&str> {
        if self.shape() != Some(Shape::Figures) {
            return Vec::new();
        }
        let metric = self.place(Role::Metric).unwrap_or(0);
        let behind = self.columns.iter().skip(metric);
        behind
            .filter(|column| column.role.is_none())
            .map(|column| column.name.as_str())
            .collect()
    }
}

/// Parses a column name with a unit: `Seq. read (MB/s)` or `Seq. read [MB/s]`.
fn column(cell: &str) -> Column {
    let word = cell.to_lowercase();
    let role = NAMES
        .iter()
        .find(|(_, names)| names.contains(&word.as_str()));
    let role = role.map(|(role, _)| *role);
    let brackets = [('(', ')'), ('[', ']')];
    let with_unit = brackets.into_iter().find_map(|(open, close)| {
        let (name, unit) = cell.strip_suffix(close)?.rsplit_once(open)?;
        Some((name.trim(), unit.trim()))
    });
    let (name, unit) = with_unit.unwrap_or((cell, ""));
    Column {
        name: name.to_owned(),
        unit: unit.to_owned(),
        role,
    }
}

/// Row of cells.
#[derive(Debug)]
struct SheetRow {
    line: usize,
    cells: Vec<String>,
}

/// Table as cells.
#[derive(Debug)]
struct Sheet {
    head: Vec<String>,
    head_line: usize,
    rows: Vec<SheetRow>,
    /// Lines that begin with `#`.
    comments: Vec<String>,
    marks: Marks,
}

/// Returns the cells of the first line that is no comment; `None` without a separator.
fn head(text: &str) -> Option<Vec<String>> {
    let line = text.lines().find(|line| is_row(line))?;
    let separator = separator(line)?;
    let mut reader = reader(separator).from_reader(line.as_bytes());
    let cells = reader.records().next()?.ok()?;
    Some(cells.iter().map(str::to_owned).collect())
}

fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// Detects the cell separator. A comma is used only without another candidate, because it is
/// the decimal mark of many languages.
fn separator(head: &str) -> Option<u8> {
    [b'\t', b';', b',']
        .into_iter()
        .find(|separator| head.as_bytes().contains(separator))
}

fn reader(separator: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'));
    builder
}

impl Sheet {
    fn read(text: &str) -> Result<Self, ImportError> {
        let first = text.lines().find(|line| is_row(line)).unwrap_or_default();
        let separator = separator(first).ok_or_else(|| {
            ImportError::at(
                None,
                "its first line has no separator: cells are separated by tabs, semicolons or \
                 commas",
            )
        })?;
        let mut rows = Vec::new();
        for record in reader(separator).from_reader(text.as_bytes()).records() {
            let record = record.map_err(|error| broken(&error))?;
            if record.iter().any(|cell| !cell.is_empty()) {
                rows.push(row(&record));
            }
        }
        let comments = text.lines().filter_map(|line| line.strip_prefix('#'));
        let comments = comments.map(str::trim).filter(|line| !line.is_empty());
        let comments = comments.map(str::to_owned).collect();
        if rows.is_empty() {
            return Err(ImportError::Empty);
        }
        let head = rows.remove(0);
        same_length(&head, &mut rows)?;
        let cells = rows.iter().flat_map(|row| row.cells.iter());
        let marks = Marks::of(cells.map(String::as_str), separator == b';');
        Ok(Self {
            head: head.cells,
            head_line: head.line,
            rows,
            comments,
            marks,
        })
    }

    /// Parses a number of this table.
    fn quantity(&self, cell: &str, line: usize) -> Result<Quantity, ImportError> {
        self.marks
            .quantity(cell)
            .map_err(|problem| ImportError::at(Some(line), problem))
    }
}

fn row(record: &StringRecord) -> SheetRow {
    let line = record.position().map_or(0, csv::Position::line);
    SheetRow {
        line: usize::try_from(line).unwrap_or(usize::MAX),
        cells: record
            .iter()
            .map(|cell| unguarded(cell).to_owned())
            .collect(),
    }
}

/// Removes the apostrophe by which a spreadsheet treats a name as text instead of a formula.
fn unguarded(cell: &str) -> &str {
    let guarded = cell.strip_prefix('\'');
    let guarded = guarded.filter(|rest| rest.starts_with(['=', '+', '-', '@', '\t', '\r']));
    guarded.unwrap_or(cell)
}

/// Pads rows with empty cells, which may be omitted at the end.
fn same_length(head: &SheetRow, rows: &mut [SheetRow]) -> Result<(), ImportError> {
    let wanted = head.cells.len();
    for row in rows {
        while row.cells.len() > wanted && row.cells.last().is_some_and(String::is_empty) {
            row.cells.pop();
        }
        if row.cells.len() == wanted {
            continue;
        }
        let hint = if row.cells.len() > wanted {
            "numbers with a decimal comma need another separator, or quotes"
        } else {
            "the table may be cut off here"
        };
        let problem = format!("{} cells below {wanted} columns: {hint}", row.cells.len());
        return Err(ImportError::at(Some(row.line), problem));
    }
    Ok(())
}

fn broken(error: &csv::Error) -> ImportError {
    let line = error.position().map(csv::Position::line);
    let line = line.and_then(|line| usize::try_from(line).ok());
    ImportError::at(line, format!("this is not a row of a table: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str], semicolons: bool) -> Vec<Result<f64, String>> {
        let marks = Marks::of(cells.iter().copied(), semicolons);
        let quantities = cells.iter().map(|cell| marks.quantity(cell));
        quantities
            .map(|read| read.map(|quantity| quantity.value))
            .collect()
    }

    #[test]
    fn commas_are_what_the_table_shows_them_to_be() {
        let ok = |values: &[f64]| values.iter().map(|v| Ok(*v)).collect::<Vec<_>>();
        assert_eq!(read(&["65,28", "1,849"], false), ok(&[65.28, 1.849]));
        assert_eq!(read(&["1.849,93", "0,5"], true), ok(&[1849.93, 0.5]));
        assert_eq!(
            read(&["1,849.93", "12,345"], false),
            ok(&[1849.93, 12345.0])
        );
        assert_eq!(read(&["1.849"], false), ok(&[1.849]));
        assert_eq!(read(&["1,849"], true), ok(&[1.849]));
        assert_eq!(read(&["1,234,567"], false), ok(&[1_234_567.0]));
        assert_eq!(read(&["1.234.567,5"], false), ok(&[1_234_567.5]));
        assert_eq!(read(&["12345,678"], false), ok(&[12345.678]));
        let unsure = &read(&["1,849"], false)[0];
        assert_eq!(
            unsure.as_ref().unwrap_err(),
            "'1,849' may be 1849 or a fraction: write it without the mark"
        );
    }

    #[test]
    fn a_cell_without_a_number_is_an_error() {
        for cell in [
            "", "-", "abc", "NaN", "inf", "1.2.3", "1.2.3x", "±", "1 ± x", "é",
        ] {
            assert!(read(&[cell], false)[0].is_err(), "{cell}");
        }
    }

    #[test]
    fn spread_and_unit_stand_behind_a_number() {
        let marks = Marks::of(["65.28"].into_iter(), false);
        let read = marks.quantity("65.28 ± 0.77 MB/s").unwrap();
        assert_eq!((read.value, read.stdev), (65.28, Some(0.77)));
        assert_eq!(read.unit, "MB/s");
        assert_eq!(marks.quantity("11.8 MB/s").unwrap().unit, "MB/s");
    }
}

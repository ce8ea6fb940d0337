//! Tables with separators: figures below column names.
//!
//! With one figure per row, the columns are `condition`, `metric`, `unit`, and `n`,
//! `mean`, `stdev`, or `value` and optionally `trial`. With one metric per row, the
//! cells before the column `unit` name the metric, and each column after it is a
//! condition. With one condition per row, each column is a metric with its unit in
//! brackets, as in reports of AndroBench. With one copy per row, the columns are
//! `operands`, `seconds`, `reported` of dd.

mod decimal;
mod head;
mod sheet;

use super::collect::{Collector, Key, ReportedMean};
use super::error::ImportError;
use assay_judge::Measured;
use assay_model::figures::Results;
use decimal::Quantity;
use head::{Head, Role};
use sheet::{Sheet, SheetRow};

/// Returns true if the text begins like a table of figures.
pub(super) fn has_columns(text: &str) -> bool {
    sheet::head(text).is_some_and(|cells| Head::of(&cells).shape().is_some() && cells.len() > 1)
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
    let cells = |text| sheet::head(text).map_or(0, |cells| cells.len());
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
        .ok_or_else(|| ImportError::at(Some(sheet.head_line), super::error::COLUMNS))?;
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
                    "The number of trials is not told, so each mean counts as one trial: add a \
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

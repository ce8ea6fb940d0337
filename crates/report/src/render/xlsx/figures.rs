//! A sheet for each group of metrics: a line for each metric and condition or side, with
//! its trials beside what is computed of them. Mean, standard deviation and geometric
//! mean are formulas over the trials; their values as assay computes them are in the file
//! too, for programs that do not calculate.

use super::look;
use crate::machine::import::moments;
use crate::words::text::clean;
use assay_lang::{key, tr};
use assay_model::figures::{Figure, Sample};
use assay_stats::figures::measured_in_words;
use assay_stats::summary::{Moments, Summary};
use rust_xlsxwriter::utility::column_number_to_name;
use rust_xlsxwriter::{Formula, Worksheet, XlsxError};

/// Before what is said of a line.
const COLUMNS: [(&str, u16); 8] = [
    (key!("Metric"), 34),
    ("", 34),
    ("n", 6),
    (key!("Mean"), 14),
    (key!("Standard deviation"), 18),
    (key!("Geometric mean"), 16),
    (key!("Unit of the cells"), 15),
    (key!("Measured"), 18),
];

/// Headings of the second column and of the results before the trials.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// For example `Condition`.
    pub series: &'static str,
    /// With the widths of their columns.
    pub said: &'static [(&'static str, u16)],
}

/// One line.
#[derive(Clone, Debug)]
pub struct FigureRow<'a> {
    /// A condition or a side.
    pub series: String,
    /// Figure with its trials.
    pub figure: &'a Figure,
    /// One for each head of [`Heads::said`]; fewer are enough.
    pub said: Vec<Said>,
}

/// Result for a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Nothing.
    Nothing,
    /// In percent.
    Percent(f64),
    /// In words.
    Text(String),
}

impl Said {
    /// In percent where it is known.
    pub fn percent(value: Option<f64>) -> Self {
        value.map_or(Self::Nothing, Self::Percent)
    }
}

/// Writes the sheet.
///
/// # Errors
/// When the lines do not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    title: &str,
    heads: Heads,
    rows: &[FigureRow<'_>],
) -> Result<(), XlsxError> {
    look::on_paper(sheet);
    write_heads(sheet, title, heads, rows)?;
    for (row, line) in (FIRST_ROW..).zip(rows) {
        write_row(sheet, row, heads, line)?;
    }
    sheet.set_freeze_panes(FIRST_ROW, 2)?;
    sheet.set_repeat_rows(FIRST_ROW - 1, FIRST_ROW - 1)?;
    Ok(())
}

/// Below the title, a sentence and the heads.
const FIRST_ROW: u32 = 4;

fn write_heads(
    sheet: &mut Worksheet,
    title: &str,
    heads: Heads,
    rows: &[FigureRow<'_>],
) -> Result<(), XlsxError> {
    sheet.write_string_with_format(0, 0, title, &look::title())?;
    let how = tr!(
        "One value per trial. Mean, standard deviation (n - 1) and geometric mean are \
               formulas over the trials to the right."
    );
    sheet.write_string(1, 0, how)?;
    let mut columns = COLUMNS.to_vec();
    columns[1].0 = heads.series;
    columns.extend(heads.said);
    look::heads(sheet, FIRST_ROW - 1, &columns)?;
    let most = rows
        .iter()
        .map(|row| row.figure.sample.n())
        .max()
        .unwrap_or_default();
    for (column, trial) in (first_trial(heads)..).zip(1..=most) {
        sheet.set_column_width(column, 14)?;
        let head = tr!("Trial {trial}", trial);
        sheet.write_string_with_format(FIRST_ROW - 1, column, head, &look::head())?;
    }
    Ok(())
}

fn first_trial(heads: Heads) -> u16 {
    u16::try_from(COLUMNS.len() + heads.said.len()).unwrap_or(u16::MAX)
}

fn write_row(
    sheet: &mut Worksheet,
    row: u32,
    heads: Heads,
    line: &FigureRow<'_>,
) -> Result<(), XlsxError> {
    let figure = line.figure;
    sheet.write_string(row, 0, clean(&figure.metric))?;
    sheet.write_string(row, 1, clean(&line.series))?;
    let moments = moments(&figure.sample);
    let n = u32::try_from(moments.n).unwrap_or(u32::MAX);
    sheet.write_number_with_format(row, 2, n, &look::count())?;
    sheet.write_string(row, 6, clean(&figure.unit))?;
    sheet.write_string(
        row,
        7,
        figure
            .measured
            .as_deref()
            .map_or(tr!("not told").to_owned(), measured_in_words),
    )?;
    for (column, said) in (8..).zip(&line.said) {
        match said {
            Said::Nothing => {}
            Said::Percent(value) => {
                sheet.write_number_with_format(row, column, *value, &look::percent())?;
            }
            Said::Text(text) => {
                sheet.write_string(row, column, clean(text))?;
            }
        }
    }
    match &figure.sample {
        Sample::Values { values, .. } => {
            write_trials(sheet, row, first_trial(heads), figure, values)
        }
        Sample::Moments { .. } => write_moments(sheet, row, &figure.unit, moments),
    }
}

/// The trials, and formulas over them.
fn write_trials(
    sheet: &mut Worksheet,
    row: u32,
    first: u16,
    figure: &Figure,
    values: &[f64],
) -> Result<(), XlsxError> {
    let format = look::quantity(&figure.unit);
    let mut last = first;
    for (column, value) in (first..).zip(values) {
        sheet.write_number_with_format(row, column, *value, &format)?;
        last = column;
    }
    let range = format!(
        "{}{row}:{}{row}",
        column_number_to_name(first),
        column_number_to_name(last),
        row = row + 1
    );
    let moments = moments(&figure.sample);
    let geometric = Summary::of(values).and_then(|statistics| statistics.geometric_mean);
    let formulas = [
        (3, "AVERAGE", Some(moments.mean)),
        (4, "STDEV", moments.stdev),
        (5, "GEOMEAN", geometric),
    ];
    for (column, function, value) in formulas {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let formula = Formula::new(format!("={function}({range})"));
            let formula = formula.set_result(value.to_string());
            sheet.write_formula_with_format(row, column, formula, &format)?;
        }
    }
    Ok(())
}

/// Writes the moments of a summary, which has no trials that a formula could use.
fn write_moments(
    sheet: &mut Worksheet,
    row: u32,
    unit: &str,
    moments: Moments,
) -> Result<(), XlsxError> {
    let format = look::quantity(unit);
    for (column, value) in [(3, Some(moments.mean)), (4, moments.stdev)] {
        if let Some(value) = value {
            sheet.write_number_with_format(row, column, value, &format)?;
        }
    }
    Ok(())
}

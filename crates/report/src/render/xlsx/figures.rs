//! Sheet for each group of metrics: a line for each metric and condition or side, with its trials
//! and the values computed from them. Mean, standard deviation and geometric mean are formulas over
//! the trials. The file also contains their values as computed by assay, for programs that do not
//! calculate.

use super::{look, page};
use crate::document::{Cell, Column, Table, TableRow};
use crate::machine::import::moments;
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::figures::{Figure, Sample};
use assay_stats::figures::measured_in_words;
use assay_stats::summary::Summary;
use rust_xlsxwriter::utility::column_number_to_name;
use rust_xlsxwriter::{Formula, Worksheet, XlsxError};

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

/// Writes the sheet.
///
/// # Errors
/// If the lines do not fit a sheet.
pub fn write(
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
    let written = page::write_figures(sheet, name, [title, how], &table(heads, rows))?;
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
    let measured = measured.map_or(tr!("not told").to_owned(), measured_in_words);
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

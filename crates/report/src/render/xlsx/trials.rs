//! Sheet of raw figures: one row per trial and metric, with the columns of the CSV output; of one
//! run, or of all sources of a comparison.

use super::look;
use crate::machine::{COLUMNS, csv_rows};
use crate::results::comparison::ComparedSource;
use crate::words::clean;
use assay_model::figures::Sample;
use assay_model::run::Run;
use rust_xlsxwriter::{Worksheet, XlsxError};

/// Numeric columns: sizes and counts, the value, the share of the device.
const NUMBERS: [&str; 7] = [
    "bs",
    "iodepth",
    "numjobs",
    "trial",
    "position",
    "value",
    "device_share",
];

/// Writes the sheet: runs, then imports.
///
/// # Errors
/// If the rows do not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    runs: &[&Run],
    others: &[ComparedSource<'_>],
) -> Result<(), XlsxError> {
    sheet.set_name(look::TRIALS)?;
    look::on_paper(sheet);
    for (column, title) in (0..).zip(COLUMNS) {
        sheet.write_string_with_format(0, column, title, &look::head())?;
        sheet.set_column_width(column, if column == 1 { 24 } else { 12 })?;
    }
    sheet.set_freeze_panes(1, 2)?;
    sheet.set_repeat_rows(0, 0)?;
    let measured = runs.iter().flat_map(|run| csv_rows(run));
    let imported = others.iter().flat_map(imported);
    let mut last = 0;
    for (row, cells) in (1..).zip(measured.chain(imported)) {
        for ((column, title), cell) in (0..).zip(COLUMNS).zip(cells) {
            match cell.parse::<f64>() {
                _ if cell.is_empty() => {}
                Ok(number) if NUMBERS.contains(&title) => {
                    sheet.write_number(row, column, number)?;
                }
                _ if title == "direct" => {
                    sheet.write_boolean(row, column, cell == "true")?;
                }
                _ => {
                    sheet.write_string(row, column, clean(&cell))?;
                }
            }
        }
        last = row;
    }
    let columns = u16::try_from(COLUMNS.len()).unwrap_or(u16::MAX);
    sheet.autofilter(0, 0, last, columns - 1)?;
    Ok(())
}

/// Rows of imported results. Unknown values are left empty; a summary is skipped, because it is
/// not a trial.
fn imported(source: &ComparedSource<'_>) -> Vec<[String; COLUMNS.len()]> {
    let figures = source
        .figures
        .iter()
        .filter_map(|figure| match &figure.sample {
            Sample::Values { values, .. } => Some((figure, values)),
            Sample::Moments { .. } => None,
        });
    let rows = figures.flat_map(|(figure, values)| {
        values.iter().enumerate().map(|(index, value)| {
            let cell = |title: &str| match title {
                "run" => source.name.to_owned(),
                "trial" => (index + 1).to_string(),
                "metric" => figure.metric.clone(),
                "unit" => figure.unit.clone(),
                "value" => value.to_string(),
                "label" => figure.measured.clone().unwrap_or_default(),
                "condition" => figure.condition.clone(),
                _ => String::new(),
            };
            COLUMNS.map(cell)
        })
    });
    rows.collect()
}

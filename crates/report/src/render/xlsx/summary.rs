//! The first sheet: what was run where, what the marks mean, and the results.

use super::look::{self, SHADES};
use crate::results::describe;
use crate::results::summary::{JobSummary, Summary};
use crate::words::identity;
use crate::words::labels;
use crate::words::text::Fact;
use crate::words::text::clean;
use assay_lang::{key, tr, translated};
use rust_xlsxwriter::{Worksheet, XlsxError};

/// Writes the sheet; `matrices`: there are sheets with shades.
///
/// # Errors
/// When the run does not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    summary: &Summary<'_>,
    matrices: bool,
) -> Result<(), XlsxError> {
    sheet.set_name(look::SUMMARY)?;
    look::on_paper(sheet);
    for (column, width) in (0..).zip([26, 30, 14, 10, 14, 14, 9, 34]) {
        sheet.set_column_width(column, width)?;
    }
    let header = &summary.run.header;
    let name = identity::name(&header.storage);
    sheet.write_string_with_format(0, 0, name, &look::title())?;
    let mut row = 2;
    let device = identity::device(&header.storage).map_or_else(Vec::new, identity::device_facts);
    let parts = [
        (tr!("Run"), describe::run_facts(summary)),
        (tr!("Storage"), identity::path_facts(&header.storage)),
        (tr!("Device"), device),
        (tr!("Machine"), identity::system_facts(summary.run)),
    ];
    for (title, facts) in &parts {
        row = write_facts(sheet, row, title, facts)?;
    }
    row = write_labels(sheet, row, matrices)?;
    write_results(sheet, row, summary)
}

fn write_facts(
    sheet: &mut Worksheet,
    mut row: u32,
    title: &str,
    facts: &[Fact],
) -> Result<u32, XlsxError> {
    if facts.is_empty() {
        return Ok(row);
    }
    sheet.write_string_with_format(row, 0, title, &look::name())?;
    for (name, value) in facts {
        row += 1;
        sheet.write_string(row, 0, *name)?;
        sheet.write_string(row, 1, value)?;
    }
    Ok(row + 2)
}

fn write_labels(sheet: &mut Worksheet, mut row: u32, matrices: bool) -> Result<u32, XlsxError> {
    sheet.write_string_with_format(row, 0, tr!("What a figure measured"), &look::name())?;
    for shade in &SHADES {
        row += 1;
        let meaning = labels::meaning(shade.label).unwrap_or_default();
        let words = if matrices {
            format!("{}: {meaning}", translated(shade.words))
        } else {
            meaning.to_owned()
        };
        sheet.write_string_with_format(row, 0, translated(shade.label), &shade.text())?;
        sheet.write_string(row, 1, words)?;
    }
    Ok(row + 2)
}

const RESULTS: [&str; 8] = [
    key!("Job"),
    key!("Figure"),
    key!("Median"),
    key!("Unit"),
    key!("Lowest"),
    key!("Highest"),
    key!("Trials"),
    key!("Measured"),
];

fn write_results(
    sheet: &mut Worksheet,
    mut row: u32,
    summary: &Summary<'_>,
) -> Result<(), XlsxError> {
    if summary.jobs.iter().all(JobSummary::is_cell) {
        return Ok(());
    }
    for (column, title) in (0..).zip(RESULTS) {
        sheet.write_string_with_format(row, column, translated(title), &look::head())?;
    }
    for job in summary.jobs.iter().filter(|job| !job.is_cell()) {
        for figure in job.headlines() {
            row += 1;
            let stats = &figure.stats;
            sheet.write_string(row, 0, clean(&job.job.name))?;
            sheet.write_string(row, 1, describe::metric(&figure.name))?;
            sheet.write_number(row, 2, stats.median)?;
            sheet.write_string(row, 3, figure.unit.name())?;
            sheet.write_number(row, 4, stats.min)?;
            sheet.write_number(row, 5, stats.max)?;
            sheet.write_number(
                row,
                6,
                f64::from(u32::try_from(stats.n).unwrap_or(u32::MAX)),
            )?;
            sheet.write_string(row, 7, figure.labels.to_string())?;
        }
    }
    Ok(())
}

//! The sheet of raw figures: one row per trial and metric, with the columns of
//! the CSV output; of one run, or of all that a comparison is of.

use super::look;
use crate::machine::csv::COLUMNS;
use crate::results::comparison::ComparedSource;
use crate::results::summary::{JudgedTrial, Summary};
use crate::words::text::clean;
use assay_model::figures::Sample;
use assay_model::metric::Metric;
use assay_stats::derive::label_of;
use rust_xlsxwriter::{Worksheet, XlsxError};

/// Writes the sheet: runs, then results that were made elsewhere.
///
/// # Errors
/// When it all does not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    runs: &[Summary<'_>],
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
    let mut row = 0;
    for run in runs {
        row = write_run(sheet, row, run)?;
    }
    for other in others {
        row = write_other(sheet, row, other)?;
    }
    let last = u16::try_from(COLUMNS.len() - 1).unwrap_or(u16::MAX);
    sheet.autofilter(0, 0, row, last)?;
    Ok(())
}

/// The last row that was written comes back.
fn write_run(sheet: &mut Worksheet, mut row: u32, summary: &Summary<'_>) -> Result<u32, XlsxError> {
    let mut trials: Vec<&JudgedTrial<'_>> =
        summary.jobs.iter().flat_map(|job| &job.trials).collect();
    trials.sort_by_key(|trial| trial.record.position);
    for trial in trials {
        if trial.derived.metrics.is_empty() {
            row += 1;
            write_trial(sheet, row, &summary.run.header.id, trial)?;
        }
        for metric in &trial.derived.metrics {
            row += 1;
            write_trial(sheet, row, &summary.run.header.id, trial)?;
            write_metric(sheet, row, trial, metric)?;
        }
    }
    Ok(row)
}

/// Writes imported results. Unknown values are left empty; a summary is skipped, because it is not
/// a trial.
fn write_other(
    sheet: &mut Worksheet,
    mut row: u32,
    other: &ComparedSource<'_>,
) -> Result<u32, XlsxError> {
    for figure in other.figures {
        let Sample::Values { values, .. } = &figure.sample else {
            continue;
        };
        for (trial, value) in (1..).zip(values) {
            row += 1;
            sheet.write_string(row, 0, clean(other.name))?;
            sheet.write_number(row, 8, f64::from(trial))?;
            sheet.write_string(row, 11, clean(&figure.metric))?;
            sheet.write_string(row, 12, clean(&figure.unit))?;
            sheet.write_number(row, 13, *value)?;
            sheet.write_string(
                row,
                14,
                figure.measured.as_deref().map(clean).unwrap_or_default(),
            )?;
            sheet.write_string(row, 16, clean(&figure.condition))?;
        }
    }
    Ok(row)
}

fn write_trial(
    sheet: &mut Worksheet,
    row: u32,
    run: &str,
    trial: &JudgedTrial<'_>,
) -> Result<(), XlsxError> {
    let record = trial.record;
    let job = &record.job;
    sheet.write_string(row, 0, clean(run))?;
    sheet.write_string(row, 1, clean(&job.name))?;
    sheet.write_string(row, 2, job.rw.to_string())?;
    sheet.write_number(row, 3, job.bs.0 as f64)?;
    sheet.write_string(row, 4, job.ioengine.to_string())?;
    sheet.write_number(row, 5, job.iodepth)?;
    sheet.write_number(row, 6, job.numjobs)?;
    sheet.write_boolean(row, 7, job.direct)?;
    sheet.write_number(row, 8, record.trial)?;
    sheet.write_number(row, 9, record.position)?;
    sheet.write_string(row, 10, record.outcome.word())?;
    if let Some(condition) = &record.condition {
        sheet.write_string(row, 16, clean(condition))?;
    }
    Ok(())
}

fn write_metric(
    sheet: &mut Worksheet,
    row: u32,
    trial: &JudgedTrial<'_>,
    metric: &Metric,
) -> Result<(), XlsxError> {
    let judgement = trial.derived.judgement.as_ref();
    sheet.write_string(row, 11, clean(&metric.name))?;
    sheet.write_string(row, 12, metric.unit.name())?;
    sheet.write_number(row, 13, metric.value)?;
    sheet.write_string(row, 14, label_of(&metric.name, judgement))?;
    if let Some(share) = crate::machine::csv::device_share(&metric.name, judgement) {
        sheet.write_number(row, 15, share)?;
    }
    Ok(())
}

//! The sheet of evidence: what every figure of every trial measured, and why.

use super::look;
use crate::results::describe;
use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use crate::words::text::clean;
use assay_judge::DirectionEvidence;
use assay_lang::{key, tr, translated};
use assay_model::job::Direction;
use assay_model::units::Bytes;
use assay_model::work::StepDetail;
use rust_xlsxwriter::{Format, Worksheet, XlsxError};

const COLUMNS: [(&str, u16); 16] = [
    (key!("Job"), 26),
    (key!("What it did"), 50),
    (key!("File, KiB"), 10),
    (key!("Record, KiB"), 11),
    (key!("Trial"), 7),
    (key!("Outcome"), 12),
    (key!("Of"), 7),
    (key!("Label"), 18),
    (key!("Device share"), 12),
    (key!("Bytes moved"), 16),
    (key!("Bytes by layer"), 34),
    (key!("Flushes"), 9),
    (key!("Volatile cache"), 14),
    (key!("Dirty bytes at stop"), 18),
    (key!("Because"), 100),
    (key!("Condition"), 30),
];

/// Writes the sheet under a name.
///
/// # Errors
/// When the run does not fit a sheet.
pub fn write(sheet: &mut Worksheet, name: &str, summary: &Summary<'_>) -> Result<(), XlsxError> {
    sheet.set_name(name)?;
    look::on_paper(sheet);
    look::heads(sheet, 0, &COLUMNS)?;
    sheet.set_freeze_panes(1, 1)?;
    sheet.set_repeat_rows(0, 0)?;
    let mut jobs: Vec<&JobSummary<'_>> = summary.jobs.iter().collect();
    jobs.sort_by_key(|job| place_of_cell(job));
    let mut row = 0;
    for trial in jobs.iter().flat_map(|job| &job.trials) {
        row = write_trial(sheet, row, trial)?;
    }
    let last = u16::try_from(COLUMNS.len() - 1).unwrap_or(u16::MAX);
    sheet.autofilter(0, 0, row, last)?;
    Ok(())
}

/// Cells of matrices stand in the order they were measured in; other jobs stay
/// in reading order.
fn place_of_cell(job: &JobSummary<'_>) -> Option<u32> {
    job.is_cell()
        .then(|| job.trials.first())?
        .map(|trial| trial.record.position)
}

/// One row for each direction, one for a trial that moved nothing.
fn write_trial(
    sheet: &mut Worksheet,
    mut row: u32,
    trial: &JudgedTrial<'_>,
) -> Result<u32, XlsxError> {
    let directions: Vec<_> = trial.directions().collect();
    if directions.is_empty() {
        row += 1;
        write_name(sheet, row, trial)?;
        let labels = trial.labels(None);
        let label = labels.first().map_or("", |label| translated(label.label()));
        sheet.write_string(row, 7, label)?;
        sheet.write_string(row, 14, tr!("no evidence of bytes moved"))?;
    }
    for (direction, evidence) in directions {
        row += 1;
        write_name(sheet, row, trial)?;
        write_judged(sheet, row, direction, evidence)?;
    }
    Ok(row)
}

fn write_name(sheet: &mut Worksheet, row: u32, trial: &JudgedTrial<'_>) -> Result<(), XlsxError> {
    let record = trial.record;
    sheet.write_string(row, 0, clean(&record.job.name))?;
    sheet.write_string(row, 1, clean(&describe::job(&record.job)))?;
    if let Some(StepDetail::Iozone(cell)) = record.detail.as_deref() {
        sheet.write_number(row, 2, number(cell.file_kib))?;
        sheet.write_number(row, 3, number(cell.record_kib))?;
    }
    sheet.write_number(row, 4, record.trial)?;
    sheet.write_string(row, 5, translated(record.outcome.word()))?;
    if let Some(condition) = &record.condition {
        sheet.write_string(row, 15, clean(condition))?;
    }
    Ok(())
}

fn write_judged(
    sheet: &mut Worksheet,
    row: u32,
    direction: Direction,
    evidence: &DirectionEvidence,
) -> Result<(), XlsxError> {
    sheet.write_string(row, 6, describe::direction(direction))?;
    sheet.write_string(row, 7, evidence.measured.to_string())?;
    if let Some(share) = evidence.device_share {
        let percent = Format::new().set_num_format("0.0 %");
        sheet.write_number_with_format(row, 8, share, &percent)?;
    }
    let counts = [
        (9, Some(evidence.job_bytes)),
        (11, evidence.flushes),
        (13, evidence.dirty_bytes_at_stop),
    ];
    let count = Format::new().set_num_format("#,##0");
    for (column, value) in counts {
        if let Some(value) = value {
            sheet.write_number_with_format(row, column, number(value), &count)?;
        }
    }
    let layers = evidence.layers.iter();
    let layers = layers.map(|(name, bytes)| format!("{}: {}", clean(name), Bytes(*bytes)));
    sheet.write_string(row, 10, layers.collect::<Vec<_>>().join("; "))?;
    if let Some(volatile) = evidence.volatile_cache {
        sheet.write_string(row, 12, if volatile { tr!("yes") } else { tr!("no") })?;
    }
    sheet.write_string(row, 14, clean(&evidence.because))?;
    Ok(())
}

const fn number(value: u64) -> f64 {
    value as f64
}

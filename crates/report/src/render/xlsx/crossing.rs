//! Sweeps of two settings: each metric as a matrix of one by the other, with a surface.

use super::look;
use super::surface::{self, Axes, Grid, MatrixPosition};
use crate::results::jobs;
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::condition::Condition;
use assay_model::figures::{Figure, Sample};
use assay_model::run::Run;
use assay_stats::summary::Summary;
use rust_xlsxwriter::{Format, Worksheet, XlsxError};

/// The two settings that a sweep varied, with their values in the order of the plan.
struct Settings {
    names: [String; 2],
    values: [Vec<String>; 2],
}

impl Settings {
    /// `None` unless each condition sets the same two.
    fn of(conditions: &[Condition]) -> Option<Self> {
        let [a, b] = conditions.first()?.settings.as_slice() else {
            return None;
        };
        let names = [a.subject.to_string(), b.subject.to_string()];
        let mut values = [Vec::new(), Vec::new()];
        for condition in conditions {
            let [a, b] = condition.settings.as_slice() else {
                return None;
            };
            for (index, setting) in [a, b].into_iter().enumerate() {
                if setting.subject.to_string() != names[index] {
                    return None;
                }
                if !values[index].contains(&setting.value) {
                    values[index].push(setting.value.clone());
                }
            }
        }
        Some(Self { names, values })
    }
}

/// Writes the sheet; what comes back are its charts.
///
/// # Errors
/// When it does not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    run: &Run,
    figures: &[Figure],
) -> Result<Vec<String>, XlsxError> {
    sheet.set_name(look::SURFACES)?;
    look::on_paper(sheet);
    sheet.set_column_width(0, 24)?;
    let Some(settings) = Settings::of(&run.header.plan.conditions) else {
        let why = tr!("No matrices: they take a sweep of two settings.");
        sheet.write_string(0, 0, why)?;
        return Ok(Vec::new());
    };
    let mut charts = Vec::new();
    let mut row = 0;
    let deciding = || figures.iter().filter(|figure| figure.primary);
    for metric in jobs::metrics(deciding()) {
        let unit = deciding().find(|figure| figure.metric == metric);
        let unit = unit.map_or("", |figure| figure.unit.as_str());
        let grid = grid(run, figures, &settings, metric);
        let (next, chart) = write_grid(sheet, row, &grid, &settings, unit)?;
        charts.extend(chart);
        row = next;
    }
    Ok(charts)
}

/// The geometric means of one metric, of figures with a 0 the arithmetic ones.
fn grid(run: &Run, figures: &[Figure], settings: &Settings, metric: &str) -> Grid {
    let value = |row: &str, column: &str| {
        let is_it = |condition: &&Condition| {
            let values: Vec<&str> = condition
                .settings
                .iter()
                .map(|s| s.value.as_str())
                .collect();
            values == [row, column]
        };
        let condition = run.header.plan.conditions.iter().find(is_it)?;
        let is_it = |f: &&Figure| f.metric == metric && f.condition == condition.name;
        match &figures.iter().find(is_it)?.sample {
            Sample::Values { values, .. } => {
                let summary = Summary::of(values)?;
                Some(summary.geometric_mean.unwrap_or(summary.mean))
            }
            Sample::Moments { mean, .. } => Some(*mean),
        }
    };
    let [rows, columns] = settings.values.clone();
    let values = rows.iter().map(|row| {
        let cells = columns.iter().map(|column| value(row, column));
        cells.collect()
    });
    Grid {
        title: metric.to_owned(),
        values: values.collect(),
        rows,
        columns,
    }
}

/// Writes a grid from row `top` on; the row after it and its chart come back.
fn write_grid(
    sheet: &mut Worksheet,
    top: u32,
    grid: &Grid,
    settings: &Settings,
    unit: &str,
) -> Result<(u32, Option<String>), XlsxError> {
    let [down, across] = &settings.names;
    sheet.write_string_with_format(top, 0, clean(&grid.title), &look::title())?;
    let head_row = top + 2;
    let corner = clean(&format!("{down} \\ {across}"));
    sheet.write_string(
        top + 1,
        0,
        tr!("Geometric means in {unit}.", unit = clean(unit)),
    )?;
    sheet.write_string_with_format(head_row, 0, corner, &look::head())?;
    for (column, head) in (1..).zip(&grid.columns) {
        sheet.set_column_width(column, 16)?;
        write_head(sheet, (head_row, column), head, &look::head())?;
    }
    let mut row = head_row;
    for (head, values) in grid.rows.iter().zip(&grid.values) {
        row += 1;
        write_head(sheet, (row, 0), head, &look::name())?;
        for (column, value) in (1..).zip(values) {
            if let Some(value) = value {
                sheet.write_number_with_format(row, column, *value, &look::quantity(unit))?;
            }
        }
    }
    let place = MatrixPosition {
        sheet: look::SURFACES,
        head_row,
        head_column: 0,
    };
    let axes = Axes {
        columns: across,
        rows: down,
        values: unit,
    };
    let chart = surface::insert(sheet, grid, place, axes, row + 2)?;
    let covered = if chart.is_some() {
        surface::ROWS_COVERED
    } else {
        0
    };
    Ok((row + 3 + covered, chart))
}

/// A number where it is one: then it is an axis of numbers, too.
fn write_head(
    sheet: &mut Worksheet,
    (row, column): (u32, u16),
    head: &str,
    format: &Format,
) -> Result<(), XlsxError> {
    match surface::number(head) {
        Some(number) => sheet.write_number_with_format(row, column, number, format)?,
        None => sheet.write_string_with_format(row, column, clean(head), format)?,
    };
    Ok(())
}

//! Sheets of sweeps over two settings: each metric as a matrix with a surface.

use super::look;
use super::page::Page;
use super::surface::{self, Axes, Grid, MatrixPosition};
use crate::document::{Cell, Column, Table, TableRow};
use crate::results::jobs;
use crate::words::clean;
use assay_lang::tr;
use assay_model::condition::Condition;
use assay_model::figures::{Figure, Sample};
use assay_model::run::Run;
use assay_stats::summary::Summary;
use rust_xlsxwriter::{Worksheet, XlsxError};

/// The two varied settings, with their values in the order of the plan.
struct Settings {
    names: [String; 2],
    values: [Vec<String>; 2],
}

impl Settings {
    /// Returns the settings; `None` unless each condition sets the same two.
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

/// Writes the sheet and returns its charts.
///
/// # Errors
/// If it does not fit a sheet.
pub fn write(
    sheet: &mut Worksheet,
    run: &Run,
    figures: &[Figure],
) -> Result<Vec<String>, XlsxError> {
    let mut page = Page::new(sheet, look::SURFACES)?;
    let Some(settings) = Settings::of(&run.header.plan.conditions) else {
        page.text(tr!("No matrices: they take a sweep of two settings."))?;
        return Ok(Vec::new());
    };
    let [down, across] = &settings.names;
    let mut charts = Vec::new();
    let deciding = || figures.iter().filter(|figure| figure.primary);
    for metric in jobs::metrics(deciding()) {
        let unit = deciding().find(|figure| figure.metric == metric);
        let unit = unit.map_or("", |figure| figure.unit.as_str());
        let grid = grid(run, figures, &settings, metric);
        page.title(&clean(&grid.title))?;
        page.text(&tr!("Geometric means in {unit}.", unit = clean(unit)))?;
        let place = MatrixPosition {
            sheet: look::SURFACES,
            head_row: page.row,
            head_column: 0,
        };
        page.table(&table(&grid, &format!("{down} \\ {across}"), unit))?;
        page.row += 1;
        let axes = Axes {
            columns: across,
            rows: down,
            values: unit,
        };
        let chart = surface::insert(page.sheet, &grid, place, axes, page.row)?;
        page.row += match chart {
            Some(_) => 1 + surface::ROWS_COVERED,
            None => 1,
        };
        charts.extend(chart);
    }
    page.set_widths()?;
    Ok(charts)
}

fn table(grid: &Grid, corner: &str, unit: &str) -> Table {
    let columns = grid.columns.iter().map(|head| Column::number(clean(head)));
    let rows = grid.rows.iter().zip(&grid.values).map(|(head, values)| {
        // A numeric heading makes the axis numeric, too.
        let head = match head.parse::<usize>() {
            Ok(number) => Cell::Count(number),
            Err(_) => clean(head).into(),
        };
        let values = values
            .iter()
            .map(|value| value.map_or(Cell::Empty, |value| Cell::quantity(value, unit)));
        TableRow::new(std::iter::once(head).chain(values).collect())
    });
    Table {
        columns: std::iter::once(Column::text(clean(corner)))
            .chain(columns)
            .collect(),
        rows: rows.collect(),
    }
}

/// Returns the geometric means of one metric; arithmetic means if any figure contains a 0.
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
            Sample::Values { values, .. } => Some(Summary::of(values)?.centre()),
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

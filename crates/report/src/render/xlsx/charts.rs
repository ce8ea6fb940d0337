//! Sheet of charts: the drawings of pages as charts of the spreadsheet program, each beside the
//! figures that it draws. Rows with intervals are bars with error bars, curves are lines.

use super::look;
use super::page::Page;
use crate::charts::draw::{Axis, Body, Chart, Panel, Plane, Point, Scale, Series, SeriesStyle};
use crate::document::{Cell, Column, Table, TableRow};
use crate::words::{clean, shorten};
use assay_lang::tr;
use rust_xlsxwriter::{
    Chart as SheetChart, ChartErrorBars, ChartErrorBarsType, ChartMarker, ChartRange, ChartType,
    Workbook, XlsxError,
};

/// Width of a chart, in pixels.
const WIDTH: u32 = 760;
/// Height of a chart without its rows, and of each row, in pixels.
const HEIGHT: (u32, u32) = (140, 26);
/// Height of a chart of lines, in pixels.
const OF_LINES: u32 = 320;
/// Height of a cell, in pixels.
const CELL: u32 = 20;
/// Column of the charts, right of the figures of two series.
const BESIDE: u16 = 8;
/// Maximum length of the alternative text of a chart, in characters.
const LONGEST_ALTERNATIVE: usize = 255;
/// Rows on a sheet of paper, about.
const ON_PAPER: u32 = 50;
/// Maximum number of charts on a sheet.
const MOST: usize = 24;

/// Adds the sheet, unless there is no chart, and returns an entry for each of its charts.
///
/// # Errors
/// If it does not fit a workbook.
pub fn add<'a>(
    workbook: &mut Workbook,
    charts: impl Iterator<Item = &'a Chart>,
) -> Result<Vec<Option<String>>, XlsxError> {
    let mut charts = charts.take(MOST).peekable();
    if charts.peek().is_none() {
        return Ok(Vec::new());
    }
    let mut page = Page::new(workbook.add_worksheet(), look::CHARTS)?;
    let mut drawn_charts = Vec::new();
    let (mut breaks, mut begin) = (Vec::new(), 0);
    for chart in charts {
        let Body::Plane(plane) = &chart.body else {
            continue;
        };
        let Some(panel) = plane.panels.first() else {
            continue;
        };
        let top = page.row;
        page.heading(&chart.title)?;
        let (mut drawn, height) = match &panel.y.scale {
            Scale::Names(_) => rows(&mut page, plane)?,
            _ => (lines(&mut page, plane, panel)?, OF_LINES),
        };
        drawn
            .set_width(WIDTH)
            .set_height(height)
            .set_alt_text(shorten(&clean(&chart.description), LONGEST_ALTERNATIVE));
        drawn.title().set_name(&label(&chart.title));
        page.sheet.insert_chart(top, BESIDE, &drawn)?;
        page.row = (top + height / CELL + 1).max(page.row) + 1;
        // No chart is cut on paper.
        if page.row - begin > ON_PAPER && top > begin {
            begin = top;
            breaks.push(top);
        }
        drawn_charts.push(None);
    }
    page.sheet.set_page_breaks(&breaks)?;
    page.set_widths()?;
    Ok(drawn_charts)
}

/// Writes rows of names with the median of each series and the ends of its interval; draws bars.
fn rows(page: &mut Page<'_>, plane: &Plane) -> Result<(SheetChart, u32), XlsxError> {
    let mut names: Vec<String> = Vec::new();
    let mut columns: Vec<(&str, Vec<Option<&Point>>)> = Vec::new();
    for panel in &plane.panels {
        let Scale::Names(own) = &panel.y.scale else {
            continue;
        };
        let before = names.len();
        // Jobs that read and write are in two panels.
        let mut marks = panel.series.iter();
        let marks = marks.find(|series| series.mark == SeriesStyle::Dots);
        names.extend(own.iter().map(|name| match marks {
            Some(marks) if plane.panels.len() > 1 => format!("{name} {}", marks.name),
            _ => name.clone(),
        }));
        for series in intervals(panel) {
            if !columns.iter().any(|(name, _)| *name == series.name) {
                columns.push((&series.name, Vec::new()));
            }
            for (_, points) in columns.iter_mut().filter(|(name, _)| *name == series.name) {
                points.resize(names.len(), None);
                for (index, row) in points[before..].iter_mut().enumerate() {
                    let is_own = |point: &&Point| (point.y - index as f64).abs() < 0.5;
                    *row = series.points.iter().find(is_own);
                }
            }
        }
    }
    let unit = plane.x.measure.symbol().to_owned();
    let first = page.row + 1;
    let last = page.row + u32::try_from(names.len()).unwrap_or(u32::MAX);
    let mut chart = SheetChart::new(ChartType::Bar);
    let mut heads = vec![Column::text("")];
    let at = |column: u16| (look::CHARTS, first, column, last, column);
    for (column, (name, _)) in (1_u16..).step_by(3).zip(&columns) {
        let head = if columns.len() < 2 {
            &plane.x.label
        } else {
            *name
        };
        heads.extend([head, tr!("below"), tr!("above")].map(Column::number));
        let [below, above] = [column + 1, column + 2]
            .map(|column| ChartRange::new_from_range(look::CHARTS, first, column, last, column));
        let mut ends = ChartErrorBars::new();
        ends.set_type(ChartErrorBarsType::Custom(above, below));
        chart
            .add_series()
            .set_name(&label(name))
            .set_categories(at(0))
            .set_values(at(column))
            .set_x_error_bars(&ends);
    }
    let table_rows = names.iter().enumerate().map(|(row, name)| {
        let cells = columns.iter().flat_map(|(_, points)| {
            let point = points.get(row).copied().flatten();
            let end = |of: fn((f64, f64), f64) -> f64| {
                point.and_then(|point| Some(of(point.ends?, point.x).max(0.0)))
            };
            [
                point.map(|point| point.x),
                end(|(low, _), x| x - low),
                end(|(_, high), x| high - x),
            ]
        });
        let cells = cells.map(|value| number(value, &unit));
        TableRow::new(std::iter::once(name.as_str().into()).chain(cells).collect())
    });
    let rows = table_rows.collect();
    page.table(&Table {
        columns: heads,
        rows,
    })?;
    // Of bars, the horizontal axis is that of the values.
    axis(chart.x_axis(), &plane.x);
    let (low, high) = plane.x_extremes();
    match plane.x.scale {
        Scale::Log => chart.x_axis().set_log_base(10),
        _ => chart.x_axis().set_min(low.min(0.0)).set_max(high.max(0.0)),
    };
    chart.y_axis().set_reverse();
    if columns.len() < 2 {
        chart.legend().set_hidden();
    }
    let count = u32::try_from(names.len() * columns.len().max(1)).unwrap_or(0);
    Ok((chart, HEIGHT.0 + HEIGHT.1 * count))
}

/// Returns the series of intervals; their values are the lengths of bars.
fn intervals(panel: &Panel) -> impl Iterator<Item = &Series> {
    let series = panel.series.iter();
    series.filter(|series| series.mark == SeriesStyle::Intervals)
}

/// Writes the points of the curves of a panel below each other; draws lines.
fn lines(page: &mut Page<'_>, plane: &Plane, panel: &Panel) -> Result<SheetChart, XlsxError> {
    let mut chart = SheetChart::new(ChartType::ScatterStraight);
    let is_line = |series: &&Series| {
        matches!(series.mark, SeriesStyle::Line | SeriesStyle::Steps) && !series.points.is_empty()
    };
    let units = [&plane.x, &panel.y].map(|axis| axis.measure.symbol());
    let mut count = 0;
    let mut rows = Vec::new();
    for series in panel.series.iter().filter(is_line) {
        let row = |rows: &[TableRow]| page.row + u32::try_from(rows.len()).unwrap_or(0);
        let first = row(&rows) + 1;
        rows.extend(series.points.iter().map(|point| {
            let [x, y] = [(point.x, units[0]), (point.y, units[1])]
                .map(|(value, unit)| number(Some(value), unit));
            TableRow::new(vec![series.name.as_str().into(), x, y])
        }));
        let last = row(&rows);
        let mut none = ChartMarker::new();
        none.set_none();
        chart
            .add_series()
            .set_name(&label(&series.name))
            .set_categories((look::CHARTS, first, 1, last, 1))
            .set_values((look::CHARTS, first, 2, last, 2))
            .set_marker(&none);
        count += 1;
    }
    let [x, y] = [&plane.x.label, &panel.y.label].map(Column::number);
    page.table(&Table {
        columns: vec![Column::text(""), x, y],
        rows,
    })?;
    axis(chart.x_axis(), &plane.x);
    axis(chart.y_axis(), &panel.y);
    if count < 2 {
        chart.legend().set_hidden();
    }
    Ok(chart)
}

/// Names an axis and shows its values in a readable unit.
fn axis(axis: &mut rust_xlsxwriter::ChartAxis, of: &Axis) {
    axis.set_name(&label(&of.label));
    axis.set_num_format(look::axis_code(of.measure.symbol()));
}

/// Returns a text for a chart, which takes one that begins with `=` for a range of cells.
fn label(text: &str) -> String {
    clean(text).trim_start_matches('=').to_owned()
}

fn number(value: Option<f64>, unit: &str) -> Cell {
    value.map_or(Cell::Empty, |value| Cell::quantity(value, unit))
}

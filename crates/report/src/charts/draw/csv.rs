//! Data of a chart as CSV, for `assay plot -o x.csv` and for the downloads beside a page's charts.

use super::{Axis, Body, Chart, Grid, Panel, Plane, Scale};
use crate::machine::csv::harmless;
use assay_model::number::as_usize;
use csv::Writer;
use std::io::{self, Write};

/// Writes a row for each point of a plane, or for each cell of a grid. The heading contains units.
/// Quoting follows RFC 4180; lines end in a line feed.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(chart: &Chart, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = Writer::from_writer(out);
    match &chart.body {
        Body::Plane(plane) => write_plane(plane, &mut csv)?,
        Body::Grid(grid) => write_grid(grid, &mut csv)?,
    }
    csv.flush()
}

type Out<'a> = Writer<&'a mut dyn Write>;

fn write_plane(plane: &Plane, csv: &mut Out<'_>) -> io::Result<()> {
    let head = heading(&plane.x, "x");
    csv.write_record(["panel", "series", &head, "y", "unit", "low", "high", "note"])?;
    for panel in &plane.panels {
        for series in &panel.series {
            for point in &series.points {
                let end = |pick: fn((f64, f64)) -> f64| {
                    point
                        .ends
                        .map_or_else(String::new, |ends| pick(ends).to_string())
                };
                let row = [
                    harmless(&panel.y.label).into_owned(),
                    harmless(&series.name).into_owned(),
                    value(&plane.x, point.x),
                    value(&panel.y, point.y),
                    unit(plane, panel).to_owned(),
                    end(|ends| ends.0),
                    end(|ends| ends.1),
                    harmless(point.note.as_deref().unwrap_or_default()).into_owned(),
                ];
                csv.write_record(row)?;
            }
        }
    }
    Ok(())
}

/// Returns the unit of the values: that of the horizontal axis if the vertical one has names.
fn unit<'a>(plane: &'a Plane, panel: &'a Panel) -> &'a str {
    match panel.y.scale {
        Scale::Names(_) => plane.x.measure.symbol(),
        _ => panel.y.measure.symbol(),
    }
}

fn heading(axis: &Axis, other: &str) -> String {
    let label = if axis.label.is_empty() {
        other
    } else {
        &axis.label
    };
    match (&axis.scale, axis.measure.symbol()) {
        (Scale::Names(_), _) | (_, "") => harmless(label).into_owned(),
        (_, unit) => format!("{} ({unit})", harmless(label)),
    }
}

/// Formats a number, or the name at that position; between two names, the nearer one.
fn value(axis: &Axis, value: f64) -> String {
    let near = as_usize(value.round());
    match &axis.scale {
        Scale::Names(names) => harmless(names.get(near).map_or("", String::as_str)).into_owned(),
        _ => value.to_string(),
    }
}

fn write_grid(grid: &Grid, csv: &mut Out<'_>) -> io::Result<()> {
    let head = [&grid.rows.0, &grid.columns.0, &grid.values.0].map(|text| harmless(text));
    let unit = grid.values.1.symbol();
    csv.write_record([
        &head[0],
        &head[1],
        &*format!("{} ({unit})", head[2]),
        "measured",
    ])?;
    for (row, cells) in grid.rows.1.iter().zip(&grid.cells) {
        for (column, cell) in grid.columns.1.iter().zip(cells) {
            if let Some(cell) = cell {
                let value = cell.value.to_string();
                csv.write_record([
                    &*harmless(row),
                    &*harmless(column),
                    &value,
                    &*harmless(&cell.label),
                ])?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::data::Gallery;
    use crate::testing::fixture;
    use crate::testing::samples;

    fn written(chart: &Chart) -> String {
        let mut out = Vec::new();
        write(chart, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_trial_is_a_row_with_its_unit() {
        let gallery = Gallery::of(&fixture::run());
        let chart = gallery.trials.iter().find(|c| c.name == "trials-read_bw");
        let csv = written(chart.unwrap());
        let rows: Vec<&str> = csv
            .lines()
            .filter(|row| row.contains("seq-read-1m") && row.contains(",trial,"))
            .collect();
        assert_eq!(rows.len(), 3, "{csv}");
        assert!(rows.iter().all(|row| row.contains(",B/s,")), "{csv}");
    }

    #[test]
    fn a_name_is_no_formula() {
        let mut run = fixture::run();
        for trial in &mut run.trials {
            trial.job.name = format!("=cmd|{}", trial.job.name);
        }
        run.header.plan.jobs.clear();
        for chart in Gallery::of(&run).iter() {
            let csv = written(chart);
            assert!(!csv.contains(",=") && !csv.starts_with('='), "{csv}");
        }
    }

    #[test]
    fn cells_that_were_not_measured_are_no_rows() {
        let gallery = Gallery::of(&samples::with_matrix());
        let csv = written(&gallery.matrices[0]);
        assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
        assert!(
            csv.contains("128 MiB,4 KiB,") && csv.contains(",page-cache"),
            "{csv}"
        );
    }
}

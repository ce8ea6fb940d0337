//! Chart model ([`Chart`]) and its renderers. Each renderer draws both kinds of body, a plane with
//! axes and a grid of cells, independent of the domain of storage.

pub mod gnuplot;
pub mod scale;
pub mod svg;
pub mod terminal;

pub use scale::Measure;

use crate::machine::harmless;
use assay_lang::{key, translated};
use assay_model::figures::Unit;
use assay_model::units::as_usize;
use csv::Writer;
use std::io;
use std::io::Write;

/// Chart with its name, heading and content.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name by which the chart is requested: `latency-rand-read-4k`. It contains only lowercase
    /// letters, digits, dashes, underscores and dots.
    pub name: String,
    /// Heading of the section.
    pub title: String,
    /// Description in words, for readers who cannot see the chart.
    pub description: String,
    /// Content of the chart.
    pub body: Body,
}

/// Kind of drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Marks between axes.
    Plane(Plane),
    /// Values by row and column.
    Grid(Grid),
}

/// Panels, one above the other, over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// The axis that all panels share.
    pub x: Axis,
    /// Largest range that is drawn: a bar or an interval that extends beyond it is drawn without an
    /// end.
    pub limits: Option<(f64, f64)>,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
}

/// Marks over one vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The vertical axis.
    pub y: Axis,
    /// Series to draw, the last on top.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label of the axis.
    pub label: String,
    /// Notation of the values.
    pub measure: Measure,
    /// Mapping from values to positions.
    pub scale: Scale,
}

impl Axis {
    /// Returns an axis of values.
    pub fn new(label: impl Into<String>, measure: Measure, scale: Scale) -> Self {
        Self {
            label: label.into(),
            measure,
            scale,
        }
    }

    /// Returns an axis of names, without a label.
    pub fn names(names: Vec<String>) -> Self {
        Self::new("", Measure::Foreign(String::new()), Scale::Names(names))
    }
}

impl Body {
    /// Returns a plane with one panel and no limits.
    pub fn plane(x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self::Plane(Plane {
            x,
            limits: None,
            panels: vec![Panel { y, series }],
        })
    }
}

/// Mapping from values to positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Linear, from 0 on (or below, if there are negative values).
    Linear,
    /// Linear, close around the lowest and the highest value.
    Close,
    /// Linear, exactly from the lowest value to the highest: times, positions.
    Span,
    /// Logarithmic, with equal width for each power of ten.
    Log,
    /// Shares, with equal width for each nine (90 %, 99 %, 99.9 %).
    Nines,
    /// Names: the first is at 0, the second at 1. On a vertical axis the first is on top.
    Names(Vec<String>),
}

/// Marks of one kind that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; several series may share one.
    pub name: String,
    /// Colour, dashes and shape.
    pub tint: Tint,
    /// Drawing style.
    pub mark: SeriesStyle,
    /// Points to draw.
    pub points: Vec<Point>,
}

/// Value of a series. `low` and `high` are on the axis of values: the horizontal one if the
/// vertical one has names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Position on the vertical axis.
    pub y: f64,
    /// Ends of an interval, a band or a span.
    pub ends: Option<(f64, f64)>,
    /// Text beside the point.
    pub note: Option<String>,
    /// Label of the measurement, which a mark shows by its filling.
    pub label: Option<&'static str>,
}

impl Point {
    /// Returns a point without ends and text.
    pub fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            ..Self::default()
        }
    }
}

/// Returns the name for file names, the heading and the axis label of the charts of a unit.
pub fn question(unit: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let (name, title, axis) = match Unit::ALL.into_iter().find(|one| one.name() == unit)? {
        Unit::BytesPerSec => ("bandwidth", key!("Bandwidth"), key!("bandwidth")),
        Unit::Iops => ("iops", key!("I/Os per second"), "IOPS"),
        Unit::Tps => ("tps", key!("Transactions per second"), "TPS"),
        Unit::Nanos => ("latency", key!("Time"), key!("time")),
        Unit::Bytes | Unit::Ratio | Unit::Count => return None,
    };
    Some((name, translated(title), translated(axis)))
}

/// Drawing style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesStyle {
    /// A line through all points.
    Line,
    /// Steps: each value lasts until the next point. `ends` are a band around it; without them the
    /// area down to 0 is shaded. The last point only ends the step before.
    Steps,
    /// A mark at each point.
    Dots,
    /// A bar from 0 to the value.
    Bars,
    /// The interval, with a tick at the value.
    Intervals,
    /// Bar from `ends.0` to `ends.1` at a height: a level of a line, or a bar in a named lane.
    Spans,
}

/// Visual distinction of a series: a hue plus dashes or a shape, because colour alone must never
/// carry information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Calls that flush.
    Flush,
    /// Features found in the data: levels, edges.
    Ink,
    /// Improvement.
    Good,
    /// Stall, or deterioration.
    Bad,
    /// One of several runs or conditions, by number.
    Nth(usize),
}

/// Number of tints of [`Tint::Nth`].
pub const TINTS: usize = 7;

impl Tint {
    /// Returns the style sheet class.
    pub fn class(self) -> String {
        match self {
            Self::Read => "read".to_owned(),
            Self::Write => "write".to_owned(),
            Self::Flush => "flush".to_owned(),
            Self::Ink => "ink".to_owned(),
            Self::Good => "good".to_owned(),
            Self::Bad => "bad".to_owned(),
            Self::Nth(number) => format!("nth{}", number % TINTS),
        }
    }
}

/// Values by row and column.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// As a map, or as a surface in space.
    pub form: Form,
    /// Meaning of the rows, and the name of each.
    pub rows: (String, Vec<String>),
    /// Meaning of the columns, and the name of each.
    pub columns: (String, Vec<String>),
    /// Meaning of the values, and their notation.
    pub values: (String, Measure),
    /// By row, then by column; `None`: not measured.
    pub cells: Vec<Vec<Option<GridCell>>>,
    /// Row above which a line is drawn, with its label.
    pub edge: Option<(usize, String)>,
}

/// Drawing style of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Tiles with their values.
    Map,
    /// A surface in space.
    Surface,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// Value of the cell.
    pub value: f64,
    /// Label of the measurement.
    pub label: String,
}

impl Grid {
    /// Returns the lowest and the highest value; `None` without any.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        let values = self.cells.iter().flatten().flatten().map(|cell| cell.value);
        values
            .filter(|value| value.is_finite())
            .fold(None, |range, value| match range {
                None => Some((value, value)),
                Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
            })
    }
}

impl Plane {
    /// Returns the range of the drawn horizontal axis, including ends.
    pub(crate) fn x_extremes(&self) -> (f64, f64) {
        let (low, high) = self.x_extremes_of_all();
        let (least, most) = self.limits.unwrap_or((low, high));
        (low.clamp(least, most), high.clamp(least, most))
    }

    fn x_extremes_of_all(&self) -> (f64, f64) {
        let along_x = |panel: &Panel, point: &Point| {
            let spans = matches!(panel.y.scale, Scale::Names(_));
            (point.x, point.ends.filter(|_| spans))
        };
        let points = self.panels.iter().flat_map(|panel| {
            let points = panel.series.iter();
            let spans = points.flat_map(move |series| {
                series.points.iter().map(move |point| {
                    let (x, ends) = along_x(panel, point);
                    match series.mark {
                        SeriesStyle::Spans => (x, point.ends),
                        _ => (x, ends),
                    }
                })
            });
            spans.collect::<Vec<_>>()
        });
        extremes(points)
    }
}

impl Panel {
    /// Returns the range of the vertical axis, including ends.
    fn y_extremes(&self) -> (f64, f64) {
        let points = self.series.iter().flat_map(|series| {
            let ends = |point: &Point| point.ends.filter(|_| series.mark != SeriesStyle::Spans);
            let points = series.points.iter();
            points
                .map(move |point| (point.y, ends(point)))
                .collect::<Vec<_>>()
        });
        extremes(points)
    }
}

/// Returns the lowest and the highest value; `(0, 1)` without any.
fn extremes(points: impl Iterator<Item = (f64, Option<(f64, f64)>)>) -> (f64, f64) {
    let all = points.flat_map(|(value, ends)| {
        let (low, high) = ends.unwrap_or((value, value));
        [value, low, high]
    });
    let (low, high) = all
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// Converts a text to a part of a chart's name.
pub fn slug(text: &str) -> String {
    let plain = text.chars().map(|letter| match letter {
        'a'..='z' | '0'..='9' | '.' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    });
    let plain: String = plain.collect();
    let words = plain.split('-').filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    words.join("-")
}

/// Stretch of a long series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Index of the first value.
    pub start: usize,
    /// Number of values.
    pub len: usize,
    /// Smallest value.
    pub min: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values that are 0.
    pub empty: usize,
}

/// Divides a series into at most `most` stretches. Each has the smallest and the largest of its
/// values and the number of zeros.
pub fn thin_out(values: &[f64], most: usize) -> Vec<Stretch> {
    let len = values.len().div_ceil(most.max(1)).max(1);
    values
        .chunks(len)
        .enumerate()
        .map(|(number, chunk)| Stretch {
            start: number * len,
            len: chunk.len(),
            min: chunk.iter().copied().fold(f64::INFINITY, f64::min),
            mean: chunk.iter().sum::<f64>() / chunk.len() as f64,
            max: chunk.iter().copied().fold(0.0, f64::max),
            empty: chunk.iter().filter(|value| **value <= 0.0).count(),
        })
        .collect()
}

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
    use crate::charts::Gallery;
    use crate::testing::{fixture, samples};

    #[test]
    fn names_of_charts_are_plain() {
        assert_eq!(slug("Rand read/4K \u{1b}[2J"), "rand-read-4k-2j");
        assert_eq!(slug("<script>"), "script");
    }

    #[test]
    fn thinning_out_keeps_extremes_and_every_zero() {
        let mut values = vec![50.0; 10_000];
        values[7_777] = 0.0;
        values[1_234] = 99.0;
        let stretches = thin_out(&values, 100);
        assert!(stretches.len() <= 100);
        assert_eq!(stretches.iter().map(|s| s.empty).sum::<usize>(), 1);
        assert!(stretches.iter().any(|s| s.min <= 0.0));
        assert!(stretches.iter().any(|s| (s.max - 99.0).abs() < 1e-9));
        assert_eq!(stretches.iter().map(|s| s.len).sum::<usize>(), 10_000);
        assert_eq!(stretches[3].start, 300);
    }

    fn written(chart: &Chart) -> String {
        let mut out = Vec::new();
        write(chart, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_trial_is_a_row_with_its_unit() {
        let gallery = Gallery::of(&fixture::run());
        let chart = gallery.trials.iter().find(|c| c.name == "trials-bandwidth");
        let csv = written(chart.unwrap());
        let rows: Vec<&str> = csv
            .lines()
            .filter(|row| row.contains("seq-read-1m") && row.contains(",read,"))
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

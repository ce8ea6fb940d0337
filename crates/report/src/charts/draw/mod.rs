//! Chart model ([`Chart`]) and its renderers. Each renderer draws both kinds of body, a plane with
//! axes and a grid of cells, independent of the domain of storage.

pub mod csv;
pub mod gnuplot;
mod measure;
pub mod png;
pub mod scale;
pub mod svg;
pub mod terminal;
mod thin;

pub use measure::Measure;
pub use thin::thin_out;

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
    fn x_extremes(&self) -> (f64, f64) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_charts_are_plain() {
        assert_eq!(slug("Rand read/4K \u{1b}[2J"), "rand-read-4k-2j");
        assert_eq!(slug("<script>"), "script");
    }
}

//! Charts as SVG and as PNG. In a page, the page's style sheet defines the colours. Files contain
//! them in light and dark. For conversion to pixels the colours are written out, because renderers
//! do not support variables; resvg renders with an embedded font (a part of Roboto, see
//! `fonts/README.md`).

mod body;

use super::{Body, Chart, Form};
use crate::words::width as columns_of;
use maud::{Markup, PreEscaped, html};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::io::{self, Write};
use std::sync::Arc;

/// Rectangle between axes.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    /// Returns true if a position on the horizontal axis is inside the area.
    fn holds(&self, px: f64) -> bool {
        (self.left..=self.right).contains(&px)
    }

    /// Returns the nearest position within the area.
    const fn within(&self, px: f64) -> f64 {
        px.clamp(self.left, self.right)
    }
}

/// Style sheet of the charts, by class; the colours are variables.
pub const STYLE: &str = include_str!("style.css");
/// Colours in light and dark, one line each: `name light dark`.
const COLOURS: &str = include_str!("colours.txt");

/// Width of a chart that shares a row of a page, in units of the drawing: as wide as a telephone
/// shows it, so that its text is as large as that around it.
pub const NARROW: f64 = 340.0;
/// Width of a chart across a whole page.
pub const WIDE: f64 = 560.0;
/// Width of a chart in a separate file.
pub const IN_FILE: f64 = 640.0;

/// Drawing with its height.
struct Drawing {
    height: f64,
    body: Markup,
}

/// Draws the chart for a page that contains [`STYLE`] and [`variables`]; `class` names the windows
/// that show it.
pub fn in_page(chart: &Chart, width: f64, class: &str) -> Markup {
    let drawing = draw(chart, width);
    html! {
        svg class={ "chart" (class) } viewBox={ "0 0 " (width) " " (at(drawing.height)) } role="img" aria-label=(label(chart)) {
            (drawing.body)
        }
    }
}

/// Draws the chart as a file that follows the viewer's light or dark mode.
pub fn file(chart: &Chart) -> String {
    let style = format!("{}\n{STYLE}", variables());
    whole(chart, &style)
}

/// Draws the chart as a file in light colours without variables.
pub fn plain(chart: &Chart) -> String {
    let mut style = STYLE.to_owned();
    for (name, light, _) in colours() {
        style = style.replace(&format!("var(--{name})"), light);
    }
    whole(chart, &style)
}

/// Returns the variables of the style sheet, light and dark.
pub fn variables() -> String {
    let list = |pick: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        let all = colours();
        let lines = all
            .iter()
            .map(|line| format!("--{}: {};", line.0, pick(line)));
        lines.collect::<Vec<_>>().join(" ")
    };
    format!(
        ":root {{ color-scheme: light dark; {} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {} }} }}\n\
         @media print {{ :root {{ {} }} }}",
        list(|line| line.1),
        list(|line| line.2),
        list(|line| line.1)
    )
}

fn colours() -> Vec<(&'static str, &'static str, &'static str)> {
    let lines = COLOURS.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?))
    });
    lines.collect()
}

fn whole(chart: &Chart, style: &str) -> String {
    /// Margin around the drawing, and height of the title above it.
    const MARGIN: f64 = 16.0;
    const TITLE: f64 = 30.0;
    let drawing = draw(chart, IN_FILE);
    let (width, height) = (
        IN_FILE + 2.0 * MARGIN,
        drawing.height + 2.0 * MARGIN + TITLE,
    );
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" class="chart" width=(at(width)) height=(at(height))
            viewBox={ "0 0 " (at(width)) " " (at(height)) } role="img" aria-label=(label(chart)) {
            title { (chart.title) }
            desc { (chart.description) }
            style { (PreEscaped(style)) }
            rect class="card" width=(at(width)) height=(at(height)) {}
            text class="heading" x=(at(MARGIN)) y=(at(MARGIN + 12.0)) { (chart.title) }
            g transform={ "translate(" (MARGIN) " " (at(MARGIN + TITLE)) ")" } { (drawing.body) }
        }
    };
    markup.into_string()
}

fn label(chart: &Chart) -> String {
    format!("{}: {}", chart.title, chart.description)
}

fn draw(chart: &Chart, width: f64) -> Drawing {
    match &chart.body {
        Body::Plane(plane) => body::draw_plane(plane, width),
        Body::Grid(grid) => match grid.form {
            Form::Map => body::draw_map(grid, width),
            Form::Surface => body::draw_surface(grid, width),
        },
    }
}

/// Formats a coordinate with one decimal: a tenth of a pixel.
pub(crate) fn at(px: f64) -> String {
    let text = format!("{px:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Estimates the width of a text of 12 px.
fn text_width(text: &str) -> f64 {
    columns_of(text) as f64 * 7.0
}

const FONT: &[u8] = include_bytes!("../fonts/Roboto-subset.ttf");
/// Pixels per unit of the drawing, so that charts are sharp on slides.
const SCALE: f32 = 2.0;

/// Writes the chart as PNG in light colours.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_png(chart: &Chart, out: &mut dyn Write) -> io::Result<()> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let options = Options {
        font_family: "Roboto".to_owned(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    let tree = Tree::from_str(&plain(chart), &options).map_err(io::Error::other)?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixels =
        pixels.ok_or_else(|| io::Error::other("the chart is too large to be drawn"))?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixels.as_mut(),
    );
    out.write_all(&pixels.encode_png().map_err(io::Error::other)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::Gallery;
    use crate::charts::draw::{
        Axis, Grid, GridCell, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint,
    };
    use crate::testing::samples;
    use assay_model::figures::Unit;

    fn axis(label: &str, scale: Scale) -> Axis {
        Axis {
            label: label.to_owned(),
            measure: Measure::Of(Unit::BytesPerSec),
            scale,
        }
    }

    fn chart(x: Scale, y: Scale, mark: SeriesStyle, points: Vec<Point>) -> Chart {
        let series = Series {
            name: "<b>&".to_owned(),
            tint: Tint::Write,
            mark,
            points,
        };
        Chart {
            name: "c".to_owned(),
            title: "Title <i>".to_owned(),
            description: "what \"it\" shows".to_owned(),
            body: Body::Plane(Plane {
                limits: None,
                x: axis("time", x),
                panels: vec![Panel {
                    y: axis("rate", y),
                    series: vec![series],
                }],
            }),
        }
    }

    fn grid(form: Form) -> Chart {
        let cell = |value: f64| {
            Some(GridCell {
                value,
                label: "device".to_owned(),
            })
        };
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        Chart {
            body: Body::Grid(Grid {
                form,
                rows: ("file".to_owned(), names(["128 MiB", "256 MiB"])),
                columns: ("record".to_owned(), names(["4 KiB", "8 KiB"])),
                values: ("rate".to_owned(), Measure::Foreign("KiB/s".to_owned())),
                cells: vec![vec![cell(1.0), cell(2.0)], vec![cell(3.0), cell(4.0)]],
                edge: Some((1, "the page cache ends".to_owned())),
            }),
            ..chart(Scale::Span, Scale::Linear, SeriesStyle::Line, Vec::new())
        }
    }

    const MARKS: [SeriesStyle; 6] = [
        SeriesStyle::Line,
        SeriesStyle::Steps,
        SeriesStyle::Dots,
        SeriesStyle::Bars,
        SeriesStyle::Intervals,
        SeriesStyle::Spans,
    ];

    #[test]
    fn whatever_is_not_a_number_is_not_drawn_as_one() {
        let names = || Scale::Names(vec!["a".to_owned()]);
        for mark in MARKS {
            for points in [vec![], vec![Point::at(0.0, 0.0)]] {
                for (x, y) in [
                    (Scale::Span, Scale::Linear),
                    (Scale::Log, Scale::Log),
                    (Scale::Nines, Scale::Log),
                    (Scale::Close, names()),
                    (names(), Scale::Linear),
                ] {
                    let drawn = file(&chart(x, y, mark, points.clone()));
                    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
                }
            }
        }
    }

    #[test]
    fn a_file_is_described_and_escaped() {
        let drawn = file(&chart(
            Scale::Span,
            Scale::Linear,
            SeriesStyle::Line,
            vec![Point::at(0.0, 1.0)],
        ));
        assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
        assert!(drawn.contains("<title>Title &lt;i&gt;</title>"));
        assert!(drawn.contains("<desc>what &quot;it&quot; shows</desc>"));
        assert!(!drawn.contains("<b>"));
        assert!(drawn.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn every_colour_of_a_plain_file_is_written_out() {
        for chart in [grid(Form::Map), grid(Form::Surface)] {
            let drawn = plain(&chart);
            assert!(
                !drawn.contains("var(") && !drawn.contains("@media"),
                "{drawn}"
            );
            assert!(file(&chart).contains("var(--ink)"));
        }
    }

    #[test]
    fn every_variable_has_a_colour() {
        for part in STYLE.split("var(--").skip(1) {
            let name = part.split(')').next().unwrap();
            assert!(colours().iter().any(|colour| colour.0 == name), "{name}");
        }
    }

    #[test]
    fn the_edge_of_the_page_cache_is_drawn_and_named() {
        for form in [Form::Map, Form::Surface] {
            let drawn = in_page(&grid(form), NARROW, "").into_string();
            assert_eq!(drawn.matches("class=\"edge\"").count(), 1, "{form:?}");
            assert!(drawn.contains("the page cache ends"));
        }
        let map = in_page(&grid(Form::Map), NARROW, "").into_string();
        assert_eq!(map.matches("class=\"tile\"").count(), 4);
        let surface = in_page(&grid(Form::Surface), NARROW, "").into_string();
        assert_eq!(surface.matches("class=\"mesh\"").count(), 1);
    }

    #[test]
    fn a_single_stall_of_many_intervals_is_wide_enough_to_be_seen() {
        let stall = Point {
            ends: Some((300.0, 300.1)),
            ..Point::default()
        };
        let Body::Plane(mut plane) = chart(
            Scale::Span,
            Scale::Names(vec!["stalls".to_owned()]),
            SeriesStyle::Spans,
            vec![stall],
        )
        .body
        else {
            panic!("a plane");
        };
        plane.panels[0].series[0].points.push(Point {
            ends: Some((0.0, 600.0)),
            ..Point::default()
        });
        let drawn = body::draw_plane(&plane, NARROW).body.into_string();
        let widths = drawn.split("class=\"stretch").skip(1).map(|rect| {
            let width = rect.split_once("width=\"").unwrap().1;
            width.split('"').next().unwrap().parse::<f64>().unwrap()
        });
        assert!(widths.into_iter().all(|width| width >= 2.0), "{drawn}");
    }

    /// A row with an interval whose value is 1, on a chart of so many limits.
    fn interval(name: &str, high: f64, limits: Option<(f64, f64)>) -> String {
        let point = Point {
            ends: Some((0.5, high)),
            ..Point::at(1.0, 0.0)
        };
        let names = Scale::Names(vec![name.to_owned()]);
        let Body::Plane(mut plane) =
            chart(Scale::Linear, names, SeriesStyle::Intervals, vec![point]).body
        else {
            panic!("a plane");
        };
        plane.limits = limits;
        body::draw_plane(&plane, WIDE).body.into_string()
    }

    /// Upright ticks of the interval that was drawn.
    fn ticks(drawn: &str) -> usize {
        let interval = drawn.rsplit("class=\"interval").next().unwrap();
        interval.split('"').nth(2).unwrap().matches('v').count()
    }

    #[test]
    fn an_interval_beyond_the_limits_has_no_end_there() {
        assert_eq!(ticks(&interval("a", 1000.0, None)), 3);
        assert_eq!(ticks(&interval("a", 1000.0, Some((0.0, 2.0)))), 2);
        let wide = interval("a", 1000.0, Some((0.0, 2.0)));
        assert!(wide.contains(">2 B/s<") && !wide.contains("KB/s"), "{wide}");
    }

    #[test]
    fn a_name_without_room_beside_its_row_stands_above_it() {
        let name = "seq-read-1m under scheduler=none,read_ahead_kb=128";
        let long = interval(name, 2.0, None);
        assert!(long.contains(name), "whole: {long}");
        assert!(!long.contains("class=\"end name\""), "{long}");
        assert!(interval("short", 2.0, None).contains("class=\"end name\""));
    }

    #[test]
    fn each_of_two_long_names_stands_below_its_axis() {
        let names = [
            "A: /srv/results/before-the-patch.json",
            "B: /srv/results/after-the-patch.json",
        ];
        let names = Scale::Names(names.map(str::to_owned).to_vec());
        let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
        let chart = chart(names, Scale::Close, SeriesStyle::Dots, points);
        let drawn = draw(&chart, 330.0).body.into_string();
        for side in [">A: /", ">B: /"] {
            assert!(drawn.contains(side), "{side}: {drawn}");
        }
    }

    #[test]
    fn every_chart_is_a_picture_with_something_on_it() {
        for run in [samples::with_sustained(), samples::with_matrix()] {
            let gallery = Gallery::of(&run);
            for charts in [&gallery.trials, &gallery.matrices, &gallery.courses] {
                for chart in charts.iter().take(1) {
                    let mut out = Vec::new();
                    write_png(chart, &mut out).unwrap();
                    let pixels = Pixmap::decode_png(&out).unwrap();
                    let first = pixels.pixels()[0];
                    let drawn = pixels
                        .pixels()
                        .iter()
                        .filter(|pixel| **pixel != first)
                        .count();
                    assert!(drawn > 5_000, "{}: {drawn} pixels", chart.name);
                }
            }
        }
    }
}

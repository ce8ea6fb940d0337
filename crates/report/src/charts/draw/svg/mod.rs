//! Charts as SVG. In a page, the page's style sheet defines the colours. Files contain them in
//! light and dark. For conversion to pixels the colours are written out, because renderers do not
//! support variables.

mod legend;
mod map;
mod marks;
mod plane;
mod surface;

use super::{Body, Chart, Form};
use crate::words::width as columns_of;
use maud::{Markup, PreEscaped, html};

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

/// Width of a chart that shares a row of a page, in units of the drawing.
pub const NARROW: f64 = 420.0;
/// Width of a chart across a whole page.
pub const WIDE: f64 = 560.0;
/// Width of a chart in a separate file.
pub const IN_FILE: f64 = 640.0;

/// Drawing with its height.
struct Drawing {
    height: f64,
    body: Markup,
}

/// Draws the chart for a page that contains [`STYLE`] and [`variables`].
pub fn in_page(chart: &Chart, width: f64) -> Markup {
    let drawing = draw(chart, width);
    html! {
        svg class="chart" viewBox={ "0 0 " (width) " " (at(drawing.height)) } role="img" aria-label=(label(chart)) {
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
        Body::Plane(plane) => plane::draw(plane, width),
        Body::Grid(grid) => match grid.form {
            Form::Map => map::draw(grid, width),
            Form::Surface => surface::draw(grid, width),
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

#[cfg(test)]
mod tests;

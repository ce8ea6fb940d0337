//! Legend of a chart: a sample of each mark with its name.

use super::marks::{ROW, shape};
use super::{Drawing, at, text_width};
use crate::charts::draw::{Plane, Series, SeriesStyle};
use crate::words::shorten;
use maud::html;

const LINE: f64 = 18.0;
const SAMPLE: f64 = 22.0;
const GAP: f64 = 14.0;
/// Maximum length of a name, in characters; longer ones are shortened.
const LONGEST: usize = 46;

/// Draws the legend of a plane; without height if its marks need none.
pub fn draw(plane: &Plane, width: f64) -> Drawing {
    let mut seen: Vec<&Series> = Vec::new();
    for series in plane.panels.iter().flat_map(|panel| &panel.series) {
        let known = seen
            .iter()
            .any(|s| s.name == series.name && s.tint == series.tint);
        if !known && !series.name.is_empty() && !series.points.is_empty() {
            seen.push(series);
        }
    }
    if seen.len() < 2 {
        return Drawing {
            height: 0.0,
            body: html! {},
        };
    }
    let (mut x, mut y) = (0.0, 0.0);
    let mut placed = Vec::new();
    for series in seen {
        let name = shorten(&series.name, LONGEST);
        let needs = SAMPLE + text_width(&name) + GAP;
        if x > 0.0 && x + needs > width {
            (x, y) = (0.0, y + LINE);
        }
        placed.push((x, y + ROW, series, name));
        x += needs;
    }
    let body = html! {
        @for (x, y, series, name) in &placed {
            (sample(series, *x, *y - 4.0))
            text x=(at(x + SAMPLE)) y=(at(*y)) { (name) }
        }
    };
    Drawing {
        height: y + LINE + 4.0,
        body,
    }
}

fn sample(series: &Series, x: f64, y: f64) -> maud::Markup {
    let tint = series.tint.class();
    html! {
        @match series.mark {
            SeriesStyle::Dots => path class={ "dot " (tint) } d=(shape(series.tint, x + 9.0, y)) {},
            SeriesStyle::Bars => rect class={ "bar " (tint) } x=(at(x + 2.0)) y=(at(y - 5.0)) width="14" height="10" {},
            SeriesStyle::Intervals => path class={ "interval " (tint) } d={ "M" (at(x)) " " (at(y)) "h18M" (at(x + 9.0)) " " (at(y - 4.0)) "v8" } {},
            SeriesStyle::Spans => path class={ "level " (tint) } d={ "M" (at(x)) " " (at(y)) "h18" } {},
            SeriesStyle::Steps => path class={ "steps " (tint) } d={ "M" (at(x)) " " (at(y)) "h18" } {},
            SeriesStyle::Line => path class={ "curve " (tint) } d={ "M" (at(x)) " " (at(y)) "h18" } {},
        }
    }
}

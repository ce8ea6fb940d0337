//! Draws the marks of a series.

use super::{Area, at};
use crate::charts::draw::scale::Ruler;
use crate::charts::draw::{Point, Series, SeriesStyle, Tint};
use crate::words::clean;
use maud::{Markup, html};
use std::fmt::Write;

/// Baseline of a text in a legend line.
pub const ROW: f64 = 12.0;
/// Number of points above which a point has no tooltip.
const TELLING: usize = 60;
/// Half of a bar's thickness.
const BAR: f64 = 6.0;

/// Draws a series. `sideways` means that the vertical axis has names, so that values are on the
/// horizontal one.
pub fn draw(series: &Series, area: Area, x: &Ruler<'_>, y: &Ruler<'_>, sideways: bool) -> Markup {
    let tint = series.tint.class();
    match series.mark {
        SeriesStyle::Line => line(series, &tint, x, y),
        SeriesStyle::Steps => steps(series, &tint, x, y),
        SeriesStyle::Dots => dots(series, &tint, x, y),
        SeriesStyle::Bars => bars(series, &tint, area, x, y, sideways),
        SeriesStyle::Intervals => intervals(series, &tint, area, x, y, sideways),
        SeriesStyle::Spans => spans(series, &tint, area, x, y, sideways),
    }
}

fn line(series: &Series, tint: &str, x: &Ruler<'_>, y: &Ruler<'_>) -> Markup {
    let places = series.points.iter().map(|p| (x.px(p.x), y.px(p.y)));
    let mut path = String::new();
    for (px, py) in spaced(places) {
        let _ = write!(
            path,
            "{}{} {}",
            if path.is_empty() { 'M' } else { 'L' },
            at(px),
            at(py)
        );
    }
    html! { path class={ "curve " (tint) } d=(path) {} }
}

/// Drops points less than a pixel from the one before, except the last.
fn spaced(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut left_out = None;
    for point in points {
        let near = kept
            .last()
            .is_some_and(|last| (point.0 - last.0).abs() < 1.0 && (point.1 - last.1).abs() < 1.0);
        if near {
            left_out = Some(point);
        } else {
            kept.push(point);
            left_out = None;
        }
    }
    kept.extend(left_out);
    kept
}

fn steps(series: &Series, tint: &str, x: &Ruler<'_>, y: &Ruler<'_>) -> Markup {
    let Some((end, points)) = series.points.split_last() else {
        return html! {};
    };
    let ends: Vec<f64> = points.iter().chain([end]).map(|p| x.px(p.x)).collect();
    let heights = |of: fn(&Point) -> f64| points.iter().map(|p| y.px(of(p))).collect::<Vec<f64>>();
    let middle = heights(|p| p.y);
    let upper = heights(|p| p.ends.map_or(p.y, |ends| ends.1));
    let lower = match points.iter().any(|p| p.ends.is_some()) {
        true => heights(|p| p.ends.map_or(p.y, |ends| ends.0)),
        false => vec![y.base(); points.len()],
    };
    html! {
        path class={ "band " (tint) } d={ (stairs(&ends, &upper)) (stairs_back(&ends, &lower)) } {}
        path class={ "steps " (tint) } d=(stairs(&ends, &middle)) {}
    }
}

/// Returns a path of steps: `heights[i]` from `ends[i]` to `ends[i + 1]`.
fn stairs(ends: &[f64], heights: &[f64]) -> String {
    let mut path = String::with_capacity(heights.len() * 12);
    for (index, (height, end)) in heights.iter().zip(&ends[1..]).enumerate() {
        if index == 0 {
            let _ = write!(path, "M{} {}", at(ends[0]), at(*height));
        } else {
            let _ = write!(path, "V{}", at(*height));
        }
        let _ = write!(path, "H{}", at(*end));
    }
    path
}

/// Continues a path of steps from the last to the first, and closes the area.
fn stairs_back(ends: &[f64], heights: &[f64]) -> String {
    let columns = heights.iter().zip(ends).rev();
    let mut path: String = columns
        .map(|(height, start)| format!("V{}H{}", at(*height), at(*start)))
        .collect();
    path.push('Z');
    path
}

fn dots(series: &Series, tint: &str, x: &Ruler<'_>, y: &Ruler<'_>) -> Markup {
    let place = |point: &Point| shape(series.tint, x.px(point.x), y.px(point.y));
    if series.points.len() > TELLING {
        let mut shapes: Vec<String> = series.points.iter().map(place).collect();
        shapes.sort_unstable();
        shapes.dedup();
        return html! { path class={ "dot " (tint) } d=(shapes.concat()) {} };
    }
    html! {
        @for point in &series.points {
            path class={ "dot " (tint) } d=(place(point)) { (told(point)) }
        }
    }
}

fn told(point: &Point) -> Markup {
    html! { @if let Some(note) = &point.note { title { (clean(note)) } } }
}

/// Draws a shape around a point; shapes distinguish tints without colour.
pub fn shape(tint: Tint, x: f64, y: f64) -> String {
    let at_left = |dx: f64, dy: f64| format!("M{} {}", at(x + dx), at(y + dy));
    let number = match tint {
        Tint::Read => 0,
        Tint::Write => 1,
        Tint::Flush => 2,
        Tint::Ink | Tint::Good | Tint::Bad => 4,
        Tint::Nth(number) => number,
    };
    match number % 6 {
        0 => at_left(-3.5, 0.0) + "a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0",
        1 => at_left(-3.0, -3.0) + "h6v6h-6z",
        2 => at_left(0.0, -4.0) + "l4 7h-8z",
        3 => at_left(0.0, -4.5) + "l4.5 4.5-4.5 4.5-4.5-4.5z",
        4 => at_left(-3.0, -3.0) + "l6 6m0-6l-6 6",
        _ => at_left(-4.0, 0.0) + "h8m-4-4v8",
    }
}

fn bars(
    series: &Series,
    tint: &str,
    area: Area,
    x: &Ruler<'_>,
    y: &Ruler<'_>,
    sideways: bool,
) -> Markup {
    html! {
        @for point in &series.points {
            @let (px, py) = (area.within(x.px(point.x)), y.px(point.y));
            @let (left, top, width, height) = match sideways {
                true => (px.min(x.base()), py - BAR, (px - x.base()).abs(), 2.0 * BAR),
                false => (px - BAR, py.min(y.base()), 2.0 * BAR, (py - y.base()).abs()),
            };
            rect class={ "bar " (tint) } x=(at(left)) y=(at(top)) width=(at(width.max(1.0))) height=(at(height.max(1.0))) {
                (told(point))
            }
        }
    }
}

fn intervals(
    series: &Series,
    tint: &str,
    area: Area,
    x: &Ruler<'_>,
    y: &Ruler<'_>,
    sideways: bool,
) -> Markup {
    let path = |point: &Point| {
        let (px, py) = (x.px(point.x), y.px(point.y));
        let Some((low, high)) = point.ends else {
            return match sideways {
                true => tick(area, px, py, 6.0),
                false => format!("M{} {}h12", at(px - 6.0), at(py)),
            };
        };
        if sideways {
            along_row(area, (x.px(low), px, x.px(high)), py)
        } else {
            let (low, high) = (y.px(low), y.px(high));
            format!(
                "M{left} {low}h6M{x} {low}V{high}M{left} {high}h6M{wider} {y}h12",
                low = at(low),
                high = at(high),
                x = at(px),
                y = at(py),
                left = at(px - 3.0),
                wider = at(px - 6.0)
            )
        }
    };
    html! {
        @for point in &series.points {
            path class={ "interval " (tint) } d=(path(point)) { (told(point)) }
            @if let (Some(note), true) = (&point.note, sideways) {
                text x=(at(area.right + 8.0)) y=(at(y.px(point.y) + 4.0)) { (clean(note)) }
            }
        }
    }
}

/// Draws a horizontal interval, with ticks at the value and at each end that is within the area.
fn along_row(area: Area, (low, value, high): (f64, f64, f64), y: f64) -> String {
    let (from, to) = (area.within(low), area.within(high));
    let line = format!("M{} {}H{}", at(from), at(y), at(to));
    let ends = [(low, 3.0), (high, 3.0), (value, 6.0)];
    let ticks = ends.map(|(px, half)| tick(area, px, y, half));
    line + &ticks.concat()
}

/// Draws a vertical tick, if it is within the area.
fn tick(area: Area, px: f64, y: f64, half: f64) -> String {
    match area.holds(px) {
        true => format!("M{} {}v{}", at(px), at(y - half), at(2.0 * half)),
        false => String::new(),
    }
}

/// Draws the levels of a line. Bars in named lanes have a minimum width, so that they remain
/// visible.
fn spans(
    series: &Series,
    tint: &str,
    area: Area,
    x: &Ruler<'_>,
    y: &Ruler<'_>,
    lanes: bool,
) -> Markup {
    let spans = series.points.iter().filter_map(|point| {
        let (from, to) = point.ends?;
        Some((x.px(from), x.px(to), y.px(point.y), point))
    });
    html! {
        @if lanes {
            rect class="lane" x=(at(area.left)) y=(at(area.top + 3.0)) width=(at(area.right - area.left)) height=(at(area.bottom - area.top - 6.0)) {}
        }
        @for (from, to, height, point) in spans {
            @if lanes {
                rect class={ "stretch " (tint) } x=(at(from)) y=(at(height - 5.0)) width=(at((to - from).max(2.0))) height="10" { (told(point)) }
            } @else {
                line class={ "level " (tint) } x1=(at(from)) x2=(at(to)) y1=(at(height)) y2=(at(height)) { (told(point)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_leave_out_what_a_pixel_cannot_show_but_never_the_end() {
        let points = (0..1_000).map(|n| (f64::from(n) / 100.0, 0.0));
        let kept = spaced(points);
        assert!(kept.len() < 12, "{}", kept.len());
        assert_eq!((kept[0], kept.last()), ((0.0, 0.0), Some(&(9.99, 0.0))));
    }

    #[test]
    fn shapes_differ_without_colours() {
        let mut shapes: Vec<String> = (0..6).map(|n| shape(Tint::Nth(n), 9.0, 9.0)).collect();
        shapes.dedup();
        assert_eq!(shapes.len(), 6);
    }
}

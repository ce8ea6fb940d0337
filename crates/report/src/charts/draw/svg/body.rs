//! Draws the bodies of charts. A plane has panels with axes, the marks of their series, and a
//! legend. A grid is drawn as tiles, each with a colour, its value and its label, or as a surface
//! in space, in parallel projection. The page's script draws the same from other angles:
//! `html/page.js` must use the same projection.

use super::{Area, Drawing, at, text_width};
use crate::charts::draw::scale::Ruler;
use crate::charts::draw::{
    Axis, Grid, GridCell, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint,
};
use crate::words::{clean, shorten, width as columns_of};
use assay_lang::{tr, translated};
use assay_model::units::{as_u32, as_usize};
use maud::{Markup, html};
use std::fmt::Write;

/// Height of a named row.
const ROW: f64 = 18.0;
/// Height of a named row with the name above it.
const TALL_ROW: f64 = 38.0;
/// Heights of the first panel and of the panels below it.
const HEIGHTS: [f64; 2] = [150.0, 56.0];
/// Height for the label above a vertical axis.
const LABEL: f64 = 18.0;
/// Gap between panels.
const GAP: f64 = 10.0;
/// Height for the numbers and the label of the horizontal axis.
const FOOT: f64 = 36.0;
const RIGHT: f64 = 16.0;
/// Widest names left of an axis; longer ones are above their rows.
const WIDEST_LEFT: f64 = 175.0;
/// Space left of an axis that has its names above.
const LEAST_LEFT: f64 = 10.0;
/// Maximum length of a name, in characters.
const LONGEST: usize = 34;
/// Minimum length of a shortened name of a horizontal axis, in characters.
const LEAST_NAME: usize = 8;
/// Width per tick label, about.
const TICK_EVERY: f64 = 66.0;

/// Draws a plane with its legend.
pub fn draw_plane(plane: &Plane, width: f64) -> Drawing {
    let legend = draw_legend(plane, width);
    let wanted = plane.panels.iter().map(left_of).fold(30.0, f64::max);
    let above = wanted > WIDEST_LEFT;
    let left = if above { LEAST_LEFT } else { wanted };
    let right = width - RIGHT - last_name(&plane.x) - notes(plane).min(width * 0.3);
    let x = Ruler::new(&plane.x, plane.x_extremes(), left, right);
    let mut top = legend.height;
    let mut panels = Vec::new();
    for (number, panel) in plane.panels.iter().enumerate() {
        top += if panel.y.label.is_empty() { 4.0 } else { LABEL };
        let bottom = top + height_of(panel, number, above);
        let area = Area {
            left,
            right,
            top,
            bottom,
        };
        panels.push((panel, area));
        top = bottom + GAP;
    }
    let base = top - GAP;
    let body = html! {
        (legend.body)
        @for (panel, area) in &panels { (vertical(panel, *area, &x, above)) }
        (horizontal(&plane.x, &x, left, right, base))
    };
    Drawing {
        height: base + FOOT,
        body,
    }
}

fn height_of(panel: &Panel, number: usize, above: bool) -> f64 {
    let row = if above { TALL_ROW } else { ROW };
    match &panel.y.scale {
        Scale::Names(names) => names.len().max(1) as f64 * row,
        _ => HEIGHTS[number.min(1)],
    }
}

/// Returns the width of the text left of an axis.
fn left_of(panel: &Panel) -> f64 {
    match &panel.y.scale {
        Scale::Names(names) => {
            let names = names
                .iter()
                .map(|name| text_width(&shorten(&clean(name), LONGEST)));
            names.fold(0.0, f64::max) + 10.0
        }
        _ => 66.0,
    }
}

/// Returns the width of the text after intervals.
fn notes(plane: &Plane) -> f64 {
    let in_rows = plane
        .panels
        .iter()
        .filter(|panel| matches!(panel.y.scale, Scale::Names(_)));
    let series = in_rows
        .flat_map(|panel| &panel.series)
        .filter(|series| series.mark == SeriesStyle::Intervals);
    let notes = series
        .flat_map(|series| &series.points)
        .filter_map(|point| point.note.as_deref());
    notes.map(text_width).fold(0.0, f64::max)
}

/// Returns half of the width of a horizontal axis's last name, which extends beyond the axis.
fn last_name(axis: &Axis) -> f64 {
    match &axis.scale {
        Scale::Names(_) => 0.0,
        _ => 14.0,
    }
}

/// Draws a vertical axis; with `above`, names are above their rows, not left of them.
fn vertical(panel: &Panel, area: Area, x: &Ruler<'_>, above: bool) -> Markup {
    let names = matches!(panel.y.scale, Scale::Names(_));
    let (from, to) = match names {
        true => (area.top, area.bottom),
        false => (area.bottom, area.top),
    };
    let y = Ruler::new(&panel.y, panel.y_extremes(), from, to);
    let most = if area.bottom - area.top > 100.0 { 5 } else { 2 };
    html! {
        @if !panel.y.label.is_empty() {
            // Above the number of a mark at the upper end.
            text x="0" y=(at(area.top - 9.0)) { (clean(&panel.y.label)) }
        }
        @for (value, name) in y.marks(most) {
            @let height = at(y.px(value));
            line class="grid" x1=(at(area.left)) x2=(at(area.right)) y1=(height) y2=(height) {}
            @if names && above {
                text class="name" x=(at(area.left)) y=(at(y.px(value) - 13.0)) {
                    (shorten(&clean(&name), fitting(area)))
                }
            } @else {
                text class=(if names { "end name" } else { "end" }) x=(at(area.left - 6.0)) y=(at(y.px(value) + 4.0)) {
                    (shorten(&clean(&name), LONGEST))
                }
            }
        }
        @for series in &panel.series { (draw_series(series, area, x, &y, names)) }
    }
}

/// Returns the number of characters that fit above a row.
fn fitting(area: Area) -> usize {
    as_usize((area.right - area.left) / text_width("n"))
}

fn horizontal(axis: &Axis, x: &Ruler<'_>, left: f64, right: f64, base: f64) -> Markup {
    let most = as_u32(((right - left) / TICK_EVERY).max(2.0));
    // A few names share the axis equally.
    let longest = match &axis.scale {
        Scale::Names(names) => (right - left) / names.len().max(1) as f64 / text_width("n") - 1.0,
        _ => LONGEST as f64,
    };
    let longest = as_usize(longest).clamp(LEAST_NAME, LONGEST);
    let mut free = f64::NEG_INFINITY;
    let marks: Vec<(f64, String)> = x
        .marks(most)
        .into_iter()
        .map(|(value, name)| (x.px(value), shorten(&clean(&name), longest)))
        .filter(|(px, name)| {
            // Names never overlap: a later one is left out.
            let half = text_width(name) / 2.0;
            let fits = px - half > free;
            if fits {
                free = px + half + 4.0;
            }
            fits
        })
        .collect();
    html! {
        line class="axis" x1=(at(left)) x2=(at(right)) y1=(at(base)) y2=(at(base)) {}
        @for (px, name) in &marks {
            line class="axis" x1=(at(*px)) x2=(at(*px)) y1=(at(base)) y2=(at(base + 4.0)) {}
            text class="mid" x=(at(*px)) y=(at(base + 16.0)) { (name) }
        }
        @if !axis.label.is_empty() {
            text class="end" x=(at(right)) y=(at(base + 31.0)) { (clean(&axis.label)) }
        }
    }
}

const LEGEND_LINE: f64 = 18.0;
const SAMPLE_WIDTH: f64 = 22.0;
const LEGEND_GAP: f64 = 14.0;
/// Maximum length of a name, in characters; longer ones are shortened.
const LONGEST_LEGEND: usize = 46;

/// Draws the legend of a plane; without height if its marks need none.
fn draw_legend(plane: &Plane, width: f64) -> Drawing {
    let mut seen: Vec<&Series> = Vec::new();
    for series in plane.panels.iter().flat_map(|panel| &panel.series) {
        let mut known = seen.iter_mut();
        let known = known.find(|s| s.name == series.name && s.tint == series.tint);
        match known {
            // Dots differ by their shapes.
            Some(known) if series.mark == SeriesStyle::Dots => *known = series,
            Some(_) => {}
            None if series.name.is_empty() || series.points.is_empty() => {}
            // The labels name bars.
            None if series.mark == SeriesStyle::Bars && series.points[0].label.is_some() => {}
            None => seen.push(series),
        }
    }
    let labels = labels_of(plane);
    if seen.len() < 2 && labels.is_empty() {
        return Drawing {
            height: 0.0,
            body: html! {},
        };
    }
    let (mut x, mut y) = (0.0, 0.0);
    let mut placed = Vec::new();
    let longest = as_usize((width - SAMPLE_WIDTH) / text_width("n")).min(LONGEST_LEGEND);
    let named = seen
        .into_iter()
        .map(|series| (series, None, series.name.as_str()));
    let labelled = labels.into_iter();
    let labelled = labelled.map(|(series, label)| (series, Some(label), translated(label)));
    for (series, label, name) in named.chain(labelled) {
        let name = shorten(name, longest);
        let needs = SAMPLE_WIDTH + text_width(&name) + LEGEND_GAP;
        if x > 0.0 && x + needs > width {
            (x, y) = (0.0, y + LEGEND_LINE);
        }
        placed.push((x, y + LEGEND_BASELINE, series, label, name));
        x += needs;
    }
    let body = html! {
        @for (x, y, series, label, name) in &placed {
            (draw_sample(series, *label, *x, *y - 4.0))
            text x=(at(x + SAMPLE_WIDTH)) y=(at(*y)) { (name) }
        }
    };
    Drawing {
        height: y + LEGEND_LINE + 4.0,
        body,
    }
}

/// Returns the labels of a plane's marks, each with a series that has it.
fn labels_of(plane: &Plane) -> Vec<(&Series, &'static str)> {
    let mut labels: Vec<(&Series, &'static str)> = Vec::new();
    for series in plane.panels.iter().flat_map(|panel| &panel.series) {
        for label in series.points.iter().filter_map(|point| point.label) {
            if labels.iter().all(|(_, known)| *known != label) {
                labels.push((series, label));
            }
        }
    }
    labels
}

fn draw_sample(series: &Series, label: Option<&str>, x: f64, y: f64) -> Markup {
    let tint = series.tint.class() + &filling(label);
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

/// Baseline of a text in a legend line.
const LEGEND_BASELINE: f64 = 12.0;
/// Number of points above which a point has no tooltip.
const TELLING: usize = 60;
/// Half of a bar's thickness.
const BAR: f64 = 6.0;

/// Draws a series. `sideways` means that the vertical axis has names, so that values are on the
/// horizontal one.
fn draw_series(
    series: &Series,
    area: Area,
    x: &Ruler<'_>,
    y: &Ruler<'_>,
    sideways: bool,
) -> Markup {
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
            path class={ "dot " (tint) (filling(point.label)) } d=(place(point)) { (tooltip(point)) }
        }
    }
}

/// Returns the class of a mark that shows the label of its measurement.
fn filling(label: Option<&str>) -> String {
    label.map_or_else(String::new, |label| format!(" is-{label}"))
}

fn tooltip(point: &Point) -> Markup {
    html! { @if let Some(note) = &point.note { title { (clean(note)) } } }
}

/// Draws a shape around a point; shapes distinguish tints without colour.
fn shape(tint: Tint, x: f64, y: f64) -> String {
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
            rect class={ "bar " (tint) (filling(point.label)) } x=(at(left)) y=(at(top)) width=(at(width.max(1.0))) height=(at(height.max(1.0))) {
                (tooltip(point))
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
            path class={ "interval " (tint) } d=(path(point)) { (tooltip(point)) }
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
                rect class={ "stretch " (tint) } x=(at(from)) y=(at(height - 5.0)) width=(at((to - from).max(2.0))) height="10" { (tooltip(point)) }
            } @else {
                line class={ "level " (tint) } x1=(at(from)) x2=(at(to)) y1=(at(height)) y2=(at(height)) { (tooltip(point)) }
            }
        }
    }
}

const TILE_HEIGHT: f64 = 30.0;
const TOP: f64 = 34.0;

/// Draws a grid as tiles.
pub fn draw_map(grid: &Grid, width: f64) -> Drawing {
    let names = grid.rows.1.iter().map(|name| text_width(name));
    let left = names.fold(24.0, f64::max).min(width * 0.3) + 8.0;
    let tile = (width - left) / grid.columns.1.len().max(1) as f64;
    let (low, high) = grid.extremes().unwrap_or((0.0, 1.0));
    let bottom = TOP + TILE_HEIGHT * grid.rows.1.len() as f64;
    let body = html! {
        text x="0" y="12" { (clean(&grid.rows.0)) (tr!(", downwards")) }
        text class="end" x=(at(width)) y="12" { (clean(&grid.columns.0)) (tr!(", across")) }
        @for (px, name) in (0_u32..).zip(&grid.columns.1) {
            text class="mid small" x=(at(left + (f64::from(px) + 0.5) * tile)) y=(at(TOP - 6.0)) {
                (heading(name, tile))
            }
        }
        @for (row, (name, cells)) in (0_u32..).zip(grid.rows.1.iter().zip(&grid.cells)) {
            @let top = TOP + f64::from(row) * TILE_HEIGHT;
            text class="end" x=(at(left - 6.0)) y=(at(top + 19.0)) { (name) }
            @for (column, cell) in (0_u32..).zip(cells) {
                @if let Some(cell) = cell {
                    (draw_tile(grid, cell, share(cell.value, low, high), (left + f64::from(column) * tile, top), tile))
                }
            }
        }
        @if let Some((row, what)) = &grid.edge {
            @let height = at(TOP + *row as f64 * TILE_HEIGHT);
            line class="edge" x1="0" x2=(at(width)) y1=(height) y2=(height) {}
            text class="edge-name" x="0" y=(at(bottom + 16.0)) { "- - - " (clean(what)) }
        }
    };
    let foot = if grid.edge.is_some() { 24.0 } else { 4.0 };
    Drawing {
        height: bottom + foot,
        body,
    }
}

fn draw_tile(grid: &Grid, cell: &GridCell, share: f64, (x, y): (f64, f64), width: f64) -> Markup {
    let (colour, is_dark) = colour(share);
    let class = if is_dark {
        "mid small on-dark"
    } else {
        "mid small on-light"
    };
    let value = short(cell.value);
    let middle = at(x + width / 2.0);
    let label = short_label(&cell.label).filter(|label| columns_of(label) <= chars(width));
    html! {
        rect class="tile" fill=(colour) x=(at(x)) y=(at(y)) width=(at(width)) height=(at(TILE_HEIGHT)) {
            title { (grid.values.1.write(cell.value)) ", " (clean(translated(&cell.label))) }
        }
        text class=(class) x=(middle) y=(at(y + if label.is_some() { 13.0 } else { 19.0 })) { (value) }
        @if let Some(label) = label {
            text class=(class) x=(middle) y=(at(y + 25.0)) { (clean(label)) }
        }
    }
}

/// Returns a label as one word.
fn short_label(label: &str) -> Option<&str> {
    match label {
        "" => None,
        "page-cache" => Some(tr!("cache")),
        "device-unflushed" => Some(tr!("unflushed")),
        other => Some(translated(other)),
    }
}

/// Returns the name of a column. A size without enough room keeps only its distinctive part:
/// `128K`.
fn heading(name: &str, width: f64) -> String {
    if text_width(name) <= width {
        return name.to_owned();
    }
    let short = name.trim_end_matches("iB").replace(' ', "");
    shorten(&short, chars(width))
}

/// Formats a value with as many digits as a tile has room for.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5e6 => format!("{:.1}G", value / 1e9),
        v if v >= 999_500.0 => format!("{:.1}M", value / 1e6),
        v if v >= 9_999.5 => format!("{:.0}k", value / 1e3),
        v if v >= 99.95 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

/// Returns the number of small characters that fit into a tile.
fn chars(width: f64) -> usize {
    as_usize((width / 5.6).max(3.0))
}

/// Returns the position of a value between the lowest and the highest, from 0 to 1.
fn share(value: f64, low: f64, high: f64) -> f64 {
    if high > low {
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    } else {
        0.5
    }
}

/// cividis at nine points (Nuñez, Anderton and Renslow 2018, "Optimizing colormaps with
/// consideration for color vision deficiency"): brightness grows with the value, also for
/// colour-blind readers.
const CIVIDIS: [[f64; 3]; 9] = [
    [0.0, 34.0, 78.0],
    [18.0, 53.0, 112.0],
    [59.0, 73.0, 108.0],
    [87.0, 93.0, 109.0],
    [112.0, 113.0, 115.0],
    [138.0, 134.0, 120.0],
    [165.0, 156.0, 116.0],
    [195.0, 179.0, 105.0],
    [254.0, 232.0, 56.0],
];

/// Returns the colour of a share, and true if it is dark.
fn colour(share: f64) -> (String, bool) {
    let place = share.clamp(0.0, 1.0) * 8.0;
    let lower = as_usize(place).min(7);
    let part = place - place.floor();
    let part = if place >= 8.0 { 1.0 } else { part };
    let mix = |channel: usize| {
        let (from, to) = (CIVIDIS[lower][channel], CIVIDIS[lower + 1][channel]);
        (from + (to - from) * part).round()
    };
    let text = format!("rgb({},{},{})", mix(0), mix(1), mix(2));
    (text, place < 4.6)
}

/// Rotation about the vertical axis and elevation of the view, both in degrees.
pub const TURN: f64 = 35.0;
pub const TILT: f64 = 28.0;
const HEIGHT: f64 = 0.66;
/// Part of the height reserved for names, above and below, in pixels.
const ROOM: f64 = 44.0;

/// Projection of a position (coordinates 0 to 1, the last one upwards) to pixels; the third result
/// is the distance for sorting, larger if nearer.
struct View {
    turn: (f64, f64),
    tilt: (f64, f64),
    centre: (f64, f64),
    scale: f64,
}

impl View {
    fn new(width: f64, height: f64) -> Self {
        Self {
            turn: TURN.to_radians().sin_cos(),
            tilt: TILT.to_radians().sin_cos(),
            centre: (width / 2.0, height * 0.5),
            scale: width * 0.56,
        }
    }

    fn project(&self, column: f64, row: f64, up: f64) -> (f64, f64, f64) {
        let (u, v) = (column - 0.5, row - 0.5);
        let (sin, cos) = self.turn;
        let (x, y) = (u * cos - v * sin, u * sin + v * cos);
        let (low, high) = self.tilt;
        let drop = y * low - (up - 0.5) * 0.55 * high;
        (
            self.centre.0 + self.scale * x,
            self.centre.1 + self.scale * drop,
            y,
        )
    }
}

/// Draws a grid as a surface in space.
pub fn draw_surface(grid: &Grid, width: f64) -> Drawing {
    let height = width * HEIGHT + ROOM;
    let view = View::new(width, height);
    let (low, high) = grid.extremes().unwrap_or((0.0, 1.0));
    let low = low.min(0.0);
    let mut facets = facets(grid, &view, low, high);
    facets.sort_by(|a, b| a.depth.total_cmp(&b.depth));
    let body = html! {
        (floor(grid, &view))
        @for facet in &facets {
            polygon class="mesh" fill=(facet.colour) points=(facet.points) {}
        }
        (edge(grid, &view, low, high, height))
        text x="0" y="12" { (clean(&grid.values.0)) (tr!(", up to ")) (grid.values.1.write(high)) }
    };
    Drawing { height, body }
}

struct Facet {
    depth: f64,
    colour: String,
    points: String,
}

/// Returns the position of a cell's corner along its side, 0 to 1.
fn along(index: usize, count: usize) -> f64 {
    if count > 1 {
        index as f64 / (count - 1) as f64
    } else {
        0.5
    }
}

/// Returns the facets, one between each four measured cells.
fn facets(grid: &Grid, view: &View, low: f64, high: f64) -> Vec<Facet> {
    let (rows, columns) = (grid.rows.1.len(), grid.columns.1.len());
    let up = |row: usize, column: usize| {
        let cell = grid.cells.get(row)?.get(column)?.as_ref()?;
        Some(share(cell.value, low, high))
    };
    let mut facets = Vec::new();
    for row in 0..rows.saturating_sub(1) {
        for column in 0..columns.saturating_sub(1) {
            let corners = [(0, 0), (0, 1), (1, 1), (1, 0)];
            let corners =
                corners.map(|(r, c)| Some((row + r, column + c, up(row + r, column + c)?)));
            let [Some(a), Some(b), Some(c), Some(d)] = corners else {
                continue;
            };
            let placed = [a, b, c, d]
                .map(|(r, c, up)| (view.project(along(c, columns), along(r, rows), up), up));
            let points = placed.map(|((x, y, _), _)| format!("{},{}", at(x), at(y)));
            facets.push(Facet {
                depth: placed.iter().map(|((_, _, depth), _)| depth).sum(),
                colour: colour(placed.iter().map(|(_, up)| up).sum::<f64>() / 4.0).0,
                points: points.join(" "),
            });
        }
    }
    facets
}

/// Draws the frame below the surface, with the names of its sides.
fn floor(grid: &Grid, view: &View) -> Markup {
    let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
    let frame = corners.map(|(column, row)| {
        let (x, y, _) = view.project(column, row, 0.0);
        format!("{},{}", at(x), at(y))
    });
    let (rows, columns) = (&grid.rows.1, &grid.columns.1);
    html! {
        polygon fill="none" class="grid" points=(frame.join(" ")) {}
        @for (index, name) in columns.iter().enumerate() {
            @if is_named(index, columns.len()) {
                (name_at(view.project(along(index, columns.len()), 1.0, 0.0), (0.0, 16.0), name, "mid"))
            }
        }
        @for (index, name) in rows.iter().enumerate() {
            @if is_named(index, rows.len()) {
                (name_at(view.project(1.0, along(index, rows.len()), 0.0), (8.0, 8.0), name, ""))
            }
        }
        (name_at(view.project(0.5, 1.0, 0.0), (-20.0, 34.0), &grid.columns.0, "mid name"))
        (name_at(view.project(1.0, 0.35, 0.0), (26.0, 26.0), &grid.rows.0, "name"))
    }
}

/// Returns true if a name is shown: if there are many, the first, the last and some between them.
fn is_named(index: usize, count: usize) -> bool {
    let every = count.div_ceil(6).max(1);
    index.is_multiple_of(every)
}

fn name_at((x, y, _): (f64, f64, f64), (dx, dy): (f64, f64), name: &str, class: &str) -> Markup {
    html! {
        text class={ "small " (class) } x=(at(x + dx)) y=(at(y + dy)) { (shorten(&clean(name), 24)) }
    }
}

/// Draws the line across the surface at the edge of the page cache.
fn edge(grid: &Grid, view: &View, low: f64, high: f64, height: f64) -> Markup {
    let Some((row, what)) = &grid.edge else {
        return html! {};
    };
    let (rows, columns) = (grid.rows.1.len(), grid.columns.1.len());
    let cells = grid.cells.get(*row).into_iter().flatten().enumerate();
    let points = cells.filter_map(|(column, cell)| {
        let up = share(cell.as_ref()?.value, low, high);
        let (x, y, _) = view.project(along(column, columns), along(*row, rows), up);
        Some(format!("{},{}", at(x), at(y)))
    });
    html! {
        polyline class="edge" points=(points.collect::<Vec<_>>().join(" ")) {}
        text class="edge-name" x="0" y=(at(height - 4.0)) { "- - - " (clean(what)) }
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

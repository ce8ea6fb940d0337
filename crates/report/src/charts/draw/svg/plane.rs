//! Draws planes and places their panels and axes.

use super::{Area, Drawing, at, legend, marks, text_width};
use crate::charts::draw::scale::Ruler;
use crate::charts::draw::{Axis, Panel, Plane, Scale, SeriesStyle};
use crate::words::{clean, shorten};
use assay_model::units::{as_u32, as_usize};
use maud::{Markup, html};

/// Height of a named row.
const ROW: f64 = 22.0;
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
/// Share of the width that names left of an axis may have; longer ones are above their rows.
const WIDEST_LEFT: f64 = 0.4;
/// Space left of an axis that has its names above.
const LEAST_LEFT: f64 = 10.0;
/// Maximum length of a name, in characters.
const LONGEST: usize = 34;
/// Minimum length of a shortened name of a horizontal axis, in characters.
const LEAST_NAME: usize = 8;
/// Width per tick label, about.
const TICK_EVERY: f64 = 66.0;

pub fn draw(plane: &Plane, width: f64) -> Drawing {
    let legend = legend::draw(plane, width);
    let wanted = plane.panels.iter().map(left_of).fold(30.0, f64::max);
    let above = wanted > width * WIDEST_LEFT;
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
    let row = match (above, number) {
        (true, _) => TALL_ROW,
        (false, 0) => ROW,
        (false, _) => 0.8 * ROW,
    };
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
                text class="name" x=(at(area.left)) y=(at(y.px(value) - 9.0)) {
                    (shorten(&clean(&name), fitting(area)))
                }
            } @else {
                text class=(if names { "end name" } else { "end" }) x=(at(area.left - 6.0)) y=(at(y.px(value) + 4.0)) {
                    (shorten(&clean(&name), LONGEST))
                }
            }
        }
        @for series in &panel.series { (marks::draw(series, area, x, &y, names)) }
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

//! Draws a grid as tiles, each with a colour, its value and its label.

use super::{Drawing, at, text_width};
use crate::charts::draw::{Grid, GridCell};
use crate::words::{clean, shorten, width as columns_of};
use assay_lang::{tr, translated};
use assay_model::units::as_usize;
use maud::{Markup, html};

const TILE_HEIGHT: f64 = 30.0;
const TOP: f64 = 34.0;

pub fn draw(grid: &Grid, width: f64) -> Drawing {
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
pub fn share(value: f64, low: f64, high: f64) -> f64 {
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
pub fn colour(share: f64) -> (String, bool) {
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

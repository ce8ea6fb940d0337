//! Draws a grid as a surface in space, in parallel projection. The page's script draws the same
//! from other angles: `html/page.js` must use the same projection.

use super::map::{colour, share};
use super::{Drawing, at};
use crate::charts::draw::Grid;
use crate::words::{clean, shorten};
use assay_lang::tr;
use maud::{Markup, html};

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

pub fn draw(grid: &Grid, width: f64) -> Drawing {
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

//! Draws a grid as a table: each value follows a shade that is darker for higher values.

use crate::charts::draw::Grid;
use crate::words::{Style, clean, shorten, width as width_of};
use assay_model::units::as_usize;
use std::io::{self, Write};

const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
const ASCII: [char; 5] = ['.', ':', '+', '#', '@'];
const CELL: usize = 9;

pub fn write(grid: &Grid, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let names = grid.rows.1.iter().map(|name| width_of(name));
    let left = names.max().unwrap_or(0).max(6);
    let fit = ((style.columns().saturating_sub(left)) / CELL).max(1);
    let (what, measure) = &grid.values;
    writeln!(
        out,
        "{}",
        style.soft(&clean(&format!(
            "down: {}; across: {}; {what}, {}",
            grid.rows.0,
            grid.columns.0,
            measure.symbol()
        )))
    )?;
    let columns = grid.columns.1.len();
    for first in (0..columns).step_by(fit) {
        write_columns(grid, first..(first + fit).min(columns), left, style, out)?;
    }
    Ok(())
}

fn write_columns(
    grid: &Grid,
    columns: std::ops::Range<usize>,
    left: usize,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (low, high) = grid.extremes().unwrap_or((0.0, 1.0));
    let names = grid.columns.1[columns.clone()].iter();
    let heads: String = names
        .map(|name| format!("{:>CELL$}", shorten(&clean(name), CELL - 1)))
        .collect();
    writeln!(out, "{:left$}{heads}", "")?;
    for (row, (name, cells)) in grid.rows.1.iter().zip(&grid.cells).enumerate() {
        if let Some((_, what)) = grid.edge.as_ref().filter(|(edge, _)| *edge == row) {
            let text = format!("- - - {} - - -", clean(what));
            writeln!(out, "{}", style.strong(&text))?;
        }
        let cells = cells.get(columns.clone()).unwrap_or_default().iter();
        let line: String = cells
            .map(|cell| match cell {
                None => " ".repeat(CELL),
                Some(cell) => {
                    let shade = shade(cell.value, low, high, style.ascii);
                    format!(" {shade}{:>width$.0}", cell.value, width = CELL - 2)
                }
            })
            .collect();
        writeln!(
            out,
            "{}",
            format!("{:>left$}{line}", clean(name)).trim_end()
        )?;
    }
    Ok(())
}

fn shade(value: f64, low: f64, high: f64, ascii: bool) -> char {
    let share = if high > low {
        (value - low) / (high - low)
    } else {
        0.5
    };
    let index = as_usize((share.clamp(0.0, 1.0) * 4.0).round());
    if ascii { ASCII[index] } else { SHADES[index] }
}

//! Charts in a terminal: curves of braille dots or letters, named rows, shaded tables. Colour only
//! repeats what the characters show.

mod canvas;
mod grid;
mod rows;

use super::scale::Ruler;
use super::{Axis, Body, Chart, Panel, Plane, Scale, Series, SeriesStyle};
use crate::words::style::Style;
use crate::words::text::{clean, shorten, wrap};
use assay_model::number::as_usize;
use canvas::Canvas;
use std::io::{self, Write};

/// Columns left of a curve.
const LEFT: usize = 11;
/// Lines of the first panel and of the panels below it.
const LINES: [usize; 2] = [14, 4];
/// Signs that distinguish several series.
const SIGNS: [char; 7] = ['o', 'x', '+', '#', '@', '%', '&'];

/// Draws a chart for a person at a terminal.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(chart: &Chart, style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", style.strong(&clean(&chart.title)))?;
    match &chart.body {
        Body::Plane(plane) => write_plane(plane, style, out)?,
        Body::Grid(grid) => grid::write(grid, style, out)?,
    }
    for line in wrap(&clean(&chart.description), style.columns()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_plane(plane: &Plane, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let names = plane
        .panels
        .iter()
        .filter_map(|panel| match &panel.y.scale {
            Scale::Names(names) => Some(names),
            _ => None,
        });
    let longest = names
        .flatten()
        .map(|name| clean(name).chars().count())
        .max();
    let left = longest.unwrap_or(0).clamp(LEFT - 1, style.columns() / 3) + 1;
    let width = style.columns().saturating_sub(left + 1).max(20);
    let x = Ruler::new(&plane.x, plane.x_extremes(), 0.0, as_f64(width - 1));
    let signs = Signs::of(plane, style);
    signs.write_legend(out)?;
    for (number, panel) in plane.panels.iter().enumerate() {
        if !panel.y.label.is_empty() {
            writeln!(out, "{}", style.soft(&clean(&panel.y.label)))?;
        }
        match &panel.y.scale {
            Scale::Names(names) => {
                for (row, name) in names.iter().enumerate() {
                    let name = shorten(&clean(name), left - 1);
                    let drawn = rows::draw(panel, row, width, &x, &signs);
                    writeln!(
                        out,
                        "{}",
                        format!("{name:>0$} {drawn}", left - 1).trim_end()
                    )?;
                }
            }
            _ => write_curves(panel, LINES[number.min(1)], (left, width), &x, &signs, out)?,
        }
    }
    write_axis(&plane.x, &x, left, width, style, out)
}

fn write_curves(
    panel: &Panel,
    lines: usize,
    (left, width): (usize, usize),
    x: &Ruler<'_>,
    signs: &Signs,
    out: &mut dyn Write,
) -> io::Result<()> {
    let y = Ruler::new(&panel.y, panel.y_extremes(), as_f64(lines - 1), 0.0);
    let mut canvas = Canvas::new(width, lines, signs.dotted);
    for series in &panel.series {
        canvas.draw(series, x, &y, signs.sign(series));
    }
    let mut labels = vec![String::new(); lines];
    for (value, name) in y.marks(if lines > 8 { 5 } else { 1 }) {
        if let Some(label) = labels.get_mut(as_index(y.px(value))) {
            *label = name;
        }
    }
    let edge = if signs.style.ascii { '|' } else { '┤' };
    for (label, line) in labels.iter().zip(canvas.lines()) {
        writeln!(
            out,
            "{}",
            format!("{label:>0$}{edge}{line}", left - 1).trim_end()
        )?;
    }
    Ok(())
}

/// Writes the marks of the horizontal axis; names that would overlap are left out.
fn write_axis(
    axis: &Axis,
    x: &Ruler<'_>,
    left: usize,
    width: usize,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = vec![' '; width + left + 8];
    let mut free = 0;
    for (value, name) in x.marks(u32::try_from(width / 12).unwrap_or(6).max(2)) {
        let name = shorten(&clean(&name), 16);
        let letters = name.chars().count();
        let start = (left + as_index(x.px(value))).saturating_sub(letters / 2);
        if start >= free && start + letters <= line.len() {
            line[start..start + letters]
                .iter_mut()
                .zip(name.chars())
                .for_each(|(at, c)| *at = c);
            free = start + letters + 1;
        }
    }
    let line: String = line.into_iter().collect();
    writeln!(out, "{}", line.trim_end())?;
    if !axis.label.is_empty() {
        let label = clean(&axis.label);
        writeln!(out, "{}", style.soft(&format!("{label:>0$}", left + width)))?;
    }
    Ok(())
}

/// Assignment of characters to series.
struct Signs {
    style: Style,
    /// True for a single series, drawn in braille dots.
    dotted: bool,
    /// Names with the style of their series.
    names: Vec<(String, SeriesStyle)>,
    in_rows: bool,
}

impl Signs {
    fn of(plane: &Plane, style: Style) -> Self {
        let mut names: Vec<(String, SeriesStyle)> = Vec::new();
        let lines =
            |series: &&Series| series.mark != SeriesStyle::Spans && !series.points.is_empty();
        for series in plane
            .panels
            .iter()
            .flat_map(|panel| &panel.series)
            .filter(lines)
        {
            if !names.iter().any(|(name, _)| *name == series.name) {
                names.push((series.name.clone(), series.mark));
            }
        }
        let in_rows = plane
            .panels
            .first()
            .is_some_and(|panel| matches!(panel.y.scale, Scale::Names(_)));
        let curves = plane.panels.first().map_or(0, |panel| {
            let curves: Vec<&str> = panel
                .series
                .iter()
                .filter(lines)
                .map(|s| s.name.as_str())
                .collect();
            let mut curves = curves;
            curves.dedup();
            curves.len()
        });
        Self {
            style,
            dotted: !style.ascii && curves <= 1 && !in_rows,
            names,
            in_rows,
        }
    }

    /// Returns the characters of bars and of intervals in rows.
    const fn strokes(&self) -> (char, char) {
        if self.style.ascii {
            ('#', '-')
        } else {
            ('█', '─')
        }
    }

    fn sign(&self, series: &Series) -> char {
        let number = self.names.iter().position(|(name, _)| *name == series.name);
        SIGNS[number.unwrap_or(0) % SIGNS.len()]
    }

    /// Writes the legend of the characters.
    fn write_legend(&self, out: &mut dyn Write) -> io::Result<()> {
        let (bar, dash) = self.strokes();
        let names = self.names.iter().zip(SIGNS.iter().cycle());
        let named = names.filter(|((name, _), _)| !name.is_empty());
        let told = named.map(|((name, mark), sign)| {
            let sample = match mark {
                SeriesStyle::Intervals if self.in_rows => format!("{dash}|{dash}"),
                SeriesStyle::Bars if self.in_rows => bar.to_string(),
                _ => sign.to_string(),
            };
            format!("{sample} {}", clean(name))
        });
        let told: Vec<String> = told.collect();
        if self.dotted || told.len() < 2 {
            return Ok(());
        }
        for line in wrap(&told.join(", "), self.style.columns()) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

fn as_f64(n: usize) -> f64 {
    n as f64
}

/// Returns the nearest column or line; a value far outside if the place is not finite.
fn as_index(place: f64) -> usize {
    if place.is_finite() && place > -0.5 {
        as_usize(place.round())
    } else {
        usize::MAX / 2
    }
}

#[cfg(test)]
mod tests;

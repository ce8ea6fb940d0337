//! Charts in a terminal: curves of braille dots or letters, named rows (trials as points,
//! intervals, bars and spans along a line), shaded tables. Colour only repeats what the characters
//! show.

use super::scale::Ruler;
use super::{Axis, Body, Chart, Grid, Panel, Plane, Point, Scale, Series, SeriesStyle};
use crate::words::{Style, clean, shorten, width as width_of, wrap};
use assay_model::units::as_usize;
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
        Body::Grid(grid) => write_grid(grid, style, out)?,
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
                    let drawn = draw(panel, row, width, &x, &signs);
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

/// Dots of a braille character: two across, four down (Unicode, U+2800).
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Field of characters.
struct Canvas {
    cells: Vec<Vec<char>>,
    dotted: bool,
}

impl Canvas {
    /// Returns an empty field; `dotted` uses braille.
    pub fn new(width: usize, lines: usize, dotted: bool) -> Self {
        let empty = if dotted { '\u{2800}' } else { ' ' };
        Self {
            cells: vec![vec![empty; width]; lines],
            dotted,
        }
    }

    /// Draws a series with a sign, or in dots.
    pub fn draw(&mut self, series: &Series, x: &Ruler<'_>, y: &Ruler<'_>, sign: char) {
        let place = |point: &Point| (x.px(point.x), y.px(point.y));
        match series.mark {
            SeriesStyle::Line => {
                for pair in series.points.windows(2) {
                    self.line(place(&pair[0]), place(&pair[1]), sign);
                }
            }
            SeriesStyle::Steps => {
                for pair in series.points.windows(2) {
                    self.step(pair, x, y, sign);
                }
            }
            SeriesStyle::Dots => {
                for point in &series.points {
                    self.set(place(point), sign);
                }
            }
            SeriesStyle::Bars | SeriesStyle::Intervals => {
                for point in &series.points {
                    let (low, high) = point.ends.unwrap_or((point.y, point.y));
                    let px = x.px(point.x);
                    self.line((px, y.px(low)), (px, y.px(high)), sign);
                }
            }
            SeriesStyle::Spans => {
                for point in &series.points {
                    if let Some((from, to)) = point.ends {
                        let py = y.px(point.y);
                        self.line(
                            (x.px(from), py),
                            (x.px(to), py),
                            if self.dotted { sign } else { '-' },
                        );
                    }
                }
            }
        }
    }

    /// Draws a step up to the next point; its band is drawn as a column.
    fn step(&mut self, pair: &[Point], x: &Ruler<'_>, y: &Ruler<'_>, sign: char) {
        let (from, to) = (x.px(pair[0].x), x.px(pair[1].x));
        let (low, high) = pair[0].ends.unwrap_or((pair[0].y, pair[0].y));
        self.line((from, y.px(low)), (from, y.px(high)), sign);
        let py = y.px(pair[0].y);
        self.line((from, py), (to, py), sign);
        self.line((to, py), (to, y.px(pair[1].y)), sign);
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), sign: char) {
        let span = ((x2 - x1).abs() * 2.0).max((y2 - y1).abs() * 4.0);
        if !span.is_finite() {
            return;
        }
        let steps = as_index(span.ceil()).clamp(1, 4_000);
        for step in 0..=steps {
            let part = as_f64(step) / as_f64(steps);
            self.set((x1 + (x2 - x1) * part, y1 + (y2 - y1) * part), sign);
        }
    }

    fn set(&mut self, (x, y): (f64, f64), sign: char) {
        let Some(cell) = self
            .cells
            .get_mut(as_index(y))
            .and_then(|line| line.get_mut(as_index(x)))
        else {
            return;
        };
        if !self.dotted {
            *cell = sign;
            return;
        }
        // Position within the character: from half a cell before its middle to half a cell after.
        let right = usize::from(x - x.round() >= 0.0);
        let down = as_index(((y - y.round() + 0.5) * 4.0).floor()).min(3);
        *cell = char::from_u32(u32::from(*cell) | DOTS[down][right]).unwrap_or(*cell);
    }

    /// Returns the lines from top to bottom.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.cells.iter().map(|line| {
            let line: String = line.iter().collect();
            line.replace('\u{2800}', " ")
        })
    }
}

/// Draws one row of a panel that has names.
fn draw(panel: &Panel, row: usize, width: usize, x: &Ruler<'_>, signs: &Signs) -> String {
    let mut line = vec![' '; width];
    let mut notes: Vec<String> = Vec::new();
    let (bar, dash) = signs.strokes();
    for series in &panel.series {
        let sign = signs.sign(series);
        for point in series
            .points
            .iter()
            .filter(|point| as_index(point.y) == row)
        {
            match series.mark {
                SeriesStyle::Bars => fill(&mut line, x.base(), x.px(point.x), bar),
                SeriesStyle::Spans => span(&mut line, point, x, bar),
                SeriesStyle::Intervals => {
                    span(&mut line, point, x, dash);
                    set(&mut line, x.px(point.x), '|');
                    notes.extend(point.note.as_deref().map(clean));
                }
                SeriesStyle::Dots | SeriesStyle::Line | SeriesStyle::Steps => {
                    set(&mut line, x.px(point.x), sign)
                }
            }
        }
    }
    let line: String = line.into_iter().collect();
    notes.dedup();
    match notes.as_slice() {
        [] => line.trim_end().to_owned(),
        notes => {
            let note = notes.join("; ");
            let room = width.saturating_sub(note.chars().count() + 1);
            let drawn = line.trim_end();
            if drawn.chars().count() <= room {
                format!("{drawn} {note}")
            } else {
                format!("{drawn}\n{note:>0$}", width + 1)
            }
        }
    }
}

fn span(line: &mut [char], point: &Point, x: &Ruler<'_>, sign: char) {
    if let Some((from, to)) = point.ends {
        fill(line, x.px(from), x.px(to), sign);
    }
}

fn fill(line: &mut [char], from: f64, to: f64, sign: char) {
    let (from, to) = (as_index(from.min(to).max(0.0)), as_index(from.max(to)));
    let end = (to + 1).min(line.len());
    if let Some(part) = line.get_mut(from.min(end)..end) {
        part.fill(sign);
    }
}

fn set(line: &mut [char], place: f64, sign: char) {
    if place < 0.0 {
        return;
    }
    if let Some(cell) = line.get_mut(as_index(place)) {
        *cell = sign;
    }
}

const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
const ASCII: [char; 5] = ['.', ':', '+', '#', '@'];
const CELL_WIDTH: usize = 9;

/// Draws a grid as a table: each value follows a shade that is darker for higher values.
fn write_grid(grid: &Grid, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let names = grid.rows.1.iter().map(|name| width_of(name));
    let left = names.max().unwrap_or(0).max(6);
    let fit = ((style.columns().saturating_sub(left)) / CELL_WIDTH).max(1);
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
        .map(|name| format!("{:>CELL_WIDTH$}", shorten(&clean(name), CELL_WIDTH - 1)))
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
                None => " ".repeat(CELL_WIDTH),
                Some(cell) => {
                    let shade = shade(cell.value, low, high, style.ascii);
                    format!(" {shade}{:>width$.0}", cell.value, width = CELL_WIDTH - 2)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::draw::{Form, GridCell, Measure, Tint};

    const PLAIN: Style = Style {
        color: false,
        width: 60,
        ascii: false,
    };

    fn axis(label: &str, scale: Scale) -> Axis {
        Axis {
            label: label.to_owned(),
            measure: Measure::Seconds,
            scale,
        }
    }

    fn drawn(body: Body, style: Style) -> String {
        let chart = Chart {
            name: "c".to_owned(),
            title: "T\u{1b}[2J".to_owned(),
            description: "words".to_owned(),
            body,
        };
        let mut out = Vec::new();
        write(&chart, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn plane(y: Scale, series: Vec<Series>) -> Body {
        Body::Plane(Plane {
            limits: None,
            x: axis("time", Scale::Span),
            panels: vec![Panel {
                y: axis("rate", y),
                series,
            }],
        })
    }

    fn line(name: &str, slope: f64) -> Series {
        Series {
            name: name.to_owned(),
            tint: Tint::Read,
            mark: SeriesStyle::Line,
            points: (0..10)
                .map(|n| Point::at(f64::from(n), slope * f64::from(n)))
                .collect(),
        }
    }

    #[test]
    fn one_curve_is_braille_and_several_have_signs() {
        let one = drawn(plane(Scale::Linear, vec![line("a", 1.0)]), PLAIN);
        assert!(
            one.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)),
            "{one}"
        );
        let two = drawn(
            plane(Scale::Linear, vec![line("a", 1.0), line("b", 2.0)]),
            PLAIN,
        );
        assert!(two.contains("o a, x b"), "{two}");
        assert!(!two.contains('\u{1b}'));
    }

    #[test]
    fn without_utf8_all_is_ascii() {
        let ascii = Style {
            ascii: true,
            ..PLAIN
        };
        let names = Scale::Names(vec!["row".to_owned()]);
        let bar = Series {
            mark: SeriesStyle::Bars,
            ..line("a", 0.0)
        };
        for body in [
            plane(Scale::Linear, vec![line("a", 1.0)]),
            plane(names, vec![bar]),
            grid(),
        ] {
            let text = drawn(body, ascii);
            assert!(text.is_ascii(), "{text}");
        }
    }

    #[test]
    fn lines_are_no_wider_than_asked() {
        let many = drawn(plane(Scale::Linear, vec![line("a", 1.0)]), PLAIN);
        assert!(
            many.lines().all(|line| line.chars().count() <= 68),
            "{many}"
        );
    }

    fn grid() -> Body {
        let cell = |value| {
            Some(GridCell {
                value,
                label: "device".to_owned(),
            })
        };
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        Body::Grid(Grid {
            form: Form::Map,
            rows: ("file".to_owned(), names(["128 MiB", "256 MiB"])),
            columns: ("record".to_owned(), names(["4 KiB", "8 KiB"])),
            values: ("rate".to_owned(), Measure::Foreign("KiB/s".to_owned())),
            cells: vec![vec![cell(1.0), None], vec![cell(3.0), cell(4.0)]],
            edge: Some((1, "the page cache ends".to_owned())),
        })
    }

    #[test]
    fn a_grid_is_a_table_with_its_edge() {
        let text = drawn(grid(), PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2].split_whitespace().collect::<Vec<_>>(),
            ["4", "KiB", "8", "KiB"]
        );
        assert!(lines[4].contains("the page cache ends"), "{text}");
        assert!(lines[5].contains("█") && lines[5].contains('4'), "{text}");
    }
}

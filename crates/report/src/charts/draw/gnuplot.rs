//! Charts as one file for gnuplot: data blocks and drawing commands. Foreign text is in single
//! quotes, in which gnuplot interprets nothing.

use super::{Axis, Body, Chart, Grid, Panel, Plane, Point, Scale, Series, SeriesStyle};
use crate::charts::draw::scale::{NINES, nines};
use crate::words::clean;
use std::io::{self, Write};

/// Writes the script.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(chart: &Chart, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}", clean(&chart.title))?;
    writeln!(
        out,
        "# gnuplot -persist FILE, or: gnuplot -e \"set terminal svg; set output 'x.svg'\" FILE"
    )?;
    match &chart.body {
        Body::Plane(plane) => write_plane(chart, plane, out),
        Body::Grid(grid) => write_grid(chart, grid, out),
    }
}

/// Quotes a text for gnuplot: apostrophes are doubled; nothing else is special because `noenhanced`
/// is set.
fn quoted(text: &str) -> String {
    format!("'{}'", clean(text).replace('\'', "''"))
}

/// Quotes a text as a tick label, where a percent sign would begin a format.
fn quoted_mark(text: &str) -> String {
    quoted(text).replace('%', "%%")
}

fn write_plane(chart: &Chart, plane: &Plane, out: &mut dyn Write) -> io::Result<()> {
    for (number, panel) in plane.panels.iter().enumerate() {
        for (index, series) in panel.series.iter().enumerate() {
            block(plane, panel, series, &block_name(number, index), out)?;
        }
    }
    writeln!(
        out,
        "set termoption noenhanced\nset grid\nset key outside top"
    )?;
    let several = plane.panels.len() > 1;
    if several {
        let title = quoted(&chart.title);
        writeln!(
            out,
            "set multiplot layout {},1 title {title} noenhanced",
            plane.panels.len()
        )?;
    } else {
        writeln!(out, "set title {} noenhanced", quoted(&chart.title))?;
    }
    for (number, panel) in plane.panels.iter().enumerate() {
        axis("x", &plane.x, plane.x_extremes(), out)?;
        if plane.limits.is_some() {
            let (low, high) = plane.x_extremes();
            writeln!(out, "set xrange [{low}:{high}]")?;
        }
        axis("y", &panel.y, panel.y_extremes(), out)?;
        let sideways = matches!(panel.y.scale, Scale::Names(_));
        let series = panel.series.iter().enumerate();
        let drawn = series.filter(|(_, series)| !series.points.is_empty());
        let drawn: Vec<String> = drawn
            .map(|(index, series)| {
                let with = with(series.mark, sideways, series);
                format!(
                    "${} {with} title {}",
                    block_name(number, index),
                    quoted(&series.name)
                )
            })
            .collect();
        if !drawn.is_empty() {
            writeln!(out, "plot {}", drawn.join(", \\\n  "))?;
        }
    }
    if several {
        writeln!(out, "unset multiplot")?;
    }
    Ok(())
}

fn block_name(panel: usize, series: usize) -> String {
    format!("p{panel}s{series}")
}

/// Writes the columns x, y, low, high; without an interval, the value takes the place of both ends.
fn block(
    plane: &Plane,
    panel: &Panel,
    series: &Series,
    name: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "${name} << EOD")?;
    let sideways = matches!(panel.y.scale, Scale::Names(_));
    for point in &series.points {
        let value = if sideways { point.x } else { point.y };
        let (low, high) = point.ends.unwrap_or((value, value));
        let Point { x, y, .. } = point;
        let place = |axis: &Axis, value: f64| match axis.scale {
            Scale::Nines => nines(value),
            _ => value,
        };
        writeln!(
            out,
            "{} {} {low} {high}",
            place(&plane.x, *x),
            place(&panel.y, *y)
        )?;
    }
    writeln!(out, "EOD")
}

fn axis(name: &str, axis: &Axis, (low, high): (f64, f64), out: &mut dyn Write) -> io::Result<()> {
    let unit = match axis.measure.symbol() {
        "" => String::new(),
        unit => format!(" ({unit})"),
    };
    let tics = |marks: &[(f64, String)]| {
        let marks = marks
            .iter()
            .map(|(at, name)| format!("{} {at}", quoted_mark(name)));
        marks.collect::<Vec<_>>().join(", ")
    };
    writeln!(
        out,
        "unset logscale {name}; set {name}tics auto; set {name}range [*:*] noreverse"
    )?;
    match &axis.scale {
        Scale::Names(names) => {
            let marks: Vec<(f64, String)> = (0_usize..)
                .zip(names)
                .map(|(i, name)| (i as f64, name.clone()))
                .collect();
            writeln!(out, "set {name}label ''; set {name}tics ({})", tics(&marks))?;
            let reverse = if name == "y" { " reverse" } else { "" };
            writeln!(
                out,
                "set {name}range [-0.5:{}.5]{reverse}",
                names.len().max(1) - 1
            )
        }
        Scale::Nines => {
            let end = nines(high).max(1.0);
            let within = NINES.iter().filter(|(share, _)| nines(*share) <= end);
            let marks: Vec<(f64, String)> = within
                .map(|(share, name)| (nines(*share), (*name).to_owned()))
                .collect();
            writeln!(
                out,
                "set {name}range [0:{end}]; set {name}label {}; set {name}tics ({})",
                quoted(&axis.label),
                tics(&marks)
            )
        }
        scale => {
            writeln!(
                out,
                "set {name}label {}",
                quoted(&format!("{}{unit}", axis.label))
            )?;
            match scale {
                Scale::Log => writeln!(out, "set logscale {name}"),
                Scale::Linear => writeln!(out, "set {name}range [{}:*]", low.min(0.0)),
                _ if high > low => writeln!(out, "set {name}range [{low}:{high}]"),
                _ => Ok(()),
            }
        }
    }
}

fn with(mark: SeriesStyle, sideways: bool, series: &Series) -> String {
    let banded = series.points.iter().any(|point| point.ends.is_some());
    match (mark, sideways) {
        (SeriesStyle::Line, _) => "using 1:2 with lines".to_owned(),
        (SeriesStyle::Steps, _) if banded => "using 1:2:3:4 with yerrorbars pointtype 0".to_owned(),
        (SeriesStyle::Steps, _) => "using 1:2 with steps".to_owned(),
        (SeriesStyle::Dots, _) => "using 1:2 with points".to_owned(),
        (SeriesStyle::Bars, false) => "using 1:2 with impulses linewidth 8".to_owned(),
        (SeriesStyle::Bars, true) => "using (0):2:1:(0) with vectors nohead linewidth 8".to_owned(),
        (SeriesStyle::Intervals, true) => "using 1:2:3:4 with xerrorbars".to_owned(),
        (SeriesStyle::Intervals, false) => "using 1:2:3:4 with yerrorbars".to_owned(),
        (SeriesStyle::Spans, _) => {
            "using 3:2:($4-$3):(0) with vectors nohead linewidth 4".to_owned()
        }
    }
}

/// The cividis palette of `svg::body`; gnuplot has it under its name only since version 6.
const PALETTE: &str = "0 '#00224e', 2 '#3b496c', 4 '#707173', 6 '#a59c74', 8 '#fee838'";

fn write_grid(chart: &Chart, grid: &Grid, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "$cells << EOD")?;
    for (row, cells) in grid.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let value = cell
                .as_ref()
                .map_or_else(|| "NaN".to_owned(), |cell| cell.value.to_string());
            writeln!(out, "{column} {row} {value}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "EOD\nset termoption noenhanced")?;
    writeln!(out, "set title {} noenhanced", quoted(&chart.title))?;
    for (name, (label, names)) in [("x", &grid.columns), ("y", &grid.rows)] {
        let tics: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(at, name)| format!("{} {at}", quoted_mark(name)))
            .collect();
        writeln!(
            out,
            "set {name}label {}; set {name}tics ({})",
            quoted(label),
            tics.join(", ")
        )?;
    }
    let unit = grid.values.1.symbol();
    writeln!(
        out,
        "set palette defined ({PALETTE})\nset cblabel {}",
        quoted(&format!("{} ({unit})", grid.values.0))
    )?;
    if let (Some((row, what)), super::Form::Map) = (&grid.edge, grid.form) {
        writeln!(
            out,
            "# {}\nset arrow from graph 0, first {row}-0.5 to graph 1, first {row}-0.5 nohead front dashtype 2 linewidth 2",
            clean(what)
        )?;
    }
    match grid.form {
        super::Form::Map => writeln!(
            out,
            "set yrange [*:*] reverse\nplot $cells using 1:2:3 with image notitle"
        ),
        super::Form::Surface => writeln!(
            out,
            "set hidden3d\nset ticslevel 0\nsplot $cells using 1:2:3 with pm3d notitle, $cells using 1:2:3 with lines linecolor 'black' notitle"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::Gallery;
    use crate::testing::samples;

    fn written(chart: &Chart) -> String {
        let mut out = Vec::new();
        write(chart, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_of_others_stay_within_their_quotes() {
        assert_eq!(quoted("it's\n`rm`"), "'it''s\\n`rm`'");
        assert_eq!(quoted_mark("99 %"), "'99 %%'");
        for chart in Gallery::of(&samples::hostile()).iter() {
            let script = written(chart);
            assert!(!script.contains('\u{1b}'), "{script}");
            // Apostrophes come in pairs: no text ends before its end.
            let code = script.lines().filter(|line| !line.starts_with('#'));
            let odd = code.filter(|line| line.matches('\'').count() % 2 == 1);
            assert_eq!(odd.count(), 0, "{script}");
        }
    }

    #[test]
    fn the_edge_of_the_page_cache_is_drawn() {
        let gallery = Gallery::of(&samples::with_matrix());
        let script = written(&gallery.matrices[0]);
        assert!(
            script.contains("set arrow from graph 0, first 1-0.5"),
            "{script}"
        );
    }
}

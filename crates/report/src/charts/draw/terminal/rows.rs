//! Draws named rows: trials as points, intervals, bars and spans along a line.

use super::{Signs, as_index};
use crate::charts::draw::scale::Ruler;
use crate::charts::draw::{Panel, Point, SeriesStyle};
use crate::words::text::clean;

/// Draws one row of a panel that has names.
pub fn draw(panel: &Panel, row: usize, width: usize, x: &Ruler<'_>, signs: &Signs) -> String {
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

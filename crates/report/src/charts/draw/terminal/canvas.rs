//! Field of characters on which curves are drawn.

use super::{as_f64, as_index};
use crate::charts::draw::scale::Ruler;
use crate::charts::draw::{Point, Series, SeriesStyle};

/// Dots of a braille character: two across, four down (Unicode, U+2800).
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Field of characters.
pub struct Canvas {
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

//! Rate over time. Intervals in which nothing completed are drawn twice: the
//! curve falls to zero, and a lane of their own under the axis marks them, so
//! that no thinning out and no line width can hide a stall.

use super::axis::Linear;
use super::{WIDTH, at, picture};
use crate::format::quantity;
use assay_model::metric::Unit;
use assay_stats::course::Rates;
use maud::{Markup, html};

const HEIGHT: f64 = 190.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 10.0;
/// Bottom of the curve.
const BASE: f64 = 142.0;
/// The lane that marks stalls.
const LANE_TOP: f64 = 153.0;
const LANE_HEIGHT: f64 = 9.0;
/// Columns that a curve is thinned out to: about two pixels each.
const COLUMNS: usize = 200;

/// One column of a thinned-out curve.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    min: f64,
    mean: f64,
    max: f64,
    /// Intervals without any completion.
    empty: usize,
    /// Intervals in the column.
    len: usize,
}

/// Draws the rates of one trial. `levels` are the steady stretches that were
/// found: from, to (indices of intervals, end exclusive) and rate.
#[must_use]
pub fn draw(
    rates: &Rates,
    levels: &[(usize, usize, f64)],
    class: &str,
    description: &str,
) -> Markup {
    let peak = rates.values.iter().copied().fold(0.0, f64::max);
    let y = Linear {
        low: 0.0,
        high: if peak > 0.0 { peak * 1.05 } else { 1.0 },
        from: BASE,
        to: TOP,
    };
    let seconds = rates.interval_s * count(rates.values.len());
    let x = Linear {
        low: 0.0,
        high: if seconds > 0.0 { seconds } else { 1.0 },
        from: LEFT,
        to: WIDTH - RIGHT,
    };
    let columns = thin_out(&rates.values, COLUMNS);
    let body = html! {
        (axes(x, y))
        rect class="stall-lane" x=(at(LEFT)) y=(at(LANE_TOP)) width=(at(WIDTH - LEFT - RIGHT)) height=(at(LANE_HEIGHT)) {}
        text class="end" x=(at(LEFT - 6.0)) y=(at(LANE_TOP + LANE_HEIGHT)) { "stalls" }
        @if !columns.is_empty() { (curve(&columns, x, y, rates, class)) }
        @for (from, to, rate) in levels {
            line class="level" x1=(at(x.px(rates.interval_s * count(*from)))) x2=(at(x.px(rates.interval_s * count(*to))))
                y1=(at(y.px(*rate))) y2=(at(y.px(*rate))) {}
        }
        (stall_marks(&columns, x, rates))
    };
    picture("chart", WIDTH, HEIGHT, description, &body)
}

fn axes(x: Linear, y: Linear) -> Markup {
    html! {
        @for rate in y.ticks(5) {
            line class="grid" x1=(at(LEFT)) x2=(at(WIDTH - RIGHT)) y1=(at(y.px(rate))) y2=(at(y.px(rate))) {}
            text class="end" x=(at(LEFT - 6.0)) y=(at(y.px(rate) + 4.0)) { (rate_mark(rate)) }
        }
        @for second in x.ticks(6) {
            line class="axis" x1=(at(x.px(second))) x2=(at(x.px(second))) y1=(at(LANE_TOP + LANE_HEIGHT)) y2=(at(LANE_TOP + LANE_HEIGHT + 4.0)) {}
            text class="mid" x=(at(x.px(second))) y=(at(HEIGHT - 6.0)) { (second_mark(second)) " s" }
        }
    }
}

/// The curve of means with the band between smallest and largest around it;
/// where nothing was thinned out, the area under the curve.
fn curve(columns: &[Column], x: Linear, y: Linear, rates: &Rates, class: &str) -> Markup {
    let mut ends = vec![x.px(0.0)];
    let mut intervals = 0;
    for column in columns {
        intervals += column.len;
        ends.push(x.px(rates.interval_s * count(intervals)));
    }
    let heights = |value: fn(&Column) -> f64| columns.iter().map(move |c| y.px(value(c)));
    let whole = columns.iter().all(|column| column.len == 1);
    let lower: Vec<f64> = if whole {
        vec![BASE; columns.len()]
    } else {
        heights(|c| c.min).collect()
    };
    let upper: Vec<f64> = heights(|c| c.max).collect();
    let mean: Vec<f64> = heights(|c| c.mean).collect();
    html! {
        path class={ "band " (class) } d={ (steps(&ends, &upper)) (steps_back(&ends, &lower)) } {}
        path class={ "line " (class) } d=(steps(&ends, &mean)) {}
    }
}

/// A path of steps: `heights[i]` from `ends[i]` to `ends[i + 1]`.
fn steps(ends: &[f64], heights: &[f64]) -> String {
    let mut path = String::with_capacity(heights.len() * 12);
    for (index, (height, end)) in heights.iter().zip(&ends[1..]).enumerate() {
        path.push_str(&if index == 0 {
            format!("M{} {}", at(ends[0]), at(*height))
        } else {
            format!("V{}", at(*height))
        });
        path.push_str(&format!("H{}", at(*end)));
    }
    path
}

/// Goes on with such steps from the last to the first, and closes the area.
fn steps_back(ends: &[f64], heights: &[f64]) -> String {
    let columns = heights.iter().zip(ends).rev();
    let mut path: String = columns
        .map(|(height, start)| format!("V{}H{}", at(*height), at(*start)))
        .collect();
    path.push('Z');
    path
}

fn stall_marks(columns: &[Column], x: Linear, rates: &Rates) -> Markup {
    let mut marks: Vec<(f64, f64)> = Vec::new();
    let mut start = 0;
    for column in columns {
        let from = x.px(rates.interval_s * count(start));
        start += column.len;
        let to = x.px(rates.interval_s * count(start));
        if column.empty == 0 {
            continue;
        }
        match marks.last_mut() {
            Some((_, end)) if (from - *end).abs() < 1e-6 => *end = to,
            _ => marks.push((from, to)),
        }
    }
    html! {
        @for (from, to) in marks {
            rect class="stall" x=(at(from)) y=(at(LANE_TOP)) width=(at((to - from).max(2.0))) height=(at(LANE_HEIGHT)) {}
        }
    }
}

/// At most `most` columns that keep each stretch's smallest and largest value
/// and its number of zeros.
fn thin_out(values: &[f64], most: usize) -> Vec<Column> {
    let per_column = values.len().div_ceil(most.max(1)).max(1);
    values
        .chunks(per_column)
        .map(|chunk| Column {
            mean: chunk.iter().sum::<f64>() / count(chunk.len()),
            min: chunk.iter().copied().fold(f64::INFINITY, f64::min),
            max: chunk.iter().copied().fold(0.0, f64::max),
            empty: chunk.iter().filter(|rate| **rate <= 0.0).count(),
            len: chunk.len(),
        })
        .collect()
}

fn rate_mark(rate: f64) -> String {
    if rate <= 0.0 {
        return "0".to_owned();
    }
    let text = quantity(Unit::BytesPerSec, rate);
    match text.split_once(".0") {
        Some((whole, unit)) => format!("{whole}{}", unit.trim_start_matches('0')),
        None => text,
    }
}

fn second_mark(second: f64) -> String {
    let text = format!("{second:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[expect(clippy::cast_precision_loss, reason = "a position in a picture")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_out_keeps_extremes_and_every_stall() {
        let mut values = vec![50.0; 10_000];
        values[7_777] = 0.0;
        values[1_234] = 99.0;
        let columns = thin_out(&values, 100);
        assert!(columns.len() <= 100);
        assert_eq!(columns.iter().map(|c| c.empty).sum::<usize>(), 1);
        assert!(columns.iter().any(|c| c.min <= 0.0));
        assert!(columns.iter().any(|c| (c.max - 99.0).abs() < 1e-9));
        assert_eq!(columns.iter().map(|c| c.len).sum::<usize>(), 10_000);
    }

    #[test]
    fn a_single_stalled_interval_of_many_is_drawn() {
        let mut values = vec![50e6; 6_000];
        values[3_000] = 0.0;
        let rates = Rates {
            interval_s: 0.1,
            values,
        };
        let drawn = draw(&rates, &[], "write", "d").into_string();
        assert_eq!(drawn.matches("class=\"stall\"").count(), 1);
        assert!(drawn.len() < 9_000, "{} bytes", drawn.len());
    }

    #[test]
    fn an_empty_series_is_no_trouble() {
        let rates = Rates {
            interval_s: 0.0,
            values: Vec::new(),
        };
        let drawn = draw(&rates, &[], "read", "d").into_string();
        assert!(!drawn.contains("<path"), "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}

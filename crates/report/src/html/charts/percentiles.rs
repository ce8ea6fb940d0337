//! Latency by percentile: the share of I/Os on an axis that stretches towards
//! 100 % (each nine is as wide as the one before), latency on a logarithmic
//! one, so that the tail can be read as well as the middle.

use super::axis::Log;
use super::{WIDTH, at, path, picture};
use crate::format::nanos;
use assay_model::job::Direction;
use maud::{Markup, html};

const HEIGHT: f64 = 220.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// Percentiles that are marked on the axis.
const MARKS: [(f64, &str); 6] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
];

/// Where the tail is long, the middle is narrow: the first two names need this
/// much between them.
const NAME_WIDTH: f64 = 36.0;

/// One trial's latencies.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What was timed; `None` for flush calls.
    pub direction: Option<Direction>,
    /// Share of I/Os and the latency (ns) that they do not exceed, ascending.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    fn class(&self) -> &'static str {
        match self.direction {
            Some(Direction::Read) => "read",
            Some(Direction::Write) => "write",
            None => "flush",
        }
    }
}

/// Draws the curves; the last point of each is marked as its slowest I/O.
#[must_use]
pub fn draw(curves: &[Curve], description: &str) -> Markup {
    let latencies = || curves.iter().flat_map(|c| &c.points).map(|(_, ns)| *ns);
    let low = latencies().fold(f64::INFINITY, f64::min);
    let high = latencies().fold(0.0, f64::max);
    let low = if low.is_finite() { low } else { 1.0 };
    let y = Log::around(low, high, HEIGHT - BOTTOM, TOP);
    let nines = curves
        .iter()
        .filter_map(|c| c.points.last())
        .map(|(share, _)| stretch(*share))
        .fold(1.0, f64::max);
    let x = |share: f64| LEFT + stretch(share) / nines * (WIDTH - LEFT - RIGHT);
    let body = html! {
        @for mark in y.marks() {
            line class="grid" x1=(at(LEFT)) x2=(at(WIDTH - RIGHT)) y1=(at(y.px(mark))) y2=(at(y.px(mark))) {}
            text class="end" x=(at(LEFT - 6.0)) y=(at(y.px(mark) + 4.0)) { (round(mark)) }
        }
        @for (share, name) in MARKS {
            @if stretch(share) <= nines {
                line class="grid" x1=(at(x(share))) x2=(at(x(share))) y1=(at(TOP)) y2=(at(HEIGHT - BOTTOM)) {}
                @if share > 0.0 || x(MARKS[1].0) - x(share) > NAME_WIDTH {
                    text class="mid" x=(at(x(share).min(WIDTH - 22.0))) y=(at(HEIGHT - 8.0)) { (name) }
                }
            }
        }
        @for curve in curves {
            @let points = thin_out(curve.points.iter().map(|(share, ns)| (x(*share), y.px(*ns))));
            path class={ "curve " (curve.class()) } d=(path(&points)) {}
            @if let Some((last_x, last_y)) = points.last() {
                circle class={ "dot " (curve.class()) } cx=(at(*last_x)) cy=(at(*last_y)) r="3" {}
            }
        }
    };
    picture("chart", WIDTH, HEIGHT, description, &body)
}

/// Leaves out points less than a pixel from the one before; never the last.
fn thin_out(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut left_out = None;
    for point in points {
        let near = kept
            .last()
            .is_some_and(|last| (point.0 - last.0).abs() < 1.0 && (point.1 - last.1).abs() < 1.0);
        if near {
            left_out = Some(point);
        } else {
            kept.push(point);
            left_out = None;
        }
    }
    kept.extend(left_out);
    kept
}

/// 90 % is 1, 99 % is 2, 99.9 % is 3. All of the I/Os have no place of their
/// own on such an axis: the caller gives them the share `1 - 1 / (n + 1)`.
fn stretch(share: f64) -> f64 {
    -(1.0 - share.min(1.0 - 1e-9)).log10()
}

/// A round value without decimals: `100 µs`.
fn round(ns: f64) -> String {
    let text = nanos(ns).to_string();
    let Some((number, unit)) = text.split_once(' ') else {
        return text;
    };
    let number = number.split('.').next().unwrap_or(number);
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nine_is_as_wide_as_the_one_before() {
        assert!((stretch(0.9) - 1.0).abs() < 1e-9);
        assert!((stretch(0.999) - 3.0).abs() < 1e-9);
        assert!(stretch(1.0).is_finite());
    }

    #[test]
    fn thinning_out_keeps_both_ends() {
        let points = (0..1_000).map(|i| (f64::from(i) / 100.0, 0.0));
        let kept = thin_out(points);
        assert!(kept.len() < 12, "{}", kept.len());
        assert_eq!((kept[0], kept.last()), ((0.0, 0.0), Some(&(9.99, 0.0))));
    }

    #[test]
    fn names_on_the_axis_never_overlap() {
        let names = |ios: f64| {
            let points = vec![(0.0, 1e3), (0.5, 1e4), (1.0 - 1.0 / ios, 1e7)];
            let curve = Curve {
                direction: None,
                points,
            };
            let drawn = draw(&[curve], "d").into_string();
            (drawn.contains(">0 %<"), drawn.contains(">50 %<"))
        };
        assert_eq!(names(100.0), (true, true));
        assert_eq!(names(1e6), (false, true));
    }

    #[test]
    fn nothing_to_draw_is_no_trouble() {
        let drawn = draw(&[], "none").into_string();
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}

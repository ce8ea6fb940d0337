//! The trials of one figure as points on a strip, with the 95 % interval of
//! their mean. All strips of a page share one scale, percent of the figure's
//! own median, so that a noisy job looks noisy next to a calm one.

use super::{at, picture};
use crate::charts::draw::scale::Linear;
use maud::{Markup, html};
use std::collections::HashSet;

const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 24.0;
const MIDDLE: f64 = HEIGHT / 2.0;
/// Room at both ends for the arrows of values beyond the scale.
const MARGIN: f64 = 10.0;
/// A scale never shows more than this deviation: one wild figure would
/// squeeze all others into their middle.
const WIDEST: f64 = 0.5;
/// Nor less than this: two quiet trials are not spread over the whole strip.
const NARROWEST: f64 = 0.02;

/// Content of one strip.
#[derive(Clone, Debug)]
pub struct Strip<'a> {
    /// `read` or `write`, for its colour.
    pub class: &'static str,
    /// Each trial.
    pub values: &'a [f64],
    /// The 0 % mark.
    pub median: f64,
    /// 95 % interval of the mean, where there is one.
    pub interval: Option<(f64, f64)>,
    /// The whole in words.
    pub description: String,
}

impl Strip<'_> {
    /// The largest deviation from the median, as a share.
    fn extent(&self) -> f64 {
        let ends = self.interval.map(|(low, high)| [low, high]);
        let all = self
            .values
            .iter()
            .copied()
            .chain(ends.into_iter().flatten());
        all.map(|value| self.deviation(value).abs())
            .filter(|share| share.is_finite())
            .fold(0.0, f64::max)
    }

    fn deviation(&self, value: f64) -> f64 {
        value / self.median - 1.0
    }

    /// Draws it on a scale from `-extent` to `+extent`.
    #[must_use]
    pub fn draw(&self, extent: f64) -> Markup {
        let scale = Linear {
            low: -extent,
            high: extent,
            from: MARGIN,
            to: WIDTH - MARGIN,
        };
        let x = |value: f64| scale.px(self.deviation(value).clamp(-extent, extent));
        let beyond = |value: f64| self.deviation(value).abs() > extent * 1.000_001;
        let body = html! {
            line class="grid" x1=(at(MARGIN)) x2=(at(WIDTH - MARGIN)) y1=(at(MIDDLE)) y2=(at(MIDDLE)) {}
            line class="axis" x1=(at(scale.px(0.0))) x2=(at(scale.px(0.0))) y1="3" y2=(at(HEIGHT - 3.0)) {}
            @if let Some((low, high)) = self.interval {
                line class="interval" x1=(at(x(low))) x2=(at(x(high))) y1=(at(MIDDLE)) y2=(at(MIDDLE)) {}
                @for end in [low, high] {
                    @if !beyond(end) {
                        line class="interval" x1=(at(x(end))) x2=(at(x(end))) y1=(at(MIDDLE - 4.0)) y2=(at(MIDDLE + 4.0)) {}
                    }
                }
            }
            @for (mark, value) in apart(self.values.iter().map(|value| (at(x(*value)), *value))) {
                @if beyond(value) {
                    path class="dot" d=(arrow(x(value), value > self.median)) {}
                } @else {
                    circle class="ring" cx=(mark) cy=(at(MIDDLE)) r="3.5" {}
                }
            }
        };
        picture(
            &format!("strip {}", self.class),
            WIDTH,
            HEIGHT,
            &self.description,
            &body,
        )
    }
}

/// The scale that fits all strips: a round share.
#[must_use]
pub fn common_extent(strips: &[Strip<'_>]) -> f64 {
    let largest = strips.iter().map(Strip::extent).fold(0.0, f64::max);
    if largest >= WIDEST {
        return WIDEST;
    }
    crate::charts::draw::scale::round_step(largest.max(NARROWEST)).min(WIDEST)
}

/// Removes duplicates of identical marks, which would lie upon each other.
fn apart(marks: impl Iterator<Item = (String, f64)>) -> Vec<(String, f64)> {
    let mut seen = HashSet::new();
    marks
        .filter(|(mark, _)| seen.insert(mark.clone()))
        .collect()
}

/// A triangle that points beyond the scale.
fn arrow(x: f64, right: bool) -> String {
    let tip = if right { 7.0 } else { -7.0 };
    let (top, bottom) = (MIDDLE - 5.0, MIDDLE + 5.0);
    format!(
        "M{} {}L{} {}L{} {}Z",
        at(x),
        at(top),
        at(x + tip),
        at(MIDDLE),
        at(x),
        at(bottom)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(values: &[f64]) -> Strip<'_> {
        Strip {
            class: "read",
            values,
            median: 100.0,
            interval: None,
            description: "d".to_owned(),
        }
    }

    #[test]
    fn the_scale_is_common_and_bounded() {
        let calm = [99.0, 100.0, 101.0];
        let wild = [100.0, 400.0];
        assert!((common_extent(&[strip(&calm)]) - 0.02).abs() < 1e-12);
        assert!((common_extent(&[strip(&calm), strip(&wild)]) - 0.5).abs() < 1e-12);
        assert!(common_extent(&[]) > 0.0);
    }

    #[test]
    fn an_interval_beyond_the_scale_has_no_end_and_no_arrow() {
        let wide = Strip {
            interval: Some((20.0, 110.0)),
            ..strip(&[100.0])
        };
        let drawn = wide.draw(0.5).into_string();
        assert_eq!(drawn.matches("class=\"interval\"").count(), 2);
        assert_eq!(drawn.matches("<path").count(), 0);
    }

    #[test]
    fn a_value_beyond_the_scale_is_an_arrow_and_not_a_point() {
        let drawn = strip(&[100.0, 400.0]).draw(0.5).into_string();
        assert_eq!(drawn.matches("<circle").count(), 1);
        assert_eq!(drawn.matches("<path").count(), 1);
    }
}

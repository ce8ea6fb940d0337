//! Samples by their place: rates as a line, access times as dots.

use super::axis::Linear;
use super::{WIDTH, at, path, picture};
use crate::format::quantity;
use assay_model::metric::Unit;
use assay_model::units::Bytes;
use assay_model::work::extent::{ExtentStep, Sample, SampleKind};
use maud::{Markup, html};

const HEIGHT: f64 = 190.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 10.0;
/// Bottom of the curve.
const BASE: f64 = 160.0;
/// Places that are marked on the extent.
const MARKS: u64 = 4;

/// Draws the samples of one trial.
#[must_use]
pub fn draw(step: &ExtentStep, class: &str, description: &str) -> Markup {
    let unit = match step.of {
        SampleKind::Read | SampleKind::Write => Unit::BytesPerSec,
        SampleKind::Access => Unit::Nanos,
    };
    let value = |sample: &Sample| match step.of {
        SampleKind::Read | SampleKind::Write => sample.rate(),
        SampleKind::Access => Some(as_f64(sample.elapsed_ns)),
    };
    let found = step
        .samples
        .iter()
        .filter_map(|s| Some((s.offset, value(s)?)));
    let values: Vec<(u64, f64)> = found.collect();
    let peak = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let y = Linear {
        low: 0.0,
        high: if peak > 0.0 { peak * 1.05 } else { 1.0 },
        from: BASE,
        to: TOP,
    };
    let x = Linear {
        low: 0.0,
        high: as_f64(step.extent_bytes.max(1)),
        from: LEFT,
        to: WIDTH - RIGHT,
    };
    let points: Vec<(f64, f64)> = values
        .iter()
        .map(|(offset, value)| (x.px(as_f64(*offset)), y.px(*value)))
        .collect();
    let body = html! {
        (axes(x, y, unit, step.extent_bytes))
        @if step.of == SampleKind::Access {
            @for (left, top) in &points {
                circle class={ "dot " (class) } cx=(at(*left)) cy=(at(*top)) r="1.2" {}
            }
        } @else {
            path class={ "curve " (class) } d=(path(&points)) {}
        }
    };
    picture(&format!("chart {class}"), WIDTH, HEIGHT, description, &body)
}

fn axes(x: Linear, y: Linear, unit: Unit, extent_bytes: u64) -> Markup {
    html! {
        @for value in y.ticks(5) {
            line class="grid" x1=(at(LEFT)) x2=(at(WIDTH - RIGHT)) y1=(at(y.px(value))) y2=(at(y.px(value))) {}
            text class="end" x=(at(LEFT - 6.0)) y=(at(y.px(value) + 4.0)) { (mark(unit, value)) }
        }
        @for number in 0..=MARKS {
            @let place = extent_bytes / MARKS * number;
            line class="axis" x1=(at(x.px(as_f64(place)))) x2=(at(x.px(as_f64(place)))) y1=(at(BASE)) y2=(at(BASE + 4.0)) {}
            text class=(if number == MARKS { "end" } else { "mid" }) x=(at(x.px(as_f64(place)))) y=(at(HEIGHT - 8.0)) {
                (Bytes(place))
            }
        }
    }
}

fn mark(unit: Unit, value: f64) -> String {
    if value > 0.0 {
        quantity(unit, value)
    } else {
        "0".to_owned()
    }
}

/// Exact up to 2^53; beyond, a pixel does not tell.
const fn as_f64(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(of: SampleKind) -> ExtentStep {
        let sample = |number: u64| Sample {
            offset: number << 20,
            bytes: 1 << 20,
            elapsed_ns: 1_000_000 * (number + 1),
        };
        ExtentStep {
            of,
            extent_bytes: 8 << 20,
            samples: (0..8).map(sample).collect(),
        }
    }

    #[test]
    fn rates_are_a_line_and_access_times_dots() {
        let line = draw(&step(SampleKind::Write), "write", "d").into_string();
        assert_eq!(line.matches("class=\"curve write\"").count(), 1);
        assert_eq!(line.matches("<circle").count(), 0);
        assert!(line.contains("8 MiB") && line.contains("MB/s") || line.contains("GB/s"));
        let dots = draw(&step(SampleKind::Access), "read", "d").into_string();
        assert_eq!(dots.matches("<circle").count(), 8);
        assert!(dots.contains("ms"));
    }

    #[test]
    fn no_sample_is_an_empty_chart() {
        let none = ExtentStep {
            samples: Vec::new(),
            ..step(SampleKind::Read)
        };
        assert!(draw(&none, "read", "d").into_string().contains("<svg"));
    }
}

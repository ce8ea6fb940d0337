//! Pictures as SVG, drawn here so that the page needs no script. Every
//! picture says in words what it shows; colours come from the page's style.

pub mod axis;
pub mod extent;
pub mod percentiles;
pub mod rate;
pub mod share;
pub mod strip;

use maud::{Markup, html};

/// Width of a chart's drawing, in its own units; the page scales it.
pub const WIDTH: f64 = 420.0;

/// A drawing with its description for those who do not see it.
fn picture(class: &str, width: f64, height: f64, description: &str, body: &Markup) -> Markup {
    html! {
        svg class=(class) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(description) {
            (body)
        }
    }
}

/// A coordinate: one decimal is a tenth of a pixel.
fn at(px: f64) -> String {
    format!("{px:.1}")
}

/// A path through points.
fn path(points: &[(f64, f64)]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (index, (x, y)) in points.iter().enumerate() {
        out.push(if index == 0 { 'M' } else { 'L' });
        out.push_str(&at(*x));
        out.push(' ');
        out.push_str(&at(*y));
    }
    out
}

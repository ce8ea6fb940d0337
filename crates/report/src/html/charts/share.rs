//! The share of the bytes that had reached the device, as a bar.

use super::{at, picture};
use crate::format::percent;
use maud::{Markup, html};

const WIDTH: f64 = 110.0;
const HEIGHT: f64 = 12.0;

/// Draws a share, 0 to 1.
#[must_use]
pub fn draw(share: f64) -> Markup {
    let filled = share.clamp(0.0, 1.0) * WIDTH;
    let body = html! {
        rect class="track" width=(at(WIDTH)) height=(at(HEIGHT)) rx="2" {}
        rect class="bar" width=(at(filled)) height=(at(HEIGHT)) rx="2" {}
    };
    let description = format!("{} of the bytes reached the device", percent(share));
    picture("share write", WIDTH, HEIGHT, &description, &body)
}

//! The share of the bytes that had reached the device, as a bar.

use super::{at, picture};
use crate::words::format::percent;
use assay_lang::tr;
use assay_model::job::Direction;
use maud::{Markup, html};

const WIDTH: f64 = 110.0;
const HEIGHT: f64 = 12.0;

/// Draws a share, 0 to 1, of the bytes of one direction.
#[must_use]
pub fn draw(direction: Direction, share: f64) -> Markup {
    let filled = share.clamp(0.0, 1.0) * WIDTH;
    let body = html! {
        rect class="track" width=(at(WIDTH)) height=(at(HEIGHT)) rx="2" {}
        rect class="bar" width=(at(filled)) height=(at(HEIGHT)) rx="2" {}
    };
    let percent = percent(share);
    let description = match direction {
        Direction::Read => tr!("{percent} of the bytes came from the device", percent),
        Direction::Write => tr!("{percent} of the bytes reached the device", percent),
    };
    let class = format!("share {direction}");
    picture(&class, WIDTH, HEIGHT, &description, &body)
}

//! Small pictures in the rows of tables. Each says in words what it shows; colours
//! come from the page's style. Charts that stand for themselves are those of
//! [`crate::charts::draw`].

pub mod share;
pub mod strip;

use crate::charts::draw::svg::at;
use maud::{Markup, html};

/// A drawing with its description for those who do not see it.
fn picture(class: &str, width: f64, height: f64, description: &str, body: &Markup) -> Markup {
    html! {
        svg class=(class) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(description) {
            (body)
        }
    }
}

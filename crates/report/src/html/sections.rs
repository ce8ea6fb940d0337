//! What runs found that have more to say than figures.

use crate::sections::all;
use crate::summary::Summary;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let sections = all(summary);
    (!sections.is_empty()).then(|| {
        html! {
            @for section in &sections {
                h3 { (section.title) }
                ul {
                    @for line in &section.lines {
                        li { @if line.bad { strong { (line.text) } } @else { (line.text) } }
                    }
                }
            }
        }
    })
}

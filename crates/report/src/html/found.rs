//! What trials found that is no figure.

use crate::found::Section;
use maud::{Markup, html};

pub fn markup(section: &Section) -> Option<Markup> {
    (!section.items.is_empty()).then(|| {
        html! {
            @for (name, finding) in &section.items {
                @let mut lines = finding.lines.iter();
                p {
                    b { (name) ": " }
                    @if let Some(conclusion) = lines.next() {
                        @if finding.bad { strong { (conclusion) } } @else { (conclusion) }
                    }
                }
                @let rest: Vec<&String> = lines.collect();
                @if !rest.is_empty() {
                    ul { @for line in rest { li { (line) } } }
                }
            }
        }
    })
}

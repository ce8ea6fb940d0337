//! What was found that is no figure.

use crate::results::findings::{Item, Line, Section};
use maud::{Markup, html};

pub fn markup(section: &Section) -> Markup {
    html! { @for item in &section.items { (of_item(item)) } }
}

/// Of a trial, the conclusion stands before the rest.
fn of_item(item: &Item) -> Markup {
    let (conclusion, rest) = match (&item.of, item.lines.split_first()) {
        (Some(_), Some((first, rest))) => (Some(first), rest),
        _ => (None, item.lines.as_slice()),
    };
    html! {
        @if let Some(of) = &item.of {
            p { b { (of) ": " } @if let Some(line) = conclusion { (sentence(line)) } }
        }
        @if !rest.is_empty() {
            ul { @for line in rest { li { (sentence(line)) } } }
        }
    }
}

fn sentence(line: &Line) -> Markup {
    html! { @if line.bad { strong { (line.text) } } @else { (line.text) } }
}

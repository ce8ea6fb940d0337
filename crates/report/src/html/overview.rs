//! What a reader must know first: how many trials there are, what was
//! measured, and the warnings.

use crate::identity;
use crate::summary::Summary;
use crate::warnings::{self, Warning};
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Markup {
    let warnings = warnings::collect(summary);
    let took = identity::took(summary.run).map_or(String::new(), |took| format!(", in {took}"));
    html! {
        p { "Trials: " (identity::trials(summary)) (took) "." }
        @if warnings.is_empty() && summary.jobs.iter().any(|job| job.completed().next().is_some()) {
            p { "No warnings: nothing in the evidence speaks against these figures." }
        } @else {
            ul.warnings {
                @for warning in &warnings { (item(warning)) }
            }
        }
    }
}

fn item(warning: &Warning) -> Markup {
    let class = if warning.is_severe() {
        "severe"
    } else {
        "note"
    };
    let kind = if warning.is_severe() {
        "Warning"
    } else {
        "Note"
    };
    html! {
        li class=(class) {
            strong { (kind) ": " }
            (warning.message(usize::MAX)) "."
            span.remedy { "What to do: " (warning.remedy()) "." }
        }
    }
}

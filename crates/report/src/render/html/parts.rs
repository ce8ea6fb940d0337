//! Small pieces that several sections use.

use crate::results::summary::Figure;
use crate::words::format;
use crate::words::labels::Labels;
use crate::words::text::Fact;
use assay_judge::Measured;
use assay_lang::counted;
use maud::{Markup, html};

/// The label of one trial; its border differs by label, not only its colour.
pub fn label(measured: &Measured) -> Markup {
    html! { span class={ "label " (measured.label()) } { (measured) } }
}

/// The labels of several trials: one where all agree, else each with its
/// number of trials.
pub fn labels(labels: &Labels) -> Markup {
    let counts = labels.counts();
    html! {
        @if counts.len() == 1 {
            @for (name, _) in &counts {
                span class={ "label " (name) } { (labels) }
            }
        } @else {
            @for (name, n) in &counts {
                span class={ "label " (name) } { (labels.describe(name)) ", " (counted!(*n, "{n} trial", "{n} trials")) }
                " "
            }
        }
    }
}

/// Lowest and highest of several trials, in the unit of their median.
pub fn spread(figure: &Figure) -> String {
    let stats = &figure.stats;
    match stats.n {
        1 => "\u{2013}".to_owned(),
        _ => format::spread(figure.unit, stats.median, stats.min, stats.max),
    }
}

/// Facts as a list of terms.
pub fn facts(facts: &[Fact]) -> Markup {
    html! {
        dl {
            @for (name, value) in facts {
                dt { (name) }
                dd { (value) }
            }
        }
    }
}

//! Small pieces that several sections use.

use crate::identity::Fact;
use crate::labels::Labels;
use crate::text::count;
use assay_model::label::Measured;
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
                span class={ "label " (name) } { (labels.describe(name)) ", " (count(*n as u64, "trial")) }
                " "
            }
        }
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

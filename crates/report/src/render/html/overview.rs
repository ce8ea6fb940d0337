//! Overview for the reader: the number of trials, the measured storage, and the warnings.

use crate::results::describe;
use crate::results::key_figures::{Belief, KeyFigures};
use crate::results::summary::Summary;
use crate::results::warnings::{self, Warning};
use crate::words::identity;
use crate::words::text::{clean, sentence};
use assay_lang::tr;
use assay_model::run::RunStatus;
use maud::{Markup, html};

/// Jobs named in one warning; each has its own row below.
const NAMES: usize = 8;

pub fn markup(summary: &Summary<'_>) -> Markup {
    if let Some(nothing) = summary.nothing_measured() {
        return html! { p.unfinished { strong { (nothing) } } };
    }
    let warnings = warnings::collect(summary);
    let digest = KeyFigures::of(summary, &warnings);
    let took = identity::took(summary.run).map_or(String::new(), |took| tr!(", in {took}", took));
    html! {
        @if let Some(words) = unfinished(&summary.run.status) { p.unfinished { strong { (tr!("Not finished: ")) } (words) } }
        (in_short(&digest))
        p.soft { (tr!("Trials: {trials}{took}.", trials = describe::trials(summary), took)) }
        @if !warnings.is_empty() {
            ul.warnings {
                @for warning in &warnings { (item(warning)) }
            }
        }
    }
}

/// Describes why a run did not finish; `None` if it did.
fn unfinished(status: &RunStatus) -> Option<String> {
    let words = match status {
        RunStatus::Finished => return None,
        RunStatus::Running => tr!("the run is under way, or was killed without a chance to say so. Here is what it has so far.").to_owned(),
        RunStatus::Interrupted => tr!("the run was stopped from outside. Here is what it had until then.").to_owned(),
        RunStatus::Failed { error } => tr!("the run was stopped by an error ({error}). Here is what it had until then.", error = clean(error)),
    };
    Some(words)
}

fn in_short(digest: &KeyFigures) -> Markup {
    let class = match digest.belief {
        Belief::Yes => "yes",
        Belief::WithCare | Belief::InPart => "care",
        Belief::No => "no",
    };
    html! {
        @if !digest.lines.is_empty() { p.soft { (tr!("Medians of the trials.")) } }
        dl.digest {
            @for line in &digest.lines {
                dt { (line.subject) }
                dd { (line.text) }
            }
            dt { (tr!("Believe it?")) }
            dd class={ "belief " (class) } { (digest.because) }
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
        tr!("Warning")
    } else {
        tr!("Note")
    };
    html! {
        li class=(class) {
            strong { (kind) ": " }
            (sentence(&warning.message(NAMES)))
            span.remedy { (tr!("What to do: ")) (sentence(&warning.remedy())) }
        }
    }
}

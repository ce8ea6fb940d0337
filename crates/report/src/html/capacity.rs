//! What filling, checking or probing found.

use crate::capacity::findings;
use crate::summary::Summary;
use crate::text::clean;
use assay_lang::tr;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let findings = findings(summary);
    (!findings.is_empty()).then(|| {
        html! {
            @for (trial, finding) in &findings {
                @let mut lines = finding.lines.iter();
                p {
                    b { (tr!("{job}, trial {n}: ", job = clean(&trial.record.job.name), n = trial.record.trial)) }
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

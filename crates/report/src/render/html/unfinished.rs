//! Trials without a result: skipped, failed, interrupted, never begun. None is
//! left out silently.

use crate::results::summary::{JobSummary, Summary};
use crate::words::text::{clean, numbered};
use assay_lang::{counted, tr, translated};
use assay_model::trial::{Outcome, TrialRecord};
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Option<Markup> {
    let rows: Vec<UnfinishedRow> = summary.jobs.iter().flat_map(rows).collect();
    (!rows.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { (tr!("Job")) }
                            th scope="col" { (tr!("Trials")) }
                            th scope="col" { (tr!("Outcome")) }
                            th scope="col" { (tr!("Why")) }
                        }
                    }
                    tbody {
                        @for row in &rows {
                            tr {
                                th scope="row" { (row.job) }
                                td { (row.trials) }
                                td { (row.outcome) }
                                td { (row.why) }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// Trials of one job with the same outcome and reason.
struct UnfinishedRow {
    job: String,
    trials: String,
    outcome: &'static str,
    why: String,
}

fn rows(job: &JobSummary<'_>) -> Vec<UnfinishedRow> {
    let name = clean(&job.job.name);
    let mut rows: Vec<UnfinishedRow> = Vec::new();
    for trial in &job.trials {
        let record = trial.record;
        let Some(why) = why(record) else { continue };
        let outcome = translated(record.outcome.word());
        match rows
            .iter_mut()
            .find(|r| r.outcome == outcome && r.why == why)
        {
            Some(row) => row
                .trials
                .push_str(&format!(", {}", numbered(record.trial))),
            None => rows.push(UnfinishedRow {
                job: name.clone(),
                trials: numbered(record.trial),
                outcome,
                why,
            }),
        }
    }
    let missing = job.planned.saturating_sub(job.trials.len());
    if missing > 0 {
        rows.push(UnfinishedRow {
            job: name,
            trials: counted!(missing, "{n} trial", "{n} trials"),
            outcome: tr!("not run"),
            why: tr!("the run ended before").to_owned(),
        });
    }
    rows
}

/// Why a trial has no result; `None` when it has one.
fn why(record: &TrialRecord) -> Option<String> {
    match &record.outcome {
        Outcome::Completed => None,
        Outcome::Skipped { reasons } => Some(clean(&reasons.join("; "))),
        Outcome::Failed { error } => Some(clean(error)),
        Outcome::Interrupted => Some(tr!("stopped from outside").to_owned()),
    }
}

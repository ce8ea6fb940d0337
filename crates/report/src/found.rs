//! What trials found that is no figure: sentences about each.

use crate::capacity;
use crate::powercut;
use crate::replay;
use crate::summary::{JudgedTrial, Summary};
use crate::text::clean;
use assay_lang::tr;
use assay_model::work::StepDetail;

/// What was found, one sentence a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Something is not as it has to be: what was written is not there.
    pub bad: bool,
    /// The sentences, the conclusion first.
    pub lines: Vec<String>,
}

/// Findings of one kind.
pub struct Section {
    /// For links.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Of what, and what was found.
    pub items: Vec<(String, Finding)>,
}

/// All kinds, also those without findings.
#[must_use]
pub fn sections(summary: &Summary<'_>) -> [Section; 3] {
    [
        Section {
            id: "capacity",
            title: tr!("Capacity"),
            items: of_each(summary, |detail| match detail {
                StepDetail::Capacity(step) => capacity::finding(step),
                _ => None,
            }),
        },
        Section {
            id: "replay",
            title: tr!("Replay"),
            items: of_each(summary, |detail| match detail {
                StepDetail::Replay(step) => Some(replay::finding(step)),
                _ => None,
            }),
        },
        Section {
            id: "powercut",
            title: tr!("Power cuts"),
            items: powercut::finding(summary.run)
                .map(|finding| (tr!("all cuts").to_owned(), finding))
                .into_iter()
                .collect(),
        },
    ]
}

/// Of each trial, in their order.
fn of_each(
    summary: &Summary<'_>,
    found: impl Fn(&StepDetail) -> Option<Finding>,
) -> Vec<(String, Finding)> {
    let mut trials: Vec<_> = summary.jobs.iter().flat_map(|job| &job.trials).collect();
    trials.sort_by_key(|trial| trial.record.position);
    let name = |trial: &JudgedTrial<'_>| {
        format!("{} #{}", clean(&trial.record.job.name), trial.record.trial)
    };
    let each = |trial: &JudgedTrial<'_>| {
        let detail = trial.record.detail.as_deref()?;
        Some((name(trial), found(detail)?))
    };
    trials.into_iter().filter_map(each).collect()
}

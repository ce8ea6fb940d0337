//! What was found that is no figure: sentences below headings, of each trial or of a run.

pub mod capacity;
pub mod memory;
pub mod powercut;
pub mod replay;
pub mod scenario;
pub mod soak;

use crate::results::summary::{JobSummary, JudgedTrial, Summary};
use crate::words::text::clean;
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

/// A line of what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Something is not as it has to be: what was written is not there.
    pub bad: bool,
    /// In words.
    pub text: String,
}

impl Line {
    /// One that says nothing bad.
    #[must_use]
    pub const fn plain(text: String) -> Self {
        Self { bad: false, text }
    }
}

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Of which, the conclusion first; `None`: of the whole run.
    pub of: Option<String>,
    /// The sentences.
    pub lines: Vec<Line>,
}

impl Item {
    fn new(of: String, found: Finding) -> Self {
        let lines = found.lines.into_iter().enumerate();
        let line = |(index, text)| Line {
            bad: found.bad && index == 0,
            text,
        };
        Self {
            of: Some(of),
            lines: lines.map(line).collect(),
        }
    }
}

/// Findings of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// For links.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What was found.
    pub items: Vec<Item>,
}

impl Section {
    /// Of the whole run; `None` without any line.
    pub(crate) fn of_run(id: &'static str, title: &'static str, lines: Vec<Line>) -> Option<Self> {
        let items = vec![Item { of: None, lines }];
        (!items[0].lines.is_empty()).then_some(Self { id, title, items })
    }

    fn of_items(id: &'static str, title: &'static str, items: Vec<Item>) -> Option<Self> {
        (!items.is_empty()).then_some(Self { id, title, items })
    }
}

/// All that a run has.
#[must_use]
pub fn sections(summary: &Summary<'_>) -> Vec<Section> {
    let capacity = of_each(summary, |detail| match detail {
        StepDetail::Capacity(step) => capacity::finding(step),
        _ => None,
    });
    let replay = of_each(summary, |detail| match detail {
        StepDetail::Replay(step) => Some(replay::finding(step)),
        _ => None,
    });
    let cuts = powercut::finding(summary.run);
    let cuts = cuts.map(|finding| Item::new(tr!("all cuts").to_owned(), finding));
    let of_trials = [
        Section::of_items("capacity", tr!("Capacity"), capacity),
        Section::of_items("replay", tr!("Replay"), replay),
        Section::of_items("powercut", tr!("Power cuts"), cuts.into_iter().collect()),
    ];
    let mut all: Vec<Section> = of_trials.into_iter().flatten().collect();
    all.extend(memory::sections(summary));
    all.extend(soak::sections(summary));
    all
}

/// How data was not kept that had been written, in a sentence; `None` where it was, or
/// where nobody looked.
#[must_use]
pub fn loss(detail: &StepDetail) -> Option<String> {
    if !detail.differs() {
        return None;
    }
    Some(match detail {
        StepDetail::Capacity(step) => capacity::finding(step)?.lines.into_iter().next()?,
        StepDetail::Memory(step) => memory::flips(step)?,
        StepDetail::Powercut(_) => {
            tr!("after a cut of the power something was not as it was promised").to_owned()
        }
        _ => tr!("what was read back is not what was written").to_owned(),
    })
}

/// The losses of a run by job, how many trials had one, and the first one's sentence.
#[must_use]
pub fn losses(summary: &Summary<'_>) -> Vec<Loss> {
    let of_job = |job: &JobSummary<'_>| {
        let trials = job.trials.iter();
        let mut found = trials.filter_map(|trial| loss(trial.record.detail.as_deref()?));
        let first = found.next()?;
        Some(Loss {
            job: clean(&job.job.name),
            trials: 1 + found.count(),
            first,
        })
    };
    summary.jobs.iter().filter_map(of_job).collect()
}

/// Trials of a job in which data was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The job.
    pub job: String,
    /// How many of its trials.
    pub trials: usize,
    /// What was found in the first of them.
    pub first: String,
}

/// Of each trial, in their order.
fn of_each(summary: &Summary<'_>, found: impl Fn(&StepDetail) -> Option<Finding>) -> Vec<Item> {
    let mut trials: Vec<_> = summary.jobs.iter().flat_map(|job| &job.trials).collect();
    trials.sort_by_key(|trial| trial.record.position);
    let name = |trial: &JudgedTrial<'_>| {
        format!("{} #{}", clean(&trial.record.job.name), trial.record.trial)
    };
    let each = |trial: &JudgedTrial<'_>| {
        let detail = trial.record.detail.as_deref()?;
        Some(Item::new(name(trial), found(detail)?))
    };
    trials.into_iter().filter_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::gate::{Status, Suite, junit, lava, tap};
    use crate::machine::json;
    use crate::render::html;
    use crate::render::mail::{Form, write_run};
    use crate::render::terminal::{Style, write_summary};
    use crate::results::key_figures::{Belief, Digest};
    use crate::results::warnings;
    use crate::testing::samples;
    use std::io::{self, Write};

    fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lost_data_fails_every_gate() {
        let suite = Suite::of_run(&samples::with_lost_data());
        assert_eq!(suite.count(Status::Fail), 1);
        let case = suite.cases.iter().find(|case| case.metric == "data");
        assert!(case.unwrap().reason.contains("DATA LOST"), "{case:?}");
        for (text, word) in [
            (written(|out| tap::write(&suite, out)), "not ok"),
            (written(|out| junit::write(&suite, out)), "<failure"),
            (written(|out| lava::write(&suite, out)), "RESULT=fail"),
        ] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn lost_data_stands_before_any_rate_and_nothing_is_believed() {
        let run = samples::with_lost_data();
        let summary = Summary::of(&run);
        let warnings = warnings::collect(&summary);
        let digest = Digest::of(&summary, &warnings);
        assert_eq!(digest.belief, Belief::No);
        assert_eq!(digest.lines[0].subject, "Data kept?");
        assert!(digest.lines[0].text.contains("DATA LOST"));
        assert!(warnings[0].is_severe() && warnings[0].message(9).contains("DATA LOST"));
    }

    #[test]
    fn lost_data_is_told_by_every_output_for_people() {
        let run = samples::with_lost_data();
        let style = Style {
            color: false,
            width: 200,
            ascii: false,
        };
        for text in [
            written(|out| write_run(&run, Form::Text, out)),
            written(|out| write_run(&run, Form::Markdown, out)),
            written(|out| write_summary(&run, style, &[], out)),
            written(|out| html::write(&run, out)),
        ] {
            assert!(text.contains("data was not kept"), "{text}");
        }
        let document = written(|out| json::write(&run, out));
        assert!(document.contains("\"data_lost\": true"), "{document}");
    }
}

//! Requirements on a run, with their decisions.

use crate::words::{clean, enumerate, value};
use assay_lang::{counted, key, tr};
use assay_stats::verdict::judge::Qualification;

/// Result for one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementRow {
    /// The requirement, as the user wrote it.
    pub requirement: String,
    /// Figure, both bounds and their unit; `None` if the run has none.
    pub figure: Option<(f64, (f64, f64), String)>,
    /// Finding where there is no figure, or the reason why it decides nothing.
    pub why: Option<String>,
    /// The decision.
    pub decision: Qualification,
}

impl RequirementRow {
    /// Returns the decision in one word: `pass`, `fail` or `open`.
    pub const fn word(&self) -> &'static str {
        match self.decision {
            Qualification::Pass => key!("pass"),
            Qualification::Fail => key!("fail"),
            Qualification::Inconclusive => key!("open"),
        }
    }

    /// Returns the figure and its bounds; empty where there are none.
    pub fn in_words(&self) -> [String; 2] {
        match &self.figure {
            Some((centre, (low, high), unit)) => [
                value(unit, *centre),
                format!("{} .. {}", value(unit, *low), value(unit, *high)),
            ],
            None => [String::new(), String::new()],
        }
    }
}

/// Returns the number of requirements with this decision.
pub fn count(rows: &[RequirementRow], decision: Qualification) -> usize {
    rows.iter().filter(|row| row.decision == decision).count()
}

/// Returns the verdict on all requirements: the failed ones by name.
pub fn verdict(rows: &[RequirementRow]) -> String {
    let failed = rows
        .iter()
        .filter(|row| row.decision == Qualification::Fail);
    let failed: Vec<String> = failed.map(|row| clean(&row.requirement)).collect();
    let open = count(rows, Qualification::Inconclusive);
    let all = counted!(rows.len(), "{n} requirement", "{n} requirements");
    match (failed.len(), open) {
        (0, 0) => tr!("Pass: {all} met", all),
        (0, open) => tr!("Open: {open} of {all}, and none fails", open, all),
        (number, open) => tr!(
            "Fail: {number} of {all} ({failed}); {open} open",
            number,
            all,
            failed = enumerate(&failed),
            open
        ),
    }
}

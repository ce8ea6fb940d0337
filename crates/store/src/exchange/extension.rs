//! Replacement of a run that ended early by the same run after it was resumed: the only case in
//! which stored contents are replaced.

use super::{RawRun, RawTrial};
use crate::record;
use assay_model::run::{RunHeader, RunStatus};
use assay_model::trial::{Outcome, TrialRecord};

/// Relation of a stored run to an arriving one of the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The arriving run contains the stored one and more.
    Extends,
    /// The stored run contains the arriving one and more.
    Behind,
    /// They are different runs.
    Foreign,
}

/// Compares a stored run with an arriving one.
pub fn relation(stored: &RawRun, arriving: &RawRun) -> Relation {
    if stored.header != arriving.header {
        return Relation::Foreign;
    }
    if extends(arriving, stored) {
        return Relation::Extends;
    }
    match extends(stored, arriving) {
        true => Relation::Behind,
        false => Relation::Foreign,
    }
}

/// Returns true if `long` is `short` after it was resumed.
fn extends(long: &RawRun, short: &RawRun) -> bool {
    let ended_early = matches!(
        short.status,
        RunStatus::Interrupted | RunStatus::Failed { .. }
    );
    let kept = kept(short);
    let begins_so = long.trials.len() >= kept.len()
        && kept
            .iter()
            .zip(&long.trials)
            .all(|(a, b)| (a.position, &a.record) == (b.position, &b.record));
    let further = long.trials.len() > short.trials.len()
        || long.status == RunStatus::Finished
        || long.finished_unix_ms > short.finished_unix_ms;
    ended_early && begins_so && further
}

/// Returns the trials that a resumed run keeps. The trial that was under way is repeated; for acts
/// the whole last repetition is.
fn kept(run: &RawRun) -> &[RawTrial] {
    let Some((last, before)) = run.trials.split_last() else {
        return &[];
    };
    if last.outcome == Outcome::Interrupted.word() {
        return before;
    }
    let header = record::from_text(&run.header);
    let of_work = header.is_ok_and(|header: RunHeader| {
        // Runs from before protocol 2 have no acts.
        header.acts.is_some() || header.command.iter().any(|word| word == "--")
    });
    if !of_work {
        return &run.trials;
    }
    let repetition = |trial: &RawTrial| {
        let record: TrialRecord = record::from_blob(&trial.record).ok()?;
        Some((record.trial, record.condition))
    };
    let under_way = repetition(last);
    let others = before
        .iter()
        .rposition(|trial| repetition(trial) != under_way);
    let whole = others.map_or(0, |last| last + 1);
    run.trials.get(..whole).unwrap_or_default()
}

//! Evidence of trials, for the view of that name. One row per run, so that a push remains fast.

use crate::backend::{SqlSession, Value};
use crate::error::StoreError;
use crate::record;
use crate::runs::unwritable;
use assay_model::facts::{RunFacts, TrialEvidence};
use serde::Serialize;

/// Adds the evidence of runs that have none stored.
pub(super) fn insert(t: &mut SqlSession<'_>, all: &[&RunFacts]) -> Result<(), StoreError> {
    let with_evidence = all.iter().filter(|facts| !facts.evidence.is_empty());
    let rows: Result<Vec<Vec<Value>>, StoreError> = with_evidence
        .map(|facts| {
            let trials: Vec<_> = facts.evidence.iter().map(columns).collect();
            let trials = record::to_text(&trials).map_err(unwritable(&facts.run))?;
            Ok(vec![(&facts.run).into(), trials.into()])
        })
        .collect();
    t.insert_many("trial_evidence", &["run_id", "trials"], rows?)?;
    Ok(())
}

/// Returns values in the order in which the view `assay_trial_evidence` numbers them. Their names,
/// which would be half of the text, are left out.
fn columns(trial: &TrialEvidence) -> impl Serialize + '_ {
    (
        trial.position,
        &trial.condition,
        &trial.direction,
        &trial.label,
        &trial.latency_label,
        &trial.because,
        trial.job_bytes,
        trial.device_bytes,
        trial.device_share,
        trial.flushes,
        trial.volatile_cache.map(u8::from),
        trial.dirty_bytes,
        trial.foreign_bytes,
    )
}

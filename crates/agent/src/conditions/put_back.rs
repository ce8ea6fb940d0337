//! Restoring of settings.

use super::Turned;
use assay_model::condition::Knob;
use assay_probe::conditions::{self as kernel, read};
use assay_probe::roots::Roots;
use std::collections::HashMap;

/// Restores knobs from the last to the first, then checks all of them: a value may be
/// accepted only after another one (`vm.dirty_bytes` rejects 0; setting `vm.dirty_ratio`
/// resets it).
pub(super) fn put_back(roots: &Roots, turned: &[Turned]) -> Vec<String> {
    let mut problems: HashMap<&Knob, String> = HashMap::new();
    for turned in turned.iter().rev() {
        if let Err(problem) = put_one_back(roots, turned) {
            problems.insert(&turned.knob, problem);
        }
    }
    let is_back = |turned: &Turned| match (&turned.knob, &turned.old, read(roots, &turned.knob)) {
        (Knob::Command { .. } | Knob::FileSystem { .. }, _, _) => {
            !problems.contains_key(&turned.knob)
        }
        (_, Some(old), Ok(Some(now))) => *old == now,
        // There is nothing to compare, or the device and its settings are gone.
        _ => true,
    };
    let missed = turned.iter().filter(|turned| !is_back(turned));
    let words = missed.map(|turned| {
        let old = turned.old.as_deref().unwrap_or("what it was");
        let why = problems.get(&turned.knob).map_or("", String::as_str);
        format!("{} could not be put back to '{old}': {why}", turned.knob)
    });
    words.collect()
}

pub(super) fn put_one_back(roots: &Roots, turned: &Turned) -> Result<(), String> {
    let Turned {
        knob, old, last, ..
    } = turned;
    if let (Knob::Command { .. } | Knob::FileSystem { .. }, None) = (knob, last) {
        return Ok(());
    }
    let now = read(roots, knob).map_err(|error| error.to_string())?;
    if old.is_some() && now == *old {
        return Ok(());
    }
    let last = last.as_deref().unwrap_or_default();
    kernel::undo(roots, knob, old.as_deref(), last).map_err(|error| error.to_string())
}

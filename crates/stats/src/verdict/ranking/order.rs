//! Drift over the session in a ranking.

use super::ConditionTrials;
use super::letters::pairs as each_two;
use crate::summary::mean;
use crate::verdict::arm::Arm;
use crate::verdict::line::Options;
use crate::verdict::note::Note;
use crate::verdict::order::{self, is_confounded};

/// Removes the common drift of all conditions from the trials; does nothing if the order is not
/// known. Returns a note on pairs that were run one after the other, if there are any.
pub(super) fn straighten(entries: &mut [ConditionTrials<'_>], options: &Options) -> Option<Note> {
    let mut arms: Vec<&mut Arm> = entries.iter_mut().map(|entry| &mut entry.arm).collect();
    order::rank(&mut arms);
    let mut places: Vec<f64> = Vec::new();
    for ConditionTrials { arm, .. } in entries.iter() {
        places.extend(&arm.positions);
    }
    places.sort_by(f64::total_cmp);
    let (first, last) = (*places.first()?, *places.last()?);
    let middle = mean(&places);
    let (mut within, mut product) = (0.0, 0.0);
    for ConditionTrials { arm, .. } in entries.iter() {
        let centre = mean(&arm.positions);
        for (t, y) in arm.positions.iter().zip(&arm.y) {
            within += (t - centre).powi(2);
            product += (t - centre) * (y - arm.mean);
        }
    }
    let slope = product / within;
    let total = slope * (last - first);
    let mut pairs = each_two(entries.len());
    let confounded = pairs.any(|(i, j)| is_confounded(&entries[i].places, &entries[j].places));
    // Drift within such short parts is no bound for the whole session, and may not even be
    // detectable.
    let note =
        confounded.then(|| Note::OneAfterAnother(100.0 * total.exp_m1(), 100.0 * options.margin));
    let known = entries.iter().all(|entry| !entry.arm.positions.is_empty());
    if !known || !total.is_finite() || places.windows(2).any(|pair| pair[0] >= pair[1]) {
        for entry in entries.iter_mut() {
            entry.arm.positions.clear();
        }
        return note;
    }
    for ConditionTrials { arm, .. } in entries.iter_mut() {
        let y: Vec<f64> = arm
            .y
            .iter()
            .zip(&arm.positions)
            .map(|(y, t)| y - slope * (t - middle))
            .collect();
        if let Ok(straight) = Arm::of_logs(y, Vec::new(), arm.better) {
            *arm = Arm {
                centre: arm.centre,
                ..straight
            };
        }
    }
    note
}

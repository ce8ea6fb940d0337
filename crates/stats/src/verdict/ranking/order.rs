//! Drift over the session of all conditions.

use super::Entry;
use crate::summary::mean;
use crate::verdict::arm::Arm;
use crate::verdict::estimate::CONFOUNDED;
use crate::verdict::line::Options;
use crate::verdict::note::Note;

/// Takes the drift that all conditions share out of the trials, or tells that
/// it cannot be told from the conditions. Nothing is done where the order is
/// not known.
pub(super) fn straighten(entries: &mut [Entry], options: &Options) -> Option<Note> {
    let mut places: Vec<f64> = Vec::new();
    for Entry { arm, .. } in entries.iter() {
        if arm.positions.is_empty() {
            return None;
        }
        places.extend(&arm.positions);
    }
    places.sort_by(f64::total_cmp);
    if places.len() < 2 || places.windows(2).any(|pair| pair[0] >= pair[1]) {
        return None;
    }
    let middle = mean(&places);
    let (mut within, mut product, mut between) = (0.0, 0.0, 0.0);
    for Entry { arm, .. } in entries.iter() {
        let centre = mean(&arm.positions);
        between += arm.n as f64 * (centre - middle).powi(2);
        for (t, y) in arm.positions.iter().zip(&arm.y) {
            within += (t - centre).powi(2);
            product += (t - centre) * (y - arm.mean);
        }
    }
    let slope = product / within;
    let total = slope * (places[places.len() - 1] - places[0]);
    if !total.is_finite() {
        return None;
    }
    if between / (between + within) > CONFOUNDED {
        // Drift within so short parts says little of the whole session: it
        // need not even show.
        return Some(Note::OneAfterAnother(
            100.0 * total.exp_m1(),
            100.0 * options.margin,
        ));
    }
    for Entry { arm, .. } in entries.iter_mut() {
        let y: Vec<f64> = arm
            .y
            .iter()
            .zip(&arm.positions)
            .map(|(y, t)| y - slope * (t - middle))
            .collect();
        if let Ok(straight) = Arm::of_logs(y, Vec::new(), 1.0) {
            *arm = Arm {
                centre: arm.centre,
                ..straight
            };
        }
    }
    None
}

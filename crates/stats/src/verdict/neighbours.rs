//! Difference of two arms by neighbouring trials of a session.

use super::arm::Arm;
use super::estimate::{Linear, in_one_session};
use super::shift::MIN_TRIALS;
use crate::summary::{mean, variance};

/// Excess over 1 of the ratio of the two standard errors from which the comparison of neighbours is
/// used, times the square root of their number, since the ratio scatters by that for independent
/// trials. One comparison in ten reaches it then; for alternating trials the ratio approaches 1.41.
/// Found by simulation.
const CLEARLY: f64 = 0.5;

/// Returns the mean difference of neighbours if it varies clearly more than the spread of all
/// trials (`linear`) implies. The speed then alternates from trial to trial, for example because
/// each trial leaves work to the next one, and both the least-squares line and the ranks are too
/// optimistic.
///
/// For the opposite kind of noise (drifts, steps, similar neighbours) the line and the ranks are
/// careful enough, so the result is `None`. It is also `None` below [`MIN_TRIALS`] a side, where
/// the neighbours are too few for a decision.
pub(crate) fn alternating(a: &Arm, b: &Arm, linear: &Linear) -> Option<Linear> {
    let neighbours = of(a, b)?;
    let clearly = 1.0 + CLEARLY / (neighbours.df + 1.0).sqrt();
    (neighbours.se > clearly * linear.se).then_some(neighbours)
}

/// Returns Student's t of the differences of neighbours (1908), B - A: each two consecutive trials
/// of different arms form a pair.
fn of(a: &Arm, b: &Arm) -> Option<Linear> {
    if a.n.min(b.n) < MIN_TRIALS || !in_one_session(a, b) {
        return None;
    }
    let differences = differences(a, b);
    let n = differences.len();
    let d = mean(&differences);
    let spread = variance(&differences, d)?;
    (n >= MIN_TRIALS).then(|| Linear {
        d,
        se: (spread / n as f64).sqrt(),
        df: (n - 1) as f64,
        s: (spread / 2.0).sqrt(),
        drift: None,
        unequal: false,
    })
}

fn differences(a: &Arm, b: &Arm) -> Vec<f64> {
    let mut session: Vec<(f64, f64, f64)> = Vec::new();
    for (arm, sign) in [(a, -1.0), (b, 1.0)] {
        let trials = arm.positions.iter().zip(&arm.y);
        session.extend(trials.map(|(&t, &y)| (t, sign, y)));
    }
    session.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut left = session.as_slice();
    let mut differences = Vec::new();
    while let [(_, sign, y), (_, next_sign, next_y), ..] = left {
        let apart = sign != next_sign;
        if apart {
            differences.push(sign * y + next_sign * next_y);
        }
        left = &left[1 + usize::from(apart)..];
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::figures::Better;

    /// Trials in the order of `sides`; A is 0.
    fn session(sides: &[usize], y: impl Fn(usize, usize) -> f64) -> [Arm; 2] {
        [0, 1].map(|side| {
            let places = || (0..sides.len()).filter(|&place| sides[place] == side);
            let y = places().map(|place| y(place, side)).collect();
            let positions = places().map(|place| place as f64).collect();
            Arm::of_logs(y, positions, Better::Higher).unwrap()
        })
    }

    const ROUNDS: [usize; 16] = [0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0];

    /// The first trial of each round is faster by .1.
    #[test]
    fn ups_and_downs_are_told_from_drift() {
        let rough = |place: usize| 0.01 * ((place * 7) % 5) as f64;
        let [a, b] = session(&ROUNDS, |t, _| 0.1 * (t % 2) as f64 + rough(t));
        let linear = Linear::of(&a, &b).unwrap();
        let found = alternating(&a, &b, &linear).unwrap();
        assert_eq!(found.df, 7.0);
        let [a, b] = session(
            &ROUNDS,
            |t, _| if t < 9 { rough(t) } else { 0.3 + rough(t) },
        );
        let linear = Linear::of(&a, &b).unwrap();
        assert_eq!(alternating(&a, &b, &linear), None, "a step");
    }

    #[test]
    fn a_trial_that_is_missing_costs_its_round() {
        let [a, b] = session(&[0, 1, 1, 0, 0, 1], |t, side| t as f64 + 10.0 * side as f64);
        assert_eq!(differences(&a, &b), [11.0, 9.0, 11.0]);
        assert_eq!(differences(&a, &b.without(1).unwrap()), [11.0, 11.0]);
        let [a, b] = session(&[0, 0, 0, 1, 1, 1], |_, _| 0.0);
        assert_eq!(differences(&a, &b).len(), 1);
    }

    #[test]
    fn few_trials_or_an_unknown_order_tell_nothing() {
        let zigzag = |t: usize, _| (t % 2) as f64;
        let [a, b] = session(&ROUNDS[..10], zigzag);
        assert!(of(&a, &b).is_none());
        let [a, b] = session(&ROUNDS, zigzag);
        assert!(of(&a, &b).is_some());
        let unknown = Arm::of_logs(a.y.clone(), Vec::new(), Better::Higher).unwrap();
        assert!(of(&unknown, &b).is_none());
    }
}

//! Difference of two arms by ranks: Hodges and Lehmann's shift.

use super::Margin;
use super::arm::Arm;
use super::estimate::{Difference, Linear, in_one_session};
use crate::distributions::MannWhitney;
use crate::summary::{mean, median_of_sorted, variance};
use std::collections::HashMap;
use std::sync::Arc;

/// Fewest trials of a side for the interval by ranks to decide; with fewer, the smallest p value is
/// too large for a family of metrics.
pub const MIN_TRIALS: usize = 6;

/// Cache of tables of U, by numbers of trials.
#[derive(Debug, Default)]
pub struct Tables(HashMap<(usize, usize), Arc<MannWhitney>>);

impl Tables {
    /// Returns the table for `n` against `m` trials.
    pub fn get(&mut self, n: usize, m: usize) -> Arc<MannWhitney> {
        let table = self.0.entry((n.min(m), n.max(m)));
        Arc::clone(table.or_insert_with(|| Arc::new(MannWhitney::new(n, m))))
    }
}

/// Median of all differences between a trial of B and one of A (Hodges and Lehmann 1963), with the
/// interval that inverts Mann and Whitney's test (Moses). Single outliers hardly affect it.
#[derive(Clone, Debug)]
pub struct Shift {
    /// Differences in ascending order.
    differences: Vec<f64>,
    table: Arc<MannWhitney>,
}

impl Shift {
    /// Estimates the shift between two arms whose trials are known, after removing the drift of
    /// `linear`; `None` below [`MIN_TRIALS`].
    pub fn of(a: &Arm, b: &Arm, linear: &Linear, tables: &mut Tables) -> Option<Self> {
        if a.y.len().min(b.y.len()) < MIN_TRIALS {
            return None;
        }
        let slope = linear.drift.map_or(0.0, |drift| drift.slope);
        let (level_a, level_b) = (level(a, slope), level(b, slope));
        let mut differences = Vec::with_capacity(a.n * b.n);
        for y_b in &level_b {
            differences.extend(level_a.iter().map(|y_a| y_b - y_a));
        }
        differences.sort_unstable_by(f64::total_cmp);
        let table = tables.get(a.n, b.n);
        Some(Self { differences, table })
    }

    /// Returns P(U <= observed U) if the true shift is `shift`: the evidence that it is smaller
    /// (`below`) or larger. Ties count as "no evidence".
    fn tail(&self, shift: f64, below: bool) -> f64 {
        let seen = if below {
            self.differences.len() - self.differences.partition_point(|d| *d < shift)
        } else {
            self.differences.partition_point(|d| *d <= shift)
        };
        self.table.at_most(seen)
    }
}

/// Returns the values with the drift removed.
fn level(arm: &Arm, slope: f64) -> Vec<f64> {
    if arm.positions.len() != arm.y.len() {
        return arm.y.clone();
    }
    let trials = arm.y.iter().zip(&arm.positions);
    trials.map(|(y, t)| y - slope * t).collect()
}

impl Difference for Shift {
    fn d(&self) -> f64 {
        median_of_sorted(&self.differences).unwrap_or(f64::NAN)
    }

    /// Returns [W_(k+1), W_(nm-k)] with k the largest U whose two-sided p value is at most `alpha`.
    fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let k = self.table.critical(alpha)?;
        let mirror = self.differences.len().checked_sub(k + 1)?;
        let (low, high) = (self.differences.get(k)?, self.differences.get(mirror)?);
        Some((*low, *high))
    }

    fn p_difference(&self) -> f64 {
        (2.0 * self.tail(0.0, true).min(self.tail(0.0, false))).min(1.0)
    }

    fn p_equivalence(&self, margin: Margin) -> f64 {
        self.tail(margin.high, true)
            .max(self.tail(margin.low, false))
    }
}

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

    fn shift(a: &[f64], b: &[f64]) -> Shift {
        let arm = |y: &[f64]| Arm::of_logs(y.to_vec(), Vec::new(), Better::Higher).unwrap();
        let (a, b) = (arm(a), arm(b));
        let linear = Linear::of(&a, &b).unwrap();
        Shift::of(&a, &b, &linear, &mut Tables::default()).unwrap()
    }

    /// Values of R's `wilcox.test(b, a, conf.int = TRUE)`: W = 36, p = .002165,
    /// and the ends are the 6th smallest and largest differences.
    #[test]
    fn two_separate_arms_have_the_smallest_p() {
        let a = [1.0, 1.1, 1.25, 1.4, 1.5, 1.7];
        let b = a.map(|y| y + 1.0);
        let found = shift(&a, &b);
        assert!((found.p_difference() - 0.002_164_5).abs() < 1e-6);
        assert!((found.d() - 1.0).abs() < 1e-12);
        let (low, high) = found.interval(0.05).unwrap();
        assert!((low - found.differences[5]).abs() < 1e-12);
        assert!((high - found.differences[30]).abs() < 1e-12);
    }

    #[test]
    fn interval_and_tests_agree() {
        let a = [0.10, 0.12, 0.07, 0.30, 0.18, 0.11, 0.2];
        let b = [0.15, 0.22, 0.29, 0.17, 0.28, 0.36];
        let found = shift(&a, &b);
        for alpha in [0.01, 0.05, 0.1, 0.2] {
            let Some((low, high)) = found.interval(alpha) else {
                continue;
            };
            assert_eq!(found.p_difference() <= alpha, low > 0.0 || high < 0.0);
            for share in [0.05, 0.1, 0.2, 0.3] {
                let margin = Margin::of(share, Better::Higher);
                let (low, high) = found.interval(2.0 * alpha).unwrap();
                let inside = margin.holds(low) && margin.holds(high);
                assert_eq!(
                    found.p_equivalence(margin) <= alpha,
                    inside,
                    "{alpha} {margin:?}"
                );
            }
        }
    }

    #[test]
    fn one_disturbed_trial_hardly_moves_it() {
        let a = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0];
        let mut b = a.map(|y| y + 0.05);
        let clean = shift(&a, &b).d();
        b[2] -= 3.0;
        assert!((shift(&a, &b).d() - clean).abs() < 0.02);
    }

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

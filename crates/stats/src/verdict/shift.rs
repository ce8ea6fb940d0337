//! Difference of two arms by ranks: Hodges and Lehmann's shift.

use super::arm::Arm;
use super::estimate::{Difference, Linear};
use super::margin::Margin;
use crate::distributions::mann_whitney::MannWhitney;
use crate::summary::median_of_sorted;
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
}

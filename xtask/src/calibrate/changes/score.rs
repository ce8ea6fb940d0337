//! Score of found changes against true ones.

use std::fmt::{self, Display, Formatter};

/// Distance up to which a found change counts as right, in points, as in the Turing Change
/// Point Detection benchmark.
const TOLERANCE: usize = 5;

/// Counts over all series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// True changes that were found.
    pub right: usize,
    /// True changes that were missed.
    pub missed: usize,
    /// Changes that were found but are not true.
    pub wrong: usize,
}

impl Score {
    /// Matches the found changes of each series with its true ones, each at most once.
    pub fn of(truths: &[&[usize]], found: &[Vec<usize>]) -> Self {
        let mut score = Self::default();
        for (truth, found) in truths.iter().zip(found) {
            let mut left = truth.to_vec();
            for at in found {
                let near = left.iter().enumerate();
                let near = near.filter(|(_, change)| change.abs_diff(*at) <= TOLERANCE);
                match near.min_by_key(|(_, change)| change.abs_diff(*at)) {
                    Some((index, _)) => {
                        left.remove(index);
                        score.right += 1;
                    }
                    None => score.wrong += 1,
                }
            }
            score.missed += left.len();
        }
        score
    }

    /// Harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        let right = 2 * self.right;
        right as f64 / (right + self.missed + self.wrong).max(1) as f64
    }
}

impl Display for Score {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let f1 = self.f1();
        let Self {
            right,
            missed,
            wrong,
        } = self;
        write!(
            f,
            "F1 {f1:.3}, {right} right, {missed} missed, {wrong} false alarms"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_once_and_not_far_off() {
        let score = Score::of(&[&[10, 50], &[]], &[vec![8, 12, 60], vec![]]);
        assert_eq!((score.right, score.missed, score.wrong), (1, 1, 2));
        assert!((score.f1() - 0.4).abs() < 1e-12);
    }
}

//! Sequential evaluation of a run in several looks.

use super::compare::Comparison;
use super::ranking::Ranking;
use assay_model::run::Looks;
use assay_model::verdict::Verdict;

/// A group-sequential plan: looks that are fixed before the first trial, all at one level, so that
/// their total error rate is that of one look at 0.05.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Trials per side at each look.
    pub looks: &'static [u32],
    /// Level of each look, for difference and equivalence; found by simulation of this method.
    pub alpha: f64,
}

/// Available plans, ordered by their last look; for the same last look, the highest level first.
pub const PLANS: [Plan; 5] = [
    Plan {
        looks: &[6, 12],
        alpha: 0.0294,
    },
    Plan {
        looks: &[6, 10, 20],
        alpha: 0.0204,
    },
    Plan {
        looks: &[4, 8, 12, 20],
        alpha: 0.0173,
    },
    Plan {
        looks: &[5, 10, 15, 20],
        alpha: 0.0170,
    },
    Plan {
        looks: &[6, 9, 12, 16, 20],
        alpha: 0.0158,
    },
];

/// Plan for interleaved runs.
pub const RUNS: Plan = Plan {
    looks: &[3, 6],
    alpha: 0.0294,
};

impl Plan {
    /// Returns the plan with the latest last look at no more than `budget` trials per side; `None`
    /// if none fits, so that there is a single look at the end.
    pub fn within(budget: u32) -> Option<Self> {
        let fitting = PLANS.into_iter().rev().filter(|plan| plan.last() <= budget);
        fitting.max_by_key(Plan::last)
    }

    /// Returns the looks of a run that is judged with this margin (a share).
    pub fn looks(&self, margin: f64) -> Looks {
        Looks {
            at: self.looks.to_vec(),
            alpha: self.alpha,
            margin,
        }
    }

    /// Returns the trials per side at the last look.
    pub fn last(&self) -> u32 {
        self.looks.last().copied().unwrap_or(0)
    }
}

/// Progress of a look, counted in questions: each deciding metric of a comparison, or each pair of
/// conditions on each metric of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Questions with a verdict other than "no conclusion".
    pub settled: usize,
    /// Total number of questions.
    pub of: usize,
}

impl Standing {
    /// Standing if nothing can be compared.
    pub const NOTHING: Self = Self { settled: 0, of: 0 };

    /// Counts the deciding metrics of a comparison.
    pub fn of_comparison(comparison: &Comparison) -> Self {
        let primary = comparison.lines.iter().filter(|line| line.primary);
        Self::of(primary.map(|line| &line.verdict))
    }

    /// Counts the pairs of a ranking of deciding figures, on the metrics measured on the device.
    pub fn of_ranking(ranking: &Ranking) -> Self {
        let metrics = ranking.metrics.iter().filter(|metric| metric.of_device);
        let pairs = metrics.flat_map(|metric| &metric.pairs);
        Self::of(pairs.map(|pair| &pair.verdict))
    }

    fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut standing = Self::NOTHING;
        for verdict in verdicts {
            standing.of += 1;
            standing.settled += usize::from(!matches!(verdict, Verdict::NoConclusion { .. }));
        }
        standing
    }

    /// `true` if no question is open; `false` if there is no question.
    pub const fn is_settled(self) -> bool {
        self.of > 0 && self.settled == self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_that_goes_furthest_is_taken() {
        assert_eq!(Plan::within(5), None);
        assert_eq!(Plan::within(12).unwrap().looks, [6, 12]);
        assert_eq!(Plan::within(19).unwrap().looks, [6, 12]);
        assert_eq!(Plan::within(100).unwrap().looks, [6, 10, 20]);
    }
}

//! What a number of trials can show, before anything is run.

use super::judge::Rule;
use super::trials::{Outlook, POWER, Test, detectable_effect, root_from};

/// What `n` trials a side show in four of five comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Trials per side.
    pub n: u32,
    /// Smallest difference that is found, in percent.
    pub difference_percent: f64,
    /// Smallest margin within which sides without a difference are found
    /// equivalent, in percent.
    pub equivalence_percent: f64,
}

/// Standard deviation of logarithms for a coefficient of variation (a share):
/// sqrt(ln(1 + cv^2)).
#[must_use]
pub fn log_deviation(cv: f64) -> f64 {
    cv.powi(2).ln_1p().sqrt()
}

/// The table for trials that vary by `cv` (a share), tests at `alpha`. Numbers
/// below 2 are left out: one trial shows nothing.
#[must_use]
pub fn table(cv: f64, alpha: f64, numbers: &[u32]) -> Vec<Row> {
    let s = log_deviation(cv);
    let row = |&n: &u32| Row {
        n,
        difference_percent: 100.0 * (detectable_effect(alpha, n) * s).exp_m1(),
        equivalence_percent: 100.0 * (provable_margin(alpha, n) * s).exp_m1(),
    };
    numbers.iter().filter(|n| **n >= 2).map(row).collect()
}

/// Trials per side that show a difference of `percent` in four of five
/// comparisons, at most `budget`.
#[must_use]
pub fn trials_for_difference(cv: f64, percent: f64, alpha: f64, budget: u32) -> Option<u32> {
    let outlook = Outlook {
        d: (percent / 100.0).ln_1p(),
        s: log_deviation(cv),
    };
    outlook.for_difference(alpha, budget)
}

/// Trials per side that show that there is no difference of `margin` (a
/// share), when there is none, at most `budget`.
#[must_use]
pub fn trials_for_equivalence(cv: f64, margin: f64, alpha: f64, budget: u32) -> Option<u32> {
    let rule = Rule {
        alpha_difference: alpha,
        alpha_equivalence: alpha,
        margin: margin.ln_1p(),
    };
    let outlook = Outlook {
        d: 0.0,
        s: log_deviation(cv),
    };
    outlook.for_equivalence(&rule, budget)
}

/// In standard deviations of one trial.
fn provable_margin(alpha: f64, n: u32) -> f64 {
    let test = Test::new(alpha, n);
    // Both ends of the margin have to be excluded.
    root_from(test.likely_effect(), |margin| {
        2.0 * test.tail(margin) - 1.0 - POWER
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference's numbers of trials: what they are for lies between
    /// what one trial less shows and what they show.
    #[test]
    fn the_table_brackets_the_numbers_of_the_reference() {
        for (cv, percent, n) in [
            (0.01, 2.0, 6),
            (0.02, 3.0, 9),
            (0.05, 5.0, 18),
            (0.10, 10.0, 19),
        ] {
            let rows = table(cv, 0.05, &[n - 1, n]);
            assert!(rows[0].difference_percent > percent, "{rows:?}");
            assert!(rows[1].difference_percent <= percent, "{rows:?}");
            assert_eq!(trials_for_difference(cv, percent, 0.05, 100), Some(n));
        }
        for (cv, margin, n) in [(0.03, 5.0, 8), (0.05, 5.0, 19), (0.10, 10.0, 20)] {
            let rows = table(cv, 0.05, &[n - 1, n]);
            assert!(rows[0].equivalence_percent > margin, "{rows:?}");
            assert!(rows[1].equivalence_percent <= margin, "{rows:?}");
            assert_eq!(
                trials_for_equivalence(cv, margin / 100.0, 0.05, 100),
                Some(n)
            );
        }
    }

    #[test]
    fn more_trials_show_less() {
        let rows = table(0.1, 0.05, &[2, 3, 4, 6, 8, 10, 15, 20, 50, 100, 1000]);
        for pair in rows.windows(2) {
            assert!(
                pair[0].difference_percent > pair[1].difference_percent,
                "{pair:?}"
            );
            assert!(
                pair[0].equivalence_percent > pair[1].equivalence_percent,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn one_trial_shows_nothing() {
        assert!(table(0.05, 0.05, &[0, 1]).is_empty());
        assert_eq!(table(0.05, 0.05, &[2])[0].n, 2);
    }
}

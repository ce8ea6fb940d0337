//! Corrections for many tests: the level of each test.

/// A p value after correction, and the level for its raw value. `p <= level` and `adjusted <=
/// alpha` are equivalent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjusted {
    /// Corrected p value.
    pub p: f64,
    /// Level for the raw p value.
    pub level: f64,
}

/// Holm's step-down (1979): the probability of any false finding stays at `alpha`. Tests after the
/// first failed one use the level of that test.
pub fn holm(p: &[f64], alpha: f64) -> Vec<Adjusted> {
    let mut adjusted = vec![Adjusted { p: 1.0, level: 0.0 }; p.len()];
    let (mut largest, mut stopped) = (0.0_f64, None);
    for (rank, index) in in_order(p).into_iter().enumerate() {
        let left = (p.len() - rank) as f64;
        largest = largest.max((p[index] * left).min(1.0));
        let level = stopped.unwrap_or(alpha / left);
        if p[index] > level && stopped.is_none() {
            stopped = Some(level);
        }
        adjusted[index] = Adjusted { p: largest, level };
    }
    adjusted
}

/// Benjamini and Hochberg's step-up (1995): on average, a share of `q` of the findings is false.
pub fn benjamini_hochberg(p: &[f64], q: f64) -> Vec<Adjusted> {
    let order = in_order(p);
    let all = p.len() as f64;
    let threshold = |rank: usize| q * (rank + 1) as f64 / all;
    let last = (0..p.len())
        .rev()
        .find(|&rank| p[order[rank]] <= threshold(rank));
    let level = threshold(last.unwrap_or(0));
    let mut adjusted = vec![Adjusted { p: 1.0, level }; p.len()];
    let mut smallest = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(p[index] * all / (rank + 1) as f64);
        adjusted[index].p = smallest;
    }
    adjusted
}

/// Returns the indices by p value, the smallest first.
fn in_order(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: &[Adjusted], truth: &[f64]) {
        for (found, truth) in found.iter().zip(truth) {
            assert!((found.p - truth).abs() < 1e-12, "{} {truth}", found.p);
        }
    }

    /// As R's `p.adjust` gives them.
    #[test]
    fn corrected_values_are_those_of_r() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.5];
        near(&holm(&p, 0.05), &[0.04, 0.09, 0.09, 0.025, 0.5]);
        near(
            &benjamini_hochberg(&p, 0.1),
            &[0.025, 0.05, 0.05, 0.025, 0.5],
        );
        assert!(holm(&[], 0.05).is_empty() && benjamini_hochberg(&[], 0.1).is_empty());
    }

    /// The second would pass alone.
    #[test]
    fn nothing_is_found_after_the_first_that_fails() {
        let found = holm(&[0.03, 0.03], 0.05);
        assert!(
            found
                .iter()
                .all(|adjusted| (adjusted.level - 0.025).abs() < 1e-12)
        );
    }

    proptest! {
        #[test]
        fn level_and_corrected_value_decide_alike(p in prop::collection::vec(prop_oneof![0.0..0.06, 0.0..1.0], 1..12)) {
            for (adjusted, alpha) in [(holm(&p, 0.05), 0.05), (benjamini_hochberg(&p, 0.1), 0.1)] {
                for (raw, adjusted) in p.iter().zip(&adjusted) {
                    prop_assert_eq!(*raw <= adjusted.level, adjusted.p <= alpha);
                }
            }
        }
    }
}

//! Failure probability estimated from a count of failures.

use statrs::distribution::{Beta, ContinuousCDF};

/// Confidence of [`upper_bound`].
const CONFIDENCE: f64 = 0.95;

/// Returns the upper bound of the probability of a failure, with a confidence of 95 %, if
/// `failures` of `trials` independent trials failed (Clopper and Pearson 1934, one-sided). Without
/// any failure it is 1 - 0.05^(1/n), which is the rule of three (3/n) for many trials. `None`
/// without trials.
///
/// ```
/// use assay_stats::proportion::upper_bound;
/// let bound = upper_bound(0, 50).unwrap();
/// assert!((bound - 0.0582).abs() < 1e-4);
/// ```
pub fn upper_bound(failures: u32, trials: u32) -> Option<f64> {
    if trials == 0 || failures > trials {
        return None;
    }
    if failures == trials {
        return Some(1.0);
    }
    let beta = Beta::new(f64::from(failures) + 1.0, f64::from(trials - failures));
    beta.ok().map(|beta| beta.inverse_cdf(CONFIDENCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    #[test]
    fn at_the_bound_so_few_failures_come_once_in_twenty() {
        for (failures, trials) in [(0_u32, 1_u32), (0, 50), (1, 50), (10, 50), (49, 50)] {
            let bound = upper_bound(failures, trials).unwrap();
            let chance = Binomial::new(bound, trials.into())
                .unwrap()
                .cdf(failures.into());
            assert!(
                (chance - 0.05).abs() < 1e-6,
                "{failures} of {trials}: {chance}"
            );
        }
        assert_eq!(upper_bound(3, 3), Some(1.0));
        assert_eq!(upper_bound(0, 0), None);
    }
}

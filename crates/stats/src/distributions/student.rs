//! Student's t: tails, quantiles, and the noncentral t for power.

use super::{mean_over_deviation, normal_cdf, normal_quantile};
use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// Returns the probability that |T| is at least `t`; `NaN` if `t` or `df` is invalid.
pub fn two_sided(t: f64, df: f64) -> f64 {
    (2.0 * upper_tail(t.abs(), df)).min(1.0)
}

/// Returns P(T > t) with `df` degrees of freedom; `NaN` if `df` is not positive.
pub fn upper_tail(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    match StudentsT::new(0.0, 1.0, df) {
        Ok(student) if !t.is_nan() => student.sf(t),
        _ => f64::NAN,
    }
}

/// Returns the t that is exceeded with probability `tail` (at most a half); infinite outside 1e-12
/// to 0.5.
pub fn quantile(tail: f64, df: f64) -> f64 {
    if !(1e-12..=0.5).contains(&tail) {
        return f64::INFINITY;
    }
    // Above this, the inverse of the incomplete beta function may not terminate.
    if df > 1e6 {
        return normal_quantile(tail);
    }
    match StudentsT::new(0.0, 1.0, df) {
        Ok(student) => -student.inverse_cdf(tail),
        Err(_) => f64::INFINITY,
    }
}

/// Returns P(T' > t) of the noncentral t: the mean of P(Z > t s - shift) over the estimated
/// deviation s (its definition, (Z + shift) / s).
pub fn noncentral_upper_tail(t: f64, df: f64, shift: f64) -> f64 {
    mean_over_deviation(df, |s| normal_cdf(shift - t * s))
}

/// Returns the quantile `probability` of chi squared; `None` outside 0 to 1.
pub fn chi_squared_quantile(probability: f64, df: f64) -> Option<f64> {
    if !(0.0..1.0).contains(&probability) {
        return None;
    }
    let chi_squared = ChiSquared::new(df).ok()?;
    Some(chi_squared.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_quantiles_are_those_of_the_tables() {
        for (tail, df, t) in [
            (0.025, 4.0, 2.776_445),
            (0.05, 10.0, 1.812_461),
            (0.005, 30.0, 2.749_996),
        ] {
            assert!((quantile(tail, df) - t).abs() < 1e-5, "{tail} {df}");
            assert!((upper_tail(t, df) - tail).abs() < 1e-5, "{tail} {df}");
        }
        assert!((two_sided(-2.228_139, 10.0) - 0.05).abs() < 1e-6);
        assert_eq!(quantile(0.0, 3.0), f64::INFINITY);
        assert!(upper_tail(1.0, 0.0).is_nan());
    }

    /// Without a shift it is the central one; the others are sample sizes that
    /// Cohen's tables give for power .80: n = 64 at d = .5, n = 26 at d = .8.
    #[test]
    fn the_noncentral_tail_gives_known_powers() {
        for df in [1.0, 2.5, 7.0, 40.0, 400.0] {
            let found = noncentral_upper_tail(1.3, df, 0.0);
            assert!((found - upper_tail(1.3, df)).abs() < 1e-7, "{df}: {found}");
        }
        for (n, d, power) in [(64.0, 0.5, 0.801_4), (26.0, 0.8, 0.807_5)] {
            let df = 2.0 * n - 2.0;
            let shift = d * f64::sqrt(n / 2.0);
            let found = noncentral_upper_tail(quantile(0.025, df), df, shift);
            assert!((found - power).abs() < 2e-4, "{n}: {found}");
        }
    }

    /// Checks the upper bound of an underestimated deviation against the reference table.
    #[test]
    fn the_upper_bound_of_a_deviation_is_that_of_the_table() {
        for (df, factor) in [(4.0, 1.56), (8.0, 1.32), (18.0, 1.18)] {
            let chi = chi_squared_quantile(0.2, df).unwrap();
            let found = f64::sqrt(df / chi);
            assert!((found - factor).abs() < 6e-3, "{df}: {found}");
        }
    }
}

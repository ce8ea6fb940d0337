//! Studentized range, for comparisons of all pairs (Tukey, Games-Howell).

use super::{mean_over_deviation, normal_cdf, normal_density, root_from, student};

/// Step of the inner integral: the trapezoidal rule is exact to rounding here.
const STEP: f64 = 0.25;

/// Distance beyond which the normal density is negligible.
const REACH: f64 = 8.0;

/// Returns the probability that the range of `groups` standard normal values, divided by an
/// independent estimate of their deviation with `df` degrees of freedom, exceeds `q`.
///
/// The range for a known deviation has P(R <= w) = k int phi(z) [Phi(z) - Phi(z - w)]^(k-1) dz
/// (Hartley 1942); the result is its mean over the estimated deviation. `NaN` if `df` is not
/// positive or there are fewer than two groups.
pub fn upper_tail(q: f64, groups: usize, df: f64) -> f64 {
    if groups < 2 || df.is_nan() || df <= 0.0 || q.is_nan() {
        return f64::NAN;
    }
    if q <= 0.0 {
        return 1.0;
    }
    if q.is_infinite() {
        return 0.0;
    }
    let normal = Normal::new();
    mean_over_deviation(df, |s| 1.0 - normal.range_cdf(q * s, groups)).clamp(0.0, 1.0)
}

/// Returns the quantile of the studentized range: the q whose [`upper_tail`] is `tail`; infinite if
/// no finite q has it. The search begins at Bonferroni's bound, which is slightly larger.
pub fn quantile(tail: f64, groups: usize, df: f64) -> f64 {
    let pairs = (groups * groups.saturating_sub(1)) as f64;
    let bound = std::f64::consts::SQRT_2 * student::quantile(tail / pairs, df);
    match bound.is_finite() && groups > 2 {
        true => root_from(bound, |q| tail.ln() - upper_tail(q, groups, df).ln()),
        false => bound,
    }
}

/// Values of the normal distribution at the points of the inner integral.
struct Normal(Vec<(f64, f64, f64)>);

impl Normal {
    fn new() -> Self {
        let points = (0_u32..=64).map(|i| f64::from(i) * STEP - REACH);
        Self(
            points
                .map(|z| (z, normal_density(z), normal_cdf(z)))
                .collect(),
        )
    }

    fn range_cdf(&self, w: f64, groups: usize) -> f64 {
        let power = i32::try_from(groups - 1).unwrap_or(i32::MAX);
        let part = |&(z, density, below): &(f64, f64, f64)| {
            density * (below - normal_cdf(z - w)).max(0.0).powi(power)
        };
        let sum: f64 = self.0.iter().map(part).sum();
        (groups as f64 * STEP * sum).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributions::student;

    /// Upper 5 % and 1 % points of published tables (Harter 1960).
    #[test]
    fn tails_are_those_of_the_published_tables() {
        for (groups, df, q, tail) in [
            (3, 10.0, 3.877, 0.05),
            (4, 8.0, 4.529, 0.05),
            (2, 2.0, 6.085, 0.05),
            (4, 2.0, 9.798, 0.05),
            (5, 20.0, 4.232, 0.05),
            (10, 60.0, 4.646, 0.05),
            (4, 120.0, 3.685, 0.05),
            (3, 10.0, 5.270, 0.01),
            (4, 5.0, 7.804, 0.01),
            (6, 4.0, 10.58, 0.01),
        ] {
            let found = upper_tail(q, groups, df);
            let off = (found / tail - 1.0).abs();
            assert!(off < 2e-3, "k={groups} df={df} q={q}: {found}");
            let back = quantile(found, groups, df);
            assert!((back / q - 1.0).abs() < 1e-5, "{back} is not {q}");
        }
    }

    #[test]
    fn with_two_groups_it_is_students() {
        for (t, df) in [
            (1.0, 1.0),
            (3.0, 2.3),
            (2.5, 17.0),
            (6.0, 40.0),
            (9.0, 300.0),
        ] {
            let range = upper_tail(t * std::f64::consts::SQRT_2, 2, df);
            let student = student::two_sided(t, df);
            assert!(
                (range - student).abs() < 1e-8,
                "{t} {df}: {range} {student}"
            );
        }
    }

    #[test]
    fn what_is_none_gives_none() {
        assert!(upper_tail(3.0, 1, 5.0).is_nan());
        assert!(upper_tail(3.0, 3, 0.0).is_nan());
        assert!(upper_tail(f64::NAN, 3, 5.0).is_nan());
        assert!((upper_tail(0.0, 3, 5.0) - 1.0).abs() < 1e-12);
    }
}

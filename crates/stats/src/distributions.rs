//! Distributions that verdicts need: tails of Student's t and of the noncentral t, the studentized
//! range, and the exact distribution of Mann and Whitney's U.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::ln_gamma;

/// Returns P(Z <= z) of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / std::f64::consts::SQRT_2)
}

/// Returns the z that is exceeded with probability `tail`.
pub fn normal_quantile(tail: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail)
}

/// Returns the density of the standard normal distribution.
pub(crate) fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Returns the mean of `f(s)` where `s` is an estimated standard deviation of true value 1: chi
/// with `df` degrees of freedom over sqrt(df).
///
/// Uses the trapezoidal rule in ln s. The integrand is analytic and decreases at both ends, so the
/// error decreases exponentially in 1/step (Trefethen and Weideman, "The exponentially convergent
/// trapezoidal rule", 2014).
pub(crate) fn mean_over_deviation(df: f64, f: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * df;
    let log_scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let density = |x: f64| (log_scale + df * x - half * (2.0 * x).exp()).exp();
    // The density's width is 1 / sqrt(2 df) for large df; for small df the left side, exp(df x), is
    // the wide one.
    let width = (2.0 * df).sqrt().recip();
    let step = (0.5 * width).min(0.2);
    let (low, high) = ((-9.0 * width).min(-30.0 / df), (9.0 * width).min(2.0));
    let mut sum = 0.0;
    let mut x = low;
    while x <= high {
        sum += density(x) * f(x.exp());
        x += step;
    }
    sum * step
}

/// Finds the root of an increasing function by the secant method, from a start value close to it.
pub(crate) fn root_from(start: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut before, mut x) = (start, 1.02 * start);
    let mut f_before = f(before);
    for _ in 0..30 {
        let f_x = f(x);
        let step = f_x * (x - before) / (f_x - f_before);
        if !step.is_finite() || step.abs() <= 1e-6 * x {
            break;
        }
        (before, f_before) = (x, f_x);
        // Where the function is flat, a secant step would be much too long.
        x = (x - step).clamp(0.5 * x, 2.0 * x);
    }
    x
}

/// Largest number of pairs of trials with the exact distribution. Beyond it the normal
/// approximation is used: P is off by less than .001 there, and small p values are too large (.0001
/// by a third).
const MAX_EXACT_PAIRS: usize = 2_500;

/// Distribution of U, the number of pairs in which B is above A, if both come from the same
/// population (Mann and Whitney 1947, their recurrence).
#[derive(Clone, Debug)]
pub struct MannWhitney {
    /// P(U <= u) for u = 0, 1, ...
    cdf: Vec<f64>,
}

impl MannWhitney {
    /// Computes the distribution for `n` trials against `m`.
    pub fn new(n: usize, m: usize) -> Self {
        let mut cdf = if n * m <= MAX_EXACT_PAIRS {
            exact(n, m)
        } else {
            normal(n, m)
        };
        let mut sum = 0.0;
        for p in &mut cdf {
            sum += *p;
            *p = sum;
        }
        cdf.iter_mut().for_each(|p| *p = (*p / sum).min(1.0));
        Self { cdf }
    }

    /// Returns P(U <= u).
    pub fn at_most(&self, u: usize) -> f64 {
        self.cdf.get(u).copied().unwrap_or(1.0)
    }

    /// Returns the smallest possible two-sided p value.
    pub fn smallest_p(&self) -> f64 {
        (2.0 * self.at_most(0)).min(1.0)
    }

    /// Returns the largest u with 2 P(U <= u) <= `alpha`; `None` if no u has it.
    pub fn critical(&self, alpha: f64) -> Option<usize> {
        // Values that differ only by rounding count as equal.
        let limit = alpha * (1.0 + 1e-12);
        self.cdf
            .partition_point(|p| 2.0 * p <= limit)
            .checked_sub(1)
    }
}

/// Counts the orders of n + m trials that give each U: f(n, m, u) = f(n - 1, m, u - m) + f(n, m -
/// 1, u).
fn exact(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    // One row per number of A's; each step adds one B.
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for b in 1..=m {
        for a in 1..=n {
            let mut row = vec![0.0; a * b + 1];
            for (u, count) in rows[a].iter().enumerate() {
                row[u] += count;
            }
            for (u, count) in rows[a - 1].iter().enumerate() {
                row[u + b] += count;
            }
            rows[a] = row;
        }
    }
    rows.pop().unwrap_or_default()
}

fn normal(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n as f64, m as f64);
    let (mean, variance) = (n * m / 2.0, n * m * (n + m + 1.0) / 12.0);
    let mut densities = Vec::new();
    let mut u = 0.0;
    while u <= n * m {
        densities.push((-0.5 * (u - mean).powi(2) / variance).exp());
        u += 1.0;
    }
    densities
}

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
    let bound = std::f64::consts::SQRT_2 * student_quantile(tail / pairs, df);
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

/// Returns the probability that |T| is at least `t`; `NaN` if `t` or `df` is invalid.
pub fn student_two_sided(t: f64, df: f64) -> f64 {
    (2.0 * student_upper_tail(t.abs(), df)).min(1.0)
}

/// Returns P(T > t) with `df` degrees of freedom; `NaN` if `df` is not positive.
pub fn student_upper_tail(t: f64, df: f64) -> f64 {
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
pub fn student_quantile(tail: f64, df: f64) -> f64 {
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
pub fn student_noncentral_upper_tail(t: f64, df: f64, shift: f64) -> f64 {
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

    fn near(found: f64, truth: f64) {
        assert!((found / truth - 1.0).abs() < 6e-3, "{found} is not {truth}");
    }

    #[test]
    fn the_smallest_p_values_are_those_of_the_reference() {
        for (n, m, p) in [
            (3, 3, 0.100),
            (3, 4, 0.0571),
            (3, 5, 0.0357),
            (4, 4, 0.0286),
            (5, 5, 0.007_94),
            (6, 6, 0.002_16),
            (7, 7, 0.000_583),
            (8, 8, 0.000_155),
            (10, 10, 1.08e-5),
        ] {
            near(MannWhitney::new(n, m).smallest_p(), p);
        }
    }

    /// Sizes of the test at 5 %, of the reference, in percent.
    #[test]
    fn the_size_of_the_test_is_that_of_the_reference() {
        for (n, percent) in [
            (4, 2.86),
            (5, 3.17),
            (6, 4.11),
            (7, 3.79),
            (8, 4.99),
            (10, 4.33),
            (20, 4.91),
        ] {
            let table = MannWhitney::new(n, n);
            let k = table.critical(0.05).unwrap();
            near(200.0 * table.at_most(k), percent);
        }
        assert_eq!(MannWhitney::new(3, 3).critical(0.05), None);
    }

    #[test]
    fn the_approximation_meets_the_exact_one() {
        let (n, m) = (50, 50);
        let exact = MannWhitney::new(n, m);
        let mut sum = 0.0;
        let densities = normal(n, m);
        let total: f64 = densities.iter().sum();
        for (u, density) in densities.iter().enumerate() {
            sum += density / total;
            let off = (sum - exact.at_most(u)).abs();
            assert!(off < 2e-3, "{u}: {off}");
        }
        assert!(MannWhitney::new(60, 60).critical(0.05).is_some());
    }

    #[test]
    fn nobody_against_somebody_is_no_test() {
        assert_eq!(MannWhitney::new(0, 5).critical(0.05), None);
        assert!((MannWhitney::new(0, 5).at_most(3) - 1.0).abs() < 1e-12);
    }

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
            let student = student_two_sided(t, df);
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

    #[test]
    fn tails_and_quantiles_are_those_of_the_tables() {
        for (tail, df, t) in [
            (0.025, 4.0, 2.776_445),
            (0.05, 10.0, 1.812_461),
            (0.005, 30.0, 2.749_996),
        ] {
            assert!((student_quantile(tail, df) - t).abs() < 1e-5, "{tail} {df}");
            assert!(
                (student_upper_tail(t, df) - tail).abs() < 1e-5,
                "{tail} {df}"
            );
        }
        assert!((student_two_sided(-2.228_139, 10.0) - 0.05).abs() < 1e-6);
        assert_eq!(student_quantile(0.0, 3.0), f64::INFINITY);
        assert!(student_upper_tail(1.0, 0.0).is_nan());
    }

    /// Without a shift it is the central one; the others are sample sizes that
    /// Cohen's tables give for power .80: n = 64 at d = .5, n = 26 at d = .8.
    #[test]
    fn the_noncentral_tail_gives_known_powers() {
        for df in [1.0, 2.5, 7.0, 40.0, 400.0] {
            let found = student_noncentral_upper_tail(1.3, df, 0.0);
            assert!(
                (found - student_upper_tail(1.3, df)).abs() < 1e-7,
                "{df}: {found}"
            );
        }
        for (n, d, power) in [(64.0, 0.5, 0.801_4), (26.0, 0.8, 0.807_5)] {
            let df = 2.0 * n - 2.0;
            let shift = d * f64::sqrt(n / 2.0);
            let found = student_noncentral_upper_tail(student_quantile(0.025, df), df, shift);
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

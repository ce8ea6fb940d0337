//! Distributions that verdicts need: tails of Student's t and of the noncentral t, the studentized
//! range, and the exact distribution of Mann and Whitney's U.

pub mod mann_whitney;
pub mod range;
pub mod student;

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

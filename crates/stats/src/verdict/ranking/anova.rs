//! Welch's analysis of variance: a test for any difference among conditions.

use crate::verdict::arm::Arm;
use assay_model::figures::{Better, Figure, Sample};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Test of the hypothesis that all conditions are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Omnibus {
    /// Welch's F.
    pub f: f64,
    /// Degrees of freedom of the numerator, k - 1.
    pub df1: f64,
    /// Degrees of freedom of the denominator.
    pub df2: f64,
    /// Probability that F is at least this large.
    pub p: f64,
}

/// Number, mean and variance of a condition.
type Moments = (f64, f64, f64);

/// Runs the test on logarithms.
pub(super) fn of_arms(arms: &[&Arm]) -> Option<Omnibus> {
    let moments = arms
        .iter()
        .map(|arm| Some((arm.n as f64, arm.mean, arm.variance?)));
    welch(&moments.collect::<Option<Vec<_>>>()?)
}

/// Runs the test on untransformed figures.
pub(super) fn of_figures(figures: &[Figure]) -> Option<Omnibus> {
    let moments = figures.iter().map(|figure| moments(&figure.sample));
    welch(&moments.collect::<Option<Vec<_>>>()?)
}

fn moments(sample: &Sample) -> Option<Moments> {
    match sample {
        Sample::Moments { n, mean, stdev } => Some((f64::from(*n), *mean, stdev.as_ref()?.powi(2))),
        Sample::Values { values, .. } => {
            let arm = Arm::of_logs(values.clone(), Vec::new(), Better::Higher).ok()?;
            Some((arm.n as f64, arm.mean, arm.variance?))
        }
    }
}

/// Computes Welch's test (1951): w = n/s^2, W their sum, m' the weighted mean, A = sum w (m - m')^2
/// / (k - 1), L = sum (1 - w/W)^2 / (n - 1), F = A / (1 + 2 (k - 2) L / (k^2 - 1)), df2 = (k^2 - 1)
/// / (3 L). `None` if a condition does not vary.
fn welch(conditions: &[Moments]) -> Option<Omnibus> {
    let k = conditions.len() as f64;
    if k < 2.0
        || conditions
            .iter()
            .any(|(n, _, variance)| *n < 2.0 || *variance <= 0.0)
    {
        return None;
    }
    let weights: Vec<f64> = conditions
        .iter()
        .map(|(n, _, variance)| n / variance)
        .collect();
    let total: f64 = weights.iter().sum();
    let weighted = || conditions.iter().zip(&weights);
    let centre = weighted().map(|((_, mean, _), w)| w * mean).sum::<f64>() / total;
    let spread = weighted()
        .map(|((_, mean, _), w)| w * (mean - centre).powi(2))
        .sum::<f64>();
    let lack: f64 = weighted()
        .map(|((n, _, _), w)| (1.0 - w / total).powi(2) / (n - 1.0))
        .sum();
    let f = spread / (k - 1.0) / (1.0 + 2.0 * (k - 2.0) * lack / (k * k - 1.0));
    let (df1, df2) = (k - 1.0, (k * k - 1.0) / (3.0 * lack));
    if !f.is_finite() || !df2.is_finite() {
        return None;
    }
    let p = FisherSnedecor::new(df1, df2).ok()?.sf(f);
    Some(Omnibus { f, df1, df2, p })
}

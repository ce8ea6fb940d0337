//! Variance between runs. Runs of one device differ by more than their trials do: the location of
//! the test file, the temperature and other work of the host belong to the run. The levels, trials
//! within runs, follow Kalibera and Jones, "Rigorous benchmarking in reasonable time" (2013).

use super::arm::Arm;
use super::estimate::{Linear, trigamma};
use crate::summary::{mean, median};
use assay_model::figures::{Better, Figure, Sample};
use statrs::function::gamma::digamma;
use std::collections::HashMap;

/// Part of the deviation of a run that is proportional to the deviation of its trials. Like
/// [`LEAST`], calibrated on runs of real storage (docs/verdicts.md, "Runs made apart").
const SHARE: f64 = 0.5;

/// Deviation of a run whose trials do not vary, on the scale of logarithms.
const LEAST: f64 = 0.04;

/// Degrees of freedom of the prior if nothing else is known.
const PRIOR_DF: f64 = 5.0;

/// Scatter of the logarithms of variances around the prior, over kinds of storage.
const SCATTER: f64 = 1.0;

/// Minimum number of runs per side for their own variance to be a lower bound.
pub(super) const ENOUGH_RUNS: usize = 3;

/// Difference of neighbouring runs, in robust deviations, from which it counts as a change of the
/// series.
const CHANGE: f64 = 4.0;

/// Most earlier runs of a series that are used, the newest ones.
pub const MOST_RUNS: u32 = 60;

/// Variance of the mean of a run of one unchanged device, on the scale of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunVariance {
    /// Variance of a run of A and of B, including that of the trials.
    pub variances: [f64; 2],
    /// Degrees of freedom, the smaller of both sides.
    pub df: f64,
    /// Degrees of freedom from runs, without the prior.
    pub known: f64,
    /// Number of runs of A and of B.
    pub runs: [usize; 2],
    /// Number of earlier runs used for the estimate.
    pub earlier: usize,
}

/// Runs of one metric of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideRuns<'a> {
    /// The figure of each run.
    pub figures: &'a [Figure],
    /// `true` if the runs are of one unit, so that their spread is the variance between runs.
    pub of_one_unit: bool,
    /// Means of earlier runs of its series.
    pub earlier: &'a [f64],
}

impl RunVariance {
    /// Estimates the variance from the prior, earlier runs and the runs of each side; `None` if a
    /// figure has no logarithm.
    pub(crate) fn of(sides: [SideRuns<'_>; 2]) -> Option<Self> {
        let arm = |figure: &Figure| Arm::of(&figure.sample, Some(Better::Higher)).ok();
        let arms = |side: &SideRuns<'_>| side.figures.iter().map(arm).collect::<Option<Vec<Arm>>>();
        let [a, b] = [arms(&sides[0])?, arms(&sides[1])?];
        let prior = prior(a.iter().chain(&b));
        let of_a = of_side(prior, &a, &sides[0]);
        let of_b = of_side(prior, &b, &sides[1]);
        let less = if of_a.1 < of_b.1 { of_a.1 } else { of_b.1 };
        Some(Self {
            variances: [of_a.0, of_b.0],
            df: df_of(less),
            known: less,
            runs: [a.len(), b.len()],
            earlier: sides
                .map(|side| side.earlier.len())
                .into_iter()
                .max()
                .unwrap_or(0),
        })
    }

    /// Estimates the variance before further runs, from one run and earlier ones.
    pub fn of_one(run: &Figure, earlier: &Earlier) -> Option<Self> {
        let side = SideRuns {
            figures: std::slice::from_ref(run),
            of_one_unit: true,
            earlier: earlier.runs_of(run),
        };
        Self::of([side, side])
    }

    /// Returns the variance of the mean of metrics, which may be correlated between runs.
    pub(crate) fn of_composite(metrics: &[Self]) -> Option<Self> {
        let fewest = metrics.iter().min_by(|a, b| a.df.total_cmp(&b.df))?;
        let of_side = |side: usize| {
            let deviations = metrics.iter().map(|one| one.variances[side].sqrt());
            mean(&deviations.collect::<Vec<_>>()).powi(2)
        };
        Some(Self {
            variances: [0, 1].map(of_side),
            ..*fewest
        })
    }

    /// Returns the difference `d` with its standard error by the variance between runs.
    pub(crate) fn linear(&self, d: f64) -> Linear {
        let of = [0, 1].map(|side| self.variances[side] / self.runs[side] as f64);
        Linear {
            d,
            se: (of[0] + of[1]).sqrt(),
            df: self.df,
            s: self.deviation(),
            drift: None,
            unequal: false,
        }
    }

    /// Returns the degrees of freedom with `runs` runs per side.
    pub(crate) fn df_with(&self, runs: u32) -> f64 {
        let made = self.runs[0].min(self.runs[1]) as f64;
        df_of((self.known + f64::from(runs) - made).max(0.0))
    }

    /// Returns the standard deviation of a run, pooled over both sides, on the scale of logarithms.
    pub fn deviation(&self) -> f64 {
        f64::midpoint(self.variances[0], self.variances[1]).sqrt()
    }

    /// Returns the coefficient of variation of a run in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.deviation().powi(2).exp_m1().sqrt()
    }
}

/// Returns the variance of a run of a side, and the degrees of freedom from its runs. The variance
/// is the weighted mean, on the scale of logarithms, of the prior and the variance of the runs,
/// weighted by their precision (Smyth 2004); with enough runs it is never less than their own.
fn of_side(prior: f64, arms: &[Arm], side: &SideRuns<'_>) -> (f64, f64) {
    let means: Vec<f64> = arms.iter().map(|run| run.mean).collect();
    let own = match side.of_one_unit {
        true => of_runs(&means),
        false => (0.0, 0.0),
    };
    let before = of_neighbours(side.earlier);
    let (squares, df) = (own.0 + before.0, own.1 + before.1);
    // Runs without any spread have rounded values.
    if squares <= 0.0 {
        return (prior, 0.0);
    }
    let log = (squares / df).ln() - digamma(0.5 * df) + (0.5 * df).ln();
    let weight = weight_of(df);
    let moderated = ((prior.ln() + weight * log) / (1.0 + weight)).exp();
    let least = match means.len() >= ENOUGH_RUNS && own.1 > 0.0 {
        true => own.0 / own.1,
        false => 0.0,
    };
    (moderated.max(least), df)
}

/// Returns the weight of a variance with `df` degrees of freedom relative to the prior.
fn weight_of(df: f64) -> f64 {
    match df > 0.0 {
        true => SCATTER / trigamma(0.5 * df),
        false => 0.0,
    }
}

/// Returns the degrees of freedom of the prior combined with a variance that has `known`.
fn df_of(known: f64) -> f64 {
    PRIOR_DF / (1.0 + weight_of(known)) + known
}

/// Returns the variance of a run from the variance of its trials alone.
fn prior<'a>(runs: impl Iterator<Item = &'a Arm>) -> f64 {
    let (mut squares, mut df, mut shares) = (0.0, 0.0, Vec::new());
    for run in runs {
        shares.push((run.n as f64).recip());
        if let Some(variance) = run.variance {
            squares += variance * (run.n - 1) as f64;
            df += (run.n - 1) as f64;
        }
    }
    let within = if df > 0.0 { squares / df } else { 0.0 };
    LEAST * LEAST + SHARE * SHARE * within + within * mean(&shares)
}

/// Returns the sum of squares around the mean, and the degrees of freedom.
fn of_runs(means: &[f64]) -> (f64, f64) {
    let middle = mean(means);
    let squares = means.iter().map(|one| (one - middle).powi(2)).sum();
    (squares, means.len().saturating_sub(1) as f64)
}

/// Returns the sum of squares and degrees of freedom from the differences of neighbouring runs (von
/// Neumann 1941), which are two thirds as efficient as deviations from the mean. Changes of the
/// series are left out.
fn of_neighbours(runs: &[f64]) -> (f64, f64) {
    let differences = runs.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
    let differences: Vec<f64> = differences.collect();
    // The median of chi-squared with one degree of freedom is 0.455.
    let robust = median(&differences).unwrap_or(0.0) / 0.455;
    let usual = differences
        .iter()
        .filter(|square| **square <= CHANGE * CHANGE * robust);
    let (squares, number) = usual.fold((0.0, 0.0), |sum, square| (sum.0 + square, sum.1 + 1.0));
    (squares / 3.0, 2.0 / 3.0 * number)
}

/// Means of earlier runs of the series of compared figures, the oldest first, on the scale of
/// logarithms.
#[derive(Clone, Debug, Default)]
pub struct Earlier(HashMap<(String, String), Vec<f64>>);

impl Earlier {
    /// Adds the runs of a series, given as the values of their trials, the oldest first.
    pub fn add<'a>(
        &mut self,
        condition: &str,
        metric: &str,
        runs: impl Iterator<Item = &'a [f64]>,
    ) {
        let means = runs.filter_map(|values| {
            let sample = Sample::Values {
                values: values.to_vec(),
                positions: Vec::new(),
            };
            Some(Arm::of(&sample, Some(Better::Higher)).ok()?.mean)
        });
        let name = (condition.to_owned(), metric.to_owned());
        self.0.insert(name, means.collect());
    }

    /// Returns the means of the earlier runs of a figure's series.
    pub(crate) fn runs_of(&self, figure: &Figure) -> &[f64] {
        let name = (figure.condition.clone(), figure.metric.clone());
        self.0.get(&name).map_or(&[], Vec::as_slice)
    }
}

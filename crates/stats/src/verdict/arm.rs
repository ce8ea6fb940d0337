//! One side of a comparison, with its trials as logarithms, and the variance between its runs.
//!
//! Runs of one device differ by more than their trials do: the location of the test file, the
//! temperature and other work of the host belong to the run. The levels, trials within runs, follow
//! Kalibera and Jones, "Rigorous benchmarking in reasonable time" (2013).

use super::estimate::{Linear, trigamma};
use crate::summary::{mean, median, variance};
use assay_lang::tr;
use assay_model::figures::{Better, Figure, Sample};
use statrs::function::gamma::digamma;
use std::collections::HashMap;
use std::fmt;
use std::fmt::{Display, Formatter};

/// Trials of one metric under one condition on the scale of comparison:
/// y = ln(x), or -ln(x) where less is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Value per trial; empty when only a summary is known.
    pub y: Vec<f64>,
    /// Position of each trial in the session; empty when unknown.
    pub positions: Vec<f64>,
    /// Number of trials.
    pub n: usize,
    /// Mean of y.
    pub mean: f64,
    /// Variance of y (divisor n - 1); `None` below two trials, or when the source does not contain
    /// it.
    pub variance: Option<f64>,
    /// Geometric mean in the metric's unit; for a summary its arithmetic mean.
    pub centre: f64,
    /// Direction in which the quantity is better; a larger y is always better.
    pub better: Better,
}

/// Reasons why figures cannot be compared at all.
#[derive(Clone, Debug, PartialEq)]
pub enum ArmError {
    /// There is no trial.
    Empty,
    /// A value is not finite.
    NotFinite {
        /// Number of the trial, from 1.
        trial: usize,
        /// Offending value.
        value: f64,
    },
    /// A value is not positive; ratios need positive values.
    NotPositive {
        /// Number of the trial, from 1.
        trial: usize,
        /// Offending value.
        value: f64,
    },
    /// The mean of a summary is not positive or not finite.
    BadMean(f64),
    /// The deviation of a summary is invalid.
    BadDeviation(f64),
    /// The direction in which the quantity is better is not known.
    NoDirection,
}

impl Display for ArmError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&match *self {
            Self::Empty => tr!("there is no trial").to_owned(),
            Self::NotFinite { trial, value } => {
                tr!("trial {trial} is {value}, which is not a finite number", trial, value)
            }
            Self::NotPositive { trial, value } => tr!(
                "trial {trial} is {value}: ratios need values above 0; compare a count of failures instead",
                trial,
                value
            ),
            Self::BadMean(mean) => {
                tr!("the mean is {mean}: ratios need a finite mean above 0", mean)
            }
            Self::BadDeviation(deviation) => tr!(
                "the standard deviation is {deviation}: it must be a finite number, 0 or more",
                deviation
            ),
            Self::NoDirection => tr!("it is not known whether more or less is better").to_owned(),
        })
    }
}

impl std::error::Error for ArmError {}

impl Arm {
    /// Takes the logarithms of a sample.
    ///
    /// For a summary only the arithmetic mean m and the deviation s are known. The variance of the
    /// logarithms is that of a lognormal quantity, ln(1 + (s/m)^2). Their mean is taken as ln(m),
    /// so a comparison of summaries compares arithmetic means. (The lognormal ln(m) - var/2 would
    /// turn a difference in spread into one in speed, based on the deviation of only three trials;
    /// the reference tables use ln(m), too.)
    ///
    /// Positions are treated as unknown if their number differs from that of the trials, or if one
    /// is not finite.
    ///
    /// # Errors
    /// When a logarithm does not exist or the direction is not known.
    pub fn of(sample: &Sample, better: Option<Better>) -> Result<Self, ArmError> {
        let better = better.ok_or(ArmError::NoDirection)?;
        match sample {
            Sample::Values { values, positions } => Self::of_values(values, positions, better),
            Sample::Moments { n, mean, stdev } => Self::of_moments(*n, *mean, *stdev, better),
        }
    }

    fn of_values(values: &[f64], positions: &[f64], better: Better) -> Result<Self, ArmError> {
        for (i, &value) in values.iter().enumerate() {
            let trial = i + 1;
            if !value.is_finite() {
                return Err(ArmError::NotFinite { trial, value });
            }
            if value <= 0.0 {
                return Err(ArmError::NotPositive { trial, value });
            }
        }
        let known = positions.len() == values.len() && positions.iter().all(|p| p.is_finite());
        let positions = if known {
            positions.to_vec()
        } else {
            Vec::new()
        };
        let y = values.iter().map(|x| better.sign() * x.ln()).collect();
        Self::of_logs(y, positions, better)
    }

    /// Creates an arm from values on the scale of comparison.
    ///
    /// # Errors
    /// When there are no values.
    pub fn of_logs(y: Vec<f64>, positions: Vec<f64>, better: Better) -> Result<Self, ArmError> {
        if y.is_empty() {
            return Err(ArmError::Empty);
        }
        let mean = mean(&y);
        Ok(Self {
            n: y.len(),
            mean,
            variance: variance(&y, mean),
            centre: (better.sign() * mean).exp(),
            y,
            positions,
            better,
        })
    }

    fn of_moments(n: u32, mean: f64, stdev: Option<f64>, better: Better) -> Result<Self, ArmError> {
        if n == 0 {
            return Err(ArmError::Empty);
        }
        if !mean.is_finite() || mean <= 0.0 {
            return Err(ArmError::BadMean(mean));
        }
        if let Some(stdev) = stdev.filter(|s| !s.is_finite() || *s < 0.0) {
            return Err(ArmError::BadDeviation(stdev));
        }
        // A single trial has no deviation, even if the source contains one.
        let stdev = stdev.filter(|_| n >= 2);
        Ok(Self {
            y: Vec::new(),
            positions: Vec::new(),
            n: n as usize,
            mean: better.sign() * mean.ln(),
            variance: stdev
                .map(|s| (s / mean).powi(2).ln_1p())
                .filter(|v| v.is_finite()),
            centre: mean,
            better,
        })
    }

    /// Returns the arm without trial `index`; `None` if trials are not known individually or it is
    /// the only one.
    pub fn without(&self, index: usize) -> Option<Self> {
        if index >= self.y.len() {
            return None;
        }
        let mut y = self.y.clone();
        y.remove(index);
        let mut positions = self.positions.clone();
        if index < positions.len() {
            positions.remove(index);
        }
        let mut arm = Self::of_logs(y, positions, self.better).ok()?;
        arm.centre = self.centre;
        Some(arm)
    }

    /// Returns the coefficient of variation, sqrt(exp(variance) - 1).
    pub fn cv(&self) -> Option<f64> {
        let cv = self.variance?.exp_m1().sqrt();
        cv.is_finite().then_some(cv)
    }
}

/// Part of the deviation of a run that is proportional to the deviation of its trials. Like
/// [`LEAST`], calibrated on runs of real storage (docs/verdicts.md, "Runs made apart").
const SHARE: f64 = 0.5;

/// Deviation of a run whose trials do not vary, on the scale of logarithms.
const LEAST: f64 = 0.04;

/// Degrees of freedom of the prior if nothing else is known.
const PRIOR_DF: f64 = 5.0;

/// Scatter of the logarithms of variances around the prior, over kinds of storage.
const SCATTER: f64 = 1.0;

/// Number of runs of a side from which their own variance is a lower bound.
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

    /// Returns the difference `d` with an error between runs.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[f64]) -> Sample {
        Sample::Values {
            values: values.to_vec(),
            positions: Vec::new(),
        }
    }

    #[test]
    fn less_is_better_turns_the_sign() {
        let sample = values(&[1.0, 4.0]);
        let rate = Arm::of(&sample, Some(Better::Higher)).unwrap();
        let time = Arm::of(&sample, Some(Better::Lower)).unwrap();
        assert!((rate.mean - 2f64.ln()).abs() < 1e-12);
        assert!((time.mean + 2f64.ln()).abs() < 1e-12);
        assert!((rate.centre - 2.0).abs() < 1e-12 && (time.centre - 2.0).abs() < 1e-12);
        assert_eq!(rate.variance, time.variance);
    }

    #[test]
    fn what_has_no_logarithm_says_where() {
        let error = |sample: &Sample| Arm::of(sample, Some(Better::Higher)).unwrap_err();
        assert_eq!(error(&values(&[])), ArmError::Empty);
        assert!(
            error(&values(&[1.0, 0.0]))
                .to_string()
                .starts_with("trial 2 is 0")
        );
        assert!(matches!(
            error(&values(&[-1.0])),
            ArmError::NotPositive { .. }
        ));
        assert!(matches!(
            error(&values(&[f64::NAN])),
            ArmError::NotFinite { trial: 1, .. }
        ));
        let moments = |n, mean, stdev| Sample::Moments { n, mean, stdev };
        assert_eq!(error(&moments(0, 1.0, None)), ArmError::Empty);
        assert_eq!(error(&moments(3, 0.0, None)), ArmError::BadMean(0.0));
        assert_eq!(
            error(&moments(3, 1.0, Some(-1.0))),
            ArmError::BadDeviation(-1.0)
        );
        assert_eq!(Arm::of(&values(&[1.0]), None), Err(ArmError::NoDirection));
    }

    #[test]
    fn one_trial_has_no_variance() {
        let one = Arm::of(&values(&[5.0]), Some(Better::Higher)).unwrap();
        assert_eq!(one.variance, None);
        let told = Sample::Moments {
            n: 1,
            mean: 5.0,
            stdev: Some(0.0),
        };
        assert_eq!(Arm::of(&told, Some(Better::Higher)).unwrap().variance, None);
    }

    #[test]
    fn positions_that_do_not_fit_are_unknown() {
        let sample = Sample::Values {
            values: vec![1.0, 2.0],
            positions: vec![0.0],
        };
        assert!(
            Arm::of(&sample, Some(Better::Higher))
                .unwrap()
                .positions
                .is_empty()
        );
    }
}

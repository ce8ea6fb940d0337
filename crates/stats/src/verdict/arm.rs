//! One side of a comparison, with its trials as logarithms.

use crate::summary::{mean, variance};
use assay_lang::tr;
use assay_model::figures::{Better, Sample};
use std::fmt::{self, Display, Formatter};

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

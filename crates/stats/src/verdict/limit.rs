//! A figure against a limit: pass, fail or open, by the bound of its interval that decides.

use super::arm::Arm;
use super::between::RunVariance;
use super::judge::Qualification;
use crate::distributions::student_quantile;
use assay_model::figures::{Better, Figure};

/// Least or largest value that a figure may have, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
}

/// Figure with its interval, and the decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedFigure {
    /// Geometric mean of the trials.
    pub centre: f64,
    /// One-sided bounds, each wrong with the probability `alpha`.
    pub interval: (f64, f64),
    /// Pass if the whole interval is within the limit, fail if all of it is beyond.
    pub decision: Qualification,
}

/// Checks a figure against a limit. The error of a run is that between runs of its device
/// (`between`), which includes that of its trials; without runs it is that of the trials alone.
/// Returns `None` if the values have no logarithms, and for one trial, which has no spread.
pub fn check(
    figure: &Figure,
    between: Option<&RunVariance>,
    limit: Limit,
    alpha: f64,
) -> Option<CheckedFigure> {
    let arm = Arm::of(&figure.sample, Some(Better::Higher)).ok()?;
    let variance = arm.variance?;
    let (error, df) = match between {
        Some(between) => (between.deviation(), between.df),
        None => ((variance / arm.n as f64).sqrt(), (arm.n - 1) as f64),
    };
    let reach = match error > 0.0 {
        true => student_quantile(alpha, df) * error,
        // Values of a model have no error.
        false => 0.0,
    };
    let (low, high) = ((arm.mean - reach).exp(), (arm.mean + reach).exp());
    let decision = match limit {
        Limit::AtLeast(least) if low >= least => Qualification::Pass,
        Limit::AtLeast(least) if high < least => Qualification::Fail,
        Limit::AtMost(most) if high <= most => Qualification::Pass,
        Limit::AtMost(most) if low > most => Qualification::Fail,
        Limit::AtLeast(_) | Limit::AtMost(_) => Qualification::Inconclusive,
    };
    Some(CheckedFigure {
        centre: arm.mean.exp(),
        interval: (low, high),
        decision,
    })
}

#[cfg(test)]
mod tests {
    use super::super::between::Earlier;
    use super::*;
    use assay_model::figures::Sample;

    fn figure(values: &[f64]) -> Figure {
        Figure {
            condition: String::new(),
            metric: "rand-read-4k: read_iops".to_owned(),
            unit: "IOPS".to_owned(),
            better: Some(Better::Higher),
            primary: true,
            sample: Sample::Values {
                values: values.to_vec(),
                positions: Vec::new(),
            },
            measured: Some("device".to_owned()),
            waited: None,
        }
    }

    #[test]
    fn the_bound_that_is_nearer_to_the_limit_decides() {
        let measured = figure(&[98.0, 100.0, 102.0, 100.0]);
        let of_trials = |limit| check(&measured, None, limit, 0.05).unwrap().decision;
        assert_eq!(of_trials(Limit::AtLeast(90.0)), Qualification::Pass);
        assert_eq!(of_trials(Limit::AtLeast(110.0)), Qualification::Fail);
        assert_eq!(
            of_trials(Limit::AtLeast(100.0)),
            Qualification::Inconclusive
        );
        assert_eq!(of_trials(Limit::AtMost(110.0)), Qualification::Pass);
        assert_eq!(of_trials(Limit::AtMost(90.0)), Qualification::Fail);
        assert_eq!(of_trials(Limit::AtMost(100.0)), Qualification::Inconclusive);
    }

    #[test]
    fn a_run_has_the_error_between_runs() {
        let measured = figure(&[98.0, 100.0, 102.0, 100.0]);
        let between = RunVariance::of_one(&measured, &Earlier::default()).unwrap();
        let check = |limit| check(&measured, Some(&between), limit, 0.05).unwrap();
        assert_eq!(
            check(Limit::AtLeast(97.0)).decision,
            Qualification::Inconclusive
        );
        assert_eq!(check(Limit::AtLeast(80.0)).decision, Qualification::Pass);
        let (low, high) = check(Limit::AtLeast(0.0)).interval;
        assert!(low < 95.0 && high > 105.0, "{low} {high}");
    }

    #[test]
    fn one_trial_decides_nothing() {
        let one = figure(&[5.0]);
        let between = RunVariance::of_one(&one, &Earlier::default()).unwrap();
        assert_eq!(check(&one, Some(&between), Limit::AtLeast(1.0), 0.05), None);
        assert_eq!(
            check(&figure(&[5.0]), None, Limit::AtLeast(1.0), 0.05),
            None
        );
        assert_eq!(
            check(&figure(&[0.0, 1.0]), None, Limit::AtLeast(1.0), 0.05),
            None
        );
    }
}

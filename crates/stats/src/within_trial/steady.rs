//! Steady-state check of a series.

use crate::distributions::student;
use crate::steps::segments;
use crate::within_trial::Window;

/// Largest drift over the windows of a steady series, as a share.
pub const TOLERANCE: f64 = 0.05;

/// Fewest windows for the check.
pub const MIN_WINDOWS: usize = 10;

/// Error of each of the two one-sided tests.
const TAIL: f64 = 0.05;

/// Result of the check on the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// Change from the first window to the last on the fitted line, as a share
    /// of the mean.
    pub drift: f64,
    /// Half of the width of the interval of `drift` (confidence 90 %).
    pub error: f64,
    /// `true` if the whole interval is within [`TOLERANCE`], and no level changed.
    pub steady: bool,
    /// `true` if SNIA's rule on the last five windows holds, which accepts drifts of 10 %.
    pub snia: bool,
}

/// Checks windows of equal bytes (or time), 10 to 30 of them. `None` with fewer than 10, or if
/// their mean is not positive.
pub fn steadiness(windows: &[f64]) -> Option<Steadiness> {
    if windows.len() < MIN_WINDOWS {
        return None;
    }
    let line = FittedLine::fit(windows)?;
    let df = windows.len() as f64 - 2.0;
    let drift = line.excursion / line.mean;
    let error = student::quantile(TAIL, df) * line.excursion_error / line.mean;
    Some(Steadiness {
        drift,
        error,
        steady: drift.abs() + error <= TOLERANCE && segments(windows).len() == 1,
        snia: Window::of(windows).is_some_and(|window| window.is_steady()),
    })
}

/// A straight line through equally spaced values.
struct FittedLine {
    mean: f64,
    /// Change of the line from the first to the last value.
    excursion: f64,
    /// Standard error of the change.
    excursion_error: f64,
}

impl FittedLine {
    fn fit(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let middle = (n - 1.0) / 2.0;
        let placed = || {
            values
                .iter()
                .enumerate()
                .map(|(i, y)| (i as f64 - middle, y - mean))
        };
        let squares: f64 = placed().map(|(x, _)| x * x).sum();
        let slope = placed().map(|(x, y)| x * y).sum::<f64>() / squares;
        let left: f64 = placed().map(|(x, y)| (y - slope * x).powi(2)).sum();
        let span = n - 1.0;
        let excursion_error = span * (left / (n - 2.0) / squares).sqrt();
        let usable = mean > 0.0 && mean.is_finite() && excursion_error.is_finite();
        usable.then_some(Self {
            mean,
            excursion: span * slope,
            excursion_error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(drift: f64, noise: f64) -> Vec<f64> {
        let of = |i: f64| 100.0 * (1.0 + drift * i / 19.0 + noise * (12.9898 * i).sin());
        (0..20).map(f64::from).map(of).collect()
    }

    #[test]
    fn little_drift_and_little_noise_are_steady() {
        let found = steadiness(&windows(0.01, 0.01)).unwrap();
        assert!(found.steady && found.snia, "{found:?}");
    }

    /// Neither drift nor ignorance passes; SNIA's rule lets the first one.
    #[test]
    fn drift_and_noise_are_not_steady() {
        let drifting = steadiness(&windows(0.10, 0.001)).unwrap();
        assert!(!drifting.steady && drifting.snia, "{drifting:?}");
        assert!((drifting.drift - 0.10 / 1.05).abs() < 2e-3);
        assert!(!steadiness(&windows(0.0, 0.15)).unwrap().steady);
    }

    #[test]
    fn a_cliff_is_not_steady() {
        let mut values = vec![100.0; 10];
        values.extend([97.0; 10]);
        let tent: Vec<f64> = values
            .iter()
            .enumerate()
            .map(|(i, v)| v + 0.01 * (i % 3) as f64)
            .collect();
        assert!(!steadiness(&tent).unwrap().steady);
    }

    #[test]
    fn what_tells_nothing_is_none() {
        assert_eq!(steadiness(&[1.0; 9]), None);
        assert_eq!(steadiness(&[0.0; 12]), None);
        assert_eq!(steadiness(&[f64::NAN; 12]), None);
    }
}

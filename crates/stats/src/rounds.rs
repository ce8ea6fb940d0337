//! Steady-state detection over rounds of the same load.

/// Number of rounds that are evaluated together.
pub const WINDOW: usize = 5;
/// Largest range of the rounds, as a share of their mean.
const RANGE: f64 = 0.20;
/// Largest rise or fall of their trend over the window, as a share of their mean.
const TREND: f64 = 0.10;

/// Evaluation of the last rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Mean of the rounds.
    pub mean: f64,
    /// Largest minus smallest round, divided by the mean.
    pub range: f64,
    /// Absolute change of the least-squares line from the first to the last round, divided by the
    /// mean.
    pub trend: f64,
}

impl Window {
    /// Evaluates the last [`WINDOW`] rounds; `None` if there are fewer, or if their mean is not
    /// positive.
    ///
    /// Source: SNIA Solid State Storage Performance Test Specification, steady
    /// state: over five rounds, the range is at most 20 % of the average, and
    /// the best linear fit changes by at most 10 % of it.
    ///
    /// ```
    /// use assay_stats::rounds::Window;
    /// let window = Window::of(&[90.0, 100.0, 100.0, 101.0, 99.0, 100.0]).unwrap();
    /// assert!(window.is_steady());
    /// assert!(!Window::of(&[100.0, 90.0, 80.0, 72.0, 65.0]).unwrap().is_steady());
    /// ```
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let last = rounds.last_chunk::<WINDOW>()?;
        let mean = last.iter().sum::<f64>() / WINDOW as f64;
        if mean <= 0.0 || !mean.is_finite() {
            return None;
        }
        let low = last.iter().copied().fold(f64::INFINITY, f64::min);
        let high = last.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Least squares over x = -2 .. 2: the sum of x^2 is 10.
        let moments = (-2_i32..).zip(last).map(|(x, y)| f64::from(x) * y);
        let slope = moments.sum::<f64>() / 10.0;
        Some(Self {
            mean,
            range: (high - low) / mean,
            trend: slope.abs() * (WINDOW - 1) as f64 / mean,
        })
    }

    /// `true` if both limits hold.
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE && self.trend <= TREND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_counts_as_well_as_a_range() {
        // Ranges by 16 %, but all in one direction: 4 x 4 % = 16 % > 10 %.
        let window = Window::of(&[92.0, 96.0, 100.0, 104.0, 108.0]).unwrap();
        assert!((window.range - 0.16).abs() < 1e-9 && (window.trend - 0.16).abs() < 1e-9);
        assert!(!window.is_steady());
        let window = Window::of(&[92.0, 108.0, 100.0, 92.0, 108.0]).unwrap();
        assert!(window.is_steady(), "{window:?}");
        let window = Window::of(&[85.0, 107.0, 100.0, 86.0, 106.0]).unwrap();
        assert!(!window.is_steady(), "ranges by more than 20 %: {window:?}");
    }

    #[test]
    fn four_rounds_are_too_few_and_nothing_is_no_speed() {
        assert_eq!(Window::of(&[1.0; 4]), None);
        assert_eq!(Window::of(&[0.0; 5]), None);
    }
}

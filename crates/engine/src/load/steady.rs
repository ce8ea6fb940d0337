//! Steady-state detection of a stream's figures (fio's `steadystate`).
//!
//! The figures of the last seconds form a window. They are steady if no figure in it is further
//! from the mean than the limit, or if the slope of the line through them is below the limit.

use assay_model::load::report::SteadyStateReached;
use assay_model::load::stats::{SteadyCriterion, SteadyState};
use std::collections::VecDeque;

/// Figures of one interval.
#[derive(Clone, Copy, Debug)]
struct IntervalFigures {
    iops: u64,
    bw: u64,
    lat_ns: u64,
}

/// Evaluation of the window, in the unit of the criterion's figure.
#[derive(Clone, Copy, Debug, Default)]
struct Judgement {
    mean: f64,
    /// Largest distance from the mean.
    deviation: f64,
    /// Slope of the line through the samples, per interval.
    slope: f64,
}

/// Watches the figures of a stream, or of all streams that report as one.
#[derive(Debug)]
pub(crate) struct SteadyWatch {
    asked: SteadyState,
    /// Number of samples in a window.
    window: usize,
    /// Number of samples to skip at the beginning.
    ramp_left: u64,
    samples: VecDeque<IntervalFigures>,
    /// Evaluation of the window, once it is full.
    judged: Option<Judgement>,
    attained: bool,
}

impl SteadyWatch {
    /// Creates a detector without samples.
    pub(crate) fn new(asked: &SteadyState) -> Self {
        let interval_ns = asked.interval.0.max(1);
        let window = (asked.duration.0 / interval_ns).max(1);
        Self {
            asked: *asked,
            window: usize::try_from(window).unwrap_or(usize::MAX),
            ramp_left: asked.ramp.0.div_ceil(interval_ns),
            samples: VecDeque::new(),
            judged: None,
            attained: false,
        }
    }

    /// Adds the figures of one interval: I/Os per second, bytes per second, mean latency. Returns
    /// true if the steady state is attained. From then on it always returns true, and the figures
    /// are kept.
    pub(crate) fn sample(&mut self, iops: u64, bw: u64, lat_ns: u64) -> bool {
        if self.attained {
            return true;
        }
        if self.ramp_left > 0 {
            self.ramp_left -= 1;
            return false;
        }
        if self.samples.len() == self.window {
            self.samples.pop_front();
        }
        self.samples.push_back(IntervalFigures { iops, bw, lat_ns });
        if self.samples.len() == self.window {
            let judged = judge(&self.figures());
            self.attained = self
                .compared(judged)
                .is_some_and(|value| value < self.asked.limit);
            self.judged = Some(judged);
        }
        self.attained
    }

    /// Returns the requested criterion and the measured figures. Value, deviation and slope are 0
    /// until the window is full; so is a percentage of zero.
    pub(crate) fn reached(&self) -> SteadyStateReached {
        let list = |figure: fn(&IntervalFigures) -> u64| self.samples.iter().map(figure).collect();
        let judged = self.judged.unwrap_or_default();
        SteadyStateReached {
            criterion: self.asked.criterion,
            limit: self.asked.limit,
            percent: self.asked.percent,
            duration_ns: self.asked.duration.0,
            attained: self.attained,
            value: self.judged.and_then(|j| self.compared(j)).unwrap_or(0.0),
            deviation: judged.deviation,
            slope: judged.slope,
            iops: list(|sample| sample.iops),
            bw: list(|sample| sample.bw),
            lat: list(|sample| sample.lat_ns),
        }
    }

    /// Returns the figures that the criterion uses, oldest first.
    fn figures(&self) -> Vec<f64> {
        let figure = |sample: &IntervalFigures| match self.asked.criterion {
            SteadyCriterion::Iops | SteadyCriterion::IopsSlope => sample.iops,
            SteadyCriterion::Bw | SteadyCriterion::BwSlope => sample.bw,
            SteadyCriterion::Lat | SteadyCriterion::LatSlope => sample.lat_ns,
        };
        // Exact below 2^53: a petabyte per second, a hundred days of latency.
        self.samples.iter().map(|s| figure(s) as f64).collect()
    }

    /// Returns the value to compare with the limit: an absolute value, or a percentage of the mean
    /// if requested. `None` for a percentage of zero: a device without progress is not in a steady
    /// state.
    fn compared(&self, judged: Judgement) -> Option<f64> {
        let value = match self.asked.criterion {
            SteadyCriterion::Iops | SteadyCriterion::Bw | SteadyCriterion::Lat => judged.deviation,
            SteadyCriterion::IopsSlope | SteadyCriterion::BwSlope | SteadyCriterion::LatSlope => {
                judged.slope.abs()
            }
        };
        if !self.asked.percent {
            return Some(value);
        }
        (judged.mean > 0.0).then(|| 100.0 * value / judged.mean)
    }
}

/// Returns the mean, largest deviation and slope of equally spaced values.
///
/// The slope is that of ordinary least squares with x = 0, 1, 2...: the sum of
/// (x - mean x)(y - mean y), divided by the sum of (x - mean x)^2. One value
/// has slope 0.
fn judge(values: &[f64]) -> Judgement {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let mut deviation = 0.0_f64;
    let (mut products, mut squares) = (0.0, 0.0);
    for (x, value) in values.iter().enumerate() {
        let x = x as f64 - middle;
        deviation = deviation.max((value - mean).abs());
        products += x * (value - mean);
        squares += x * x;
    }
    Judgement {
        mean,
        deviation,
        slope: if squares > 0.0 {
            products / squares
        } else {
            0.0
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;
    use proptest::prelude::*;

    fn asked(criterion: SteadyCriterion, limit: f64, percent: bool) -> SteadyState {
        SteadyState {
            criterion,
            limit,
            percent,
            duration: Nanos::secs(5),
            ramp: Nanos(0),
            interval: Nanos::secs(1),
        }
    }

    /// After which sample of IOPS the state was attained.
    fn attained_after(asked: &SteadyState, iops: &[u64]) -> Option<usize> {
        let mut watch = SteadyWatch::new(asked);
        iops.iter()
            .position(|&iops| watch.sample(iops, 4096 * iops, 1_000))
    }

    #[test]
    fn the_slope_of_a_line_is_its_own_and_falls_are_negative() {
        let judged = judge(&[10.0, 13.0, 16.0, 19.0]);
        assert!((judged.slope - 3.0).abs() < 1e-12);
        assert!((judged.mean - 14.5).abs() < 1e-12);
        assert!((judged.deviation - 4.5).abs() < 1e-12);
        assert!((judge(&[19.0, 16.0, 13.0]).slope + 3.0).abs() < 1e-12);
        assert!(judge(&[7.0]).slope.abs() < 1e-12);
    }

    /// Worked by hand: x = 0..4, y = 3, 1, 4, 1, 5; slope = 4 / 10.
    #[test]
    fn the_slope_of_scattered_values_is_that_of_least_squares() {
        assert!((judge(&[3.0, 1.0, 4.0, 1.0, 5.0]).slope - 0.4).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_attained_before_the_window_is_full() {
        let asked = asked(SteadyCriterion::Iops, 10.0, true);
        assert_eq!(attained_after(&asked, &[100; 4]), None);
        assert_eq!(attained_after(&asked, &[100; 9]), Some(4));
    }

    #[test]
    fn the_ramp_is_left_out() {
        let mut asked = asked(SteadyCriterion::Iops, 10.0, true);
        asked.ramp = Nanos::millis(2_500);
        let figures = [1, 1, 1, 100, 100, 100, 100, 100];
        assert_eq!(attained_after(&asked, &figures), Some(7));
    }

    #[test]
    fn a_deviation_leaves_with_its_sample() {
        let asked = asked(SteadyCriterion::Iops, 5.0, false);
        let figures = [100, 150, 100, 100, 100, 100, 100];
        assert_eq!(attained_after(&asked, &figures), Some(6));
    }

    #[test]
    fn the_limit_itself_is_not_below_the_limit() {
        let figures = [90, 110, 100, 100, 100];
        let absolute = |limit| asked(SteadyCriterion::Iops, limit, false);
        assert_eq!(attained_after(&absolute(10.0), &figures), None);
        assert_eq!(attained_after(&absolute(10.1), &figures), Some(4));
        let percent = |limit| asked(SteadyCriterion::Iops, limit, true);
        assert_eq!(attained_after(&percent(10.0), &figures), None);
    }

    #[test]
    fn a_fall_is_as_steep_as_a_rise() {
        let slope = asked(SteadyCriterion::IopsSlope, 5.0, false);
        assert_eq!(attained_after(&slope, &[100, 90, 80, 70, 60]), None);
        assert_eq!(attained_after(&slope, &[100, 96, 92, 88, 84]), Some(4));
    }

    #[test]
    fn a_device_that_stands_still_is_not_steady() {
        let percent = asked(SteadyCriterion::Iops, 10.0, true);
        assert_eq!(attained_after(&percent, &[0; 20]), None);
    }

    #[test]
    fn each_criterion_looks_at_its_own_figure() {
        use SteadyCriterion::{Bw, BwSlope, Iops, IopsSlope, Lat, LatSlope};
        let steady_in = |criterion| {
            let mut watch = SteadyWatch::new(&asked(criterion, 1.0, true));
            let attained: Vec<bool> = (1..=5).map(|n| watch.sample(n, 100, n * n)).collect();
            attained[4]
        };
        for wanders in [Iops, IopsSlope, Lat, LatSlope] {
            assert!(!steady_in(wanders), "{wanders:?}");
        }
        for stays in [Bw, BwSlope] {
            assert!(steady_in(stays), "{stays:?}");
        }
    }

    #[test]
    fn what_was_seen_is_kept_once_attained() {
        let mut watch = SteadyWatch::new(&asked(SteadyCriterion::Iops, 10.0, true));
        assert!(watch.reached().value.abs() < 1e-12);
        for iops in [95, 100, 105, 100, 100] {
            watch.sample(iops, 1, 1);
        }
        assert!(watch.sample(9_999, 1, 1));
        let reached = watch.reached();
        assert!(reached.attained);
        assert_eq!(reached.iops, [95, 100, 105, 100, 100]);
        assert!((reached.value - 5.0).abs() < 1e-9, "{}", reached.value);
        assert!((reached.deviation - 5.0).abs() < 1e-9);
    }

    proptest! {
        /// The textbook's other form: (sum xy - sum x sum y / n) / (sum x^2 -
        /// (sum x)^2 / n).
        #[test]
        fn the_slope_agrees_with_the_sums(values in prop::collection::vec(0..1_000_000_u32, 2..50)) {
            let y: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let n = y.len() as f64;
            let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
                y.iter().enumerate().map(|(x, &y)| term(x as f64, y)).sum()
            };
            let (x, xx, xy) = (sum(&|x, _| x), sum(&|x, _| x * x), sum(&|x, y| x * y));
            let expected = (xy - x * sum(&|_, y| y) / n) / (xx - x * x / n);
            prop_assert!((judge(&y).slope - expected).abs() <= 1e-6 * (1.0 + expected.abs()));
        }
    }
}

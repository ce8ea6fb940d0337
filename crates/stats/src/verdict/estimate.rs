//! The difference of two arms by least squares: with the position in the
//! session as a second variable where it is known, Welch's otherwise.

use super::arm::Arm;
use super::judge::Margin;
use crate::distributions::{range, student};
use crate::summary::mean;
use assay_lang::tr;
use std::fmt::{self, Display, Formatter};

/// A tested difference, however it was estimated. Positive: B is better.
pub trait Difference {
    /// The estimate, on the scale of logarithms.
    fn d(&self) -> f64;
    /// Interval of confidence 1 - `alpha`; `None` when these trials have none.
    fn interval(&self, alpha: f64) -> Option<(f64, f64)>;
    /// Two-sided p value of "there is no difference".
    fn p_difference(&self) -> f64;
    /// Interval that excludes 0 where [`Self::p_difference`] is at most `alpha`.
    fn interval_of_difference(&self, alpha: f64) -> Option<(f64, f64)> {
        self.interval(alpha)
    }
    /// p value of "it is not within `margin`": the larger one of two one-sided tests
    /// (Schuirmann 1987).
    fn p_equivalence(&self, margin: Margin) -> f64;
}

/// A normal theory estimate: with a drift by least squares of y ~ 1 + arm +
/// position, without one of means (Welch 1947).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// Difference.
    pub d: f64,
    /// Standard error of the difference.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Standard deviation of one trial.
    pub s: f64,
    /// Drift during the session, if positions are known.
    pub drift: Option<Drift>,
}

/// Drift over the session, of speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change of y per position.
    pub slope: f64,
    /// Standard error of the slope.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Positions from the first trial to the last.
    pub span: f64,
}

impl Drift {
    /// Change over the whole session, on the scale of logarithms.
    pub fn total(&self) -> f64 {
        self.slope * self.span
    }

    /// Interval of confidence 1 - `alpha` of [`Self::total`].
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = student::quantile(alpha / 2.0, self.df) * self.se * self.span;
        (self.total() - half, self.total() + half)
    }
}

/// Why there is no estimate with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEstimate {
    /// A single trial.
    OneTrial,
    /// A mean without a deviation.
    SpreadUnknown,
    /// Identical values throughout.
    NoSpread,
}

impl Display for NoEstimate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneTrial => {
                tr!("a single trial has no spread: nothing tells a difference from chance")
            }
            Self::SpreadUnknown => {
                tr!("the spread of the trials was not handed down with their mean")
            }
            Self::NoSpread => tr!(
                "all trials of a side gave the same figure, so their spread is hidden by rounding: record more digits"
            ),
        })
    }
}

impl std::error::Error for NoEstimate {}

impl Linear {
    /// Estimates the difference of two arms; positions are used if both have them.
    ///
    /// # Errors
    /// If an arm has no variance, or neither varies.
    pub fn of(a: &Arm, b: &Arm) -> Result<Self, NoEstimate> {
        let (variance_a, variance_b) = (variance(a)?, variance(b)?);
        let found = PositionSums::of(a, b).and_then(|order| order.fit(a, b));
        let linear = found.unwrap_or_else(|| welch(a, b, variance_a, variance_b));
        linear.checked(a, b)
    }

    /// A spread of nothing but rounding errors is none: it would give certainty
    /// out of figures that were printed with few digits.
    fn checked(self, a: &Arm, b: &Arm) -> Result<Self, NoEstimate> {
        let scale = 1.0 + a.mean.abs() + b.mean.abs();
        if self.se.is_finite() && self.df.is_finite() && self.s > 1e-10 * scale {
            Ok(self)
        } else {
            Err(NoEstimate::NoSpread)
        }
    }
}

impl Difference for Linear {
    fn d(&self) -> f64 {
        self.d
    }

    fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let half = student::quantile(alpha / 2.0, self.df) * self.se;
        half.is_finite().then_some((self.d - half, self.d + half))
    }

    fn p_difference(&self) -> f64 {
        student::two_sided(self.d / self.se, self.df)
    }

    fn p_equivalence(&self, margin: Margin) -> f64 {
        let room = (margin.high - self.d).min(self.d - margin.low);
        student::upper_tail(room / self.se, self.df)
    }
}

/// A difference of two of several conditions, tested among all their pairs: q = sqrt(2) |t| of
/// Welch against the studentized range of the means (Games and Howell 1976).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmongAll {
    /// Difference by Welch.
    pub linear: Linear,
    /// Number of conditions.
    pub conditions: usize,
}

impl AmongAll {
    /// Two-sided p value of "there is no difference".
    pub fn p_difference(&self) -> f64 {
        let q = std::f64::consts::SQRT_2 * self.linear.d.abs() / self.linear.se;
        range::upper_tail(q, self.conditions, self.linear.df)
    }

    /// Interval of the differences of all pairs together, of confidence 1 - `alpha`.
    pub fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let Linear { d, se, df, .. } = self.linear;
        let half = range::quantile(alpha, self.conditions, df) * se / std::f64::consts::SQRT_2;
        half.is_finite().then_some((d - half, d + half))
    }
}

fn variance(arm: &Arm) -> Result<f64, NoEstimate> {
    let missing = if arm.n < 2 {
        NoEstimate::OneTrial
    } else {
        NoEstimate::SpreadUnknown
    };
    arm.variance.ok_or(missing)
}

/// se^2 = s_a^2/n_a + s_b^2/n_b with the degrees of freedom of Welch and
/// Satterthwaite.
fn welch(a: &Arm, b: &Arm, variance_a: f64, variance_b: f64) -> Linear {
    let (part_a, part_b) = (variance_a / a.n as f64, variance_b / b.n as f64);
    let squared = part_a + part_b;
    let df =
        squared.powi(2) / (part_a.powi(2) / (a.n - 1) as f64 + part_b.powi(2) / (b.n - 1) as f64);
    Linear {
        d: b.mean - a.mean,
        se: squared.sqrt(),
        df,
        s: f64::midpoint(variance_a, variance_b).sqrt(),
        drift: None,
    }
}

/// Sums of squares and products of arm g (0 or 1) and position t, centred.
struct PositionSums {
    mean_g: f64,
    mean_t: f64,
    gg: f64,
    tt: f64,
    gt: f64,
    span: f64,
}

impl PositionSums {
    /// `None` when the order is not known: a place is missing, or one was
    /// taken twice, so the arms were not run in one session.
    fn of(a: &Arm, b: &Arm) -> Option<Self> {
        if !in_one_session(a, b) {
            return None;
        }
        let (n_a, n_b) = (a.n as f64, b.n as f64);
        let n = n_a + n_b;
        let all: Vec<f64> = a.positions.iter().chain(&b.positions).copied().collect();
        let mean_t = mean(&all);
        let tt: f64 = all.iter().map(|t| (t - mean_t).powi(2)).sum();
        let gt = n_b * (mean(&b.positions) - mean_t);
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (gg, span) = (n_a * n_b / n, high - low);
        let mean_g = n_b / n;
        (n > 3.0 && tt.is_finite() && tt > 0.0).then_some(Self {
            mean_g,
            mean_t,
            gg,
            tt,
            gt,
            span,
        })
    }

    /// Ordinary least squares of y ~ 1 + g + t: s^2 is the sum of squared
    /// residuals over n - 3, se = s / sqrt(what t leaves of g).
    fn fit(&self, a: &Arm, b: &Arm) -> Option<Linear> {
        let left_of_g = self.gg - self.gt * self.gt / self.tt;
        let left_of_t = self.tt - self.gt * self.gt / self.gg;
        if left_of_g <= 1e-9 * self.gg {
            return None;
        }
        let n = (a.n + b.n) as f64;
        let mean_y = (a.mean * a.n as f64 + b.mean * b.n as f64) / n;
        let gy = self.gg * (b.mean - a.mean);
        let ty: f64 = trials(a, b)
            .map(|(_, t, y)| (t - self.mean_t) * (y - mean_y))
            .sum();
        let d = (gy - self.gt * ty / self.tt) / left_of_g;
        let slope = (ty - self.gt * d) / self.tt;
        let residual = |(g, t, y): (f64, f64, f64)| {
            y - mean_y - d * (g - self.mean_g) - slope * (t - self.mean_t)
        };
        let squares: f64 = trials(a, b).map(|trial| residual(trial).powi(2)).sum();
        let df = n - 3.0;
        let s = (squares / df).sqrt();
        Some(Linear {
            d,
            se: s / left_of_g.sqrt(),
            df,
            s,
            drift: Some(Drift {
                slope,
                se: s / left_of_t.sqrt(),
                df,
                span: self.span,
            }),
        })
    }
}

/// Arm, position and value of each trial.
fn trials<'a>(a: &'a Arm, b: &'a Arm) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
    let of = |arm: &'a Arm, g: f64| {
        let pairs = arm.positions.iter().zip(&arm.y);
        pairs.map(move |(&t, &y)| (g, t, y))
    };
    of(a, 0.0).chain(of(b, 1.0))
}

/// Returns true if the positions of all trials are known and no two are the same.
pub fn in_one_session(a: &Arm, b: &Arm) -> bool {
    if a.positions.is_empty() || b.positions.is_empty() {
        return false;
    }
    let mut all: Vec<f64> = a.positions.iter().chain(&b.positions).copied().collect();
    all.sort_by(f64::total_cmp);
    all.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::figures::Better;

    fn arm(y: &[f64], positions: &[f64]) -> Arm {
        Arm::of_logs(y.to_vec(), positions.to_vec(), Better::Higher).unwrap()
    }

    fn near(found: f64, truth: f64) {
        assert!((found - truth).abs() < 1e-9, "{found} is not {truth}");
    }

    /// ABBA with a drift of .1 per position and a difference of .5.
    #[test]
    fn drift_is_taken_out_of_an_interleaved_comparison() {
        let noise = [0.01, -0.01, 0.01, -0.01];
        let a = arm(
            &[noise[0], 0.3 + noise[1], 0.4 + noise[2], 0.7 + noise[3]],
            &[0.0, 3.0, 4.0, 7.0],
        );
        let b = arm(&[0.6, 0.7, 1.0, 1.1], &[1.0, 2.0, 5.0, 6.0]);
        let linear = Linear::of(&a, &b).unwrap();
        assert!(linear.drift.is_some());
        near(linear.d, 0.5);
        near(linear.df, 5.0);
        let drift = linear.drift.unwrap();
        assert!((drift.total() - 0.7).abs() < 0.02);
        let welch = Linear::of(&arm(&a.y, &[]), &arm(&b.y, &[])).unwrap();
        assert!(welch.se > 10.0 * linear.se);
    }

    /// Fitted by hand: normal equations of a small unbalanced case.
    #[test]
    fn an_unbalanced_fit_leaves_residuals_orthogonal() {
        let a = arm(&[1.0, 1.3, 0.7], &[0.0, 4.0, 5.0]);
        let b = arm(&[2.0, 1.1], &[1.0, 2.0]);
        let linear = Linear::of(&a, &b).unwrap();
        let drift = linear.drift.unwrap();
        let free: Vec<_> = trials(&a, &b)
            .map(|(g, t, y)| (g, t, y - linear.d * g - drift.slope * t))
            .collect();
        let level = mean(&free.iter().map(|r| r.2).collect::<Vec<_>>());
        near(free.iter().map(|r| r.0 * (r.2 - level)).sum(), 0.0);
        near(free.iter().map(|r| r.1 * (r.2 - level)).sum(), 0.0);
    }

    #[test]
    fn places_taken_twice_are_not_of_one_session() {
        let a = arm(&[1.0, 1.1, 1.0], &[0.0, 1.0, 2.0]);
        assert!(Linear::of(&a, &a).unwrap().drift.is_none());
    }

    /// Deviations of .11 and .25, three and three: the parts need not vary alike.
    #[test]
    fn arms_need_not_vary_alike() {
        let of = |s: f64| arm(&[-s, 0.0, s], &[]);
        let linear = Linear::of(&of(0.11), &of(0.25)).unwrap();
        let (low, high) = linear.interval(0.05).unwrap();
        let percent = [low, high].map(|end| (100.0 * end.exp_m1()).round());
        assert_eq!(percent, [-41.0, 70.0]);
    }

    #[test]
    fn without_spread_there_is_no_estimate() {
        let same = arm(&[1.0; 4], &[]);
        assert_eq!(Linear::of(&same, &same), Err(NoEstimate::NoSpread));
        let one = arm(&[1.0], &[]);
        assert_eq!(Linear::of(&one, &same), Err(NoEstimate::OneTrial));
        // Drift that explains all leaves nothing either.
        let a = arm(&[0.0, 0.3, 0.4, 0.7], &[0.0, 3.0, 4.0, 7.0]);
        let b = arm(&[0.1, 0.2, 0.5, 0.6], &[1.0, 2.0, 5.0, 6.0]);
        assert_eq!(Linear::of(&a, &b), Err(NoEstimate::NoSpread));
    }
}

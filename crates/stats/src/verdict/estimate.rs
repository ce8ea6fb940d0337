//! Difference of two arms by least squares, with the position in the session as a second variable
//! if it is known. Arms whose order is not known, or whose spread clearly differs, have separate
//! variances, as in Welch's test.
//!
//! Variances of few trials are moderated by those of the other conditions and metrics: the
//! empirical Bayes method of limma (Smyth, "Linear models and empirical Bayes methods", 2004). The
//! model of a variance is that of the metric times a factor of the condition, apart from a scatter
//! common to all metrics and conditions.

use super::Margin;
use super::arm::Arm;
use crate::distributions;
use crate::distributions::root_from;
use crate::summary::{mean, median};
use assay_lang::tr;
use statrs::function::gamma::digamma;
use std::fmt;
use std::fmt::{Display, Formatter};

/// A tested difference, estimated by any method. A positive value means that B is better.
pub trait Difference {
    /// Returns the estimate, on the scale of logarithms.
    fn d(&self) -> f64;
    /// Returns the interval of confidence 1 - `alpha`; `None` if these trials have none.
    fn interval(&self, alpha: f64) -> Option<(f64, f64)>;
    /// Returns the two-sided p value of "there is no difference".
    fn p_difference(&self) -> f64;
    /// Returns an interval that excludes 0 if [`Self::p_difference`] is at most `alpha`.
    fn interval_of_difference(&self, alpha: f64) -> Option<(f64, f64)> {
        self.interval(alpha)
    }
    /// Returns the p value of "it is not within `margin`": the larger one of two one-sided tests
    /// (Schuirmann 1987).
    fn p_equivalence(&self, margin: Margin) -> f64;
}

/// A normal theory estimate: with a drift by least squares of y ~ 1 + arm + position, without a
/// drift by means (Welch 1947).
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
    /// `true` if the arms differ too much in number and spread for tests that assume equal spreads.
    pub unequal: bool,
}

/// Drift of speed over the session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change of y per position.
    pub slope: f64,
    /// Standard error of the slope.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Number of positions from the first trial to the last.
    pub span: f64,
}

impl Drift {
    /// Returns the change over the whole session, on the scale of logarithms.
    pub fn total(&self) -> f64 {
        self.slope * self.span
    }

    /// Returns the interval of confidence 1 - `alpha` of [`Self::total`].
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = distributions::student_quantile(alpha / 2.0, self.df) * self.se * self.span;
        (self.total() - half, self.total() + half)
    }
}

/// Reasons why there is no estimate with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEstimate {
    /// There is a single trial.
    OneTrial,
    /// There is a mean without a deviation.
    SpreadUnknown,
    /// All values are identical.
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
        Self::moderated(a, b, None)
    }

    /// Estimates the difference of two arms with variances that are moderated by those of other
    /// conditions.
    ///
    /// # Errors
    /// If an arm has no variance, or neither varies.
    pub fn moderated(a: &Arm, b: &Arm, priors: Option<&[Prior; 2]>) -> Result<Self, NoEstimate> {
        let variances = [variance(a)?, variance(b)?];
        let slope = Slope::of(a, b);
        let parts =
            [0, 1].map(|side| Part::of([a, b][side], variances[side], slope.as_ref(), side));
        let parts = match priors {
            Some([a, b]) => [parts[0].moderated(a), parts[1].moderated(b)],
            None => parts,
        };
        let (common, mut own) = (StandardError::common(&parts), StandardError::own(&parts));
        if let Some([a, b]) = priors {
            own.df = own.df.min(a.most_df.max(b.most_df));
        }
        let error = match slope.is_none() || priors.is_some() || own.is_wider_than(&common) {
            true => own,
            false => common,
        };
        let drift = slope.as_ref().map(|slope| slope.drift(&parts, error.df));
        let linear = Self {
            d: b.mean - a.mean - slope.map_or(0.0, |slope| slope.value * slope.apart),
            se: error.se,
            df: error.df,
            s: error.s,
            drift,
            unequal: are_unequal(parts),
        };
        linear.checked(a, b)
    }

    /// Rejects a spread that consists of rounding errors only: figures that were printed with few
    /// digits would give false certainty.
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
        let half = distributions::student_quantile(alpha / 2.0, self.df) * self.se;
        half.is_finite().then_some((self.d - half, self.d + half))
    }

    fn p_difference(&self) -> f64 {
        distributions::student_two_sided(self.d / self.se, self.df)
    }

    fn p_equivalence(&self, margin: Margin) -> f64 {
        let room = (margin.high - self.d).min(self.d - margin.low);
        distributions::student_upper_tail(room / self.se, self.df)
    }
}

/// Difference of two of several conditions, tested among all their pairs: q = sqrt(2) |t| of Welch
/// against the studentized range of the means (Games and Howell 1976).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmongAll {
    /// Difference by Welch.
    pub linear: Linear,
    /// Number of conditions.
    pub conditions: usize,
}

impl AmongAll {
    /// Returns the two-sided p value of "there is no difference".
    pub fn p_difference(&self) -> f64 {
        let q = std::f64::consts::SQRT_2 * self.linear.d.abs() / self.linear.se;
        distributions::upper_tail(q, self.conditions, self.linear.df)
    }

    /// Returns the simultaneous interval of the differences of all pairs, of confidence 1 -
    /// `alpha`.
    pub fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let Linear { d, se, df, .. } = self.linear;
        let half =
            distributions::quantile(alpha, self.conditions, df) * se / std::f64::consts::SQRT_2;
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

/// Common drift of the arms, by least squares of y ~ 1 + arm + position.
struct Slope {
    value: f64,
    /// Sums of squares of the positions of each arm around their mean.
    squares: [f64; 2],
    /// Mean position of B minus that of A.
    apart: f64,
    span: f64,
}

impl Slope {
    /// Fits the drift. `None` if the order is not known: a place is missing, or two trials have the
    /// same place, so the arms are from different sessions.
    fn of(a: &Arm, b: &Arm) -> Option<Self> {
        if a.n + b.n < 4 || !in_one_session(a, b) {
            return None;
        }
        let apart = mean(&b.positions) - mean(&a.positions);
        let sum = |arm: &Arm, of: fn(f64, f64) -> f64| {
            deviations(arm).map(|(t, y)| of(t, y)).sum::<f64>()
        };
        let squares = [a, b].map(|arm| sum(arm, |t, _| t * t));
        let products = sum(a, |t, y| t * y) + sum(b, |t, y| t * y);
        let within = squares[0] + squares[1];
        let ends = a.positions.iter().chain(&b.positions).copied();
        let low = ends.clone().fold(f64::INFINITY, f64::min);
        let between = apart * apart * (a.n * b.n) as f64 / (a.n + b.n) as f64;
        let separable = within.is_finite() && within > 1e-9 * (within + between);
        separable.then(|| Self {
            value: products / within,
            squares,
            apart,
            span: ends.fold(f64::NEG_INFINITY, f64::max) - low,
        })
    }

    fn drift(&self, parts: &[Part; 2], df: f64) -> Drift {
        let within = self.squares[0] + self.squares[1];
        let of_sides = parts.iter().zip(self.squares);
        let variance: f64 = of_sides
            .map(|(part, squares)| part.variance * squares)
            .sum();
        Drift {
            slope: self.value,
            se: variance.sqrt() / within,
            df,
            span: self.span,
        }
    }
}

/// Returns the deviations of an arm's positions and values from their means.
fn deviations(arm: &Arm) -> impl Iterator<Item = (f64, f64)> + '_ {
    let middle = mean(&arm.positions);
    let trials = arm.positions.iter().zip(&arm.y);
    trials.map(move |(t, y)| (t - middle, y - arm.mean))
}

/// Ratio of the intervals with separate variances and with a common one from which the arms count
/// as differing in spread. Found by simulation.
const WIDER: f64 = 1.1;

/// Ratio of the typical deviations of two arms from which ranks alone would be too optimistic.
/// Found by simulation.
const UNLIKE: f64 = 2.0;

/// Typical deviations ignore one in this many trials, those farthest from the centre; fewer trials
/// have none.
const FARTHEST: usize = 6;

/// Contribution of one arm to the error of the difference.
#[derive(Clone, Copy)]
struct Part {
    /// Variance of the arm's trials around the estimate.
    variance: f64,
    /// Variance without the trials that are farthest off, up to a factor.
    typical: f64,
    /// Degrees of freedom; the slope takes one from both arms together.
    df: f64,
    /// Factor from the variance of a trial to that of the difference.
    weight: f64,
}

impl Part {
    fn of(arm: &Arm, variance: f64, slope: Option<&Slope>, side: usize) -> Self {
        let n = arm.n as f64;
        let Some(slope) = slope else {
            return Self {
                variance,
                typical: typical(arm.y.clone()).unwrap_or(variance),
                df: n - 1.0,
                weight: n.recip(),
            };
        };
        let within = slope.squares[0] + slope.squares[1];
        let share = slope.squares[side] / within;
        let residuals: Vec<f64> = deviations(arm).map(|(t, y)| y - slope.value * t).collect();
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let df = n - 1.0 - share;
        Self {
            variance: squares / df,
            typical: typical(residuals).unwrap_or(squares / df),
            df,
            weight: n.recip() + slope.apart * slope.apart * share / within,
        }
    }

    fn moderated(self, prior: &Prior) -> Self {
        let (variance, df) = prior.moderate((self.variance, self.df));
        Self {
            variance,
            df,
            ..self
        }
    }
}

/// Returns the square of the mean deviation from the median without the trials that are farthest
/// off; `None` for too few values.
fn typical(values: Vec<f64>) -> Option<f64> {
    let centre = median(&values).filter(|_| values.len() >= FARTHEST)?;
    let mut off: Vec<f64> = values.into_iter().map(|y| (y - centre).abs()).collect();
    off.sort_unstable_by(f64::total_cmp);
    off.truncate(off.len() - off.len() / FARTHEST);
    Some(mean(&off).powi(2))
}

/// `true` if a test must not assume equal spreads of the arms.
fn are_unequal(parts: [Part; 2]) -> bool {
    let typical = parts.map(|part| Part {
        variance: part.typical,
        ..part
    });
    let ratio = (parts[0].typical / parts[1].typical).sqrt();
    let own = StandardError::own(&typical);
    ratio.max(ratio.recip()) > UNLIKE || own.is_wider_than(&StandardError::common(&typical))
}

/// Standard error of a difference.
struct StandardError {
    se: f64,
    df: f64,
    /// Standard deviation of a trial.
    s: f64,
}

impl StandardError {
    /// Returns the standard error with a common variance of both arms.
    fn common(parts: &[Part; 2]) -> Self {
        let df = parts[0].df + parts[1].df;
        let variance = parts
            .iter()
            .map(|part| part.df * part.variance)
            .sum::<f64>()
            / df;
        Self {
            se: (variance * (parts[0].weight + parts[1].weight)).sqrt(),
            df,
            s: variance.sqrt(),
        }
    }

    /// Returns the standard error with separate variances, and the degrees of freedom of Welch
    /// (1947) and Satterthwaite.
    fn own(parts: &[Part; 2]) -> Self {
        let of = parts.map(|part| part.weight * part.variance);
        let squared = of[0] + of[1];
        let df = squared.powi(2) / (of[0].powi(2) / parts[0].df + of[1].powi(2) / parts[1].df);
        Self {
            se: squared.sqrt(),
            df,
            s: f64::midpoint(parts[0].variance, parts[1].variance).sqrt(),
        }
    }

    /// `true` if the interval of 95 % is clearly wider than the other one.
    fn is_wider_than(&self, other: &Self) -> bool {
        let half = |error: &Self| distributions::student_quantile(0.025, error.df) * error.se;
        half(self) > WIDER * half(other)
    }
}

/// `true` if the positions of all trials are known and distinct.
pub fn in_one_session(a: &Arm, b: &Arm) -> bool {
    if a.positions.is_empty() || b.positions.is_empty() {
        return false;
    }
    let mut all: Vec<f64> = a.positions.iter().chain(&b.positions).copied().collect();
    all.sort_by(f64::total_cmp);
    all.windows(2).all(|pair| pair[0] < pair[1])
}

/// Fewest degrees of freedom of the scatter of variances for an estimate.
const FEWEST: f64 = 6.0;

/// Confidence of the upper bound that is used for the scatter.
const CONFIDENCE: f64 = 0.8;

/// Variance of a condition's trials with its degrees of freedom.
pub(crate) type Known = (f64, f64);

/// Prior variance of a condition's trials, estimated from other conditions and metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Variance of the metric, times the factor of the condition relative to the others on all
    /// metrics.
    pub variance: f64,
    /// Degrees of freedom that it contributes in addition to the condition's own; infinite if
    /// variances differ from it only by chance.
    pub df: f64,
    /// Most degrees of freedom of a moderated variance: those of the estimate of `variance`.
    pub most_df: f64,
}

impl Prior {
    /// Returns the priors of a table of variances, a row for each metric and a column for each
    /// condition; `None` if it is too small or has gaps.
    pub(crate) fn of_table(table: &[Vec<Known>]) -> Option<Vec<Vec<Self>>> {
        let columns = table.first()?.len();
        let is_known = |(variance, df): &Known| *variance > 0.0 && *df > 0.0;
        let is_full = |row: &Vec<Known>| row.len() == columns && row.iter().all(is_known);
        let df = prior_df(table).filter(|_| table.iter().all(is_full))?;
        let sum = |cells: &mut dyn Iterator<Item = Known>| {
            cells.fold((0.0, 0.0), |(squares, free), (variance, df)| {
                (squares + variance * df, free + df)
            })
        };
        let rows: Vec<Known> = table
            .iter()
            .map(|row| sum(&mut row.iter().copied()))
            .collect();
        let column = |at: usize| {
            let cells = table.iter().zip(&rows);
            let ratio = |(row, (squares, free)): (&Vec<Known>, &Known)| {
                (row[at].0 * free / squares, row[at].1)
            };
            sum(&mut cells.map(ratio))
        };
        let factors: Vec<Known> = (0..columns).map(column).collect();
        // Satterthwaite's degrees of freedom of a metric's variance: a condition with a large
        // variance dominates it.
        let shares = |row: &[Known]| {
            let shares = row.iter().zip(&factors);
            let shares = shares.map(|((_, df), factor)| (df * factor.0 / factor.1, *df));
            let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), (share, df)| {
                (sum + share, squares + share * share / df)
            });
            sum * sum / squares
        };
        let row = |(row, of_row): (&Vec<Known>, &Known)| {
            let of_row_df = shares(row);
            let prior = |factor: &Known| Self {
                variance: of_row.0 / of_row.1 * factor.0 / factor.1,
                df,
                most_df: (of_row_df.recip() + factor.1.recip()).recip(),
            };
            factors.iter().map(prior).collect()
        };
        Some(table.iter().zip(&rows).map(row).collect())
    }

    /// Returns the variance (d0 s0^2 + d s^2) / (d0 + d) with d0 + d degrees of freedom, never less
    /// than the condition's own: one condition may vary more than all others.
    pub(crate) fn moderate(&self, (variance, df): Known) -> Known {
        let share = match self.df.is_finite() {
            true => self.df / (self.df + df),
            false => 1.0,
        };
        let moderated = share * self.variance + (1.0 - share) * variance;
        (
            moderated.max(variance),
            (self.df + df).min(self.most_df.max(df)),
        )
    }
}

/// Returns d0 from the scatter of e = ln s^2 - digamma(d/2) + ln(d/2) around the means of its row
/// and its column, whose variance is trigamma(d/2) + trigamma(d0/2).
fn prior_df(table: &[Vec<Known>]) -> Option<f64> {
    let columns = table.first()?.len();
    let free = ((table.len() - 1) * columns.saturating_sub(1)) as f64;
    let chi =
        distributions::chi_squared_quantile(1.0 - CONFIDENCE, free).filter(|_| free >= FEWEST)?;
    let log = |&(variance, df): &Known| variance.ln() - digamma(0.5 * df) + (0.5 * df).ln();
    let logs: Vec<Vec<f64>> = table
        .iter()
        .map(|row| row.iter().map(log).collect())
        .collect();
    let of_rows: Vec<f64> = logs.iter().map(|row| mean(row)).collect();
    let of_column = |at: usize| {
        mean(
            &logs
                .iter()
                .filter_map(|row| row.get(at).copied())
                .collect::<Vec<_>>(),
        )
    };
    let of_columns: Vec<f64> = (0..columns).map(of_column).collect();
    let centre = mean(&of_rows);
    let mut squares = 0.0;
    for (row, of_row) in logs.iter().zip(&of_rows) {
        let off = row
            .iter()
            .zip(&of_columns)
            .map(|(e, of_column)| e - of_row - of_column + centre);
        squares += off.map(|off| off * off).sum::<f64>();
    }
    let sampling: Vec<f64> = table
        .iter()
        .flatten()
        .map(|(_, df)| trigamma(0.5 * df))
        .collect();
    let scatter = squares / chi - mean(&sampling);
    Some(match scatter > 0.0 {
        // Smyth's start value.
        true => 2.0 * root_from(0.5 + scatter.recip(), |x| scatter - trigamma(x)),
        false => f64::INFINITY,
    })
}

/// Second derivative of ln gamma, by recurrence and its asymptotic series (Abramowitz and Stegun
/// 6.4.6 and 6.4.12).
pub(crate) fn trigamma(x: f64) -> f64 {
    let (mut sum, mut x) = (0.0, x);
    while x < 8.0 {
        sum += x.powi(-2);
        x += 1.0;
    }
    let square = x.powi(-2);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0);
    sum + x.recip() + square * (0.5 + series / x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::figures::Better;

    /// Arm, position and value of each trial.
    fn trials(a: &Arm, b: &Arm) -> Vec<(f64, f64, f64)> {
        let of = |arm: &Arm, g: f64| -> Vec<_> {
            let trials = arm.positions.iter().zip(&arm.y);
            trials.map(|(&t, &y)| (g, t, y)).collect()
        };
        [of(a, 0.0), of(b, 1.0)].concat()
    }

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
        let b = arm(
            &[
                0.6 + noise[0],
                0.7 + noise[1],
                1.0 + noise[2],
                1.1 + noise[3],
            ],
            &[1.0, 2.0, 5.0, 6.0],
        );
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
            .into_iter()
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

    #[test]
    fn trigamma_is_that_of_the_tables() {
        let pi = std::f64::consts::PI;
        for (x, expected) in [
            (0.5, pi * pi / 2.0),
            (1.0, pi * pi / 6.0),
            (2.0, pi * pi / 6.0 - 1.0),
        ] {
            assert!(
                (trigamma(x) - expected).abs() < 1e-8,
                "{x}: {}",
                trigamma(x)
            );
        }
    }

    #[test]
    fn a_variance_moves_up_towards_those_of_the_others() {
        let prior = Prior {
            variance: 4.0,
            df: 6.0,
            most_df: 7.0,
        };
        assert_eq!(prior.moderate((1.0, 2.0)), (3.25, 7.0));
        assert_eq!(prior.moderate((9.0, 2.0)), (9.0, 7.0));
        let alike = Prior {
            df: f64::INFINITY,
            ..prior
        };
        assert_eq!(alike.moderate((1.0, 2.0)), (4.0, 7.0));
    }

    /// Three metrics under four conditions, of which one varies a hundred times as much.
    #[test]
    fn a_prior_is_that_of_the_metric_and_of_the_condition() {
        let row = |of_metric: f64| -> Vec<Known> {
            let factors = [1.0, 1.0, 1.0, 100.0].into_iter();
            factors.map(|factor| (of_metric * factor, 2.0)).collect()
        };
        let table = [row(1.0), row(10.0), row(0.1)];
        let priors = Prior::of_table(&table).unwrap();
        for (row, known) in priors.iter().zip(&table) {
            for (prior, (variance, _)) in row.iter().zip(known) {
                assert!((prior.variance / variance - 1.0).abs() < 1e-9, "{prior:?}");
                assert!(prior.df.is_infinite());
                // 2 (1 + 1 + 1 + 100)^2 / (1 + 1 + 1 + 100^2), and six of the condition.
                assert!((prior.most_df - 1.5671).abs() < 1e-3, "{prior:?}");
            }
        }
        assert_eq!(Prior::of_table(&table[..2]), None, "too few");
        let mut gap = table;
        gap[1].pop();
        assert_eq!(Prior::of_table(&gap), None);
    }
}

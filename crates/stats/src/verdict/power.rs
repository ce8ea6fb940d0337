//! Number of trials that a verdict needs, and the power of a number of trials, both computed before
//! a run.

use super::Margin;
use super::arm::Arm;
use super::between::{ENOUGH_RUNS, RunVariance};
use super::judge::Rule;
use super::shift::MIN_TRIALS;
use crate::distributions;
use crate::distributions::{
    MannWhitney, mean_over_deviation, normal_cdf, normal_quantile, root_from,
};
use assay_model::figures::{Better, Figure};

/// Share of comparisons that should reach a verdict.
pub const POWER: f64 = 0.8;

/// Confidence of the upper bound of the deviation used in planning, since a deviation may be
/// underestimated.
const CONFIDENCE: f64 = 0.8;

/// Fewest trials of a side in planning.
const FEWEST: u32 = 2;

/// Assumed difference and spread for planning, on the scale of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Difference on the scale of logarithms.
    pub d: f64,
    /// Standard deviation of one trial.
    pub s: f64,
}

impl Outlook {
    /// Creates an outlook from an estimate with `df` degrees of freedom: s is replaced by its upper
    /// bound, s sqrt(df / chi2_{.20, df}), since a deviation that is small by chance would promise
    /// too much.
    pub fn careful(d: f64, s: f64, df: f64) -> Self {
        let factor = distributions::chi_squared_quantile(1.0 - CONFIDENCE, df)
            .filter(|chi| *chi > 0.0)
            .map_or(1.0, |chi| (df / chi).sqrt());
        Self { d, s: s * factor }
    }

    /// Returns the trials per side that show the difference, at most `budget`: the least n with
    /// P(|T'| > t_{1-a/2, 2n-3}) at least [`POWER`], T' noncentral by |d| / (s sqrt(2/n)); from six
    /// trials per side on with the cost of ranks.
    pub fn for_difference(&self, alpha: f64, budget: u32) -> Option<u32> {
        let effect = self.d.abs() / self.s;
        let start = closed_form(effect, alpha / 2.0);
        least(start, budget, |n| power_of_difference(effect, alpha, n))
    }

    /// Returns the trials per side that show equivalence, at most `budget`, by two one-sided tests.
    pub fn for_equivalence(&self, rule: &Rule, budget: u32) -> Option<u32> {
        let rooms = [rule.margin.high - self.d, self.d - rule.margin.low].map(|room| room / self.s);
        let (near, far) = (rooms[0].min(rooms[1]), rooms[0].max(rooms[1]));
        if near <= 0.0 {
            return None;
        }
        let start = closed_form(near, rule.alpha_equivalence);
        let power = |n| power_of_equivalence(near, far, rule.alpha_equivalence, n);
        least(start, budget, power)
    }

    /// Returns the number of runs per side, at most `budget`, that show a difference `d` or
    /// equivalence, for runs with the variance `between`.
    pub fn runs(d: f64, between: &RunVariance, rule: &Rule, budget: u32) -> Option<u32> {
        let s = between.deviation();
        let rooms = [rule.margin.high - d, d - rule.margin.low].map(|room| room / s);
        let power = |n| {
            let test = |tail| Test::of_runs(tail, between.df_with(n), n);
            let equivalence = test(rule.alpha_equivalence);
            let equivalent = equivalence.tail(rooms[0]) + equivalence.tail(rooms[1]) - 1.0;
            test(rule.alpha_difference / 2.0)
                .power(d.abs() / s)
                .max(equivalent)
        };
        least(1.0, budget, power)
    }

    /// Returns the smaller number of trials that shows either a difference or equivalence.
    pub fn trials(&self, rule: &Rule, budget: u32) -> Option<u32> {
        let difference = self.for_difference(rule.alpha_difference, budget);
        let equivalence = self.for_equivalence(rule, difference.unwrap_or(budget));
        difference.into_iter().chain(equivalence).min()
    }
}

/// Returns the smallest difference that `n` trials per side show with [`POWER`], in standard
/// deviations of one trial; infinite if they show none at that level.
pub fn detectable_effect(alpha: f64, n: u32) -> f64 {
    Test::new(alpha / 2.0, n).detectable_effect()
}

/// Returns the smallest difference that `n` trials per side call faster with [`POWER`]: it must be
/// found, and must not be found equivalent within the margin. In standard deviations `s` of one
/// trial.
pub fn called_effect(rule: &Rule, s: f64, n: u32) -> f64 {
    let found = detectable_effect(rule.alpha_difference, n);
    let difference = Test::new(rule.alpha_difference / 2.0, n);
    let equivalence = Test::new(rule.alpha_equivalence, n);
    if !found.is_finite() {
        return found;
    }
    let margin = rule.margin.high / s;
    let few = match difference.is_of_ranks {
        true => FEW_RANKS / f64::from(n).powi(4),
        false => 0.0,
    };
    let equivalence = Test {
        t: equivalence.t * (1.0 + few),
        ..equivalence
    };
    let proved = margin - equivalence.t / equivalence.scale;
    let lost = match n > WELL_KNOWN && proved < difference.t / difference.scale {
        true => EXCLUDED,
        false => 1.0,
    };
    let called = |effect: f64| match difference.is_of_ranks {
        // Differences that are found equivalent are mostly among those that are found.
        true => difference.power(effect) - lost * equivalence.tail(margin - effect) - POWER,
        // Given the observed deviation, both tests are limits of the difference.
        false => {
            let share = mean_over_deviation(difference.df, |seen| {
                let proved = margin * difference.scale - equivalence.t * seen;
                let limit = (difference.t * seen).max(proved);
                normal_cdf(effect * difference.scale - limit)
            });
            share - POWER
        }
    };
    // If the margin is out of reach of the test for equivalence, nothing is called equivalent.
    match called(found) {
        short if short < -1e-3 => root_from(found.max(margin), called),
        _ => found,
    }
}

/// A test of two arms of n trials each, as in a comparison: least squares with the place in the
/// session below [`MIN_TRIALS`], ranks from there on.
pub(crate) struct Test {
    /// Critical value; infinite if no outcome is extreme enough.
    t: f64,
    df: f64,
    /// Factor from standard deviations of a trial to standard errors.
    scale: f64,
    is_of_ranks: bool,
}

/// Efficiency of ranks for normal trials, 3 / pi (Pitman 1948).
const RANKS: f64 = 3.0 / std::f64::consts::PI;

/// Cost of neighbours and outliers, divided by the trials of a side. Found by simulation.
const CAREFUL: f64 = 0.25;

/// Loss of the equivalence test from the coarse steps of ranks, divided by the fourth power of the
/// trials of a side. Found by simulation.
const FEW_RANKS: f64 = 324.0;

/// Number of trials of a side above which the deviation is known so well that a difference is found
/// or equivalent, never both, if the limits of the tests exclude each other.
const WELL_KNOWN: u32 = 10;

/// Part of the equivalent comparisons that would otherwise have been found, if the limits exclude
/// each other. Found by simulation.
const EXCLUDED: f64 = 0.5;

/// Cost of separate variances, which few trials seem to require, in critical values, divided by the
/// fifth power of the trials of a side. Found by simulation.
const OWN_VARIANCES: f64 = 48.0;

/// Cost of the lower bound by a side's own runs, divided by their number. Found by simulation.
const OWN_RUNS: f64 = 0.32;

/// Number of trials of a side above which the steps of the levels of ranks are negligible.
const COARSE: u32 = 30;

impl Test {
    /// Creates the test with this error on each side that counts.
    pub(crate) fn new(tail: f64, n: u32) -> Self {
        // Two means and the drift are estimated.
        let df = f64::from(2 * n.max(FEWEST) - 3);
        let scale = (f64::from(n) / 2.0).sqrt();
        if (n as usize) < MIN_TRIALS {
            let cost = OWN_VARIANCES / f64::from(n).powi(5);
            return Self {
                t: distributions::student_quantile(tail, df) * (1.0 + cost),
                df,
                scale,
                is_of_ranks: false,
            };
        }
        let level = rank_level(tail, n);
        Self {
            t: level.map_or(f64::INFINITY, |level| {
                distributions::student_quantile(level, df)
            }),
            df,
            scale: scale * RANKS.sqrt() * (1.0 - CAREFUL / f64::from(n)),
            is_of_ranks: true,
        }
    }

    /// Creates the test with this error on each side, of `n` runs per side whose deviation is known
    /// with `df` degrees of freedom.
    pub(crate) fn of_runs(tail: f64, df: f64, n: u32) -> Self {
        let cost = match n as usize >= ENOUGH_RUNS {
            true => 1.0 + OWN_RUNS / f64::from(n),
            false => 1.0,
        };
        Self {
            t: distributions::student_quantile(tail, df),
            df,
            scale: (f64::from(n) / 2.0).sqrt() / cost,
            is_of_ranks: false,
        }
    }

    /// Returns the smallest effect that is found with [`POWER`].
    pub(crate) fn detectable_effect(&self) -> f64 {
        if !self.t.is_finite() {
            return f64::INFINITY;
        }
        root_from(self.likely_effect(), |effect| self.power(effect) - POWER)
    }

    /// Returns the approximate effect that is found with [`POWER`], as if the standard error were
    /// known.
    pub(crate) fn likely_effect(&self) -> f64 {
        (self.t + normal_quantile(1.0 - POWER)) / self.scale
    }

    /// Returns the share of results above the critical value.
    pub(crate) fn tail(&self, effect: f64) -> f64 {
        if !self.t.is_finite() {
            return 0.0;
        }
        distributions::student_noncentral_upper_tail(self.t, self.df, effect * self.scale)
    }

    /// Returns the share of results beyond the critical value on either side.
    fn power(&self, effect: f64) -> f64 {
        self.tail(effect) + self.tail(-effect)
    }
}

/// Returns the largest level of ranks that is at most `tail`; with few trials it is far below.
/// `None` if no level is.
fn rank_level(tail: f64, n: u32) -> Option<f64> {
    if n > COARSE {
        return Some(tail);
    }
    let table = MannWhitney::new(n as usize, n as usize);
    Some(table.at_most(table.critical(2.0 * tail)?))
}

/// Returns the share of comparisons with `n` trials per side that show a difference of `effect`
/// standard deviations of one trial.
pub fn power_of_difference(effect: f64, alpha: f64, n: u32) -> f64 {
    Test::new(alpha / 2.0, n).power(effect)
}

/// Returns the share of comparisons that show equivalence, with the distances to the nearer and the
/// farther end of the margin.
fn power_of_equivalence(near: f64, far: f64, alpha: f64, n: u32) -> f64 {
    let test = Test::new(alpha, n);
    test.tail(near) + test.tail(far) - 1.0
}

/// Returns n ~ 2 (z_tail + z_power)^2 / effect^2: the number by normal theory, always less than the
/// exact one.
fn closed_form(effect: f64, tail: f64) -> f64 {
    let z = normal_quantile(tail.max(1e-12)) + normal_quantile(1.0 - POWER);
    2.0 * (z / effect).powi(2)
}

/// Returns the least number up to `budget` that has the power, which grows with the number. `start`
/// is close below it.
fn least(start: f64, budget: u32, power: impl Fn(u32) -> f64) -> Option<u32> {
    if start.is_nan() || budget < FEWEST || start > f64::from(budget) {
        return None;
    }
    let enough = |n: u32| power(n) >= POWER;
    let short = (1..budget)
        .take_while(|n| f64::from(*n) < start - 0.5)
        .count();
    let mut low = u32::try_from(short).ok()?.max(FEWEST - 1);
    let mut step = 1;
    let mut high = low + step;
    while high < budget && !enough(high) {
        (low, step) = (high, 2 * step);
        high = low + step;
    }
    if high >= budget {
        high = budget;
        if !enough(high) {
            return None;
        }
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Differences that `n` trials per side detect in four of five comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerRow {
    /// Trials per side.
    pub n: u32,
    /// Smallest difference that is called faster or slower, in percent; smaller ones may be called
    /// equivalent. `None` if `n` trials detect none at that level.
    pub difference_percent: Option<f64>,
    /// Smallest margin within which sides without a difference are found equivalent, in percent;
    /// `None` if no margin suffices.
    pub equivalence_percent: Option<f64>,
}

/// Standard deviation of logarithms for a coefficient of variation (a share):
/// sqrt(ln(1 + cv^2)).
pub fn log_deviation(cv: f64) -> f64 {
    cv.powi(2).ln_1p().sqrt()
}

/// Returns the table for trials that vary by `cv` (a share), tests at `alpha` and a `margin` (a
/// share). Numbers below 2 are left out, since one trial shows nothing.
pub fn table(cv: f64, alpha: f64, margin: f64, numbers: &[u32]) -> Vec<PowerRow> {
    let s = log_deviation(cv);
    let rule = Rule {
        alpha_difference: alpha,
        alpha_equivalence: alpha,
        margin: Margin::of(margin, Better::Higher),
    };
    let percent = |share: f64| Some(100.0 * share).filter(|percent| percent.is_finite());
    let row = |&n: &u32| PowerRow {
        n,
        difference_percent: percent((called_effect(&rule, s, n) * s).exp_m1()),
        equivalence_percent: percent(provable_margin(&Test::new(alpha, n), s)),
    };
    numbers.iter().filter(|n| **n >= 2).map(row).collect()
}

/// Returns the differences that numbers of runs per side detect, if the sides are measured in
/// separate runs with the variance `between`; for tests at `alpha` and a `margin` (a share). `n` of
/// a row is the number of runs per side.
pub fn table_of_runs(
    between: &RunVariance,
    alpha: f64,
    margin: f64,
    numbers: &[u32],
) -> Vec<PowerRow> {
    let s = between.deviation();
    let percent = |share: f64| Some(100.0 * share).filter(|percent| percent.is_finite());
    let row = |&n: &u32| {
        let df = between.df_with(n);
        let difference = Test::of_runs(alpha / 2.0, df, n).detectable_effect();
        let difference = (difference * s).exp_m1();
        let equivalence = provable_margin(&Test::of_runs(alpha, df, n), s);
        // A difference that is found equivalent is not called faster.
        let called = match equivalence < margin {
            true => difference.max(margin),
            false => difference,
        };
        PowerRow {
            n,
            difference_percent: percent(called),
            equivalence_percent: percent(equivalence),
        }
    };
    numbers.iter().map(row).collect()
}

/// Variation of a metric's trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The metric.
    pub metric: String,
    /// Coefficient of variation, a share.
    pub cv: f64,
    /// Degrees of freedom of the estimate.
    pub df: f64,
}

impl Spread {
    /// Returns an upper bound of the coefficient for planning ([`Outlook::careful`]).
    pub fn careful_cv(&self) -> f64 {
        let s = Outlook::careful(0.0, log_deviation(self.cv), self.df).s;
        s.powi(2).exp_m1().sqrt()
    }
}

/// Returns the spread of each deciding metric: variances of logarithms pooled over its conditions
/// or sides, s^2 = sum (n_i - 1) s_i^2 / sum (n_i - 1). Metrics without variance are left out.
pub fn spreads(figures: &[Figure]) -> Vec<Spread> {
    let mut pooled: Vec<(&str, f64, f64)> = Vec::new();
    for figure in figures.iter().filter(|figure| figure.primary) {
        let arm = Arm::of(&figure.sample, figure.better).ok();
        let Some((n, variance)) = arm.and_then(|arm| Some((arm.n, arm.variance?))) else {
            continue;
        };
        let df = (n - 1) as f64;
        match pooled.iter_mut().find(|(name, ..)| *name == figure.metric) {
            Some((_, all_df, squares)) => {
                *all_df += df;
                *squares += df * variance;
            }
            None => pooled.push((&figure.metric, df, df * variance)),
        }
    }
    let spread = |(metric, df, squares): (&str, f64, f64)| Spread {
        metric: metric.to_owned(),
        cv: (squares / df).exp_m1().sqrt(),
        df,
    };
    let known = pooled.into_iter().map(spread);
    known.filter(|spread| spread.cv > 0.0).collect()
}

/// Returns the margin as a share, for trials or runs with the standard deviation `s`.
fn provable_margin(test: &Test, s: f64) -> f64 {
    let likely = (test.likely_effect() * s).exp_m1();
    if !likely.is_finite() {
        return f64::INFINITY;
    }
    // Both ends of the margin must be excluded; a rate does not fall by more than 100 %.
    root_from(likely, |share| {
        let fall = -(-share.min(0.999)).ln_1p();
        test.tail(share.ln_1p() / s) + test.tail(fall / s) - 1.0 - POWER
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::figures::Sample;

    /// Checks that the planned numbers of trials show the promised differences.
    #[test]
    fn the_table_brackets_the_numbers_of_trials() {
        let shown = |row: &PowerRow| row.difference_percent.unwrap();
        let proved = |row: &PowerRow| row.equivalence_percent.unwrap();
        for (cv, percent) in [(0.02, 6.0), (0.05, 8.0), (0.10, 10.0)] {
            let outlook = Outlook {
                d: f64::ln_1p(percent / 100.0),
                s: log_deviation(cv),
            };
            let n = outlook.for_difference(0.05, 100).unwrap();
            let rows = table(cv, 0.05, 0.001, &[n - 1, n]);
            assert!(shown(&rows[0]) > percent, "{rows:?}");
            assert!(shown(&rows[1]) <= percent + 0.01, "{rows:?}");
        }
        for (cv, margin) in [(0.03, 5.0), (0.05, 5.0), (0.10, 10.0)] {
            let rule = Rule {
                alpha_difference: 0.05,
                alpha_equivalence: 0.05,
                margin: Margin::of(margin / 100.0, Better::Higher),
            };
            let outlook = Outlook {
                d: 0.0,
                s: log_deviation(cv),
            };
            let n = outlook.for_equivalence(&rule, 100).unwrap();
            let rows = table(cv, 0.05, 0.05, &[n - 1, n]);
            assert!(proved(&rows[0]) > margin, "{rows:?}");
            assert!(proved(&rows[1]) <= margin + 0.01, "{rows:?}");
        }
    }

    #[test]
    fn spreads_are_pooled_over_conditions() {
        let figure = |condition: &str, logs: &[f64]| Figure {
            condition: condition.to_owned(),
            metric: "bw".to_owned(),
            unit: "MB/s".to_owned(),
            better: Some(Better::Higher),
            primary: true,
            sample: Sample::Values {
                values: logs.iter().map(|y| y.exp()).collect(),
                positions: Vec::new(),
            },
            measured: None,
            waited: None,
        };
        // Around two means: (2 * 0.01^2 + 2 * 0.03^2) / (1 + 1) = 0.001.
        let found = spreads(&[
            figure("a", &[1.01, 0.99]),
            figure("b", &[5.03, 4.97]),
            figure("c", &[7.0]),
        ]);
        assert_eq!(found.len(), 1);
        assert!((found[0].cv - 0.001_f64.exp_m1().sqrt()).abs() < 1e-9);
        // sqrt(2 / chi2_{.20, 2}) = sqrt(2 / 0.4463), of the deviation.
        let careful = found[0].careful_cv() / found[0].cv;
        assert!((careful - 2.117).abs() < 1e-2, "{careful}");
        assert!(spreads(&[figure("a", &[1.0, 1.0])]).is_empty());
    }

    /// But the step from means to ranks.
    #[test]
    fn more_trials_show_less() {
        let rows = table(
            0.1,
            0.05,
            0.001,
            &[2, 3, 4, 5, 8, 10, 15, 20, 50, 100, 1000],
        );
        for pair in rows.windows(2) {
            assert!(
                pair[0].difference_percent > pair[1].difference_percent,
                "{pair:?}"
            );
            assert!(
                pair[0].equivalence_percent > pair[1].equivalence_percent,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn one_trial_shows_nothing_and_few_none_at_a_small_level() {
        assert!(table(0.05, 0.05, 0.05, &[0, 1]).is_empty());
        assert_eq!(table(0.05, 0.05, 0.05, &[2])[0].n, 2);
        assert_eq!(table(0.05, 1e-4, 0.05, &[6])[0].difference_percent, None);
    }

    fn outlook(cv: f64, percent: f64) -> Outlook {
        Outlook {
            d: (percent / 100.0).ln_1p(),
            s: (cv / 100.0).powi(2).ln_1p().sqrt(),
        }
    }

    /// Trials per side for 80 % at two-sided .05, of the reference: of a t test of trials
    /// without an order. What the order and ranks cost comes on top.
    fn is_near(found: u32, reference: u32) -> bool {
        let most = 1.1 * f64::from(reference) + 2.0;
        found >= reference && f64::from(found) <= most
    }

    #[test]
    fn trials_for_a_difference_are_near_those_of_the_reference() {
        for (cv, percent, n) in [
            (1.0, 5.0, 3),
            (1.0, 3.0, 4),
            (1.0, 2.0, 6),
            (2.0, 10.0, 3),
            (2.0, 5.0, 4),
            (2.0, 3.0, 9),
            (2.0, 2.0, 18),
            (5.0, 10.0, 6),
            (5.0, 5.0, 18),
            (5.0, 3.0, 46),
            (10.0, 10.0, 19),
            (10.0, 5.0, 67),
        ] {
            let found = outlook(cv, percent).for_difference(0.05, 1000).unwrap();
            assert!(is_near(found, n), "CV {cv} %, {percent} %: {found} {n}");
        }
    }

    #[test]
    fn trials_for_equivalence_are_near_those_of_the_reference() {
        for (cv, margin, n) in [
            (2.0, 5.0, 4),
            (3.0, 5.0, 8),
            (5.0, 5.0, 19),
            (10.0, 5.0, 73),
            (2.0, 3.0, 9),
            (5.0, 3.0, 50),
            (5.0, 10.0, 6),
            (10.0, 10.0, 20),
        ] {
            let rule = Rule {
                alpha_difference: 0.05,
                alpha_equivalence: 0.05,
                margin: Margin::of(margin / 100.0, Better::Higher),
            };
            let found = outlook(cv, 0.0).for_equivalence(&rule, 1000).unwrap();
            assert!(
                is_near(found, n),
                "CV {cv} %, margin {margin} %: {found} {n}"
            );
        }
    }

    #[test]
    fn what_is_out_of_reach_is_none() {
        let least = outlook(5.0, 3.0).for_difference(0.05, 1000).unwrap();
        assert_eq!(outlook(5.0, 3.0).for_difference(0.05, least - 1), None);
        assert_eq!(outlook(5.0, 3.0).for_difference(0.05, least), Some(least));
        assert_eq!(outlook(5.0, 0.0).for_difference(0.05, 1000), None);
    }

    /// Checks that four degrees of freedom inflate the observed deviation 1.56 times.
    #[test]
    fn a_lucky_deviation_is_not_planned_with() {
        let careful = Outlook::careful(0.1, 2.0, 4.0);
        assert!((careful.s - 3.12).abs() < 0.01, "{careful:?}");
    }

    /// .00714 (Holm over seven) takes six trials, .001 seven.
    #[test]
    fn ranks_take_enough_trials_for_their_level() {
        for (alpha, n) in [(0.007_14, 6), (0.001, 7), (1e-5, 11)] {
            assert!(detectable_effect(alpha, n).is_finite(), "{alpha} {n}");
            if n > 6 {
                assert!(detectable_effect(alpha, n - 1).is_infinite(), "{alpha} {n}");
            }
        }
    }

    /// Checks the boundary of equivalence: with little variation, a difference is still equivalent
    /// until it is about as large as the margin; with much variation, the margin is out of reach.
    #[test]
    fn a_difference_within_the_margin_is_called_equivalent() {
        let rule = Rule {
            alpha_difference: 0.05,
            alpha_equivalence: 0.05,
            margin: Margin::of(0.05, Better::Higher),
        };
        let called = called_effect(&rule, 0.005, 10) * 0.005;
        let found = detectable_effect(0.05, 10) * 0.005;
        assert!(
            found < 0.01 && (0.044..0.049).contains(&called),
            "{found} {called}"
        );
        let ratio = called_effect(&rule, 0.10, 10) / detectable_effect(0.05, 10);
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn what_is_detectable_has_the_power() {
        for (alpha, n) in [(0.05, 3), (5e-5, 3), (0.05, 6), (0.01, 10), (1e-4, 100)] {
            let effect = detectable_effect(alpha, n);
            let power = power_of_difference(effect, alpha, n);
            assert!((power - POWER).abs() < 1e-5, "{alpha} {n}: {power}");
        }
    }
}

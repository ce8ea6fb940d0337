//! How many trials a verdict takes.

use super::judge::Rule;
use super::special::{normal_quantile, student};

/// Share of comparisons that should come to a verdict.
pub const POWER: f64 = 0.8;

/// A deviation may be underestimated: its upper bound of this confidence is
/// planned with.
const CONFIDENCE: f64 = 0.8;

/// Fewest trials of a side that anything is planned with.
const FEWEST: u32 = 2;

/// What is known of a difference, to plan with. On the scale of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The difference.
    pub d: f64,
    /// Standard deviation of one trial.
    pub s: f64,
}

impl Outlook {
    /// From an estimate with `df` degrees of freedom: s is replaced by its
    /// upper bound, s sqrt(df / chi2_{.20, df}), since a lucky small deviation
    /// would promise too much.
    #[must_use]
    pub fn careful(d: f64, s: f64, df: f64) -> Self {
        let factor = student::chi_squared_quantile(1.0 - CONFIDENCE, df)
            .filter(|chi| *chi > 0.0)
            .map_or(1.0, |chi| (df / chi).sqrt());
        Self { d, s: s * factor }
    }

    /// Trials per side to show the difference, at most `budget`: the least n
    /// with P(|T'| > t_{1-a/2, 2n-2}) at least [`POWER`], T' noncentral by
    /// |d| / (s sqrt(2/n)).
    #[must_use]
    pub fn for_difference(&self, alpha: f64, budget: u32) -> Option<u32> {
        let effect = self.d.abs() / self.s;
        let start = closed_form(effect, alpha / 2.0);
        least(start, budget, |n| power_of_difference(effect, alpha, n))
    }

    /// Trials per side to show equivalence, at most `budget`, by two one-sided
    /// tests.
    #[must_use]
    pub fn for_equivalence(&self, rule: &Rule, budget: u32) -> Option<u32> {
        let (room, margin) = ((rule.margin - self.d.abs()) / self.s, rule.margin / self.s);
        if room <= 0.0 {
            return None;
        }
        let start = closed_form(room, rule.alpha_equivalence);
        let power = |n| power_of_equivalence(room, 2.0 * margin - room, rule.alpha_equivalence, n);
        least(start, budget, power)
    }

    /// The cheaper one of both.
    #[must_use]
    pub fn trials(&self, rule: &Rule, budget: u32) -> Option<u32> {
        let difference = self.for_difference(rule.alpha_difference, budget);
        let equivalence = self.for_equivalence(rule, difference.unwrap_or(budget));
        difference.into_iter().chain(equivalence).min()
    }
}

/// The smallest difference that `n` trials a side show with [`POWER`], in
/// standard deviations of one trial.
#[must_use]
pub fn detectable_effect(alpha: f64, n: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while power_of_difference(high, alpha, n) < POWER && high < 1e6 {
        high *= 2.0;
    }
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if power_of_difference(middle, alpha, n) < POWER {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Share of comparisons with `n` trials a side that show a difference of
/// `effect` standard deviations of one trial.
#[must_use]
pub fn power_of_difference(effect: f64, alpha: f64, n: u32) -> f64 {
    let df = f64::from(2 * n.max(FEWEST) - 2);
    let t = student::quantile(alpha / 2.0, df);
    let shift = effect * (f64::from(n) / 2.0).sqrt();
    student::noncentral_upper_tail(t, df, shift) + student::noncentral_upper_tail(t, df, -shift)
}

/// The same of equivalence, with this much room to the nearer and the farther
/// end of the margin.
pub(crate) fn power_of_equivalence(near: f64, far: f64, alpha: f64, n: u32) -> f64 {
    let df = f64::from(2 * n.max(FEWEST) - 2);
    let t = student::quantile(alpha, df);
    let scale = (f64::from(n) / 2.0).sqrt();
    let tail = |room: f64| student::noncentral_upper_tail(t, df, room * scale);
    tail(near) + tail(far) - 1.0
}

/// n ~ 2 (z_tail + z_power)^2 / effect^2: what normal theory asks for, always
/// less than the truth.
fn closed_form(effect: f64, tail: f64) -> f64 {
    let z = normal_quantile(tail.max(1e-12)) + normal_quantile(1.0 - POWER);
    2.0 * (z / effect).powi(2)
}

/// The least number up to `budget` that has the power, which grows with it.
/// `start` is close below it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn outlook(cv: f64, percent: f64) -> Outlook {
        Outlook {
            d: (percent / 100.0).ln_1p(),
            s: (cv / 100.0).powi(2).ln_1p().sqrt(),
        }
    }

    /// Trials per side for 80 % at two-sided .05, of the reference.
    #[test]
    fn trials_for_a_difference_are_those_of_the_reference() {
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
            assert_eq!(found, n, "CV {cv} %, {percent} %");
        }
    }

    #[test]
    fn trials_for_equivalence_are_those_of_the_reference() {
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
                margin: f64::ln_1p(margin / 100.0),
            };
            let found = outlook(cv, 0.0).for_equivalence(&rule, 1000).unwrap();
            assert_eq!(found, n, "CV {cv} %, margin {margin} %");
        }
    }

    #[test]
    fn what_is_out_of_reach_is_none() {
        assert_eq!(outlook(5.0, 3.0).for_difference(0.05, 45), None);
        assert_eq!(outlook(5.0, 3.0).for_difference(0.05, 46), Some(46));
        assert_eq!(outlook(5.0, 0.0).for_difference(0.05, 1000), None);
    }

    #[test]
    fn what_is_detectable_has_the_power() {
        let effect = detectable_effect(0.05, 10);
        assert!((power_of_difference(effect, 0.05, 10) - POWER).abs() < 1e-6);
    }
}

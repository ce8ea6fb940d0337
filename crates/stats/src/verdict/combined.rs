//! The difference of two arms by all methods, and the selection of the deciding one.

use super::arm::Arm;
use super::between::RunVariance;
use super::estimate::{AmongAll, Difference, Linear, NoEstimate};
use super::margin::Margin;
use super::moderation::Prior;
use super::neighbours;
use super::order::is_uneven;
use super::shift::{MIN_TRIALS, Shift, Tables};
use super::trials::Outlook;

/// Meaning of a value in an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The value of one trial.
    Trials,
    /// The mean of one unit of the part.
    Units,
}

/// Difference of two arms. Ranks decide if there are enough trials, else means; if trials
/// alternate, the comparison of neighbours must agree.
pub(crate) struct Estimate {
    /// Estimate by means.
    pub linear: Linear,
    shift: Option<Shift>,
    alternating: Option<Linear>,
    /// Estimate by means for cases where ranks are too optimistic: arms spread unevenly over the
    /// session, whose drift is uncertain, and arms of unequal spread.
    uneven: Option<Linear>,
    /// Test of the difference among all pairs of conditions, which must find a difference too.
    among: Option<AmongAll>,
    /// Difference with the error between runs, for sides that are separate runs.
    between: Option<Linear>,
}

impl Estimate {
    /// # Errors
    /// When an arm has no variance, or neither varies.
    pub fn of(
        a: &Arm,
        b: &Arm,
        priors: Option<&[Prior; 2]>,
        tables: &mut Tables,
    ) -> Result<Self, NoEstimate> {
        let few = a.n.min(b.n) < MIN_TRIALS;
        let linear = Linear::moderated(a, b, priors.filter(|_| few))?;
        Ok(Self {
            shift: Shift::of(a, b, &linear, tables),
            alternating: neighbours::alternating(a, b, &linear),
            uneven: (is_uneven(a, b) || linear.unequal).then_some(linear),
            linear,
            among: None,
            between: None,
        })
    }

    /// Adds the test of all pairs of conditions, which must agree.
    pub fn among(self, among: Option<AmongAll>) -> Self {
        Self { among, ..self }
    }

    /// Adds the error between runs for sides that are separate runs. Trials must pass it in
    /// addition; for means of runs it is the only error.
    pub fn apart(self, between: Option<&RunVariance>, level: Level) -> Self {
        let Some(between) = between else { return self };
        match level {
            Level::Trials => Self {
                between: Some(between.linear(self.d())),
                ..self
            },
            Level::Units => Self {
                linear: between.linear(self.linear.d),
                shift: None,
                alternating: None,
                uneven: None,
                ..self
            },
        }
    }

    /// `true` if the trials show a difference at this level that also occurs between runs without a
    /// change.
    pub fn is_one_of_runs(&self, alpha: f64) -> bool {
        let trials = self.of_trials().map(Difference::p_difference);
        let trials = trials.fold(self.first().p_difference(), f64::max);
        trials <= alpha && self.between.is_some_and(|runs| runs.p_difference() > alpha)
    }

    /// Returns the estimate by means instead of ranks; `None` if means decide already.
    pub fn by_means(&self) -> Option<Self> {
        self.shift.is_some().then_some(Self {
            shift: None,
            ..*self
        })
    }

    /// `true` if trials alternate, so that the comparison of neighbours is used.
    pub fn is_alternating(&self) -> bool {
        self.alternating.is_some()
    }

    /// Returns the input for planning more trials, or more runs if the sides are runs.
    pub fn outlook(&self) -> Outlook {
        let spread = self.between.or(self.alternating).unwrap_or(self.linear);
        Outlook::careful(self.d(), spread.s, spread.df)
    }

    /// Returns the estimates that must agree with the first one.
    fn others(&self) -> impl Iterator<Item = &Linear> {
        self.of_trials().chain(&self.between)
    }

    /// Returns the estimates by trials that must agree with the first one.
    fn of_trials(&self) -> impl Iterator<Item = &Linear> {
        self.alternating.iter().chain(&self.uneven)
    }

    fn first(&self) -> &dyn Difference {
        match &self.shift {
            Some(shift) => shift,
            None => &self.linear,
        }
    }
}

/// Combination of all estimates that must agree: the interval that contains each of theirs, and the
/// largest p value.
impl Difference for Estimate {
    fn d(&self) -> f64 {
        self.first().d()
    }

    fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let (mut low, mut high) = self.first().interval(alpha)?;
        for other in self.others() {
            let (lower, higher) = other.interval(alpha)?;
            (low, high) = (low.min(lower), high.max(higher));
        }
        Some((low, high))
    }

    fn interval_of_difference(&self, alpha: f64) -> Option<(f64, f64)> {
        let (low, high) = self.interval(alpha)?;
        let Some(among) = &self.among else {
            return Some((low, high));
        };
        let (lower, higher) = among.interval(alpha)?;
        Some((low.min(lower), high.max(higher)))
    }

    fn p_difference(&self) -> f64 {
        let among = self.among.iter().map(AmongAll::p_difference);
        let others = self.others().map(Difference::p_difference).chain(among);
        others.fold(self.first().p_difference(), f64::max)
    }

    fn p_equivalence(&self, margin: Margin) -> f64 {
        let others = self.others().map(|other| other.p_equivalence(margin));
        others.fold(self.first().p_equivalence(margin), f64::max)
    }
}

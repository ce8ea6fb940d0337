//! The difference of two arms by all methods, and which of them decides.

use super::arm::Arm;
use super::estimate::{Difference, Linear, NoEstimate};
use super::judge::Margin;
use super::neighbours;
use super::order::is_uneven;
use super::shift::{Shift, Tables};
use super::trials::Outlook;

/// Meaning of a value in an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// A value is a trial.
    Trials,
    /// A value is the mean of a unit of the part.
    Units,
}

/// The difference of two arms. Ranks decide where there are trials enough, means
/// elsewhere; where trials alternate, neighbours must agree.
pub(crate) struct Estimate {
    /// By means.
    pub linear: Linear,
    shift: Option<Shift>,
    alternating: Option<Linear>,
    /// Estimate by means for arms spread unevenly over the session; it accounts for the uncertainty
    /// of the drift.
    uneven: Option<Linear>,
    /// Smallest p value of a difference that a correction for other comparisons allows.
    least_p: f64,
}

impl Estimate {
    /// # Errors
    /// When an arm has no variance, or neither varies.
    pub fn of(a: &Arm, b: &Arm, tables: &mut Tables) -> Result<Self, NoEstimate> {
        let linear = Linear::of(a, b)?;
        Ok(Self {
            shift: Shift::of(a, b, &linear, tables),
            alternating: neighbours::alternating(a, b, &linear),
            uneven: is_uneven(a, b).then_some(linear),
            linear,
            least_p: 0.0,
        })
    }

    /// The same with no p value of a difference below `least_p`.
    pub fn held_to(self, least_p: f64) -> Self {
        Self { least_p, ..self }
    }

    /// The same with the means in place of the ranks; `None` where means decide
    /// anyway.
    pub fn by_means(&self) -> Option<Self> {
        self.shift.is_some().then_some(Self {
            shift: None,
            ..*self
        })
    }

    /// Returns true if trials alternate, so that the comparison of neighbours counts.
    pub fn is_alternating(&self) -> bool {
        self.alternating.is_some()
    }

    /// Returns the input for planning more trials.
    pub fn outlook(&self) -> Outlook {
        let spread = self.alternating.unwrap_or(self.linear);
        Outlook::careful(self.d(), spread.s, spread.df)
    }

    /// Returns the estimates that must agree with the first one.
    fn others(&self) -> impl Iterator<Item = &Linear> {
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

    fn p_difference(&self) -> f64 {
        let others = self.others().map(Difference::p_difference);
        others.fold(self.first().p_difference().max(self.least_p), f64::max)
    }

    fn p_equivalence(&self, margin: Margin) -> f64 {
        let others = self.others().map(|other| other.p_equivalence(margin));
        others.fold(self.first().p_equivalence(margin), f64::max)
    }
}

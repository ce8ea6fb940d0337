//! The difference of two arms by all methods, and which of them decides.

use super::arm::Arm;
use super::estimate::{Difference, Linear, NoEstimate};
use super::neighbours;
use super::shift::{Shift, Tables};
use super::trials::Outlook;

/// How two arms are to be taken.
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
}

impl Estimate {
    /// # Errors
    /// When an arm has no variance, or neither varies.
    pub fn of(a: &Arm, b: &Arm, level: Level, tables: &mut Tables) -> Result<Self, NoEstimate> {
        let linear = match level {
            Level::Trials => Linear::of(a, b)?,
            Level::Units => Linear::pooled(a, b)?,
        };
        Ok(Self {
            shift: Shift::of(a, b, &linear, tables),
            alternating: neighbours::alternating(a, b, &linear),
            linear,
        })
    }

    /// The same with the means in place of the ranks; `None` where means decide
    /// anyway.
    pub fn by_means(&self) -> Option<Self> {
        self.shift.is_some().then_some(Self {
            shift: None,
            ..*self
        })
    }

    /// Whether trials alternate, so that neighbours have a say.
    pub fn is_alternating(&self) -> bool {
        self.alternating.is_some()
    }

    /// What to plan more trials with.
    pub fn outlook(&self) -> Outlook {
        let spread = self.alternating.unwrap_or(self.linear);
        Outlook::careful(self.d(), spread.s, spread.df)
    }

    fn first(&self) -> &dyn Difference {
        match &self.shift {
            Some(shift) => shift,
            None => &self.linear,
        }
    }
}

/// With neighbours: the interval that holds both, and the larger p value.
impl Difference for Estimate {
    fn d(&self) -> f64 {
        self.first().d()
    }

    fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let (low, high) = self.first().interval(alpha)?;
        let Some(neighbours) = &self.alternating else {
            return Some((low, high));
        };
        let (lower, higher) = neighbours.interval(alpha)?;
        Some((low.min(lower), high.max(higher)))
    }

    fn p_difference(&self) -> f64 {
        let p = self.alternating.map_or(0.0, |n| n.p_difference());
        self.first().p_difference().max(p)
    }

    fn p_equivalence(&self, margin: f64) -> f64 {
        let p = self.alternating.map_or(0.0, |n| n.p_equivalence(margin));
        self.first().p_equivalence(margin).max(p)
    }
}

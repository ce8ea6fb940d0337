//! Result of a comparison for one metric, and its options.

use super::arm::Arm;
use super::between::RunVariance;
use super::judge::Qualification;
use super::margin::Margin;
use super::moderation::Prior;
use super::note::{Note, Side};
use assay_model::figures::Better;
use assay_model::run::Stopping;
use assay_model::verdict::{Change, LEVEL, Verdict};

/// Level of the intervals of single changes, independent of the level of a verdict.
pub(crate) const ALONE: f64 = 0.05;

assay_model::defaults! {
    /// Options of a comparison.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Options {
        /// Level of tests (0.05); smaller at the looks of a sequential plan.
        pub alpha: f64 = LEVEL,
        /// Largest change of the quantity without practical relevance, up or down, as a share
        /// (0.05).
        pub margin: f64 = 0.05,
        /// Fewest trials of a side for a verdict: 4, or 3 for results that were made elsewhere.
        /// Summaries are always accepted with 3.
        pub min_trials: usize = 4,
        /// Most trials of a side that may be recommended.
        pub budget: u32 = 100,
        /// `true` if the positions of both sides are in one session.
        pub same_session: bool = true,
        /// `true` if both sides are runs of one version of the program: figures that its models
        /// compute without any spread are then exact.
        pub same_model: bool,
        /// Share of false findings among exploratory metrics (0.10).
        pub false_discovery: f64 = 0.10,
        /// `true` if A and B, respectively, are trusted to have measured the same layer as the
        /// other side although they have no label.
        pub trusted: [bool; 2],
        /// `true` if the question is whether B may replace A.
        pub qualify: bool,
        /// Prior variances of A and of B, from other conditions and metrics; `None` if there is no
        /// prior.
        pub priors: Option<[Prior; 2]>,
        /// Variance between runs, if the sides are separate runs.
        pub between: Option<RunVariance>,
    }
}

impl Options {
    /// Returns the options for verdicts on a run.
    pub fn of_run(stopping: &Stopping) -> Self {
        let usual = Self::default();
        let looks = stopping.looks.as_ref();
        Self {
            margin: looks.map_or(usual.margin, |looks| looks.margin),
            ..usual.at_level(stopping.alpha())
        }
    }

    /// Returns the options with another level; the share of false findings changes with it.
    #[must_use]
    pub fn at_level(self, alpha: f64) -> Self {
        Self {
            alpha,
            false_discovery: self.false_discovery * alpha / self.alpha,
            ..self
        }
    }

    /// `true` if a side is trusted to have measured the same layer as the other side.
    pub const fn trusts(&self, side: Side) -> bool {
        match side {
            Side::A => self.trusted[0],
            Side::B => self.trusted[1],
        }
    }

    /// Returns the range of differences without practical relevance for a quantity that is better
    /// in this direction.
    pub fn margin_of(&self, better: Better) -> Margin {
        Margin::of(self.margin, better)
    }
}

/// Summary of one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of trials.
    pub n: usize,
    /// Geometric mean in the metric's unit; for a summary its arithmetic mean.
    pub centre: f64,
    /// Coefficient of variation; `None` when unknown.
    pub cv: Option<f64>,
}

impl Summary {
    pub(crate) fn of(arm: &Arm) -> Self {
        let cv = arm.cv();
        Self {
            n: arm.n,
            centre: arm.centre,
            cv,
        }
    }
}

/// Result for one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictRow {
    /// The metric.
    pub metric: String,
    /// Unit of the metric, as on side A.
    pub unit: String,
    /// True if the metric decides; the others are exploratory.
    pub primary: bool,
    /// Side A; `None` when it has no usable figures.
    pub a: Option<Summary>,
    /// Side B.
    pub b: Option<Summary>,
    /// Direction in which the metric is better; `None` if it is not known.
    pub better: Option<Better>,
    /// Difference of B from A; `None` if unknown.
    pub change: Option<Change>,
    /// p value after correction for the other metrics of its family; `None`
    /// when it was not tested.
    pub p_adjusted: Option<f64>,
    /// Verdict.
    pub verdict: Verdict,
    /// One-sided decision whether B may replace A.
    pub qualification: Qualification,
    /// Drift over the session in percent, with its 95 % interval, if the order is known.
    pub drift: Option<Change>,
    /// Reasons and warnings.
    pub notes: Vec<Note>,
}

impl VerdictRow {
    /// Creates a row without a verdict.
    pub fn new(metric: String, unit: String, primary: bool) -> Self {
        Self {
            metric,
            unit,
            primary,
            a: None,
            b: None,
            better: None,
            change: None,
            p_adjusted: None,
            verdict: none(None),
            qualification: Qualification::Inconclusive,
            drift: None,
            notes: Vec::new(),
        }
    }

    /// `true` if the metric was judged: it has a verdict, or was tested without a conclusion.
    pub const fn is_judged(&self) -> bool {
        was_judged(&self.verdict, self.p_adjusted)
    }

    /// Returns the row with the judgement of another one, of the same quantity in another unit.
    #[must_use]
    pub fn judged_as(&self, other: &Self) -> Self {
        Self {
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            primary: self.primary,
            a: self.a,
            b: self.b,
            ..other.clone()
        }
    }

    /// Creates a row that has no verdict for this reason.
    pub fn unjudged(metric: String, unit: String, primary: bool, why: Note) -> Self {
        Self {
            notes: vec![why],
            ..Self::new(metric, unit, primary)
        }
    }
}

/// `true` if there is a verdict, or its test was made without a conclusion.
pub(crate) const fn was_judged(verdict: &Verdict, p_adjusted: Option<f64>) -> bool {
    !matches!(verdict, Verdict::NoConclusion { .. }) || p_adjusted.is_some()
}

pub(crate) const fn none(change: Option<Change>) -> Verdict {
    Verdict::NoConclusion {
        change,
        trials_needed: None,
    }
}

/// Converts a difference of y, which is always better upwards, to the change of the quantity in
/// percent: where less is better it has the other sign, and the ends of its interval of 95 % are
/// swapped. `None` if the result is not finite.
pub fn change(d: f64, interval: Option<(f64, f64)>, better: Better) -> Option<Change> {
    let percent = |d: f64| 100.0 * (better.sign() * d).exp_m1();
    let interval = interval.map(|(low, high)| match better {
        Better::Higher => (percent(low), percent(high)),
        Better::Lower => (percent(high), percent(low)),
    });
    let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
    percent(d).is_finite().then(|| Change {
        percent: percent(d),
        interval,
        confidence: 1.0 - ALONE,
        ci95: interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_all_numbers_is_absent() {
        let found = change(0.0, Some((-0.1, 1e4)), Better::Higher).unwrap();
        assert_eq!((found.percent, found.interval), (0.0, None));
        assert_eq!(change(1e4, None, Better::Higher), None);
        let small = change(1.1f64.ln(), Some((0.0, 1.2f64.ln())), Better::Higher).unwrap();
        assert!((small.percent - 10.0).abs() < 1e-9);
        assert!((small.interval.unwrap().1 - 20.0).abs() < 1e-9);
    }

    /// 201 us to 1.46 ms is +626 %, however bad that is.
    #[test]
    fn a_change_is_that_of_the_quantity() {
        let d = -(1_460.0f64 / 201.0).ln();
        let interval = Some((d - 0.1, d + 0.2));
        let time = change(d, interval, Better::Lower).unwrap();
        assert!((time.percent - 626.4).abs() < 0.1, "{time:?}");
        let (low, high) = time.interval.unwrap();
        assert!(low < time.percent && time.percent < high, "{time:?}");
        assert!((high / 100.0).ln_1p() - time.log() < 0.100_001);
        let rate = change(d, interval, Better::Higher).unwrap();
        assert!((rate.percent + 86.2).abs() < 0.1, "{rate:?}");
    }
}

//! What is said beside a verdict, or in place of one.

use super::arm::ArmError;
use super::estimate::NoEstimate;
use crate::figures::measured_in_words;
use assay_lang::{counted, tr};
pub use assay_model::verdict::Side;
use std::fmt::{self, Display, Formatter};

/// A reason or a warning. Its text is a sentence without the full stop.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// Figures of one side have no logarithm.
    Unusable(Side, ArmError),
    /// Figures of a condition have no logarithm.
    Condition(String, ArmError),
    /// Conditions were run one after another: drift that was seen within them
    /// and the margin, in percent.
    OneAfterAnother(f64, f64),
    /// Only one side has the metric.
    Missing(Side, String),
    /// The metric is there twice on one side; the first one was taken.
    Twice(Side, String),
    /// Units differ.
    Units(String, String),
    /// The sides do not agree which way is good.
    Directions,
    /// What was measured differs, or is known of one side only.
    Measured(Option<String>, Option<String>),
    /// What these metrics measured is unknown on both sides.
    MeasuredUnknown(Vec<String>),
    /// No error of the difference.
    NoEstimate(NoEstimate),
    /// Too few trials for a verdict: those of the smaller side, and what it
    /// takes.
    TooFew(usize, usize),
    /// Few trials: allowed, but said.
    Few(usize),
    /// One after the other, and drift (in percent of the session) is more than
    /// the margin.
    OrderConfounded(f64),
    /// One after the other, with a drift below the margin.
    NotInterleaved,
    /// One after the other, or nobody knows.
    OrderUnknown,
    /// The verdict hangs on one trial (counted from 1).
    DependsOnTrial(Side, usize),
    /// A trial far off the others (counted from 1); kept.
    Outlier(Side, usize),
    /// Means and ranks come to different words.
    DependsOnTails,
    /// Speed goes up and down from trial to trial.
    Alternating,
    /// Equivalent although different.
    TinyDifference,
    /// The difference is this many percent at least.
    BeyondMargin(f64),
    /// Trials that would settle it, per side.
    MoreTrials(u32),
    /// Out of reach: trials per side that may be made, the CV and the smallest
    /// difference that they show, both in percent.
    OutOfReach(u32, f64, f64),
    /// Better over all, but a metric is worse.
    TradeOff(Vec<String>),
    /// No composite, and why.
    NoComposite,
    /// Units of a part were too few to stand for it.
    FewUnits(usize, usize),
}

impl Note {
    /// Whether it tells what would settle which side is faster. Nobody asks that who asks
    /// whether B may take the place of A.
    #[must_use]
    pub const fn is_on_more_trials(&self) -> bool {
        matches!(self, Self::MoreTrials(_) | Self::OutOfReach(..))
    }

    /// Whether it says that trials are too few, or too much alike, to judge by.
    #[must_use]
    pub const fn is_on_trials(&self) -> bool {
        matches!(self, Self::NoEstimate(_) | Self::TooFew(..) | Self::Few(_))
    }
}

impl Display for Note {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(side, error) => f.write_str(&tr!("side {side}: {error}", side, error)),
            Self::Condition(condition, error) => write!(f, "{condition}: {error}"),
            Self::OneAfterAnother(drift, margin) => f.write_str(&tr!("order-confounded: the conditions were run one after another, so a drift ({drift} % was seen within them, the margin is {margin} %) would look like a difference; run them in rounds", drift = format_args!("{drift:+.1}"), margin = format_args!("{margin:.1}"))),
            Self::Missing(side, metric) => {
                f.write_str(&tr!("{metric} is missing on side {side}, so it is not compared", metric, side))
            }
            Self::Twice(side, metric) => f.write_str(&tr!("{metric} is there more than once on side {side}: name one condition; the first was taken", metric, side)),
            Self::Units(a, b) => f.write_str(&tr!("units differ: {a} and {b} are not compared", a, b)),
            Self::Directions => f.write_str(tr!("the sides disagree whether more or less is better")),
            Self::Measured(a, b) => f.write_str(&tr!("A measured {a}, B measured {b}: not the same thing, so it is not judged", a = measured(a.as_deref()), b = measured(b.as_deref()))),
            Self::MeasuredUnknown(metrics) => f.write_str(&tr!("what was measured is unknown on both sides ({metrics}): one may be the page cache's and the other the device's; a difference says nothing of the device", metrics = metrics.join(", "))),
            Self::NoEstimate(why) => write!(f, "{why}"),
            Self::TooFew(n, floor) => {
                let few = counted!(
                    *n,
                    "{n} trial on a side is too few: a verdict takes {floor}",
                    "{n} trials on a side are too few: a verdict takes {floor}",
                    floor
                );
                f.write_str(&few)
            }
            Self::Few(n) => f.write_str(&tr!("only {n} trials on a side: the verdict rests on the assumption that their logarithms are normal", n)),
            Self::OrderConfounded(drift) => f.write_str(&tr!("order-confounded: one side was run after the other and speed drifted by {drift} %; interleave the trials", drift = format_args!("{drift:+.1}"))),
            Self::NotInterleaved => f.write_str(
                tr!("one side was run after the other: the drift is told from the difference only as far as it is a straight line; interleave the trials"),
            ),
            Self::OrderUnknown => f.write_str(
                tr!("the order of the trials is unknown, or the sides are of different sessions: a drift would look like a difference"),
            ),
            Self::DependsOnTrial(side, trial) => f.write_str(&tr!("depends on trial {trial} of side {side}, which is far off the others: find its cause or repeat", trial, side)),
            Self::Outlier(side, trial) => f.write_str(&tr!("trial {trial} of side {side} is far off the others; it was kept", trial, side)),
            Self::DependsOnTails => f.write_str(
                tr!("means and ranks come to different words: the result depends on tails or outliers"),
            ),
            Self::Alternating => f.write_str(
                tr!("trials alternate: neighbouring ones differ more than all of them do, so they have to agree, which widens the interval; let the storage rest between trials (--idle)"),
            ),
            Self::TinyDifference => f.write_str(tr!("tiny real difference")),
            Self::BeyondMargin(margin) => f.write_str(&tr!("by at least {margin} %", margin = format_args!("{margin:.1}"))),
            Self::MoreTrials(n) => f.write_str(&tr!("{n} more trials per side would probably settle it", n)),
            Self::OutOfReach(n, cv, percent) => f.write_str(&tr!("not decidable within {n} trials per side at CV {cv} %; they would show a difference of {percent} %", n, cv = format_args!("{cv:.1}"), percent = format_args!("{percent:.1}"))),
            Self::TradeOff(metrics) => f.write_str(&tr!("trade-off: {metrics} slower", metrics = metrics.join(", "))),
            Self::NoComposite => f.write_str(
                tr!("no composite: it takes the values of all trials, as many for each primary metric"),
            ),
            Self::FewUnits(a, b) => f.write_str(&tr!("{a} and {b} units: what is found holds for these units; three of each stand for the parts", a, b)),
        }
    }
}

fn measured(what: Option<&str>) -> String {
    what.map_or_else(
        || tr!("something that is not known").to_owned(),
        measured_in_words,
    )
}

//! Notes beside a verdict or instead of one.
//!
//! To add a note: add a variant of `Note` with its sentence, and find it in `candidate` (one
//! metric), `compare` (all metrics) or `ranking`. A change of how often a verdict errs must pass
//! `cargo xtask calibrate` and be described in `docs/verdicts.md`.

use super::arm::ArmError;
use super::between::RunVariance;
use super::estimate::NoEstimate;
use crate::figures::{may_decide, measured_in_words};
use assay_lang::{counted, tr, translated};
use assay_model::figures::Figure;
pub use assay_model::verdict::Side;
use std::fmt::{self, Display, Formatter};

/// A reason or a warning. Its text is a sentence without a full stop.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// Figures of one side have no logarithm.
    Unusable(Side, ArmError),
    /// Figures of a condition have no logarithm.
    Condition(String, ArmError),
    /// Conditions were run one after another: the drift within them and the margin, in percent.
    OneAfterAnother(f64, f64),
    /// Only one side has the metric.
    Missing(Side, String),
    /// One side has the metric twice; the first one was used.
    Twice(Side, String),
    /// Units differ.
    Units(String, String),
    /// The sides differ in the direction that is better.
    Directions,
    /// Labels of the sides differ, or are known for one side only.
    Measured(Option<String>, Option<String>),
    /// Results of a side have no label; `true` if the user trusts them.
    LabelNotRecorded(Side, bool),
    /// The labels of these metrics are unknown on both sides.
    MeasuredUnknown(Vec<String>),
    /// The label of every figure is this one, not the device.
    NotOfDevice(String),
    /// Imported results have no label.
    MeasuredNotRecorded,
    /// The error of the difference cannot be estimated.
    NoEstimate(NoEstimate),
    /// The figures come from a model that computes the same in every trial.
    Deterministic,
    /// The figures come from deterministic models that may differ.
    OtherModels,
    /// There are too few trials for a verdict: number of the smaller side, and the required number.
    TooFew(usize, usize),
    /// There are few trials, which is allowed with a warning.
    Few(usize),
    /// The sides were run one after the other, so that a drift would look like a difference.
    OrderConfounded,
    /// The sides are from separate sessions, and the metric drifted within one of them by as much
    /// as they differ, in percent.
    DriftsWithin(f64),
    /// The trials show a difference, in percent, that also occurs between runs of one unchanged
    /// device, with their coefficient of variation in percent.
    OneOfRuns(f64, f64),
    /// Intervals include the variance between runs: its least and largest coefficient of variation
    /// in percent, and the source of the estimate.
    BetweenRuns(f64, f64, KnownFrom),
    /// The sides are from separate sessions.
    OwnSessions,
    /// The order of the trials is not known.
    OrderUnknown,
    /// The verdict depends on one trial (number from 1).
    DependsOnTrial(Side, usize),
    /// A trial is an outlier (number from 1); it is kept.
    Outlier(Side, usize),
    /// Means and ranks lead to different verdicts.
    DependsOnTails,
    /// Speed alternates from trial to trial.
    Alternating,
    /// The change differs from that of the geometric means, since the drift is removed.
    WithoutDrift,
    /// The change differs from that of the geometric means, since it is by ranks.
    ByRanks,
    /// The sides are equivalent although a difference was found.
    TinyDifference,
    /// The difference is at least this many percent.
    BeyondMargin(f64),
    /// Number of additional trials per side that would settle the question.
    MoreTrials(u32),
    /// A conclusion is out of reach: allowed trials per side, the CV and the smallest difference
    /// that they show, both in percent.
    OutOfReach(u32, f64, f64),
    /// The composite has one verdict, but these metrics have another one.
    TradeOff(Vec<(String, &'static str)>),
    /// The composite has a verdict that no metric has by itself.
    OnlyTogether(&'static str),
    /// The composite combines rates and times.
    AsSpeed,
    /// There is no composite, for this reason.
    NoComposite,
    /// There are too few units of a part to represent it.
    FewUnits(usize, usize),
    /// The note applies to means of trials instead of trials.
    Of(Mean, Box<Note>),
}

/// Source of the estimate of the variance between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownFrom {
    /// Only the prior.
    Nothing,
    /// The compared runs.
    These,
    /// The compared runs, and this number of earlier ones.
    Earlier(usize),
}

/// Group of trials that a value is the mean of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mean {
    /// The trials of a unit.
    Unit,
    /// The trials of a run.
    Run,
}

impl Mean {
    /// Returns the word for `n` of them, singular or plural.
    fn word(self, n: usize) -> &'static str {
        match (self, n) {
            (Self::Unit, 1) => tr!("unit (board)"),
            (Self::Unit, _) => tr!("units (boards)"),
            (Self::Run, 1) => tr!("run"),
            (Self::Run, _) => tr!("runs"),
        }
    }
}

impl Note {
    /// Returns the note that keeps figures of one metric from deciding, if all measured the same.
    pub fn beside(figures: &[&Figure]) -> Option<Self> {
        let what = figures.first()?.measured.as_ref()?;
        let alike = figures
            .iter()
            .all(|figure| figure.measured.as_ref() == Some(what));
        (alike && !may_decide(Some(what))).then(|| Self::NotOfDevice(what.clone()))
    }

    /// Returns the note on the variance between the runs that are compared.
    pub(crate) fn between_runs(metrics: impl Iterator<Item = RunVariance>) -> Option<Self> {
        let known_from = |one: &RunVariance| match one {
            one if one.known <= 0.0 => KnownFrom::Nothing,
            one if one.earlier > 1 => KnownFrom::Earlier(one.earlier),
            _ => KnownFrom::These,
        };
        let seen = metrics.map(|one| (one.percent(), one.percent(), known_from(&one)));
        let all = seen.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2.max(b.2)))?;
        Some(Self::BetweenRuns(all.0, all.1, all.2))
    }

    /// `true` if the note is about how to settle which side is faster. It does not apply to a
    /// qualification, which asks whether B may replace A.
    pub fn is_on_more_trials(&self) -> bool {
        match self {
            Self::MoreTrials(_) | Self::OutOfReach(..) => true,
            Self::Of(_, note) => note.is_on_more_trials(),
            _ => false,
        }
    }

    /// `true` if the note explains that a metric does not decide because of its label.
    pub fn is_on_label(&self) -> bool {
        matches!(
            self,
            Self::Measured(..) | Self::NotOfDevice(_) | Self::LabelNotRecorded(_, false)
        )
    }

    /// `true` if the note is about a drift that cannot be separated from a difference.
    pub const fn is_on_drift(&self) -> bool {
        matches!(
            self,
            Self::OneAfterAnother(..) | Self::OrderConfounded | Self::DriftsWithin(_)
        )
    }

    /// `true` if the note is about trials that are too few, or too similar, to judge.
    pub fn is_on_trials(&self) -> bool {
        match self {
            Self::NoEstimate(_) | Self::TooFew(..) | Self::Few(_) => true,
            Self::Of(_, note) => note.is_on_trials(),
            _ => false,
        }
    }

    /// Returns the note with units or runs in place of trials.
    #[must_use]
    pub fn of(self, mean: Mean) -> Self {
        match self {
            Self::Few(_)
            | Self::TooFew(..)
            | Self::NoEstimate(_)
            | Self::MoreTrials(_)
            | Self::OutOfReach(..)
            | Self::Outlier(..)
            | Self::DependsOnTrial(..) => Self::Of(mean, Box::new(self)),
            other => other,
        }
    }

    fn told_of(&self, mean: Mean) -> String {
        let (one, several) = (mean.word(1), mean.word(2));
        match self {
            Self::Few(n) => tr!(
                "only {n} {several} on a side: the verdict rests on the assumption that the logarithms of their means are normal",
                n,
                several
            ),
            Self::TooFew(n, floor) => tr!(
                "{n} {what} on a side: a verdict takes {floor}",
                n,
                what = mean.word(*n),
                floor
            ),
            Self::NoEstimate(NoEstimate::OneTrial) => tr!(
                "a single {one} has no spread: nothing tells a difference from chance",
                one
            ),
            Self::NoEstimate(NoEstimate::NoSpread) => tr!(
                "all {several} of a side gave the same figure, so their spread is hidden by rounding: record more digits",
                several
            ),
            Self::MoreTrials(n) => tr!(
                "{n} more {what} a side would probably settle it; more trials of the same {several} would not",
                n,
                what = mean.word(usize::try_from(*n).unwrap_or(usize::MAX)),
                several
            ),
            Self::OutOfReach(n, cv, percent) => tr!(
                "not decidable within {n} {several} a side at CV {cv} %; they would show a difference of {percent} %",
                n,
                several,
                cv = format_args!("{cv:.1}"),
                percent = format_args!("{percent:.1}")
            ),
            Self::Outlier(side, place) => tr!(
                "{one} {place} of side {side} is far off the others; it was kept",
                one,
                place,
                side
            ),
            Self::DependsOnTrial(side, place) => tr!(
                "depends on {one} {place} of side {side}, which is far off the others: find its cause or repeat",
                one,
                place,
                side
            ),
            other => other.to_string(),
        }
    }
}

impl Display for Note {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(side, error) => f.write_str(&tr!("side {side}: {error}", side, error)),
            Self::Condition(condition, error) => write!(f, "{condition}: {error}"),
            Self::OneAfterAnother(drift, margin) => f.write_str(&tr!("order-confounded: conditions were run one after another, so a drift ({drift} % of speed was seen within them, the margin is {margin} %) would look like a difference; run them in rounds", drift = format_args!("{drift:+.1}"), margin = format_args!("{margin:.1}"))),
            Self::Missing(side, metric) => {
                f.write_str(&tr!("{metric} is missing on side {side}, so it is not compared", metric, side))
            }
            Self::Twice(side, metric) => f.write_str(&tr!("{metric} is there more than once on side {side}: name one condition; the first was taken", metric, side)),
            Self::Units(a, b) => f.write_str(&tr!("units differ: {a} and {b} are not compared", a, b)),
            Self::Directions => f.write_str(tr!("the sides disagree whether more or less is better")),
            Self::Measured(a, b) => f.write_str(&tr!("A measured {a}, B measured {b}: not the same thing, so it is not judged", a = measured(a.as_deref()), b = measured(b.as_deref()))),
            Self::LabelNotRecorded(side, true) => f.write_str(&tr!("what {side} measured is not recorded; it is trusted to be the same", side)),
            Self::LabelNotRecorded(side, false) => f.write_str(&tr!("what {side} measured is not recorded, so it does not decide; --trust {side} lets it, if job and file are the same", side)),
            Self::MeasuredUnknown(metrics) => f.write_str(&tr!("what was measured is unknown on both sides ({metrics}): one may be the page cache's and the other the device's; a difference says nothing of the device", metrics = metrics.join(", "))),
            Self::NotOfDevice(what) => f.write_str(&tr!("measured: {what}; only figures of the device decide", what = measured(Some(what)))),
            Self::MeasuredNotRecorded => f.write_str(
                tr!("what results that were made elsewhere measured is not recorded: the device, or a page cache"),
            ),
            Self::NoEstimate(why) => write!(f, "{why}"),
            Self::Deterministic => f.write_str(tr!("deterministic, no spread: a simulated device computes the same in every trial, so the figures are compared as they are")),
            Self::OtherModels => f.write_str(tr!("deterministic, no spread, but simulated by different versions of assay: a change of the model would look like a difference; simulate both sides with one version")),
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
            Self::OrderConfounded => f.write_str(tr!("order-confounded: one side was measured after the other, so a drift cannot be told from a difference; measure them in turn: A B B A")),
            Self::DriftsWithin(drift) => f.write_str(&tr!("drift: it changed by {drift} % within one of the sides, which is as much as they differ; measure them in turn: A B B A (assay compare --paired-on)", drift = format_args!("{drift:+.1}"))),
            Self::OneOfRuns(change, percent) => f.write_str(&tr!("differs by {change} %, and runs of such storage differ by {percent} % without a change (standard deviation)", change = format_args!("{change:+.1}"), percent = format_args!("{percent:.1}"))),
            Self::BetweenRuns(low, high, known) => {
                let (low, high) = (format_args!("{low:.1}"), format_args!("{high:.1}"));
                f.write_str(&match known {
                    KnownFrom::Nothing => tr!("intervals include that runs of one device differ, by {low} to {high} % (standard deviation): assumed, as the store has no earlier runs of these jobs; several runs of each side, in turn, show it", low, high),
                    KnownFrom::These => tr!("intervals include that runs of one device differ, by {low} to {high} % (standard deviation): known from these runs", low, high),
                    KnownFrom::Earlier(n) => tr!("intervals include that runs of one device differ, by {low} to {high} % (standard deviation): known from up to {n} earlier runs", low, high, n),
                })
            }
            Self::OwnSessions => f.write_str(
                tr!("each side is of a session of its own: a drift between them would look like a difference; assay compare --paired-on measures them in turn"),
            ),
            Self::OrderUnknown => f.write_str(
                tr!("the order of the trials is unknown: a drift would look like a difference"),
            ),
            Self::DependsOnTrial(side, trial) => f.write_str(&tr!("depends on trial {trial} of side {side}, which is far off the others: find its cause or repeat", trial, side)),
            Self::Outlier(side, trial) => f.write_str(&tr!("trial {trial} of side {side} is far off the others; it was kept", trial, side)),
            Self::DependsOnTails => f.write_str(
                tr!("means and ranks come to different words: the result depends on tails or outliers"),
            ),
            Self::Alternating => f.write_str(
                tr!("trials alternate: neighbouring ones differ more than all of them do, so they have to agree, which widens the interval; let the storage rest between trials (--idle)"),
            ),
            Self::WithoutDrift => f.write_str(
                tr!("the change is without the drift over the session, which the figures of A and B contain"),
            ),
            Self::ByRanks => f.write_str(
                tr!("the change is the median of all differences between a trial of B and one of A, not that of the means"),
            ),
            Self::TinyDifference => f.write_str(tr!("tiny real difference")),
            Self::BeyondMargin(margin) => f.write_str(&tr!("by at least {margin} %", margin = format_args!("{margin:.1}"))),
            Self::MoreTrials(n) => f.write_str(&tr!("{n} more trials per side would probably settle it", n)),
            Self::OutOfReach(n, cv, percent) => f.write_str(&tr!("not decidable within {n} trials per side at CV {cv} %; they would show a difference of {percent} %", n, cv = format_args!("{cv:.1}"), percent = format_args!("{percent:.1}"))),
            Self::TradeOff(metrics) => {
                let told = metrics.iter();
                let told = told.map(|(metric, word)| format!("{metric} {}", translated(word)));
                let metrics = told.collect::<Vec<_>>().join(", ");
                f.write_str(&tr!("trade-off: {metrics}", metrics))
            }
            Self::OnlyTogether(word) => f.write_str(&tr!("{word} only taken together: no metric that decides is by itself", word = translated(word))),
            Self::AsSpeed => f.write_str(tr!("of speed: where less is better the inverse counts")),
            Self::NoComposite => f.write_str(
                tr!("no composite: it takes the values of all trials, as many for each primary metric"),
            ),
            Self::Of(mean, note) => f.write_str(&note.told_of(*mean)),
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

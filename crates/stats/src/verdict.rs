//! Verdicts: whether two or more conditions differ, by how much, and when no conclusion is
//! possible.
//!
//! All computations use y = ln(x), with the sign inverted where less is better, so that a positive
//! difference always means that B is better and is a ratio of speeds. A trial gives one value per
//! metric; values within a trial depend on each other, so intervals use one value per trial.
//!
//! To add a note: add a variant of `Note` with its sentence, and find it in `candidate` (one
//! metric), `compare` (all metrics) or `ranking`. A change of how often a verdict errs must pass
//! `cargo xtask calibrate` and be described in `docs/verdicts.md`.

pub mod arm;
pub mod between;
mod candidate;
pub mod compare;
pub mod estimate;
pub mod judge;
pub mod limit;
pub mod power;
pub mod ranking;
pub mod shift;
pub mod simulate;
pub mod units;

pub use assay_model::figures::Side;

use crate::figures::{may_decide, measured_in_words};
use arm::{Arm, ArmError};
use assay_lang::{counted, key, tr, translated};
use assay_model::figures::{Better, Change, Figure, LEVEL, Verdict};
use assay_model::run::Stopping;
use between::RunVariance;
use candidate::{Candidate, Level};
use estimate::{NoEstimate, Prior};
use judge::Qualification;
use shift::Tables;
use std::fmt;
use std::fmt::{Display, Formatter};

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

/// Maximum number of metrics that a note names.
const NAMED: usize = 4;

/// Lists the first metrics, and counts the others.
fn shortened(metrics: &[String]) -> String {
    let (named, more) = metrics.split_at(metrics.len().min(NAMED));
    match more.len() {
        0 => named.join(", "),
        more => tr!("{named} and {more} more", named = named.join(", "), more),
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
    /// While this side was measured, other programs used the processors, which can explain the
    /// difference: percent of the time in which a task waited for one, and that of the other side.
    Busy(Side, f64, f64),
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
    /// Neighbouring trials differ more than all trials do.
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

    /// `true` if the note is about a drift or a load that cannot be separated from a difference.
    pub const fn is_on_session(&self) -> bool {
        matches!(
            self,
            Self::OneAfterAnother(..)
                | Self::OrderConfounded
                | Self::DriftsWithin(_)
                | Self::Busy(..)
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

    fn text_about(&self, mean: Mean, names: [&str; 2]) -> String {
        let name = |side: Side| names[usize::from(side == Side::B)];
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
            Self::OutOfReach(n, _, percent) => tr!(
                "too noisy: {n} {several} a side would still only show differences above {percent} %",
                n,
                several,
                percent = smallest(*percent)
            ),
            Self::Outlier(side, place) => tr!(
                "{one} {place} of {side} is far off the others; it was kept",
                one,
                place,
                side = name(*side)
            ),
            Self::DependsOnTrial(side, place) => tr!(
                "depends on {one} {place} of {side}, which is far off the others: find its cause or repeat",
                one,
                place,
                side = name(*side)
            ),
            other => Named(other, names).to_string(),
        }
    }
}

impl Display for Note {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(["A", "B"], f)
    }
}

/// Note with the names of the sides.
struct Named<'a>(&'a Note, [&'a str; 2]);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.write(self.1, f)
    }
}

impl Note {
    /// Returns the sentence of the note with these names of the sides.
    pub fn told(&self, names: &[String; 2]) -> String {
        Named(self, names.each_ref().map(String::as_str)).to_string()
    }

    fn write(&self, names: [&str; 2], f: &mut Formatter<'_>) -> fmt::Result {
        let name = |side: Side| names[usize::from(side == Side::B)];
        let [a, b] = names;
        match self {
            Self::Unusable(side, error) => f.write_str(&tr!("{side}: {error}", side = name(*side), error)),
            Self::Condition(condition, error) => write!(f, "{condition}: {error}"),
            Self::OneAfterAnother(drift, margin) => f.write_str(&tr!("order-confounded: conditions were run one after another, so a drift ({drift} % of speed was seen within them, the margin is {margin} %) would look like a difference; run them in rounds", drift = format_args!("{drift:+.1}"), margin = format_args!("{margin:.1}"))),
            Self::Missing(side, metric) => {
                f.write_str(&tr!("{metric} is missing on {side}", metric, side = name(*side)))
            }
            Self::Twice(side, metric) => f.write_str(&tr!("{metric} is there more than once on {side}: name one condition; the first was taken", metric, side = name(*side))),
            Self::Units(a, b) => f.write_str(&tr!("units differ: {a} and {b} are not compared", a, b)),
            Self::Directions => f.write_str(tr!("the sides disagree whether more or less is better")),
            Self::Measured(of_a, of_b) => f.write_str(&tr!("{a} measured {of_a}, {b} measured {of_b}: not the same thing, so it is not judged", a, b, of_a = measured(of_a.as_deref()), of_b = measured(of_b.as_deref()))),
            Self::LabelNotRecorded(side, true) => f.write_str(&tr!("what {side} measured is not recorded; it is trusted to be the same", side = name(*side))),
            Self::LabelNotRecorded(side, false) => f.write_str(&tr!("what {side} measured is not recorded, so it does not decide; --trust {letter} lets it, if job and file are the same", side = name(*side), letter = side)),
            Self::MeasuredUnknown(metrics) => f.write_str(&tr!("what was measured is unknown on both sides ({metrics}): one may be the page cache's and the other the device's; a difference says nothing of the device", metrics = shortened(metrics))),
            Self::NotOfDevice(what) => f.write_str(&tr!("measured: {what}; only figures of the device decide", what = measured(Some(what)))),
            Self::MeasuredNotRecorded => f.write_str(
                tr!("imported results do not record whether they measured the device or the page cache"),
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
            Self::Busy(side, percent, other) => f.write_str(&tr!("while {side} was measured, something waited for a processor {percent} % of the time ({other} % on the other side), which can explain it: measure {side} again while the machine is idle, or both in turn", side = name(*side), percent = format_args!("{percent:.0}"), other = format_args!("{other:.0}"))),
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
            Self::DependsOnTrial(side, trial) => f.write_str(&tr!("depends on trial {trial} of {side}, which is far off the others: find its cause or repeat", trial, side = name(*side))),
            Self::Outlier(side, trial) => f.write_str(&tr!("trial {trial} of {side} is far off the others; it was kept", trial, side = name(*side))),
            Self::DependsOnTails => f.write_str(
                tr!("means and ranks come to different words: the result depends on tails or outliers"),
            ),
            Self::Alternating => f.write_str(
                tr!("neighbouring trials differ more than all of them do, so the interval was widened; try --idle 5s"),
            ),
            Self::WithoutDrift => f.write_str(
                tr!("the change is without the drift over the session, which the two means contain"),
            ),
            Self::ByRanks => f.write_str(&tr!("the change is the median of all differences between a trial of {b} and one of {a}, not that of the means", a, b)),
            Self::TinyDifference => f.write_str(tr!("tiny real difference")),
            Self::BeyondMargin(margin) => f.write_str(&tr!("by at least {margin} %", margin = format_args!("{margin:.1}"))),
            Self::MoreTrials(n) => f.write_str(&tr!("{n} more trials per side would probably settle it", n)),
            Self::OutOfReach(n, _, percent) => f.write_str(&tr!("too noisy: {n} trials a side would still only show differences above {percent} %", n, percent = smallest(*percent))),
            Self::TradeOff(metrics) => {
                let told = metrics.iter();
                let told = told.map(|(metric, word)| format!("{metric} {}", translated(word)));
                let metrics = told.collect::<Vec<_>>().join(", ");
                f.write_str(&tr!("trade-off: {metrics}", metrics))
            }
            Self::OnlyTogether(word) => f.write_str(&tr!("{word} only taken together: no metric that decides is by itself", word = translated(word))),
            Self::AsSpeed => f.write_str(tr!("of speed: where less is better the inverse counts")),
            Self::NoComposite => f.write_str(
                tr!("no overall figure: it needs the values of all trials, as many for each metric"),
            ),
            Self::Of(mean, note) => f.write_str(&note.text_about(*mean, names)),
            Self::FewUnits(a, b) => f.write_str(&tr!("{a} and {b} units: the verdict holds for these units only; one on the parts needs three units of each", a, b)),
        }
    }
}

/// Formats the smallest difference that trials show, in percent, with a decimal if it is small.
fn smallest(percent: f64) -> String {
    format!("{percent:.*}", usize::from(percent < 9.95))
}

fn measured(what: Option<&str>) -> String {
    what.map_or_else(
        || tr!("something that is not known").to_owned(),
        measured_in_words,
    )
}

/// Limits of the differences without practical relevance, on the scale of comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// Limit of a difference that makes B worse, below 0.
    pub low: f64,
    /// Limit of a difference that makes B better, above 0.
    pub high: f64,
}

impl Margin {
    /// Returns the limits for a change of the quantity by `share` either way: ln(1 - share) and
    /// ln(1 + share), with the signs inverted where less is better.
    ///
    /// ```
    /// use assay_model::figures::Better;
    /// use assay_stats::verdict::Margin;
    /// let rate = Margin::of(0.2, Better::Higher);
    /// assert!(rate.holds(0.81_f64.ln()) && !rate.holds(0.79_f64.ln()));
    /// assert!(rate.holds(1.19_f64.ln()) && !rate.holds(1.21_f64.ln()));
    /// let time = Margin::of(0.2, Better::Lower);
    /// assert!(time.holds(-1.19_f64.ln()) && !time.holds(-1.21_f64.ln()));
    /// ```
    pub fn of(share: f64, better: Better) -> Self {
        let (low, high) = ((-share.min(1.0)).ln_1p(), share.ln_1p());
        match better {
            Better::Higher => Self { low, high },
            Better::Lower => Self {
                low: -high,
                high: -low,
            },
        }
    }

    /// `true` if a difference has no practical relevance.
    pub fn holds(&self, d: f64) -> bool {
        self.low <= d && d <= self.high
    }
}

/// A p value after correction, and the level for its raw value. `p <= level` and `adjusted <=
/// alpha` are equivalent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjusted {
    /// Corrected p value.
    pub p: f64,
    /// Level for the raw p value.
    pub level: f64,
}

/// Holm's step-down (1979): the probability of any false finding stays at `alpha`. Tests after the
/// first failed one use the level of that test.
pub fn holm(p: &[f64], alpha: f64) -> Vec<Adjusted> {
    let mut adjusted = vec![Adjusted { p: 1.0, level: 0.0 }; p.len()];
    let (mut largest, mut stopped) = (0.0_f64, None);
    for (rank, index) in in_order(p).into_iter().enumerate() {
        let left = (p.len() - rank) as f64;
        largest = largest.max((p[index] * left).min(1.0));
        let level = stopped.unwrap_or(alpha / left);
        if p[index] > level && stopped.is_none() {
            stopped = Some(level);
        }
        adjusted[index] = Adjusted { p: largest, level };
    }
    adjusted
}

/// Benjamini and Hochberg's step-up (1995): on average, a share of `q` of the findings is false.
pub fn benjamini_hochberg(p: &[f64], q: f64) -> Vec<Adjusted> {
    let order = in_order(p);
    let all = p.len() as f64;
    let threshold = |rank: usize| q * (rank + 1) as f64 / all;
    let last = (0..p.len())
        .rev()
        .find(|&rank| p[order[rank]] <= threshold(rank));
    let level = threshold(last.unwrap_or(0));
    let mut adjusted = vec![Adjusted { p: 1.0, level }; p.len()];
    let mut smallest = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(p[index] * all / (rank + 1) as f64);
        adjusted[index].p = smallest;
    }
    adjusted
}

/// Returns the indices by p value, the smallest first.
fn in_order(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    order
}

/// Returns the composite of each trial, c = mean of its y over the primary metrics, so that
/// correlated metrics do not count as independent. `None` with fewer than two metrics, or if one
/// has a different number of trials or only a summary.
pub(crate) fn candidate(
    candidates: &[&Candidate],
    level: Level,
    options: &Options,
    tables: &mut Tables,
) -> Option<Candidate> {
    let primary: Vec<_> = candidates.iter().filter(|c| c.line().primary).collect();
    if primary.len() < 2 || primary.iter().any(|c| c.is_barred()) {
        return None;
    }
    let a = join(&primary.iter().map(|c| c.arms().0).collect::<Vec<_>>())?;
    let b = join(&primary.iter().map(|c| c.arms().1).collect::<Vec<_>>())?;
    let mut line = VerdictRow::new(key!("all primary metrics").to_owned(), String::new(), false);
    if primary.iter().any(|c| c.arms().0.better != a.better) {
        line.notes.push(Note::AsSpeed);
    }
    let simulated = primary.iter().all(|c| c.is_simulated());
    let between: Vec<RunVariance> = primary.iter().filter_map(|c| c.between()).collect();
    let options = &Options {
        between: RunVariance::of_composite(&between),
        ..*options
    };
    Some(Candidate::new(
        line,
        (a, b),
        level,
        simulated,
        options,
        tables,
    ))
}

/// Averages the metrics trial by trial; the place of a trial is the mean of its places in the
/// metrics.
fn join(arms: &[&Arm]) -> Option<Arm> {
    let n = arms.first()?.y.len();
    if arms.iter().any(|arm| arm.y.len() != n) {
        return None;
    }
    let mean =
        |of: &dyn Fn(&Arm) -> f64| arms.iter().map(|arm| of(arm)).sum::<f64>() / arms.len() as f64;
    let y = (0..n).map(|r| mean(&|arm| arm.y[r])).collect();
    let known = arms.iter().all(|arm| arm.positions.len() == n);
    let positions = if known {
        (0..n).map(|r| mean(&|arm| arm.positions[r])).collect()
    } else {
        Vec::new()
    };
    Arm::of_logs(y, positions, direction(arms)).ok()
}

/// Returns the direction in which all metrics are better; for rates and times together it is that
/// of speed.
fn direction(arms: &[&Arm]) -> Better {
    let mixed = arms.windows(2).any(|pair| pair[0].better != pair[1].better);
    let common = arms.first().filter(|_| !mixed);
    common.map_or(Better::Higher, |arm| arm.better)
}

/// Judges the composite at the full level. It only repeats a verdict that a primary metric has,
/// since it would otherwise be an additional test. It has no verdict if another primary metric
/// contradicts it, which is a trade-off.
pub(crate) fn conclude(
    candidate: Option<Candidate>,
    lines: &[VerdictRow],
    options: &Options,
    tables: &mut Tables,
    notes: &mut Vec<Note>,
) -> Option<VerdictRow> {
    let primary: Vec<&VerdictRow> = lines.iter().filter(|line| line.primary).collect();
    let Some(candidate) = candidate else {
        if primary.len() >= 2 {
            notes.push(Note::NoComposite);
        }
        return None;
    };
    let adjusted = candidate.p().map(|p| Adjusted {
        p,
        level: options.alpha,
    });
    let mut line = candidate.conclude(adjusted, options, tables);
    let word = line.verdict.word();
    let (alike, others): (Vec<&VerdictRow>, Vec<&VerdictRow>) = primary
        .into_iter()
        .partition(|line| line.verdict.word() == word);
    let differs =
        |line: &&VerdictRow| matches!(line.verdict, Verdict::Faster(_) | Verdict::Slower(_));
    let contrary: Vec<(String, &str)> = others
        .into_iter()
        .filter(differs)
        .map(|line| (line.metric.clone(), line.verdict.word()))
        .collect();
    let why = match &line.verdict {
        Verdict::NoConclusion { .. } => return Some(line),
        _ if !contrary.is_empty() => Note::TradeOff(contrary),
        _ if alike.is_empty() => Note::OnlyTogether(word),
        _ => return Some(line),
    };
    if !options.qualify {
        line.change = line.change.map(|change| Change {
            interval: None,
            ..change
        });
    }
    line.verdict = none(line.change);
    line.notes
        .retain(|note| !matches!(note, Note::BeyondMargin(_) | Note::TinyDifference));
    line.notes.push(why);
    Some(line)
}

#[cfg(test)]
mod tests;

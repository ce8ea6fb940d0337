//! A metric between its two arms and its verdict.

use super::arm::Arm;
use super::between::RunVariance;
use super::estimate::{AmongAll, Difference, Linear, NoEstimate, Prior, in_one_session};
use super::judge::{
    Judgement, Qualification, Rule, Word, is_confounded, is_uneven, judge, qualify,
};
use super::power::{Outlook, detectable_effect};
use super::shift::{MIN_TRIALS, Shift, Tables};
use super::{
    ALONE, Adjusted, Margin, Mean, Note, Options, Side, Summary, VerdictRow, change, judge, none,
    shift,
};
use assay_model::figures::{Change, Verdict};

/// Rounding of a figure, in standard deviations of a trial, up to which another figure may be the
/// same quantity.
const ROUNDING: f64 = 0.05;

/// Largest difference that a load beside one side explains, on the scale of logarithms: a factor of
/// 4. A load takes processors from the measured work, and keeps them awake for it: a compiler
/// beside one run of a loop device changed single jobs by factors from 0.31 to 3.1.
const MOST_OF_LOAD: f64 = 1.386;

/// A metric before its verdict; only the level of its test is missing.
pub(crate) struct Candidate {
    line: VerdictRow,
    a: Arm,
    b: Arm,
    level: Level,
    estimate: Option<Estimate>,
    /// `true` if a reason forbids a verdict.
    barred: bool,
    /// Largest significant drift within a session, for sides from different sessions, on the scale
    /// of logarithms.
    drift_within: Option<f64>,
    /// `true` if the positions of both sides are known, each in a separate session.
    has_places: bool,
    priors: Option<[Prior; 2]>,
    between: Option<RunVariance>,
    /// Test of the difference among all pairs of conditions.
    among: Option<AmongAll>,
    /// `true` if the figures were computed by a model.
    simulated: bool,
    /// Difference of figures that are known to be exact.
    exact: Option<f64>,
    /// Load of the machine while one of the sides was measured.
    load: Option<Load>,
}

/// Load of other programs while one side was measured: shares of the time in which a task waited
/// for a processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub side: Side,
    /// Share of this side.
    pub waited: f64,
    /// Share of the other side.
    pub other: f64,
}

impl Candidate {
    /// Prepares two arms of figures for their test. `line` has the names and the notes so far;
    /// `simulated` figures were computed by a model.
    pub fn new(
        mut line: VerdictRow,
        (mut a, mut b): (Arm, Arm),
        level: Level,
        simulated: bool,
        options: &Options,
        tables: &mut Tables,
    ) -> Self {
        let known = !a.positions.is_empty() && !b.positions.is_empty();
        let has_places = known && !options.same_session;
        let confounded = options.same_session && is_confounded(&a.positions, &b.positions);
        let mut drift_within = None;
        if options.same_session && in_one_session(&a, &b) {
            judge::rank(&mut [&mut a, &mut b]);
        } else {
            let drifts = [&a, &b].into_iter();
            let drifts = drifts.filter_map(|arm| judge::drift_within(arm, options.alpha));
            drift_within = drifts.max_by(|one, other| one.abs().total_cmp(&other.abs()));
            a.positions.clear();
            b.positions.clear();
        }
        (line.a, line.b) = (Some(Summary::of(&a)), Some(Summary::of(&b)));
        line.better = Some(a.better);
        line.change = change(b.mean - a.mean, None, a.better);
        let between = options.between.filter(|_| !simulated);
        let mut candidate = Self {
            line,
            a,
            b,
            level,
            estimate: None,
            barred: false,
            drift_within,
            has_places,
            priors: options.priors,
            between,
            among: None,
            simulated,
            exact: None,
            load: None,
        };
        if confounded {
            candidate.bar(Note::OrderConfounded);
        }
        match Estimate::of(&candidate.a, &candidate.b, options.priors.as_ref(), tables) {
            Ok(estimate) => candidate.take(estimate.apart(between.as_ref(), level)),
            Err(NoEstimate::NoSpread) if simulated && options.same_model => {
                candidate.exact = Some(candidate.b.mean - candidate.a.mean);
                candidate.line.notes.push(Note::Deterministic);
            }
            Err(NoEstimate::NoSpread) if simulated => candidate.bar(Note::OtherModels),
            Err(why) => candidate.bar(Note::NoEstimate(why)),
        }
        candidate.check_number(options);
        candidate
    }

    /// Forbids a verdict, for a reason that the row already contains.
    pub fn barred(self) -> Self {
        Self {
            barred: true,
            ..self
        }
    }

    /// Sets the load of the machine while one of the sides was measured.
    pub fn under(self, load: Option<Load>) -> Self {
        Self { load, ..self }
    }

    fn bar(&mut self, why: Note) {
        self.line.notes.push(why);
        self.barred = true;
    }

    fn take(&mut self, estimate: Estimate) {
        self.line.change = change(estimate.d(), estimate.interval(ALONE), self.a.better);
        let of_columns = change(self.b.mean - self.a.mean, None, self.a.better);
        let tenths = |change: Option<Change>| change.map(|change| (10.0 * change.percent).round());
        // The composite has no figures in its columns to compare with its change.
        if tenths(of_columns) != tenths(self.line.change) && !self.line.unit.is_empty() {
            self.line.notes.push(match estimate.linear.drift {
                Some(_) => Note::WithoutDrift,
                None => Note::ByRanks,
            });
        }
        if estimate.is_alternating() {
            self.line.notes.push(Note::Alternating);
        }
        if let Some(drift) = estimate.linear.drift {
            self.line.drift = change(drift.total(), Some(drift.interval(ALONE)), self.a.better);
        }
        self.estimate = Some(estimate);
    }

    fn check_number(&mut self, options: &Options) {
        let n = self.a.n.min(self.b.n);
        let summary = self.a.y.is_empty() || self.b.y.is_empty();
        let floor = match self.level {
            Level::Trials if summary => options.min_trials.min(3),
            Level::Trials => options.min_trials.max(3),
            Level::Units => 3,
        };
        if n < floor && self.estimate.is_some() {
            self.bar(Note::TooFew(n, floor));
        } else if n == 3 && self.estimate.is_some() {
            self.line.notes.push(Note::Few(n));
        }
    }

    /// Returns the p value for its family of tests; `None` if it is not tested.
    pub fn p(&self) -> Option<f64> {
        let estimate = self.estimate.as_ref().filter(|_| !self.barred)?;
        Some(estimate.p_difference())
    }

    /// Adds the test of all pairs of conditions, which must agree.
    pub fn hold_to(&mut self, among: AmongAll) {
        self.among = Some(among);
        self.estimate = self.estimate.take().map(|own| own.among(self.among));
    }

    /// `true` if the trials of both sides are known to come from one session.
    pub fn is_ordered(&self) -> bool {
        in_one_session(&self.a, &self.b)
    }

    /// Returns the variance between runs that is used in addition to that of the trials.
    fn between_trials(&self) -> Option<&RunVariance> {
        self.between
            .as_ref()
            .filter(|_| self.level == Level::Trials)
    }

    /// Returns the variance between the compared runs, if they are separate runs.
    pub fn between(&self) -> Option<RunVariance> {
        self.between
    }

    /// `true` if the positions of both sides are known, each in a separate session.
    pub fn has_places(&self) -> bool {
        self.has_places
    }

    /// `true` if both are one quantity in two units: their trials are proportional, apart from
    /// rounding that is small relative to their spread.
    pub fn restates(&self, other: &Self) -> bool {
        let spread = self.estimate.as_ref().map_or(0.0, |own| own.linear.s);
        let mut ratios = [(&self.a, &other.a), (&self.b, &other.b)]
            .into_iter()
            .flat_map(|(own, other)| own.y.iter().zip(&other.y).map(|(y, z)| y - z));
        let Some(first) = ratios.next() else {
            return false;
        };
        let numbers = |candidate: &Self| [candidate.a.y.len(), candidate.b.y.len()];
        numbers(self) == numbers(other)
            && (self.a.better, self.barred) == (other.a.better, other.barred)
            && self.line.notes == other.line.notes
            && ratios.all(|ratio| (ratio - first).abs() <= ROUNDING * spread)
    }

    /// Returns the arms of both sides.
    pub fn arms(&self) -> (&Arm, &Arm) {
        (&self.a, &self.b)
    }

    /// Returns the row with the metric's names and notes.
    pub fn line(&self) -> &VerdictRow {
        &self.line
    }

    /// `true` if the figures were computed by a model.
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// `true` if a reason forbids a verdict.
    pub fn is_barred(&self) -> bool {
        self.barred
    }

    /// Judges the metric; `adjusted` is the corrected result of its test.
    pub fn conclude(
        mut self,
        adjusted: Option<Adjusted>,
        options: &Options,
        tables: &mut Tables,
    ) -> VerdictRow {
        if let (Some(d), Some(change), false) = (self.exact, self.line.change, self.barred) {
            let margin = options.margin_of(self.a.better);
            self.line.verdict = match d {
                d if margin.holds(d) => Verdict::Equivalent(change),
                d if d > 0.0 => Verdict::Faster(change),
                _ => Verdict::Slower(change),
            };
            self.line.qualification = match d > margin.low {
                true => Qualification::Pass,
                false => Qualification::Fail,
            };
            return self.line;
        }
        let Some(estimate) = self.estimate.take().filter(|_| !self.barred) else {
            self.show_interval(None, options.alpha);
            self.line.verdict = none(self.line.change);
            return self.line;
        };
        let rule = Rule {
            alpha_difference: adjusted.map_or(options.alpha, |adjusted| adjusted.level),
            alpha_equivalence: options.alpha,
            margin: options.margin_of(self.a.better),
        };
        self.line.p_adjusted = adjusted.map(|adjusted| adjusted.p);
        let judged = judge(&estimate, &rule);
        self.line.qualification = qualify(&estimate, options.alpha, rule.margin);
        self.compare_methods(&estimate, judged, &rule);
        let qualified = self.line.qualification;
        let word = self.settle(judged, &rule, options, tables);
        let word = self.unless_drifted(word, &estimate, &rule);
        let word = self.unless_busy(word, &estimate);
        let (one_sided, two_sided) = (2.0 * options.alpha, rule.alpha_difference);
        let (interval, level) = match options.qualify || judged.word == Word::Equivalent {
            true => (estimate.interval(one_sided), one_sided),
            false => (estimate.interval_of_difference(two_sided), two_sided),
        };
        let stands = match options.qualify {
            true => self.line.qualification == qualified,
            false => word == judged.word,
        };
        self.show_interval(interval.filter(|_| stands), level);
        self.line.verdict = self.verdict(word, &estimate, &rule, options);
        if word == judged.word {
            self.add_suffix(judged, options);
        }
        self.line
    }

    fn compare_methods(&mut self, estimate: &Estimate, judged: Judgement, rule: &Rule) {
        let by_means = estimate.by_means().map(|means| judge(&means, rule).word);
        if by_means.is_some_and(|word| word != judged.word) {
            self.line.notes.push(Note::DependsOnTails);
        }
    }

    /// Replaces the interval of the change by the deciding one, at this level.
    fn show_interval(&mut self, interval: Option<(f64, f64)>, level: f64) {
        self.line.change = self.line.change.map(|alone| Change {
            interval: change(0.0, interval, self.a.better).and_then(|shown| shown.interval),
            confidence: 1.0 - level,
            ..alone
        });
    }

    /// Judges again without each outlier. If the result changes, the verdict becomes "no
    /// conclusion" and the qualification inconclusive.
    fn settle(
        &mut self,
        judged: Judgement,
        rule: &Rule,
        options: &Options,
        tables: &mut Tables,
    ) -> Word {
        let (mut word, qualified) = (judged.word, self.line.qualification);
        for side in [Side::A, Side::B] {
            let arm = match side {
                Side::A => &self.a,
                Side::B => &self.b,
            };
            for index in judge::flagged(&arm.y) {
                let found = self.without(side, index, tables);
                let found = found.as_ref();
                let keeps_word = found.is_some_and(|it| judge(it, rule).word == judged.word);
                let keeps_qualification =
                    found.is_some_and(|it| qualify(it, options.alpha, rule.margin) == qualified);
                let keeps = match options.qualify {
                    true => keeps_qualification,
                    false => keeps_word,
                };
                self.line.notes.push(match keeps {
                    true => Note::Outlier(side, index + 1),
                    false => Note::DependsOnTrial(side, index + 1),
                });
                if !keeps_word {
                    word = Word::NoConclusion;
                }
                if !keeps_qualification {
                    self.line.qualification = Qualification::Inconclusive;
                }
            }
        }
        word
    }

    /// Replaces the verdict by "no conclusion" if a drift within the sides' separate sessions is as
    /// large as the difference.
    fn unless_drifted(&mut self, word: Word, estimate: &Estimate, rule: &Rule) -> Word {
        let as_much = |drift: &f64| match word {
            Word::Faster | Word::Slower => drift.abs() >= estimate.d().abs(),
            Word::Equivalent => !rule.margin.holds(*drift),
            Word::NoConclusion => false,
        };
        let Some(drift) = self.drift_within.filter(as_much) else {
            return word;
        };
        let drift = change(drift, None, self.a.better).map_or(f64::NAN, |drift| drift.percent);
        self.line.notes.push(Note::DriftsWithin(drift));
        self.line.qualification = Qualification::Inconclusive;
        Word::NoConclusion
    }

    /// Replaces a difference by "no conclusion" if one side was measured beside a load, which
    /// explains as much.
    fn unless_busy(&mut self, word: Word, estimate: &Estimate) -> Word {
        let Some(load) = self.load else { return word };
        let differs = matches!(word, Word::Faster | Word::Slower);
        let fails = self.line.qualification == Qualification::Fail;
        if estimate.d().abs() > MOST_OF_LOAD || !(differs || fails) {
            return word;
        }
        let percent = |share: f64| 100.0 * share;
        let note = Note::Busy(load.side, percent(load.waited), percent(load.other));
        self.line.notes.push(note);
        if fails {
            self.line.qualification = Qualification::Inconclusive;
        }
        match differs {
            true => Word::NoConclusion,
            false => word,
        }
    }

    /// Returns the estimate without one trial.
    fn without(&self, side: Side, index: usize, tables: &mut Tables) -> Option<Estimate> {
        let priors = self.priors.as_ref();
        let estimate = match side {
            Side::A => Estimate::of(&self.a.without(index)?, &self.b, priors, tables),
            Side::B => Estimate::of(&self.a, &self.b.without(index)?, priors, tables),
        };
        let estimate = estimate.ok()?.apart(self.between.as_ref(), self.level);
        Some(estimate.among(self.among))
    }

    fn verdict(
        &mut self,
        word: Word,
        estimate: &Estimate,
        rule: &Rule,
        options: &Options,
    ) -> Verdict {
        match (word, self.line.change) {
            (Word::Faster, Some(change)) => Verdict::Faster(change),
            (Word::Slower, Some(change)) => Verdict::Slower(change),
            (Word::Equivalent, Some(change)) => Verdict::Equivalent(change),
            // More trials of the same kind would not help.
            (_, change) if self.line.notes.iter().any(Note::is_on_session) => none(change),
            (_, change) => {
                let trials_needed = self.more_trials(estimate, rule, options);
                Verdict::NoConclusion {
                    change,
                    trials_needed,
                }
            }
        }
    }

    fn more_trials(&mut self, estimate: &Estimate, rule: &Rule, options: &Options) -> Option<u32> {
        let first = self.line.notes.len();
        let more = self.more(estimate, rule, options);
        if let Some(between) = self.between_trials().copied() {
            // More runs, not more trials, would settle the question.
            let notes = self.line.notes.split_off(first);
            let notes = notes.into_iter().map(|note| note.of(Mean::Run));
            if estimate.is_one_of_runs(rule.alpha_difference) {
                let change = self.line.change.map_or(f64::NAN, |change| change.percent);
                let percent = between.percent();
                self.line.notes.push(Note::OneOfRuns(change, percent));
            }
            self.line.notes.extend(notes);
        }
        more
    }

    /// Returns the number of additional trials of a side that would settle the question, or of
    /// additional runs if the sides are separate runs.
    fn more(&mut self, estimate: &Estimate, rule: &Rule, options: &Options) -> Option<u32> {
        let outlook = estimate.outlook();
        let [a, b] = self
            .between
            .map_or([self.a.n, self.b.n], |between| between.runs);
        let n = u32::try_from(a.min(b)).unwrap_or(u32::MAX);
        let total = match &self.between {
            Some(between) => Outlook::runs(estimate.d(), between, rule, options.budget),
            None => outlook.trials(rule, options.budget),
        };
        if let Some(total) = total {
            // The planned number of trials was reached without a conclusion: at least one more is
            // needed.
            let more = total.saturating_sub(n).max(1);
            self.line.notes.push(Note::MoreTrials(more));
            return Some(more);
        }
        let cv = 100.0 * outlook.s.powi(2).exp_m1().sqrt();
        let effect = detectable_effect(rule.alpha_difference, options.budget);
        let percent = 100.0 * (effect * outlook.s).exp_m1();
        self.line
            .notes
            .push(Note::OutOfReach(options.budget, cv, percent));
        None
    }

    fn add_suffix(&mut self, judged: Judgement, options: &Options) {
        if judged.tiny_difference {
            self.line.notes.push(Note::TinyDifference);
        }
        if judged.beyond_margin {
            self.line
                .notes
                .push(Note::BeyondMargin(100.0 * options.margin));
        }
    }
}

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
            alternating: shift::alternating(a, b, &linear),
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

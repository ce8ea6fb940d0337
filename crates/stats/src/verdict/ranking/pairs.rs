//! Pairs of conditions.

use super::letters::pairs as each_two;
use super::{ConditionTrials, Pair};
use crate::distributions::range;
use crate::verdict::adjust::holm;
use crate::verdict::estimate::{Difference, Linear, NoEstimate};
use crate::verdict::judge::Rule;
use crate::verdict::line::{Options, SHOWN, change};
use crate::verdict::note::Note;
use crate::verdict::order::is_confounded;
use crate::verdict::trials::Outlook;
use assay_model::verdict::Verdict;

/// Results for all pairs.
pub(super) struct PairResults {
    pub pairs: Vec<Pair>,
    /// `worse[i][j]`: condition i is worse than j.
    pub worse: Vec<Vec<bool>>,
    /// `equivalent[i][j]`: they are equivalent.
    pub equivalent: Vec<Vec<bool>>,
    /// `judged[i][j]`: there were trials enough to tell.
    judged: Vec<Vec<bool>>,
}

impl PairResults {
    /// Returns true if condition `i` was compared with any other.
    pub fn is_judged(&self, i: usize) -> bool {
        self.judged[i].contains(&true)
    }
}

/// Reasons that keep pairs from being judged.
pub(super) struct Refusals<'a> {
    /// Reason that applies to all pairs.
    pub all: Option<&'a Note>,
    /// Reason that applies to pairs run one condition after the other.
    pub confounded: Option<&'a Note>,
}

impl Refusals<'_> {
    fn of(&self, a: &ConditionTrials, b: &ConditionTrials) -> Vec<Note> {
        let confounded = self
            .confounded
            .filter(|_| is_confounded(&a.places, &b.places));
        confounded.into_iter().chain(self.all).cloned().collect()
    }
}

/// Compares all pairs by Games and Howell (1976): q = sqrt(2) |t| of Welch, tested against the
/// studentized range of k means. Equivalence is tested at alpha / (k - 1).
pub(super) fn all(
    entries: &[ConditionTrials],
    options: &Options,
    refused: &Refusals<'_>,
) -> PairResults {
    let k = entries.len();
    let mut worse = vec![vec![false; k]; k];
    let (mut equivalent, mut judged) = (worse.clone(), worse.clone());
    let mut pairs = Vec::new();
    let tests = (k * k.saturating_sub(1) / 2).max(1) as f64;
    for (i, j) in each_two(k) {
        let tested = Tested::of(&entries[i], &entries[j], options, refused);
        let p = tested.linear.map(|linear| {
            let q = std::f64::consts::SQRT_2 * linear.d.abs() / linear.se;
            range::upper_tail(q, k, linear.df)
        });
        let rule = rule(options, options.alpha / tests, k);
        let d = tested.linear.map_or(0.0, |linear| linear.d);
        let pair = tested.conclude(p, &rule, options);
        // Letters show differences that are within the margin, too.
        let differs = pair.p_adjusted.is_some_and(|p| p <= options.alpha);
        worse[j][i] = differs && d < 0.0;
        worse[i][j] = differs && d > 0.0;
        equivalent[i][j] = matches!(pair.verdict, Verdict::Equivalent(_));
        equivalent[j][i] = equivalent[i][j];
        judged[i][j] = pair.p_adjusted.is_some();
        judged[j][i] = judged[i][j];
        pairs.push(pair);
    }
    PairResults {
        pairs,
        worse,
        equivalent,
        judged,
    }
}

/// Each condition against `baseline`: Welch's t with Holm's correction for the
/// k - 1 tests.
pub(super) fn against(
    entries: &[ConditionTrials],
    baseline: &str,
    options: &Options,
    refused: &Refusals<'_>,
) -> Vec<Pair> {
    let Some(base) = entries.iter().find(|entry| entry.condition == baseline) else {
        return Vec::new();
    };
    let others = entries.iter().filter(|entry| entry.condition != baseline);
    let tested: Vec<Tested> = others
        .map(|other| Tested::of(base, other, options, refused))
        .collect();
    let p: Vec<f64> = tested
        .iter()
        .filter_map(|tested| Some(tested.linear.ok()?.p_difference()))
        .collect();
    let mut adjusted = holm(&p, options.alpha).into_iter();
    let mut pairs = Vec::new();
    for tested in tested {
        let adjusted = tested.linear.is_ok().then(|| adjusted.next()).flatten();
        let p = tested
            .linear
            .and(adjusted.map(|a| a.p).ok_or(NoEstimate::SpreadUnknown));
        let level = adjusted.map_or(options.alpha, |adjusted| adjusted.level);
        let rule = rule(options, level, entries.len());
        pairs.push(tested.conclude(p, &rule, options));
    }
    pairs
}

fn rule(options: &Options, alpha_difference: f64, conditions: usize) -> Rule {
    Rule {
        alpha_difference,
        alpha_equivalence: options.alpha / conditions.saturating_sub(1).max(1) as f64,
        margin: options.log_margin(),
    }
}

/// A pair before its p value is corrected.
struct Tested {
    pair: Pair,
    linear: Result<Linear, NoEstimate>,
    n: usize,
    barred: bool,
}

impl Tested {
    fn of(
        a: &ConditionTrials,
        b: &ConditionTrials,
        options: &Options,
        refused: &Refusals<'_>,
    ) -> Self {
        let (a_arm, b_arm) = (&a.arm, &b.arm);
        let linear = Linear::of(a_arm, b_arm);
        let mut notes = refused.of(a, b);
        let n = a_arm.n.min(b_arm.n);
        let summary = a_arm.y.is_empty() || b_arm.y.is_empty();
        let floor = if summary {
            options.min_trials.min(3)
        } else {
            options.min_trials.max(3)
        };
        match linear {
            Err(why) => notes.push(Note::NoEstimate(why)),
            Ok(_) if n < floor => notes.push(Note::TooFew(n, floor)),
            Ok(_) => {}
        }
        let barred = !notes.is_empty();
        if !barred && n == 3 {
            notes.push(Note::Few(n));
        }
        let interval = linear.ok().and_then(|linear| linear.interval(SHOWN));
        let d = linear.map_or(b_arm.mean - a_arm.mean, |linear| linear.d);
        let change = change(d, interval, a_arm.better);
        let verdict = Verdict::NoConclusion {
            change,
            trials_needed: None,
        };
        let (a, b) = (a.condition.clone(), b.condition.clone());
        let pair = Pair {
            a,
            b,
            change,
            p_adjusted: None,
            verdict,
            notes,
        };
        Self {
            pair,
            linear,
            n,
            barred,
        }
    }

    fn conclude(self, p: Result<f64, NoEstimate>, rule: &Rule, options: &Options) -> Pair {
        let mut pair = self.pair;
        let (false, Ok(linear), Ok(p), Some(change)) = (self.barred, self.linear, p, pair.change)
        else {
            return pair;
        };
        pair.p_adjusted = Some(p);
        let differs = p <= options.alpha;
        let equivalent = linear.p_equivalence(rule.margin) <= rule.alpha_equivalence;
        pair.verdict = match (equivalent, differs) {
            (true, _) => Verdict::Equivalent(change),
            (false, true) if linear.d > 0.0 => Verdict::Faster(change),
            (false, true) => Verdict::Slower(change),
            (false, false) => {
                let outlook = Outlook::careful(linear.d, linear.s, linear.df);
                let total = outlook.trials(rule, options.budget);
                let n = u32::try_from(self.n).unwrap_or(u32::MAX);
                let trials_needed = total.map(|total| total.saturating_sub(n).max(1));
                Verdict::NoConclusion {
                    change: Some(change),
                    trials_needed,
                }
            }
        };
        if equivalent && differs {
            pair.notes.push(Note::TinyDifference);
        }
        pair
    }
}
